"""Somebody who uses an installed site from inside the network namespace of its machine."""

import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from chaos.machines.namespaces import inside

PASSWORD = "correct-horse-7"  # noqa: S105  (of a trial)
SECONDS = 30


@dataclass
class Answer:
    """What the site answered."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)


class Visitor:
    """A client by http and https of the site `domain`, which trusts `certificate`.

    `BehindProxy` is one whose requests a reverse proxy passes on.
    """

    def __init__(self, namespace: Path, domain: str, certificate: Path | None = None) -> None:
        self.namespace, self.domain = namespace, domain
        self.context = ssl.create_default_context(cafile=certificate)
        self.headers: dict[str, str] = {}
        self.token = ""

    def get(self, path: str, *, secure: bool = True) -> Answer:
        """GET a path."""
        return self.send("GET", path, secure=secure)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        secure: bool = True,
        kind: str = "application/json",
    ) -> Answer:
        """Send a request; a body that is not bytes as JSON. Raises OSError if nothing answers."""
        connection = http.client.HTTPConnection(self.domain, timeout=SECONDS)
        connection.sock = self._connect(secure=secure)
        headers = {"Content-Type": kind, **self.headers}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            data = json.dumps(body) if not isinstance(body, bytes | None) else body
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    def _connect(self, *, secure: bool) -> socket.socket:
        plain = self.dial(443 if secure else 80)
        return self.context.wrap_socket(plain, server_hostname=self.domain) if secure else plain

    def dial(self, port: int) -> socket.socket:
        """Connect to a port of the machine."""
        return inside(
            self.namespace, lambda: socket.create_connection(("127.0.0.1", port), SECONDS)
        )

    def websocket(self, path: str) -> connect:
        """Return the opening of a WebSocket, under the access token."""
        return connect(
            f"wss://{self.domain}{path}",
            sock=self.dial(443),
            ssl=self.context,
            server_hostname=self.domain,
            additional_headers={"Authorization": f"Bearer {self.token}"},
        )

    def sign_up(self, username: str) -> bool:
        """Create an account and stay signed in; return whether the site did it."""
        wanted = {
            "username": username,
            "nickname": username,
            "password": PASSWORD,
            "client": "other",
        }
        answer = self.send("POST", "/api/v1/auth/register", wanted)
        if answer.status == 201:
            self.log_in(username)
        return answer.status == 201

    def log_in(self, username: str, client: str = "other") -> None:
        """Sign in on a type of device. Raises ConnectionRefusedError if the site refuses it."""
        wanted = {"username": username, "password": PASSWORD, "client": client}
        answer = self.send("POST", "/api/v1/auth/login", wanted)
        if answer.status != 200:
            raise ConnectionRefusedError(f"{answer.status} {answer.body.decode()}")
        self.token = answer.json["access"]

    def post(self, content: str) -> bool:
        """Publish a post; return whether the site did it."""
        return self.send("POST", "/api/v1/posts", {"content": content}).status == 201

    def feed(self) -> list[str]:
        """Return the texts of the first page of the home feed."""
        return [item["content"] for item in self.get("/api/v1/feed").json["items"]]

    def all_posts(self) -> list[str]:
        """Return the texts of the home feed down to its end, the newest first."""
        texts, cursor = list[str](), ""
        while True:
            page = self.get(f"/api/v1/feed?size=20{cursor}").json
            texts += [item["content"] for item in page["items"]]
            if not page["next"]:
                return texts
            cursor = f"&cursor={page['next']}"


class BehindProxy(Visitor):
    """A client of a site whose nginx a reverse proxy reaches at `address` by http."""

    def __init__(self, namespace: Path, domain: str, address: tuple[str, int], client: str) -> None:
        super().__init__(namespace, domain)
        self.address = address
        # A proxy appends the address that it sees to what the client claims.
        self.headers = {"X-Forwarded-For": f"192.0.2.66, {client}", "X-Forwarded-Proto": "http"}

    def _connect(self, *, secure: bool) -> socket.socket:
        return inside(self.namespace, lambda: socket.create_connection(self.address, SECONDS))


class Neighbour(Visitor):
    """A client by plain http of a site on a port of this machine."""

    def __init__(self, port: int) -> None:
        super().__init__(Path("/proc/self/ns/net"), f"127.0.0.1:{port}")
        self.port = port

    def _connect(self, *, secure: bool) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)

    def websocket(self, path: str) -> connect:
        """Return the opening of a WebSocket, under the access token."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return connect(f"ws://{self.domain}{path}", additional_headers=headers)
