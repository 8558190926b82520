"""HAProxy in front of machines that are away, or say that they are not ready."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deploy.services.haproxy import haproxy
from deploy.services.service import Service, free_port
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.once


class Machine(ThreadingHTTPServer):
    """A machine that answers with its name and the address of the client, until it dies.

    Then it takes requests, and answers none. `taken` has their methods.
    """

    daemon_threads = True

    def __init__(self, name: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.is_ready, self.is_dying = name, True, False
        self.taken = list[str]()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Answers every request of a machine."""

    server: Machine

    def do_GET(self) -> None:
        if self.path != "/readyz":
            self.server.taken.append(self.command)
            if self.server.is_dying:
                self.close_connection = True
                return
        ready = self.path != "/readyz" or self.server.is_ready
        body = f"{self.server.name} {self.headers.get_all('X-Forwarded-For')}".encode()
        self.send_response(200 if ready else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_args: object) -> None:
        """Log nothing."""


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    found = [Machine("one"), Machine("two")]
    yield found
    for machine in found:
        machine.shutdown()
        machine.server_close()


@pytest.fixture
def proxy(machines: list[Machine], tmp_path: Path) -> Iterator[int]:
    port = free_port()
    addresses = {one.name: f"127.0.0.1:{one.server_address[1]}" for one in machines}
    service: Service = haproxy(tmp_path, port, addresses)
    patient(tmp_path / "haproxy.cfg")
    service.start()
    yield port
    service.stop()


def patient(config: Path) -> None:
    """Let no check of a machine fail because this one is busy."""
    text = config.read_text()
    config.write_text(
        text.replace("timeout connect 2s", "timeout connect 2s\n    timeout check 60s")
    )


def ask(port: int, method: str = "GET", **headers: str) -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, "/", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


ONE, TWO, CUT_SHORT = (200, "one"), (200, "two"), (200, "")


def answer_of(port: int) -> tuple[int, str]:
    """Return the status and the first word of an answer."""
    try:
        status, text = ask(port)
    except http.client.IncompleteRead:
        return CUT_SHORT
    return status, text.split()[0]


def answers(port: int) -> set[tuple[int, str]]:
    """Return what is found in twenty answers."""
    return {answer_of(port) for _ in range(20)}


def test_a_machine_that_is_gone_costs_no_request(proxy: int, machines: list[Machine]) -> None:
    assert answers(proxy) == {ONE, TWO}
    machines[0].shutdown()
    machines[0].server_close()
    assert answers(proxy) == {TWO}


def test_a_machine_that_is_not_ready_gets_no_requests(proxy: int, machines: list[Machine]) -> None:
    """A request that it holds when it is found to be away may end early, a later one not.

    It ends with 502, or within the answer.
    """
    machines[1].is_ready = False
    eventually(lambda: answers(proxy), lambda found: found == {ONE})
    assert answers(proxy) == {ONE}
    machines[1].is_ready = True
    eventually(lambda: answers(proxy), lambda found: found == {ONE, TWO})


def test_a_read_that_a_machine_takes_along_is_asked_again_and_a_write_never(
    proxy: int, machines: list[Machine]
) -> None:
    one, two = machines
    one.is_dying = True
    assert answers(proxy) == {TWO}
    assert "GET" in one.taken
    found = [ask(proxy, "POST")[0] for _ in range(20)]
    posts = one.taken.count("POST"), two.taken.count("POST")
    assert posts == (found.count(502), found.count(200))
    assert min(posts) > 0
    assert sum(posts) == 20


def test_clients_cannot_claim_an_address(proxy: int) -> None:
    claim = {"X-Forwarded-For": "192.0.2.1"}
    status, text = ask(proxy, **claim)
    assert status == 200
    assert text.endswith("['127.0.0.1']")
