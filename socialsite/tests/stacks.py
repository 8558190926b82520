"""Real processes for tests: the full stack with its own services, and the embedded mode."""

import contextlib
import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from deploy.services import migrated
from deploy.services.service import Service, free_port
from deploy.services.site_processes import PROJECT_DIR, environment, python
from deploy.stack import Stack
from socialsite.tests.support.waiting import LIMIT_MS

# Debian's Chromium, and the same without what a headless browser never shows: half the processor
# time for a page.
CHROMIUM, SHELL = "/usr/bin/chromium", "/usr/bin/chromium-headless-shell"
DATABASE = "db.sqlite3"
# All people of these tests sign up from one IP address, and some of them write a lot; other budgets
# have their defaults.
BUDGETS = {"BUDGET_SIGN_UP": "0", "BUDGET_SIGN_UP_NETWORK": "0", "BUDGET_PUBLISH": "0"}
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# Where a test that uses the fixture `site` runs: on both, or, if all of it is in the browser, in
# the embedded mode only.
BOTH_MODES = pytest.mark.parametrize(
    "site", ["stack", "embedded_site"], indirect=True, ids=["full", "embedded"], scope="session"
)
# The shell knows no notifications.
WHOLE_CHROMIUM = pytest.mark.parametrize(
    "browser", [CHROMIUM], indirect=True, ids=["whole"], scope="session"
)
IN_ONE_PROCESS = pytest.mark.parametrize(
    "site", ["embedded_site"], indirect=True, ids=["embedded"], scope="session"
)


@contextlib.contextmanager
def browser(executable: str = SHELL) -> Iterator[Browser]:
    """Debian's Chromium, headless; on a busy machine a page may take long."""
    expect.set_options(timeout=LIMIT_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        try:
            yield found
        finally:
            found.close()


@contextlib.contextmanager
def full_stack(directory: Path, **env: str) -> Iterator[Stack]:
    """The full stack with its own MariaDB, Redis, worker, beat and nginx."""
    with Stack(directory, env={"DEMO": "0", **BUDGETS, **env}, durable=False) as stack:
        yield stack


@contextlib.contextmanager
def embedded(directory: Path, **env: str) -> Iterator[str]:
    """The site in one process, as `make run` starts it; yields its address."""
    port = free_port()
    put_database(directory)
    service = Service(
        name="embedded",
        argv=python("manage.py", "serve"),
        env={
            **environment(),
            "DATA_DIR": str(directory),
            "PORT": str(port),
            "DEMO": "0",
            "PYTHONUNBUFFERED": "1",
            **BUDGETS,
            **env,
        },
        cwd=PROJECT_DIR,
        ready=lambda: answers(f"http://127.0.0.1:{port}/healthz"),
    )
    service.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        service.stop()


def put_database(directory: Path) -> None:
    """Create a data directory with a migrated database, unless it has one."""
    directory.mkdir(exist_ok=True)
    if not (directory / DATABASE).exists():
        shutil.copyfile(migrated.ensure()[migrated.SQLITE], directory / DATABASE)


def answers(url: str) -> bool:
    """Return True if a GET is answered with 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310  (our own address)
            return bool(response.status == 200)
    except OSError:
        return False


class Client:
    """A small API client of one person."""

    def __init__(self, base: str) -> None:
        self.base = base + "/api/v1/"
        self.token = ""
        self.id = ""

    def __call__(self, method: str, path: str, **body: Any) -> Any:
        """Send JSON and return the response's; raises AssertionError unless it is a success."""
        request = urllib.request.Request(  # noqa: S310  (our own address)
            self.base + path,
            method=method,
            data=json.dumps(body).encode() if body else None,
            headers={"Content-Type": "application/json"}
            | ({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                text = response.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()!r}") from None
        return json.loads(text) if text else None

    def posts(self) -> list[Any]:
        """Return all posts of the person, the newest first."""
        found: list[Any] = []
        path: str | None = f"users/{self.id}/posts?size=5"
        while path is not None:
            page = self("GET", path)
            found += page["items"]
            following = page["next"]
            path = following and f"users/{self.id}/posts?size=5&cursor={following}"
        return found

    @classmethod
    def new(cls, base: str, username: str) -> "Client":
        """Register a person and sign in."""
        client = cls(base)
        answer = client(
            "POST",
            "auth/register",
            username=username,
            nickname=f"{username}Nick"[:16],
            password="right.pass1",
            client="other",
        )
        client.token, client.id = answer["access"], answer["user"]["id"]
        return client

    @classmethod
    def known(cls, base: str, username: str) -> "Client":
        """Sign in as a person with the password of tests."""
        client = cls(base)
        who = {"username": username, "password": "right.pass1", "client": "other"}
        answer = client("POST", "auth/login", **who)
        client.token, client.id = answer["access"], answer["user"]["id"]
        return client
