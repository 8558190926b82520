"""A process that stops answering is killed; one that starts slowly is not."""

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.services import liveness
from deploy.services.service import Service
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.once

Watched = tuple[Service, list[bool], list[str]]  # with the answers to its probes, and its log
# Starts when a file is there, and answers each connection with a byte, as long as it runs.
SERVER = """
import os, socket, sys, time
while not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
while True:
    client, _ = server.accept()
    client.sendall(b"x")
    client.close()
"""


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def answer(path: Path, service: Service) -> bool:
    """Return whether the server answers; one that runs has as much time as it needs."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(0.2)
        try:
            client.connect(str(path))
            while True:
                try:
                    return client.recv(1) == b"x"
                except TimeoutError:
                    if is_stopped(service.pid):
                        return False
        except OSError:
            return False


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], Watched]]:
    """Return a function that starts a server which is watched, and stops it at the end."""
    monkeypatch.setattr(liveness, "PROBE_SECONDS", 0.05)
    path, started = tmp_path / "s", []
    asked: list[bool] = []

    def start(may_start: Path) -> Watched:
        said: list[str] = []

        def answers() -> bool:
            asked.append(answer(path, service))
            return asked[-1]

        service = Service(
            "server",
            [sys.executable, "-c", SERVER, str(path), str(may_start)],
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


def test_a_stopped_process_is_killed_and_the_next_one_is_watched_again(server, tmp_path) -> None:
    service, asked, said = server(tmp_path)
    for count in (1, 2):
        service.start()
        asked.clear()
        eventually(lambda: sum(asked) >= 2)
        service.kill(signal.SIGSTOP)
        eventually(lambda: not service.running)
        assert said == ["does not answer and is killed"] * count


def test_a_process_that_starts_slowly_is_not_killed(server, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(liveness, "MISSES", 1)
    service, asked, said = server(tmp_path / "now")
    eventually(lambda: asked.count(False), lambda count: count > 3)
    (tmp_path / "now").touch()
    eventually(lambda: any(asked))
    assert service.running
    assert said == []
