"""An author and a reader who know what the site must show, and ask another process at once.

Nobody else writes about a couple. So after each acknowledged write the whole page is known: the
posts of the author that the reader may see, and their words. A write without an answer may have
happened or not; then both are right until the next one is acknowledged.
"""

import random
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos.machines.journal import Journal, Wrong
from chaos.machines.sites import Process
from chaos.machines.visitor import PASSWORD, SECONDS, Answer, Visitor

# How many posts of an author remain; two authors fill a page of at most 20.
MOST = 8
SIZE = 20
CHECKERS = 2
# A wrong answer is asked for again until it is right.
RIGHT_SECONDS, RETRY_SECONDS = 30.0, 0.1
INSIST_SECONDS = 120.0
ABSENT = 404

Judge = Callable[[Answer], str]


class Person(Visitor):
    """Somebody whose requests go to one process of a site by its socket."""

    def __init__(self, process: Process, address: str) -> None:
        super().__init__(process.uds, "localhost")
        self.headers = {"X-Forwarded-For": address}

    def at(self, process: Process) -> "Person":
        """Go to another process with the next requests."""
        self.namespace = process.uds
        return self

    def _connect(self, *, secure: bool) -> socket.socket:
        found = socket.socket(socket.AF_UNIX)
        found.settimeout(SECONDS)
        found.connect(str(self.namespace))
        return found


@dataclass
class Post:
    """A post that was acknowledged: its words, and whether others may see it.

    `texts` are those of edits without an answer too. After one nobody knows the version (`stale`).
    A `fading` post may be deleted or hidden already.
    """

    ident: str
    texts: set[str]
    version: int
    hidden: bool = False
    stale: bool = False
    fading: bool = False
    liked: bool | None = False


