"""Access checks at every address of the tables in `block_matrix`, over HTTP.

The whole world is read before any change, after blocks, after a ban, with emptied caches, with
Redis dead if the configuration kills it, and after Hidden's posts were deleted. No viewer may find
a mark that is not for them, and viewers with access must find it (`sees`, `by`). An object that is
not for a viewer gets the same response as one that does not exist.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from chaos.campaign.client import Client
from chaos.campaign.journal import Journal, pattern
from chaos.campaign.matrix.world import BEFORE, OWNERS, VIEWERS, World
from chaos.campaign.site.requests import Answer, Form, Json, Request, split
from socialsite.tests.blocks.block_matrix import (
    APART,
    MATRIX,
    MEMBERS,
    NAMES,
    OUT,
    PAGES,
    V1,
    Alike,
    Call,
    Of,
    Public,
    Shows,
    filled,
)

PART = "matrix"
# People one follows are listed even if banned: they count towards the maximum of follows.
OWN_LIST = re.compile(r"/(api/v1/users/\d+|@thirdone9)/(following|friends|followers)$")
REMOVES = re.compile(
    r"(posts/\{post_id\}|comments/\{comment_id\}|drafts/\{draft_id\})(/delete|/publish|/rewrite)?"
)
# Marks of Hidden's that not everybody finds, by who does.
FOR_HIDDEN = ("draft", "draft_id", "alone", "alone_id")
FOR_FOLLOWERS = ("private", "private_id", "private_picture", "private_film", "private_film_id")
# The followers are named in that post, and third is not.
FOR_NAMED = ("few", "few_id")


@dataclass
class Matrix:
    """The walk through the tables; `share` is the share of cells that are requested."""

    world: World
    journal: Journal
    threads: int = 1
    chosen: Callable[[], bool] = lambda: True
    state: str = "open"
    cells: Counter[str] = field(default_factory=Counter)
    proven: set[int] = field(default_factory=set)
    spent: set[tuple[str, str, str]] = field(default_factory=set)
    nothing: dict[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    cold: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    # --- who ------------------------------------------------------------------------------------
    def role(self, viewer: str) -> str:
        """Return the current role of a viewer in the table."""
        if viewer in OWNERS:
            return OWNERS[viewer]
        if self.state == "open":
            return BEFORE[viewer]
        if viewer == "banned" and not self.world.never:
            return BEFORE[viewer]
        return VIEWERS[viewer]

    def hidden_from(self, role: str, names: Iterable[str] = ()) -> dict[str, str]:
        """Return the marks that viewers of a role must not find; from `names` only Hidden's."""
        marks = self.world.marks
        if self.state == "deleted":
            gone = {name: marks[name] for name in ("post", "private", "private_picture")}
        else:
            gone = {}
        if role in names:
            return {name: mark for name, mark in marks.items() if name not in NAMES} | gone
        if role in APART:
            return marks
        hidden = ["secret"]
        if role != "hidden":
            hidden += FOR_HIDDEN
        if role not in ("follower", "hidden"):
            hidden += FOR_NAMED
        if role not in ("follower", *OWNERS.values()):
            hidden += FOR_FOLLOWERS
        return {name: marks[name] for name in hidden} | gone

    # --- requests
    # -----------------------------------------------------------------------------------
    def request(self, viewer: str, call: Call, is_api: bool, nothing: bool = False) -> Request:
        """Return the request of a call."""
        path = self.world.filled(f"/{V1 if is_api else ''}{call.path}", viewer, nothing)
        data = filled(call.data, lambda text: self.world.filled(text, viewer, nothing))
        path, asked = split(path)
        body: Json | Form | None = None
        if call.method != "get":
            body = Json(data) if is_api else Form(tuple(data.items()))
        headers = {"HX-Request": "true"} if call.htmx else {}
        return Request(call.method.upper(), path, asked, headers, body)

    def send(self, client: Client, viewer: str, request: Request) -> Answer:
        """Send one request of a viewer, with an empty cache if the state requires that."""
        if self.cold and self.world.site.stack is not None:
            self.world.site.empty_caches()
        with self._lock:
            self.cells[self.state] += 1
        return client.send(request, self.world.people[viewer])

    def leak(self, viewer: str, request: Request, what: str, difference: str = "") -> None:
        """Store a finding of a cell."""
        key = f"{request.method} {what} {pattern(request.path)}"
        if self.journal.first("leak", key):
            request = request.replace(who=viewer)
            self.journal.find("leak", f"{PART}, {self.state}", what + difference, request)

    def look(
        self,
        client: Client,
        viewer: str,
        request: Request,
        answer: Answer,
        calls: Sequence[Call] = (),
    ) -> None:
        """Search a response to any of these calls for marks that this viewer must not find."""
        said, given = answer.everything, request.given
        is_public = any(isinstance(call, Public) for call in calls)
        role = "anonymous" if is_public else self.role(viewer)
        hidden = self.hidden_from(role, [name for call in calls for name in call.names])
        found = [n for n, mark in hidden.items() if mark in said and mark not in given]
        if not (viewer == "third" and OWN_LIST.match(request.path)):
            found += [mark for mark in self.world.never if mark in said and mark not in given]
        if found and not self._was_signed_out(client, viewer, request, found):
            self.leak(viewer, request, f"shows {found}")

    def _was_signed_out(
        self, client: Client, viewer: str, request: Request, found: list[str]
    ) -> bool:
        """Return True if the viewer sees less only because the session had expired (guest view)."""
        person = self.world.people[viewer]
        if self.role(viewer) not in APART or request.method != "GET":
            return False
        said = ""
        if person.sign_in(client.wire):
            said = self.send(client, viewer, request).everything
        marks = self.world.marks
        return not any(marks.get(name, name) in said for name in found)

    def check(self, client: Client, viewer: str, call: Call, is_api: bool) -> None:
        """Make one call, and compare its response with the table."""
        request, role = self.request(viewer, call, is_api), self.role(viewer)
        answer = self.send(client, viewer, request)
        self.look(client, viewer, request, answer, [call])
        if self.state == "deleted":
            return
        if self.state == "open" and call.names:
            return  # these blocks have not happened yet
        if role in call.proof and not (role == "follower" and self.state == "open"):
            self._prove(viewer, call, request, answer)
        elif self._signed_out(role, call, is_api):
            if answer.accepted or (is_api and answer.status != 401):
                self.leak(viewer, request, f"{answer.status} without a sign-in")
        elif self._refused("anonymous" if isinstance(call, Public) else role, call):
            self._compare(client, viewer, call, is_api, request, answer)

    def _prove(self, viewer: str, call: Call, request: Request, answer: Answer) -> None:
        """Check that allowed marks are found: a response without any mark proves nothing."""
        role = "anonymous" if isinstance(call, Public) else self.role(viewer)
        hidden, marks = self.hidden_from(role, call.names), self.world.marks
        wanted = {
            name: marks.get(name) or self.world.filled(name, viewer)
            for name in call.sees
            if name not in hidden
        }
        if viewer == "follower":  # who is not followed back
            wanted = {n: t for n, t in wanted.items() if n not in ("BI_FOLLOWING", "mention")}
        lacks = [name for name, text in wanted.items() if text not in answer.everything]
        if lacks or not (answer.accepted or call.sees):
            self.control(viewer, request, f"{answer.status}, lacks {lacks}")
        else:
            with self._lock:
                self.proven.add(id(call))

    def control(self, viewer: str, request: Request, what: str) -> None:
        """Report an allowed view or action that failed, as the other checks prove nothing then."""
        if self.journal.first("control", f"{viewer} {request.method} {request.target}"):
            self.journal.find("control", f"{PART}, {self.state}", what, request.replace(who=viewer))

    @staticmethod
    def _signed_out(role: str, call: Call, is_api: bool) -> bool:
        if role == "banned" and is_api:
            return True
        return role in OUT and call.method != "get"

    @staticmethod
    def _refused(role: str, call: Call) -> bool:
        """Return True if Hidden does not exist for a viewer: then the response is a 404."""
        if role in call.names:
            return False
        if isinstance(call, Alike):
            return role == "blocked"  # people blocked by the others see their own block
        if call.own:
            return role != "hidden"
        if isinstance(call, Of) and call.private:
            allowed = ("hidden",) if "{few_id}" in call.path else OWNERS.values()
            return role not in ("follower", *allowed)
        return isinstance(call, Of) and role in APART

    def _compare(
        self,
        client: Client,
        viewer: str,
        call: Call,
        is_api: bool,
        request: Request,
        answer: Answer,
    ) -> None:
        """Compare a response with that for an object that does not exist."""
        key = (viewer, id(call))

        def ask_for_nothing() -> tuple[int, str]:
            other = self.send(client, viewer, self.request(viewer, call, is_api, nothing=True))
            return other.status, self._plain(other, viewer, call, nothing=True)

        def read(answer: Answer) -> tuple[int, str]:
            return answer.status, self._plain(answer, viewer, call)

        nothing, found = self.nothing.get(key) or ask_for_nothing(), read(answer)
        if found != nothing and request.method == "GET":
            # If the session ended in between, both pages look different.
            found, nothing = read(self.send(client, viewer, request)), ask_for_nothing()
        self.nothing[key] = nothing
        if found != nothing:
            what = f"{found[0]}, and {nothing[0]} for what does not exist"
            self.leak(viewer, request, what, _first_difference(found[1], nothing[1]))

    def _plain(self, answer: Answer, viewer: str, call: Call, *, nothing: bool = False) -> str:
        """Remove the viewer's own input, tokens, and the badge of other notifications."""
        text = answer.text + answer.header("Location")
        for name in re.findall(r"{\w+}", f"{call.path} {' '.join(call.data.values())}"):
            text = text.replace(self.world.filled(name, viewer, nothing), name)
        text = re.sub(r'<b class="badge".*?</b>', "", text)
        return re.sub(r"[A-Za-z0-9]{64}", "token", text)

    # --- walks
    # --------------------------------------------------------------------------------------
    def calls(self) -> list[tuple[Call, bool]]:
        """Return all calls of the tables, and whether they belong to the API."""
        return [
            (call, is_api)
            for is_api, table in ((True, MATRIX), (False, PAGES))
            for calls in table.values()
            for call in calls
        ]

    def read(self, viewers: Sequence[str] = (*VIEWERS, *OWNERS)) -> None:
        """Let viewers read everything."""

        def work(client: Client, viewer: str) -> None:
            for call, is_api in self.calls():
                if call.method == "get" and self.chosen():
                    self.check(client, viewer, call, is_api)

        self.each(viewers, work)

    def write(self) -> None:
        """Let viewers try forbidden actions, and actions that may reveal something."""

        def work(client: Client, viewer: str) -> None:
            role = self.role(viewer)
            for call, is_api in self.calls():
                if call.method == "get" or not self.chosen():
                    continue
                if self._is_spent(viewer, call, is_api):
                    continue
                if isinstance(call, Shows) or role in (*APART, *OUT):
                    self.check(client, viewer, call, is_api)
                    self._undo(client, viewer, call)

        self.each((*VIEWERS,), work)

    def prove_writes(self) -> None:
        """Let one viewer do each action that others are refused; create what it removes first."""
        client = Client(self.world.site, self.journal, PART)
        by_role = {self.role(name): name for name in (*VIEWERS, *OWNERS)}
        for call, is_api in sorted(self.calls(), key=lambda c: "settings" in c[0].path):
            if call.method == "get" or id(call) in self.proven or not self.chosen():
                continue
            if call.by == APART:
                continue  # possible only once, and `write` saw that
            viewer = next((by_role[role] for role in call.proof if role in by_role), None)
            if viewer is None:
                continue
            kept = dict(self.world.names)
            if REMOVES.fullmatch(call.path) or "version" in call.data:
                self._make_anew()
            request = self.request(viewer, call, is_api)
            answer = self.send(client, viewer, request)
            if not answer.accepted and not call.sees:
                self.control(viewer, request, f"{answer.status}, although it is allowed")
            self.world.names = kept
            self._undo(client, viewer, call)

    def _is_spent(self, viewer: str, call: Call, is_api: bool) -> bool:
        """Return True for actions possible only once after a block: undoing an earlier action."""
        if call.by != APART:
            return False
        with self._lock:
            done = (viewer, call.method, call.path) in self.spent
            self.spent.add((viewer, call.method, call.path))
        return done or is_api == (viewer == "both")

    def _make_anew(self) -> None:
        """Create posts and a comment of Hidden's that may be edited or deleted."""
        world, words = self.world, "to be deleted"
        world.names["private_id"] = world._post(world.hidden, words, visibility="followers")
        world.names["post_id"] = world._edit(
            "post", world.hidden, world._post(world.hidden, words), "was edited"
        )
        world.names["draft_id"] = world.draft(world.hidden, words)
        third = world.names["third_post"]
        made = world._comment(world.hidden, third, words)
        world.names["comment_id"] = world._edit("comment", world.hidden, made, "was edited")

    def _undo(self, client: Client, viewer: str, call: Call) -> None:
        """Undo changes of a call for the other cells."""
        world, wire = self.world, client.wire
        if any(act in call.path for act in ("follow", "block", "remove")):
            if self.state != "open" and self.role(viewer) in APART:
                if self.role(viewer) == "blocked":  # and blocks Hidden as well, by this call
                    world.people[viewer].call(wire, "DELETE", f"users/{world.hidden.id}/block")
                world.block(wire)
            elif viewer in world.mine and self.role(viewer) not in (*OUT, *APART):
                world.reunite(wire, viewer)
        elif call.path == "posts" and "{username}" in call.data.get("content", ""):
            person = world.people[viewer]
            if person.id and self.role(viewer) not in OUT:
                mine = f"users/{person.id}/posts?size=5"
                for item in person.must(wire, "GET", mine)["items"]:
                    if world.hidden.username in item["content"]:
                        person.must(wire, "DELETE", f"posts/{item['id']}")
        elif call.path.endswith("comment-settings"):
            path = world.filled(call.path, viewer)
            world.hidden.call(wire, "PATCH", path, {"status": "open"})

    def each(self, viewers: Sequence[str], work: Callable[[Client, str], None]) -> None:
        """Run a function for each viewer, several at once."""
        waiting, errors = list(viewers), list[BaseException]()

        def run() -> None:
            client = Client(self.world.site, self.journal, PART)
            try:
                while waiting:
                    try:
                        viewer = waiting.pop()
                    except IndexError:
                        return
                    work(client, viewer)
            except BaseException as error:
                errors.append(error)

        workers = [threading.Thread(target=run, daemon=True) for _ in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if errors:
            raise errors[0]


__all__ = ["MEMBERS", "PART", "Matrix"]


def _first_difference(one: str, other: str) -> str:
    """Return the first line in which two texts differ, as each has it."""
    for here, there in zip_longest(one.splitlines(), other.splitlines(), fillvalue=""):
        if here != there:
            return f": {here.strip()[:100]!r} and {there.strip()[:100]!r}"
    return ""
