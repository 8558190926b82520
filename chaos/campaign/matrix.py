"""Who may see what, at every address of the tables in `block_matrix`, over HTTP.

The world is read before anything happens, after blocks, after a ban, with emptied caches, with
Redis dead where it dies, and after what Hidden wrote was deleted. Nobody finds a mark that is not
for them; whoever must find it does (`sees`, `by`); what is not for a viewer is answered like what
does not exist.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from chaos.campaign.client import Client
from chaos.campaign.journal import Journal, pattern
from chaos.campaign.wire import Answer, Form, Json, Request
from chaos.campaign.world import BEFORE, OWNERS, VIEWERS, World
from socialsite.tests.block_matrix import (
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
    Shows,
)

PART = "matrix"
# A repeat of such a request gets the answer it missed: what was in it then may be forbidden now.
REPEATED = "posts/{quote_id}/repost"
# Whom one follows oneself is named also when banned: it counts towards how many one may follow.
OWN_LIST = re.compile(r"/(api/v1/users/\d+|@thirdone9)/(following|friends|followers)$")
PICTURES = ("public", "public thumb", "private", "private thumb")
# Where the files lie for nginx, and no address of anybody.
WAYS_ROUND = ("/_uploads/", "/media/public/", "/media/../_uploads/", "/media/public/../")
REMOVES = re.compile(r"(posts/\{post_id\}|comments/\{comment_id\})(/delete)?")


@dataclass
class Matrix:
    """The walk through the tables; `share` is the part of the cells that is asked."""

    world: World
    journal: Journal
    threads: int = 1
    chosen: Callable[[], bool] = lambda: True
    state: str = "open"
    cells: Counter[str] = field(default_factory=Counter)
    proven: set[int] = field(default_factory=set)
    nothing: dict[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    cold: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    # --- who ------------------------------------------------------------------------------------
    def role(self, viewer: str) -> str:
        """Return what the table calls a viewer now."""
        if viewer in OWNERS:
            return OWNERS[viewer]
        if self.state == "open":
            return BEFORE[viewer]
        if viewer == "banned" and not self.world.never:
            return BEFORE[viewer]
        return VIEWERS[viewer]

    def hidden_from(self, viewer: str, names: Iterable[str] = ()) -> dict[str, str]:
        """Return the marks that a viewer must not find; of `names` only Hidden's names."""
        marks, role = self.world.marks, self.role(viewer)
        if self.state == "deleted":
            gone = {name: marks[name] for name in ("post", "private", "private_picture")}
        else:
            gone = {}
        if role in names:
            return {name: mark for name, mark in marks.items() if name not in NAMES} | gone
        if role in APART:
            return marks
        if role in ("follower", *OWNERS.values()):
            return {"secret": marks["secret"]} | gone
        hidden = ("private", "private_id", "private_picture", "secret")
        return {name: marks[name] for name in hidden} | gone

    # --- asking ---------------------------------------------------------------------------------
    def request(self, viewer: str, call: Call, is_api: bool, nothing: bool = False) -> Request:
        """Return the request of a call."""
        path = self.world.filled(f"/{V1 if is_api else ''}{call.path}", viewer, nothing)
        data = {k: self.world.filled(v, viewer, nothing) for k, v in call.data.items()}
        path, _, query = path.partition("?")
        asked = tuple(tuple(part.split("=", 1)) for part in query.split("&") if part)
        body: Json | Form | None = None
        if call.method != "get":
            body = Json(data) if is_api else Form(tuple(data.items()))
        headers = {"HX-Request": "true"} if call.htmx else {}
        return Request(call.method.upper(), path, asked, headers, body)  # type: ignore[arg-type]

    def send(self, client: Client, viewer: str, request: Request) -> Answer:
        """Send one request of a viewer, with an empty cache where the state asks for that."""
        if self.cold and self.world.site.stack is not None:
            self.world.site.empty_caches()
        with self._lock:
            self.cells[self.state] += 1
        return client.send(request, self.world.people[viewer])

    def leak(self, viewer: str, request: Request, what: str, difference: str = "") -> None:
        """Keep a finding of a cell."""
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
        names: Iterable[str] = (),
    ) -> None:
        """Look for what this viewer must not find in an answer."""
        said, given = answer.everything, request.given
        hidden = self.hidden_from(viewer, names)
        found = [n for n, mark in hidden.items() if mark in said and mark not in given]
        if not (viewer == "third" and OWN_LIST.match(request.path)):
            found += [mark for mark in self.world.never if mark in said and mark not in given]
        if found and not self._was_signed_out(client, viewer, request, found):
            self.leak(viewer, request, f"shows {found}")

    def _was_signed_out(
        self, client: Client, viewer: str, request: Request, found: list[str]
    ) -> bool:
        """True when a viewer is shown less once they sign in again: it was shown to a guest."""
        person = self.world.people[viewer]
        if self.role(viewer) not in APART or request.method != "GET":
            return False
        said = ""
        if person.sign_in(client.wire):
            said = self.send(client, viewer, request).everything
        marks = self.world.marks
        return not any(marks.get(name, name) in said for name in found)

    def check(self, client: Client, viewer: str, call: Call, is_api: bool) -> None:
        """Make one call, and hold its answer against the table."""
        request, role = self.request(viewer, call, is_api), self.role(viewer)
        answer = self.send(client, viewer, request)
        self.look(client, viewer, request, answer, call.names)
        if self.state == "deleted":
            return
        if self.state == "open" and call.names:
            return  # of blocks that have not happened yet
        if role in call.proof and not (role == "follower" and self.state == "open"):
            self._prove(viewer, call, request, answer)
        elif self._signed_out(role, call, is_api):
            if answer.accepted or (is_api and answer.status != 401):
                self.leak(viewer, request, f"{answer.status} without a sign-in")
        elif self._refused(role, call):
            self._compare(client, viewer, call, is_api, request, answer)

    def _prove(self, viewer: str, call: Call, request: Request, answer: Answer) -> None:
        """Find what must be found: an answer that shows nothing to anybody proves nothing."""
        hidden, marks = self.hidden_from(viewer, call.names), self.world.marks
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
        """Keep what somebody may see or do and could not: then the rest proves nothing."""
        if self.journal.first("control", f"{viewer} {request.method} {request.target}"):
            self.journal.find("control", f"{PART}, {self.state}", what, request.replace(who=viewer))

    @staticmethod
    def _signed_out(role: str, call: Call, is_api: bool) -> bool:
        if role == "banned" and is_api:
            return True
        return role in OUT and call.method != "get"

    @staticmethod
    def _refused(role: str, call: Call) -> bool:
        """True when Hidden is nobody for a viewer: the answer is that of what does not exist."""
        if role in call.names:
            return False
        if isinstance(call, Alike):
            return role == "blocked"  # of whom the others block they see their own block
        if isinstance(call, Of) and call.private:
            return role not in ("follower", *OWNERS.values())
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
        """Hold an answer against the one about what does not exist."""
        key = (viewer, id(call))

        def ask_for_nothing() -> tuple[int, str]:
            other = self.send(client, viewer, self.request(viewer, call, is_api, nothing=True))
            return other.status, self._plain(other, viewer, call, nothing=True)

        def read(answer: Answer) -> tuple[int, str]:
            return answer.status, self._plain(answer, viewer, call)

        nothing, found = self.nothing.get(key) or ask_for_nothing(), read(answer)
        if found != nothing and request.method == "GET":
            # A sign-in that ended in between changes the page around both.
            found, nothing = read(self.send(client, viewer, request)), ask_for_nothing()
        self.nothing[key] = nothing
        if found != nothing:
            what = f"{found[0]}, and {nothing[0]} for what does not exist"
            self.leak(viewer, request, what, _first_difference(found[1], nothing[1]))

    def _plain(self, answer: Answer, viewer: str, call: Call, *, nothing: bool = False) -> str:
        """Leave out what the viewer typed, tokens, and the badge of other things than this."""
        text = answer.text + answer.header("Location")
        for name in re.findall(r"{\w+}", f"{call.path} {' '.join(call.data.values())}"):
            text = text.replace(self.world.filled(name, viewer, nothing), name)
        text = re.sub(r'<b class="badge".*?</b>', "", text)
        return re.sub(r"[A-Za-z0-9]{64}", "token", text)

    # --- walking --------------------------------------------------------------------------------
    def calls(self) -> list[tuple[Call, bool]]:
        """Return all calls of the tables, and whether they are of the API."""
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
        """Let viewers try what they may not do, or what may show something."""

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
        """Let one viewer do each thing that others are refused; what it removes is made for it."""
        client = Client(self.world.site, self.journal, PART)
        by_role = {self.role(name): name for name in (*VIEWERS, *OWNERS)}
        for call, is_api in sorted(self.calls(), key=lambda c: "settings" in c[0].path):
            if call.method == "get" or id(call) in self.proven or not self.chosen():
                continue
            if call.by == APART:
                continue  # it can be done once, which `write` saw
            viewer = next((by_role[role] for role in call.proof if role in by_role), None)
            if viewer is None:
                continue
            kept = dict(self.world.names)
            if REMOVES.fullmatch(call.path):
                self._make_anew()
            request = self.request(viewer, call, is_api)
            answer = self.send(client, viewer, request)
            if not answer.accepted and not call.sees:
                self.control(viewer, request, f"{answer.status}, although it is allowed")
            self.world.names = kept
            self._undo(client, viewer, call)

    def _is_spent(self, viewer: str, call: Call, is_api: bool) -> bool:
        """True for what can be done once after a block: taking back what was given before it."""
        return call.by == APART and is_api == (viewer == "both")

    def _make_anew(self) -> None:
        """Make a post and a comment of Hidden's that may be deleted."""
        world = self.world
        world.names["post_id"] = world._post(world.hidden, "to be deleted")
        third = world.names["third_post"]
        world.names["comment_id"] = world._comment(world.hidden, third, "to be deleted")

    def _undo(self, client: Client, viewer: str, call: Call) -> None:
        """Put back what a call changed for the other cells."""
        world, wire = self.world, client.wire
        if "follow" in call.path or "block" in call.path:
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

    def repeat(self) -> None:
        """Let viewers repeat a request with its Idempotency-Key: text of Hidden's is in it."""

        def work(client: Client, viewer: str) -> None:
            path = self.world.filled(f"/{V1}{REPEATED}", viewer)
            headers = {"Idempotency-Key": "once"}
            request = Request("POST", path, headers=headers, body=Json({"content": "own words"}))
            answer = self.send(client, viewer, request)
            self.look(client, viewer, request, answer)
            if self.state == "open" and self.world.marks["post"] not in answer.text:
                self.control(viewer, request, f"{answer.status}, lacks the post")

        self.each([name for name in VIEWERS if name not in ("guest", "banned")], work)

    def pictures(self) -> None:
        """Ask for the pictures by their addresses, as whoever was told one."""
        asked = {name: self.world.pictures[name] for name in PICTURES}
        inside = asked["private"].removeprefix("/media/")
        asked |= {f"private, {way}": f"{way}{inside}" for way in WAYS_ROUND}

        def work(client: Client, viewer: str) -> None:
            for name, path in asked.items():
                if name not in PICTURES and not self.chosen():
                    continue
                request = Request("GET", path)
                answer = self.send(client, viewer, request)
                may = not name.startswith("private") or self.role(viewer) in ("follower", "hidden")
                if self.state == "deleted" or name not in PICTURES:
                    may = False
                if answer.status == 200 and not may:
                    self.leak(viewer, request, f"shows the {name} picture")
                elif answer.status != 200 and may and self.role(viewer) not in OUT:
                    self.control(viewer, request, f"{answer.status}: the {name} picture")

        self.each((*VIEWERS, "hidden"), work)

    def each(self, viewers: Sequence[str], work: Callable[[Client, str], None]) -> None:
        """Let each viewer do some work, several at once."""
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
