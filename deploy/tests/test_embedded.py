"""The embedded mode runs in one process only: its lock, its refusals, its end."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from celery import current_app
from celery.worker import state as worker_state
from django.conf import settings
from kombu.transport.virtual import base as virtual

from deploy.services.service import Service, free_port
from deploy.services.site_processes import PROJECT_DIR, environment, python
from socialsite.core.runtime import embedded
from socialsite.core.runtime.control import client
from socialsite.tests.stacks import put_database
from socialsite.tests.support.waiting import LIMIT, eventually

pytestmark = pytest.mark.embedded


def site_environment(data_dir: Path, **extra: str) -> dict[str, str]:
    """Return the environment of an embedded site with its own data directory."""
    return {**environment(), "DATA_DIR": str(data_dir), "DEMO": "0", **extra}


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Return a function that starts `manage.py serve` and waits until it serves."""
    running: list[Service] = []

    def start(**extra: str) -> Service:
        put_database(tmp_path)
        env = site_environment(tmp_path, **{"PORT": str(free_port()), **extra})
        service = Service(
            "serve",
            python("manage.py", "serve"),
            ready_line="The site is at",
            env=env,
            cwd=PROJECT_DIR,
        )
        running.append(service)
        service.start()
        return service

    yield start
    for service in running:
        service.stop()


def page(service: Service, path: str) -> int:
    """Return the status of a GET request."""
    assert service.env is not None
    address = f"http://127.0.0.1:{service.env['PORT']}{path}"
    with urllib.request.urlopen(address, timeout=LIMIT) as answer:
        status: int = answer.status
        return status


def test_the_lock_refuses_a_second_process_and_names_the_first(
    tmp_path: Path, settings: Any
) -> None:
    settings.EMBEDDED = True
    settings.DATA_DIR = tmp_path
    with (tmp_path / "lock").open("w+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write("4711\n")
        other.flush()
        with pytest.raises(embedded.AlreadyRunning, match="pid 4711"), embedded.exclusive():
            pass
    with embedded.exclusive(), embedded.exclusive():
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    with embedded.exclusive():
        pass


def test_the_full_stack_needs_no_lock(tmp_path: Path, settings: Any) -> None:
    settings.EMBEDDED = False
    settings.DATA_DIR = tmp_path
    with embedded.exclusive():
        assert not (tmp_path / "lock").exists()


def test_commands_that_only_read_need_no_lock(tmp_path: Path, settings: Any) -> None:
    settings.EMBEDDED = True
    settings.DATA_DIR = tmp_path
    locked: list[bool] = []
    for name in ("check", "fanout", "migrate"):
        client.run(["manage.py", name], lambda argv: locked.append((tmp_path / "lock").exists()))
    assert locked == [False, False, True]


@pytest.mark.e2e
def test_serve_answers_refuses_a_second_process_and_ends_when_asked(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    site = serve()
    assert page(site, "/healthz") == 200
    assert page(site, "/readyz") == 200

    second = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        env=site_environment(tmp_path, PORT=str(free_port())),
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert second.returncode == 1
    assert f"(pid {site.pid})" in second.stderr
    assert "Traceback" not in second.stderr

    os.kill(site.pid, signal.SIGTERM)
    assert site.wait(LIMIT) == 0


@pytest.mark.e2e
def test_nobody_else_on_this_machine_can_read_the_site_s_files(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    for directory in (tmp_path, tmp_path / "media" / "ab", tmp_path / "mail"):
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o755)
    for old in ("db.sqlite3", "media/ab/old.jpg", "mail/old.log"):
        (tmp_path / old).touch()
        (tmp_path / old).chmod(0o644)
    foreign = tmp_path / "foreign.txt"
    foreign.touch()
    foreign.chmod(0o644)
    site = serve()
    assert page(site, "/readyz") == 200
    found = [tmp_path, *tmp_path.rglob("*")]
    assert {"db.sqlite3-wal", "db.sqlite3-shm", "keys.json", "lock"} <= {p.name for p in found}
    others = [path for path in found if path.stat().st_mode & 0o077]
    assert others == [foreign]  # a foreign file stays


@pytest.mark.e2e
def test_the_process_writes_down_nothing_that_opens_an_account(tmp_path: Path) -> None:
    secret, port = "c4n4ry-" + "x" * 40, free_port()
    put_database(tmp_path / "data")
    log = tmp_path / "log"
    with log.open("wb") as out:
        # Not a `Service`, which redacts the output of others.
        site = subprocess.Popen(
            python("manage.py", "serve"),
            env=site_environment(tmp_path / "data", PORT=str(port), PYTHONUNBUFFERED="1"),
            cwd=PROJECT_DIR,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            eventually(log.read_bytes, lambda text: b"The site is at" in text)
            for path in ("recover/", "email/", "login?next=/recover/", "x?ticket=", "x?token="):
                address = f"http://127.0.0.1:{port}/{path}{secret}"
                with pytest.raises(urllib.error.HTTPError):
                    urllib.request.urlopen(address, data=b"a=b", timeout=LIMIT)
        finally:
            site.terminate()
            site.wait(LIMIT)
    text = log.read_text()
    assert "(CSRF cookie not set.): /recover/[redacted]" in text
    assert "(CSRF cookie not set.): /email/[redacted]" in text
    assert secret not in text


@pytest.mark.e2e
def test_serve_starts_again_after_it_was_killed(serve: Callable[..., Service]) -> None:
    first = serve()
    first.kill()
    again = serve()
    assert page(again, "/readyz") == 200


@pytest.mark.e2e
def test_a_port_in_use_is_reported_in_one_line(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    site = serve()
    assert site.env is not None
    other = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        env=site_environment(tmp_path / "other", PORT=site.env["PORT"]),
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert other.returncode == 1
    assert "is in use" in other.stderr
    assert "Traceback" not in other.stderr


@pytest.mark.skipif(not settings.EMBEDDED, reason="the full stack has workers of its own")
def test_tasks_and_the_schedule_run_in_threads_and_end_quickly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedded, "STOP_SECONDS", LIMIT)
    # The worker looks for a task so often, and its end does not wait until it looks at the flag,
    # which it does every two seconds: it is woken.
    pauses: list[float] = []
    monkeypatch.setattr(virtual, "sleep", lambda seconds: pauses.append(seconds) or sleep(seconds))
    monkeypatch.setattr(worker_state, "maybe_shutdown", lambda: None)
    done = threading.Event()
    ticked = threading.Event()
    proxy: Any = current_app
    app = proxy._get_current_object()

    @app.task(name="test.announced")
    def check() -> None:
        done.set()

    @app.task(name="test.scheduled")
    def scheduled() -> None:
        ticked.set()

    before = app.conf.beat_schedule
    app.conf.beat_schedule = {"test": {"task": "test.scheduled", "schedule": timedelta(seconds=1)}}
    background = embedded.Background()
    try:
        background.start()
        assert background.ready.wait(LIMIT)
        check.delay()
        assert done.wait(LIMIT)
        assert ticked.wait(LIMIT)
        assert 0 < max(eventually(lambda: pauses)) <= 0.1
    finally:
        ended = background.stop()  # its threads would disturb other tests
        app.conf.beat_schedule = before
        app.tasks.pop("test.announced", None)
        app.tasks.pop("test.scheduled", None)
    assert ended
