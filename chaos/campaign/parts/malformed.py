"""Requests that no client sends: raw bytes, huge and nested bodies, odd parameters of the admin."""

import re

from chaos.campaign.client import Client
from chaos.campaign.fuzz.forms import PARAMETERS
from chaos.campaign.fuzz.hostile_values import Dice
from chaos.campaign.journal import Journal
from chaos.campaign.site.people import V1, make_people
from chaos.campaign.site.requests import Raw, Request, raw_exchange
from chaos.campaign.site.sites import HOST, Site
from socialsite.tests.blocks.block_matrix import ADMIN

PART = "malformed"
MB = 1024 * 1024
STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3})")
HOSTS = ("evil.example", "a b", "[::1", "", "x" * 300, "a:b:c", "é", "127.0.0.1:0", "%00", "a..b")
PATHS = ("/", "/api/v1/feed", "/admin/", "/media/x", "/static/x", "/login", "/healthz", "/nothing")
ODD_VALUES = (
    "",
    "1",
    "x",
    "-1",
    "id",
    "password",
    "a" * 500,
    "\x00",
    "é",
    "1,2",
    "__",
    "../",
    "9" * 19,
    "9" * 25,
)


def bodies() -> dict[str, bytes]:
    """Return large bodies that cost more to parse than their size suggests."""
    return {
        "lists in a list": b'{"a":[' + b"[]," * (11 * MB // 3) + b"[]]}",
        "objects in a list": b'{"a":[' + b'{"b":{}},' * (11 * MB // 9) + b"{}]}",
        "names": b"{" + b",".join(b'"%d":1' % number for number in range(900_000)) + b"}",
        "depth": b'{"a":' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}",
        "depth of objects": b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000,
        "a number": b'{"a":' + b"9" * (5 * MB) + b"}",
        "escapes": b'{"content":"' + b"\\u0041" * (11 * MB // 6) + b'"}',
        "300 kB": b'{"content":"' + b"a" * 300_000 + b'"}',
        "33 deep": b'{"content":' + b"[" * 33 + b"]" * 33 + b"}",
        "too large": b'{"content":"' + b"a" * (13 * MB) + b'"}',
    }


class Malformed:
    """Sends these requests, some as a signed-in person."""

    def __init__(self, site: Site, journal: Journal, seed: int, share: float) -> None:
        self.site, self.journal, self.share = site, journal, share
        self.dice = Dice(f"{seed} {PART}")
        self.client = Client(site, journal, PART)
        names = [one.username for one in site.staff if one.role == "admin"][:1]
        made = make_people(site, self.client.wire, "oddmember", *names)
        self.member = made["oddmember"]
        self.admin = made[names[0]] if names else None

    def run(self) -> None:
        """Send everything."""
        self._raw()
        self._bodies()
        self._admin()
        self._metrics()

    def _chosen(self) -> bool:
        return self.dice.random() < self.share

    def _raw(self) -> None:
        good = f"Host: {HOST}:{self.site.port}\r\n".encode()
        requests = [
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
            for path in PATHS
            for host in HOSTS
        ]
        lines = [f"X-{number}: 1\r\n".encode() for number in range(5000)]
        requests += [
            b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
            b"GET / HTTP/1.0\r\n\r\n",
            b"GET http://evil.example/ HTTP/1.1\r\n" + good + b"Connection: close\r\n\r\n",
            b"GET /%ff%fe/\xff HTTP/1.1\r\n" + good + b"Connection: close\r\n\r\n",
            b"get / HTTP/1.1\r\n" + good + b"Connection: close\r\n\r\n",
            b"POST /posts HTTP/1.1\r\n" + good + b"Content-Length: -1\r\n\r\n",
            b"POST /posts HTTP/1.1\r\n"
            + good
            + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            b"POST /login HTTP/1.1\r\n" + good + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"POST /login HTTP/1.1\r\n"
            + good
            + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + good + b"Cookie: a=\x00\x01\xff\r\nConnection: close\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + good + b"X-A: " + b"a" * 100_000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + good + b"".join(lines) + b"\r\n",
            b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + good + b"\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 80,
            b"\r\n\r\n\r\n",
        ]
        for data in requests:
            if self._chosen():
                self._send_raw(data)

    def _send_raw(self, data: bytes) -> None:
        self.journal.counts["tried"] += 1
        answer = raw_exchange(HOST, self.site.port, data, 1.5)
        status = STATUS.match(answer)
        if status and status[1] >= b"500" and self.journal.first("5xx", f"raw {data[:60]!r}"):
            self.journal.find("5xx", PART, f"{status[1].decode()}: {data[:300]!r}")

    def _bodies(self) -> None:
        for name, data in bodies().items():
            for path in ("auth/login", "posts", "media", "users/me"):
                if self._chosen():
                    method = "PATCH" if path == "users/me" else "POST"
                    request = Request(method, V1 + path, body=Raw(data))
                    self.client.send(request, self.member)
            if self._chosen():
                form = Raw(b"content=" + data[: 2 * MB], "application/x-www-form-urlencoded")
                self.client.send(Request("POST", "/posts", body=form), self.member)
            self.journal.say(f"  body {name}: {self._memory():.0f} MB")

    def _memory(self) -> float:
        return sum(used for used, _ in self.site.memory().values())

    def _admin(self) -> None:
        """Request lists and rows of the admin with every parameter that Django knows."""
        if self.admin is None:
            return
        for model in ADMIN:
            base = f"/admin/{model}/"
            paths = [base, f"{base}{self.admin.id}/change/", f"{base}add/"]
            paths += [f"{base}{self.dice.bad_id().replace('/', '_2F')}/change/"]
            for path in paths:
                for name in PARAMETERS:
                    if self._chosen():
                        value = self.dice.choice(ODD_VALUES)
                        self.client.send(Request("GET", path, ((name, value),)), self.admin)

    def _metrics(self) -> None:
        """Request the metrics without the token, like any client behind a proxy on this machine."""
        for headers in (
            {},
            {"X-Forwarded-For": "203.0.113.9"},
            {"X-Forwarded-For": "127.0.0.1"},
            {"Authorization": "Bearer "},
            {"Authorization": "Bearer no.such.token"},
        ):
            request = Request("GET", "/metrics", headers=headers)
            if self.client.send(request).status == 200:
                self.journal.find("leak", PART, "the figures are for who has no token", request)
