"""One command at a time changes a site."""

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from deploy.services.site_processes import PROJECT_DIR
from deploy.site import exclusive
from deploy.site.machine import InstallError
from socialsite.core.runtime import embedded

pytestmark = pytest.mark.once

HOLD = """
import sys
from pathlib import Path
from deploy.site import exclusive
with exclusive.ended_by_exception(), exclusive.alone(sys.argv[2], Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def other(path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """Return another process, which has the lock."""
    command = getattr(request, "param", "update")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), command],
        cwd=PROJECT_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def test_a_second_command_is_told_which_one_runs(other: subprocess.Popen[str], path: Path) -> None:
    assert exclusive.running(path) == "update"
    wanted = rf"`site update` runs since .* UTC \(process {other.pid}\): wait"
    with pytest.raises(InstallError, match=wanted), exclusive.alone("reload", path):
        pass
    other.communicate("")
    assert exclusive.running(path) == ""
    with exclusive.alone("reload", path):
        assert exclusive.running(path) == "reload"


def test_a_killed_command_holds_nothing(other: subprocess.Popen[str], path: Path) -> None:
    other.kill()
    other.wait(60)
    with exclusive.alone("reload", path):
        pass


def test_a_command_waits_for_the_end_of_the_other_one(
    other: subprocess.Popen[str], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def end_the_other(seconds: float) -> None:
        waits.append(seconds)
        other.communicate("")

    monkeypatch.setattr("deploy.site.exclusive.time.sleep", end_the_other)
    with exclusive.alone("backup", path, wait=True):
        assert waits == [exclusive.PAUSE_SECONDS]


def test_a_look_at_the_lock_stops_no_command(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`running` has the lock for a moment; a command of before has left no note."""
    with exclusive.alone("update", path):
        pass
    look = path.open()
    fcntl.flock(look, fcntl.LOCK_EX)
    monkeypatch.setattr("deploy.site.exclusive.time.sleep", lambda _seconds: look.close())
    with exclusive.alone("reload", path):
        assert look.closed


@pytest.mark.parametrize("other", ["backup"], indirect=True)
def test_every_command_waits_for_a_back_up(
    other: subprocess.Popen[str],
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("deploy.site.exclusive.time.sleep", lambda _: other.communicate(""))
    with exclusive.alone("reload", path):
        assert exclusive.running(path) == "reload"
    assert capsys.readouterr().err == f"Waits for `site backup` (process {other.pid})\n"


def test_what_a_command_runs_itself_is_let_through(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with exclusive.alone("install", path):
        with exclusive.alone("install", path):
            pass
        assert exclusive.running(path) == "install"
        monkeypatch.setenv(exclusive.HOLDER, "1")
        with pytest.raises(InstallError), exclusive.alone("install", path):
            pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_command_that_is_ended_cleans_up(
    other: subprocess.Popen[str], number: signal.Signals
) -> None:
    other.send_signal(number)
    _, errors = other.communicate()
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_an_embedded_site_that_runs_is_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with exclusive.stopped(folder):
        with pytest.raises(InstallError, match="runs: stop it first"), exclusive.stopped(folder):
            pass
        with (
            override_settings(DATA_DIR=folder),
            pytest.raises(embedded.AlreadyRunning),
            embedded.exclusive(),
        ):
            pass
    with exclusive.stopped(folder):
        pass


PIPE = """
import sys
from deploy.site import exclusive
from deploy.site.backups.sealing import flow
with exclusive.ended_by_exception():
    flow([["sh", "-c", 'exec 3>"$0"; echo begun >&3; exec sleep 1000', sys.argv[1]], ["cat"]])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_the_programs_of_a_command_end_with_it(number: signal.Signals, tmp_path: Path) -> None:
    """Else they would write into the database that the next command restores."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with (
        subprocess.Popen(
            [sys.executable, "-c", PIPE, str(path)], cwd=PROJECT_DIR, stderr=subprocess.DEVNULL
        ) as command,
        path.open() as pipe,
    ):
        assert pipe.readline() == "begun\n"
        command.send_signal(number)
        command.wait()
        # The program has the other end until it ends.
        assert select.select([pipe], [], [], 60)[0]
        assert pipe.read() == ""
