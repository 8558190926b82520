"""A process that stops answering is killed; one that starts slowly is not."""

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.services import liveness
from deploy.services.service import Service
from deploy.tests.test_service import comes_true

pytestmark = pytest.mark.once

Watched = tuple[Service, list[bool], list[str]]  # with the answers to its probes, and its log
# Answers each connection with a byte, as long as it runs.
SERVER = """
import socket, sys, time
time.sleep(float(sys.argv[2]))
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
while True:
    client, _ = server.accept()
    client.sendall(b"x")
    client.close()
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], Watched]]:
    """Return a function that starts a server which is watched, and stops it at the end."""
    monkeypatch.setattr(liveness, "PROBE_SECONDS", 0.05)
    path, started = tmp_path / "s", []
    asked: list[bool] = []

    def answers() -> bool:
        asked.append(answer())
        return asked[-1]

    def answer() -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(0.2)
            try:
                client.connect(str(path))
                return client.recv(1) == b"x"
            except OSError:
                return False

    def start(seconds: float) -> Watched:
        said: list[str] = []
        service = Service(
            "server",
            [sys.executable, "-c", SERVER, str(path), str(seconds)],
            ready=answers,
            probed=True,
            stale=[path],
            echo=lambda _, line: said.append(line),
        )
        service.start(wait=False)
        started.append(service)
        liveness.watch([service])
        return service, asked, said

    yield start
    for service in started:
        service.stop()


def test_a_stopped_process_is_killed_and_the_next_one_is_watched_again(server) -> None:
    service, asked, said = server(0)
    for count in (1, 2):
        service.start()
        asked.clear()
        assert comes_true(lambda: sum(asked) >= 2)
        service.kill(signal.SIGSTOP)
        assert comes_true(lambda: not service.running)
        assert said == ["does not answer and is killed"] * count


def test_a_process_that_starts_slowly_is_not_killed(server, monkeypatch) -> None:
    monkeypatch.setattr(liveness, "MISSES", 1)
    service, asked, said = server(1)
    assert comes_true(lambda: any(asked))
    assert asked.count(False) > 1
    assert service.running
    assert said == []