@dataclass
class Couple:
    """The two people, a third one who signs in and out, and what they know."""

    author: Person
    reader: Person
    drifter: Person
    name: str
    processes: Sequence[Process]
    journal: Journal
    dice: random.Random
    posts: dict[str, Post] = field(default_factory=dict)
    # Words of posts whose publishing got no answer.
    perhaps: set[str] = field(default_factory=set)
    follows: bool = True
    blocked: bool = False
    tokens: list[str] = field(default_factory=list)
    sent: int = 0
    acknowledged_at: float = 0.0
    author_id: str = ""
    reader_id: str = ""

    # --- one step -------------------------------------------------------------------------------
    def step(self) -> None:
        """Make one write on a process, and compare what other processes show."""
        kinds = {
            self._publish: 5,
            self._edit: 2,
            self._hide: 1,
            self._delete: 3,
            self._like: 2,
            self._unfollow: 2,
            self._block: 1,
            self._sign_in: 1,
        }
        if len(self.posts) >= MOST:
            kinds = {self._delete: 1}
        (run,) = self.dice.choices([*kinds], [*kinds.values()])
        run()

    def _text(self) -> str:
        self.sent += 1
        return f"{self.name} {self.sent}"

    def _some(self) -> Post | None:
        found = [one for one in self.posts.values() if not (one.fading or one.stale or one.hidden)]
        return self.dice.choice(found) if found else None

    def _publish(self) -> None:
        text = self._text()
        answer, here = self._write("post", self.author, "POST", "/api/v1/posts", {"content": text})
        if answer is None:
            self.perhaps.add(text)
            return
        body = answer.json
        self.posts[body["id"]] = Post(body["id"], {text}, body["version"])
        self._look(here)

    def _edit(self) -> None:
        if post := self._some():
            text = self._text()
            post.texts.add(text)
            self._change(post, "edit", {"content": text})

    def _hide(self) -> None:
        """Narrow a post to its author."""
        if post := self._some():
            self._change(post, "hide", {"visibility": "self"})

    def _change(self, post: Post, name: str, values: dict[str, object]) -> None:
        body = {**values, "version": post.version}
        path = f"/api/v1/posts/{post.ident}"
        answer, here = self._write(name, self.author, "PATCH", path, body)
        if answer is None:
            post.stale = True
            post.fading = post.fading or name == "hide"
            return
        post.version = answer.json["version"]
        post.hidden = post.hidden or name == "hide"
        if "content" in values:
            post.texts = {str(values["content"])}
        self._look(here, post)

    def _delete(self) -> None:
        if not self.posts:
            return
        post = self.dice.choice([*self.posts.values()])
        path = f"/api/v1/posts/{post.ident}"
        right = (204, ABSENT) if post.fading else (204,)
        answer, here = self._write("delete", self.author, "DELETE", path, right=right)
        if answer is None:
            post.fading = True
            return
        del self.posts[post.ident]
        self._look(here, post)

    def _like(self) -> None:
        post = self._some()
        if post is None or not self.follows or self.blocked:
            return
        wanted, path = not post.liked, f"/api/v1/posts/{post.ident}"
        method = "PUT" if wanted else "DELETE"
        answer, here = self._write("like", self.reader, method, f"{path}/like")
        post.liked = wanted if answer else None
        if answer:
            self._ask(here, "mark of a like", self.reader, path, lambda got: self._post(got, post))

    def _unfollow(self) -> None:
        path = f"/api/v1/users/{self.author_id}/follow"
        for wanted in (False, True):
            here = self._insist("follow" if wanted else "unfollow", path, wanted=wanted)
            self.follows = wanted
            self._look(here)

    def _block(self) -> None:
        path = f"/api/v1/users/{self.reader_id}/block"
        here = self._insist("block", path, wanted=True, person=self.author)
        self.blocked, self.follows = True, False
        for post in self.posts.values():
            post.liked = None
        self._look(here, self._some())
        here = self._insist("unblock", path, wanted=False, person=self.author)
        self.blocked = False
        self._look(here, self._some())
        path = f"/api/v1/users/{self.author_id}/follow"
        here = self._insist("follow", path, wanted=True)
        self.follows = True
        self._look(here)

    def _sign_in(self) -> None:
        """Sign in, which ends the sign-in before, and out."""
        old = self.drifter.token
        self.drifter.token = ""
        wanted = {"username": f"{self.name}c", "password": PASSWORD, "client": "other"}
        answer, here = self._write("sign in", self.drifter, "POST", "/api/v1/auth/login", wanted)
        if answer is None:
            return
        token = answer.json["access"]
        self._token(here, token, right=200)
        if old:
            self._token(here, old, right=401)
        self.drifter.token = token
        if self.dice.random() < 0.5:
            answer, here = self._write(
                "sign out", self.drifter, "POST", "/api/v1/auth/logout", right=(204,)
            )
            self.drifter.token = ""
            if answer:
                self._token(here, token, right=401)

    def _token(self, here: Process, token: str, *, right: int) -> None:
        self.drifter.token = token
        name = "token" if right == 200 else "revoked token"
        self._ask(here, name, self.drifter, "/api/v1/users/me", lambda got: _status(got, right))
        self.drifter.token = ""

    # --- what is shown --------------------------------------------------------------------------
    def _look(self, here: Process | None, post: Post | None = None) -> None:
        """Compare the reader's home feed and one more page on other processes."""
        feed = f"/api/v1/feed?size={SIZE}"
        self._ask(here, "feed", self.reader, feed, lambda got: self._feed(got, self.reader))
        if post is not None:
            path = f"/api/v1/posts/{post.ident}"
            self._ask(here, "post", self.reader, path, lambda got: self._post(got, post))
        else:
            path = f"/api/v1/users/{self.author_id}/posts?size={SIZE}"
            self._ask(here, "profile", self.reader, path, self._profile)

    def look_everywhere(self) -> None:
        """Compare all pages on all processes."""
        for process in self.processes:
            for name, person, path, judge in (
                ("feed", self.reader, "/api/v1/feed", lambda got: self._feed(got, self.reader)),
                ("profile", self.reader, f"/api/v1/users/{self.author_id}/posts", self._profile),
            ):
                at_rest, page = f"{name} at rest", f"{path}?size={SIZE}"
                deadline = time.monotonic() + RIGHT_SECONDS
                while not self._ask_at(process, at_rest, person, page, judge):
                    if time.monotonic() > deadline:
                        text = f"{at_rest} of {self.name}: no answer of {process.name}"
                        self.journal.wrong.append(Wrong(time.time(), self.journal.fault, text))
                        break
                    time.sleep(RETRY_SECONDS)

    def _feed(self, got: Answer, person: Person) -> str:
        if got.status != 200:
            return f"status {got.status}"
        items = [one for one in got.json["items"] if one["author"]["id"] == self.author_id]
        return self._items(items, visible=self.follows and not self.blocked)

    def _profile(self, got: Answer) -> str:
        if self.blocked:
            return _status(got, ABSENT, "leak")
        return _status(got, 200) or self._items(got.json["items"], visible=True)

    def _items(self, items: list[Any], *, visible: bool) -> str:
        """Return how the author's posts differ from those that the reader must see.

        A post whose publishing got no answer must be seen from the first time on.
        """
        for one in items if visible else ():
            if (text := one["content"]) in self.perhaps:
                self.perhaps.remove(text)
                self.posts[one["id"]] = Post(one["id"], {text}, one["version"])
        shown = {one["id"]: one["content"] for one in items}
        must = [one for one in self.posts.values() if visible and not one.hidden]
        missing = [one.ident for one in must if one.ident not in shown and not one.fading]
        known = {one.ident: one.texts for one in must}
        extra = [(ident, text) for ident, text in shown.items() if ident not in known]
        secret = [one for one in extra if one[0] in self.posts]
        ghosts = [one for one in extra if one[0] not in self.posts]
        old = [(i, text) for i, text in shown.items() if i in known and text not in known[i]]
        order = [int(ident) for ident in shown]
        parts = {"lost": missing, "ghost": ghosts, "leak": secret, "other words": old}
        if order != sorted(order, reverse=True):
            parts["order"] = [*shown]
        return ", ".join(f"{name} {found}" for name, found in parts.items() if found)

    def _post(self, got: Answer, post: Post) -> str:
        """Return how the page of a post differs."""
        known = self.posts.get(post.ident)
        if known is None or known.hidden or self.blocked:
            return _status(got, ABSENT, "leak" if known else "ghost")
        if known.fading and got.status == ABSENT:
            return ""
        if wrong := _status(got, 200, "lost"):
            return wrong
        body = got.json
        if body["content"] not in known.texts:
            return f"words {body['content']} instead of {known.texts}"
        if known.liked is not None and body["liked"] != known.liked:
            return f"liked is {body['liked']}"
        return ""

    # --- requests -------------------------------------------------------------------------------
    def _write(
        self,
        name: str,
        person: Person,
        method: str,
        path: str,
        body: object = None,
        right: Sequence[int] = (200, 201, 204),
    ) -> tuple[Answer | None, Process]:
        """Write on a random process; return the answer, None without one, and the process."""
        process = self.dice.choice(self.processes)
        answer = self.send(process, person, method, path, body)
        if answer is not None and answer.status not in right:
            kind = "lost " if answer.status == ABSENT else ""
            text = f"{kind}{name} on {process.name}: {answer.status} {answer.body[:200]!r}"
            self.journal.wrong.append(Wrong(time.time(), self.journal.fault, text))
            return None, process
        if answer is not None:
            self.acknowledged_at = time.monotonic()
            self.journal.writes[name] += 1
        return answer, process

    def _insist(
        self, name: str, path: str, *, wanted: bool, person: Person | None = None
    ) -> Process:
        """Repeat a change of a relation until it is acknowledged; return the process."""
        deadline = time.monotonic() + INSIST_SECONDS
        while time.monotonic() < deadline:
            method = "POST" if wanted else "DELETE"
            answer, process = self._write(name, person or self.reader, method, path)
            if answer is not None:
                return process
            time.sleep(RETRY_SECONDS)
        raise SystemExit(f"{name} of {self.name} was not acknowledged")

    def _ask(
        self, here: Process | None, name: str, person: Person, path: str, judge: Judge
    ) -> None:
        """Compare a page on some processes other than that of the write."""
        others = [one for one in self.processes if one is not here]
        for process in self.dice.sample(others, CHECKERS):
            self._ask_at(process, name, person, path, judge)

    def _ask_at(self, process: Process, name: str, person: Person, path: str, judge: Judge) -> bool:
        """Compare a page on a process; return whether it answered."""
        fault, began = self.journal.fault, time.time()
        answer = self.send(process, person, "GET", path)
        if answer is None:
            return False
        self.journal.checks[name] += 1
        if not (found := judge(answer)):
            return True
        age = time.monotonic() - self.acknowledged_at
        text = f"{name} of {self.name} on {process.name}, {age:.2f} s after the write: {found}"
        wrong = Wrong(began, fault, text)
        self.journal.wrong.append(wrong)
        print(f"WRONG {began:.2f} {fault}: {text}", flush=True)
        deadline = time.monotonic() + RIGHT_SECONDS
        while time.monotonic() < deadline:
            time.sleep(RETRY_SECONDS)
            answer = self.send(process, person, "GET", path)
            if answer is not None and not judge(answer):
                wrong.seconds = time.monotonic() - self.acknowledged_at
                print(f"right after {wrong.seconds:.2f} s", flush=True)
                break
        return True

    def send(
        self, process: Process, person: Person, method: str, path: str, body: object = None
    ) -> Answer | None:
        """Send a request; None if it failed, which is noted."""
        fault, began, failure = self.journal.fault, time.monotonic(), ""
        answer: Answer | None = None
        try:
            answer = person.at(process).send(method, path, body)
            if answer.status >= 500 or answer.status == 429:
                failure, answer = f"{answer.status} {answer.body[:100]!r}", None
        except OSError as error:
            failure = repr(error)
        self.journal.note(
            fault, began, f"{process.name} {method} {path.partition('?')[0]}", failure
        )
        return answer


def _status(got: Answer, right: int, kind: str = "") -> str:
    return "" if got.status == right else f"{kind} status {got.status} instead of {right}".lstrip()
