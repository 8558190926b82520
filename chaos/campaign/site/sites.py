"""Sites to attack: their configurations, processes, logs and memory. All on loopback."""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis import Redis

from accounts.tests.tokens import forgery
from deploy.services import databases, site_processes
from deploy.services.service import Service, free_port
from deploy.stack import Stack
from socialsite.core.rate_limits.budget import Guesses
from socialsite.core.rate_limits.budgets import TABLE
from socialsite.tests.stacks import answers

HOST = "127.0.0.1"
TRACEBACK = re.compile(rb"^\s*(?:.*\| )?Traceback \(most recent call last\)", re.MULTILINE)
ROLES = {"member": 1, "moderator": 3, "admin": 5}
ANSWERING = ("embedded", *site_processes.HTTP, "sockets")
OWN = (*ANSWERING, "worker")  # processes that run the site's code


def lifted_budgets() -> dict[str, str]:
    """Return the environment that lifts rate budgets, so that the fuzz reaches the code behind.

    It lifts budgets of failed attempts too, as all wrong passwords come from one address here.
    """
    guesses = [row for row in TABLE.values() if isinstance(row, Guesses)]
    return {"BUDGETS": "0", **{row.variable: "0" for row in guesses}}


@dataclass(frozen=True)
class Configuration:
    """How a site runs; `redis_dies` says what happens to Redis in the middle of the campaign."""

    name: str
    mode: str
    env: dict[str, str] = field(default_factory=dict)
    https: bool = False
    own_keys: bool = False
    redis_dies: bool = False

    @property
    def title(self) -> str:
        """The name in findings and figures."""
        return f"{self.mode} {self.name}"

    @property
    def needs_two_factor(self) -> bool:
        """True if staff need two-factor authentication."""
        return self.env.get("STAFF_TOTP") == "1"

    @property
    def headers(self) -> dict[str, str]:
        """Headers that a proxy in front would add: without nginx the campaign acts as the proxy."""
        if self.mode != "embedded" or "TRUSTED_PROXIES" not in self.env:
            return {}
        scheme = "https" if self.https else "http"
        return {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": scheme}


MODES = ("embedded", "full")
_PROXY = {"TRUSTED_PROXIES": "1"}
_TWO_FACTOR = {"STAFF_TOTP": "1"}
_DEVICE = {"CLIENT_POLICY": "device", "ACCESS_MINUTES": "1"}


def _of(mode: str) -> tuple[Configuration, ...]:
    """Return the configurations of a mode: each setting alone, then all of them together."""
    whole = {**_PROXY, **_TWO_FACTOR, **_DEVICE}
    return (
        Configuration("plain", mode),
        Configuration("proxy", mode, _PROXY),
        Configuration("totp", mode, _TWO_FACTOR),
        Configuration("device", mode, _DEVICE),
        Configuration("keys", mode, own_keys=True),
        Configuration("https", mode, _PROXY, https=True),
        Configuration("all", mode, whole, https=True, own_keys=True),
    )


_DEAD = Configuration("redis-dead", "full", redis_dies=True)
CONFIGURATIONS = (*_of("embedded"), *_of("full"), _DEAD)


@dataclass(frozen=True)
class Staff:
    """A person with a role before the site starts; HTTP alone grants no roles."""

    username: str
    password: str
    role: str


_MAKE_STAFF = """
from django.core.management import call_command
call_command("migrate", interactive=False, verbosity=0)
from accounts import actions
for name, password, roles in {people!r}:
    user = actions.register(username=name, nickname="N" + name, password=password)
    actions.promote(user, roles)
"""


@dataclass
class Site:
    """One running site."""

    configuration: Configuration
    port: int
    env: dict[str, str]
    folder: Path
    services: dict[str, Service]
    staff: tuple[Staff, ...] = ()
    stack: Stack | None = None
    redis_is_dead: bool = False
    # All people signed up here, by name: several parts use the staff.
    people: dict[str, Any] = field(default_factory=dict)
    _leaders: tuple[int, ...] = ()
    _pids: list[int] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """The site's origin for browsers."""
        return f"{'https' if self.configuration.https else 'http'}://{HOST}:{self.port}"

    @property
    def url(self) -> str:
        """The address of the site on this machine."""
        return f"http://{HOST}:{self.port}"

    def cookie(self, name: str) -> str:
        """Return the full name of a cookie, which has a prefix under https."""
        return f"__Host-{name}" if self.configuration.https else name

    # --- actions on the site
    # ------------------------------------------------------------------------
    def empty_caches(self) -> None:
        """Empty Redis; if it lives in the site's process, restart the process."""
        if self.stack is None:
            self.services["embedded"].stop()
            self.services["embedded"].start()
        elif not self.redis_is_dead:
            with contextlib.closing(Redis.from_url(self.stack.env["REDIS_URL"])) as connection:
                connection.flushall()

    def kill_redis(self) -> None:
        """Kill Redis, and do not restart it."""
        if self.stack is not None:
            self.stack.processes["cache"].kill()
            self.redis_is_dead = True

    # --- state of the site
    # --------------------------------------------------------------------------
    @property
    def own(self) -> list[Service]:
        """The processes that run the site's own code."""
        return [service for name, service in self.services.items() if name in OWN]

    def logs(self) -> dict[str, bytes]:
        """Return the output of all processes, by name."""
        return {
            path.stem: path.read_bytes()
            for path in sorted((self.folder / "stack").glob("*.log"))
            if path.stat().st_size
        }

    def tracebacks(self) -> dict[str, int]:
        """Return the number of tracebacks in the log of each process."""
        found = {name: len(TRACEBACK.findall(text)) for name, text in self.logs().items()}
        return {name: count for name, count in found.items() if count}

    def mails(self) -> list[str]:
        """Return all e-mails of the site, which are files here; the oldest first."""
        files = sorted((self.folder / "mail").glob("*"), key=lambda path: path.stat().st_mtime)
        return [path.read_text(errors="replace") for path in files]

    def memory(self) -> dict[str, tuple[float, float]]:
        """Return current and peak memory in MB by kind of process, summed over its processes."""
        found = {}
        for service in self.own:
            if service.running:
                parts = [_memory(pid) for pid in group(service.pid)]
                found[service.name] = (sum(p[0] for p in parts), max(p[1] for p in parts))
        return found

    def cpu_seconds(self) -> dict[int, float]:
        """Return the CPU seconds of each process that answers; called at each request."""
        leaders = tuple(
            service.pid
            for name, service in self.services.items()
            if name in ANSWERING and service.running
        )
        if leaders != self._leaders:
            self._leaders = leaders
            self._pids = [pid for leader in leaders for pid in group(leader)]
        return {pid: _cpu(pid) for pid in self._pids}

    def wait_until_calm(self, seconds: float = 120) -> bool:
        """Wait until the site answers at once again."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            began = time.monotonic()
            if answers(self.url + "/healthz") and time.monotonic() - began < 0.5:
                return True
            time.sleep(0.2)
        return False


def group(leader: int) -> list[int]:
    """Return the ids of the processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if int(stat.read_text().rpartition(")")[2].split()[2]) == leader:
                found.append(int(stat.parent.name))
    return found


def _memory(pid: int) -> tuple[float, float]:
    used = most = 0.0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                used = int(line.split()[1]) / 1024
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                most = int(line.split()[1]) / 1024
    return used, most


def _cpu(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


# --- starting -----------------------------------------------------------------------------------
@contextlib.contextmanager
def running(
    configuration: Configuration,
    folder: Path,
    staff: Sequence[Staff] = (),
    database_url: str = "",
) -> Iterator[Site]:
    """Run a site in a separate folder; a stack uses the database server of `database_url`."""
    port = free_port()
    env = {"DEMO": "0", **configuration.env, **lifted_budgets()}
    scheme = "https" if configuration.https else "http"
    env["SITE_URL"] = f"{scheme}://{HOST}:{port}"
    env["SERVICE_KEYS"] = secrets.token_hex(20)
    if configuration.own_keys:
        env["JWT_KEYS"] = ",".join(one.replace("\n", "\\n") for one in forgery.ring())
    if configuration.https:
        env["SECRET_KEY"] = secrets.token_hex(32)
        env.setdefault("JWT_KEYS", secrets.token_hex(32))
    if configuration.mode == "embedded":
        with _embedded(configuration, folder, port, env, staff) as site:
            yield site
    else:
        if database_url:
            name = f"attack_{configuration.name.replace('-', '_')}"
            env["DATABASE_URL"] = databases.create_database(database_url, name)
        with Stack(folder, port, env, durable=False) as stack:
            site = Site(configuration, port, stack.env, folder, stack.processes, (*staff,), stack)
            _make_staff(stack.env, staff)
            yield site


@contextlib.contextmanager
def _embedded(
    configuration: Configuration,
    folder: Path,
    port: int,
    env: dict[str, str],
    staff: Sequence[Staff],
) -> Iterator[Site]:
    whole = {
        **site_processes.environment(),
        "DATA_DIR": str(folder),
        "PORT": str(port),
        "PYTHONUNBUFFERED": "1",
    }
    whole |= env
    (folder / "stack").mkdir(parents=True, exist_ok=True)
    _make_staff(whole, staff)  # before it serves, so that no other process has the data
    service = Service(
        name="embedded",
        argv=site_processes.python("manage.py", "serve"),
        env=whole,
        cwd=site_processes.PROJECT_DIR,
        ready=lambda: answers(f"http://{HOST}:{port}/healthz"),
        log=folder / "stack" / "embedded.log",
        ready_seconds=120,
    )
    service.start()
    try:
        yield Site(configuration, port, whole, folder, {"embedded": service}, (*staff,))
    finally:
        service.stop()


def _make_staff(env: Mapping[str, str], staff: Sequence[Staff]) -> None:
    if not staff:
        return
    people = [(one.username, one.password, ROLES[one.role]) for one in staff]
    code = _MAKE_STAFF.format(people=people)
    command = site_processes.manage("staff", env, "shell", "--verbosity", "0", "-c", code)
    command.start()
    if command.wait(120):
        raise RuntimeError("\n".join(command.tail))
