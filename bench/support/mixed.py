"""A crowd of members and guests that reads and writes over HTTP: requests of all kinds, counted.

`Crowd` signs people up on a site with demo data; `send` lets them make requests over kept
connections. The mix has nine pages, API reads, searches, and about one write in eight requests;
now and then somebody logs in, which hashes a password.
"""

import contextlib
import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

MEMBERS, FOLLOWS = 24, 12
PASSWORD = "right.pass1"  # noqa: S105  (of accounts on a throw-away site)
LOG_IN_EVERY = 400
WORDS = ("tea", "rain", "photo", "春天", "music", "zzz")
TIMEOUT_SECONDS = 60
# Two people write at once to one pair or post; the site may refuse one of them.
ANSWERS = (200, 201, 204, 302, 303, 404, 409, 422)


@dataclass
class Member:
    """A person with an account of this run."""

    name: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        """Headers of an API request."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    @property
    def cookies(self) -> dict[str, str]:
        """Headers of a page."""
        return {"Cookie": f"access={self.token}; csrf={'x' * 32}", "Accept-Language": "en"}


class Crowd:
    """Members of a site at `host:port`, and what they found there."""

    def __init__(self, host: str, port: int, seed: int = 1) -> None:
        self._address = (host, port)
        self._seed = seed
        self.statuses: Counter[int] = Counter()
        self._lock = threading.Lock()
        with contextlib.closing(self._connect()) as connection:
            guest = self._json(connection, "GET", "/api/v1/feed/recommended?size=20", None)
            self.posts = [post["id"] for post in guest["items"]]
            authors = {post["author"]["id"]: post["author"] for post in guest["items"]}
            self.authors = [(ident, one["username"]) for ident, one in authors.items()]
            self.members = [self._sign_up(connection, number) for number in range(MEMBERS)]

    def send(self, requests: int, threads: int) -> None:
        """Make this many requests over `threads` connections; raises RuntimeError for a 5xx."""
        self._seed += 1
        errors: list[BaseException] = []

        def work(number: int) -> None:
            share = requests // threads + (number < requests % threads)
            try:
                self._work(share, random.Random(self._seed * 1000 + number))
            except BaseException as error:
                errors.append(error)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if errors:
            raise errors[0]

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self._address, timeout=TIMEOUT_SECONDS)

    def _json(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str] | None = None,
    ) -> Any:
        connection.request(
            method,
            path,
            None if body is None else json.dumps(body),
            headers or {"Content-Type": "application/json"},
        )
        answer = connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text)

    def _sign_up(self, connection: http.client.HTTPConnection, number: int) -> Member:
        dice = random.Random(self._seed * 100 + number)
        name = f"crowd{number:02}x{time.time_ns() // 1000 % 10**8}"  # new in each run
        body = {"username": name, "nickname": f"Crowd{number:03}", "password": PASSWORD}
        answer = self._json(
            connection, "POST", "/api/v1/auth/register", {**body, "client": "other"}
        )
        member = Member(name, answer["access"])
        for ident, _name in dice.sample(self.authors, min(FOLLOWS, len(self.authors))):
            self._json(connection, "POST", f"/api/v1/users/{ident}/follow", {}, member.headers)
        return member

    def _work(self, requests: int, dice: random.Random) -> None:
        connection = self._connect()
        statuses: Counter[int] = Counter()
        try:
            for number in range(requests):
                method, path, body, headers = self._next(number, dice)
                try:
                    connection.request(method, path, body, headers)
                    answer = connection.getresponse()
                except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                    connection.close()  # a kept connection that the server had closed
                    connection.request(method, path, body, headers)
                    answer = connection.getresponse()
                text = answer.read()
                statuses[answer.status] += 1
                if answer.status not in ANSWERS:
                    raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
        finally:
            connection.close()
            with self._lock:
                self.statuses += statuses

    def _next(
        self, number: int, dice: random.Random
    ) -> tuple[str, str, bytes | None, dict[str, str]]:
        """Choose the next request: method, path, body, headers."""
        member = dice.choice(self.members)
        if number % LOG_IN_EVERY == LOG_IN_EVERY - 1:
            # On a device of its own, so that the member's other sign-in goes on.
            wanted = {"username": member.name, "password": PASSWORD, "client": "firefox"}
            headers = {"Content-Type": "application/json"}
            return "POST", "/api/v1/auth/login", json.dumps(wanted).encode(), headers
        if dice.random() < 0.125:
            method, path, body = self._write(dice)
            return method, path, json.dumps(body).encode(), member.headers
        if dice.random() < 0.5:
            return "GET", self._page(dice), None, member.cookies if dice.random() < 0.85 else {}
        return "GET", self._api(dice), None, member.headers

    def _page(self, dice: random.Random) -> str:
        name = dice.choice(self.authors)[1]
        return dice.choice(
            (
                "/",
                "/",
                f"/posts/{dice.choice(self.posts)}",
                f"/@{name}",
                "/recommended",
                f"/search?q={quote(dice.choice(WORDS))}",
                f"/@{name}/followers",
                "/notifications",
                "/bookmarks",
                "/settings/devices",
            )
        )

    def _api(self, dice: random.Random) -> str:
        ident = dice.choice(self.authors)[0]
        return "/api/v1/" + dice.choice(
            (
                "feed",
                "feed/new-count",
                "feed/recommended",
                f"posts/{dice.choice(self.posts)}",
                f"posts/{dice.choice(self.posts)}/comments",
                f"users/{ident}/posts",
                f"users/{ident}/followers",
                "notifications/unread-count",
                "users/me",
            )
        )

    def _write(self, dice: random.Random) -> tuple[str, str, dict[str, str]]:
        post, ident = dice.choice(self.posts), dice.choice(self.authors)[0]
        text = f"A word on {dice.choice(WORDS)} and number {dice.randrange(10**9)}"
        return dice.choice(
            (
                ("POST", "/api/v1/posts", {"kind": "micro", "content": text}),
                ("POST", f"/api/v1/posts/{post}/comments", {"content": text}),
                ("PUT", f"/api/v1/posts/{post}/like", {}),
                ("DELETE", f"/api/v1/posts/{post}/like", {}),
                ("PUT", f"/api/v1/posts/{post}/bookmark", {}),
                ("DELETE", f"/api/v1/posts/{post}/bookmark", {}),
                ("POST", f"/api/v1/users/{ident}/follow", {}),
            )
        )
