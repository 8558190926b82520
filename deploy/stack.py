"""The full stack on this machine: MariaDB, two Redis, Celery, HTTP, WebSockets, nginx in front.

`python -m deploy.stack` runs it in the foreground (`make stack`); tests use the class:

    with Stack(data_dir, env={"DATABASE_URL": url}) as stack:
        stack.processes["worker"].kill()
        stack.stop("broker")
        stack.start("broker")

- A service whose URL is in `env` (DATABASE_URL, REDIS_URL, BROKER_URL) is used, not started.
- Services start in the order of `processes` and stop in reverse. No process survives `stop`.
- Only the foreground run restarts services that died: a test that killed one needs it dead.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from deploy.services import databases, liveness, nginx, site_processes
from deploy.services.service import (
    Echo,
    Service,
    ServiceError,
    free_port,
    group_of,
    unprivileged_account,
)
from socialsite.core.runtime import data_dir

BACKOFF_SECONDS = (0.5, 1, 2, 5, 10, 30)
HEALTHY_SECONDS = 60  # a service that ran this long is restarted without delay
CHECK_SECONDS = 0.2


class Stack:
    """Services of one site, with its data in `data_dir`; port 0 selects a free one.

    `env` configures the site. The calling process's environment is passed on, except the URLs of
    services, so that a test run's own database is never used by accident.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int = 0,
        env: Mapping[str, str] | None = None,
        *,
        host: str = "127.0.0.1",
        durable: bool = True,
        behind_proxy: bool = False,
        namespace: str = "",
        echo: Echo | None = None,
    ) -> None:
        self.data_dir = data_dir.resolve()
        self.host = host
        self.port = port or free_port()
        self.processes: dict[str, Service] = {}
        self._given = dict(env or {})
        self._durable = durable
        self._behind_proxy, self._namespace = behind_proxy, namespace
        self._echo = echo
        self._cleanup = contextlib.ExitStack()
        self.env: dict[str, str] = {}

    @property
    def url(self) -> str:
        """URL of the site on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104
        return f"http://{host}:{self.port}"

    def socket(self, name: str) -> Path:
        """Return the path of the socket of a process of the site."""
        return self._runtime / f"{name}.sock"

    def start(self, name: str | None = None) -> None:
        """Start one stopped or killed service, or all, and wait until they are ready."""
        if name is not None:
            self.processes[name].start()
            return
        try:
            self._start_all()
        except BaseException:
            self.stop()
            raise

    def stop(self, name: str | None = None) -> None:
        """Stop one service, or all in reverse order."""
        if name is not None:
            self.processes[name].stop()
            return
        for service in reversed(self.processes.values()):
            service.stop()
        self.processes.clear()
        self._cleanup.close()

    def manage(self, *words: str) -> str:
        """Run a management command and return its last lines. Raises ServiceError if it fails."""
        command = site_processes.manage(f"manage.py {words[0]}", self.env, *words)
        command.start()
        try:
            code = command.wait()
        finally:
            command.stop()
        output = "\n".join(command.tail)
        if code:
            raise ServiceError(f"{command.name} failed:\n{output}")
        return output

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _start_all(self) -> None:
        own = self.data_dir / "stack"
        group = _secure(self.data_dir, own)
        self._cleanup.enter_context(_only_one(own / "lock"))
        self._runtime = runtime = Path(self._cleanup.enter_context(_runtime_directory()))
        password = _password(own / "password")

        urls = self._start_databases(own, runtime, password)
        self.env = {
            **site_processes.environment(),
            "TRUSTED_PROXIES": "1",
            **self._given,
            **urls,
            "HOST": self.host,
            "PORT": str(self.port),
            "DATA_DIR": str(self.data_dir),
            "FILES_GROUP": group,
            "METRICS_DIR": str(runtime / site_processes.METRICS),
            "PYTHONUNBUFFERED": "1",
        }
        self.manage("migrate", "--noinput", "--verbosity", "0")
        self.manage("collectstatic", "--noinput", "--verbosity", "0")
        self._start_site(runtime)

    def _start_databases(self, own: Path, runtime: Path, password: str) -> dict[str, str]:
        """Start MariaDB and Redis unless the environment names others; return the URLs of all."""
        known = site_processes.SERVICE_URLS
        urls = {name: self._given[name] for name in known if self._given.get(name)}
        if "DATABASE_URL" not in urls:
            port = free_port()
            urls["DATABASE_URL"] = databases.mysql_url(port, password)
            self._add(
                databases.mariadb(own / "mariadb", runtime, port, password, durable=self._durable)
            )
        if "REDIS_URL" not in urls:
            urls["REDIS_URL"] = databases.cache_url(runtime, password)
            self._add(databases.redis_cache(runtime, free_port(), password))
        if "BROKER_URL" not in urls:
            port = free_port()
            urls["BROKER_URL"] = databases.redis_url(port, password)
            self._add(databases.redis_broker(runtime, port, password))
        self._wait_ready()
        return urls

    def _start_site(self, runtime: Path) -> None:
        """Start the processes of the site, then nginx in front of them."""
        http_uds = [self.socket(name) for name in site_processes.HTTP]
        sockets_uds = self.socket("sockets")
        for uds in http_uds:
            self._add(site_processes.wsgi(self.env, uds))
        self._add(site_processes.asgi(self.env, sockets_uds))
        self._add(site_processes.celery_worker(self.env))
        self._add(site_processes.video_worker(self.env))
        self._wait_ready()
        self._add(
            nginx.nginx(
                runtime,
                self.host,
                self.port,
                http_uds=http_uds,
                sockets_uds=sockets_uds,
                files=self.data_dir,
                scheme="https" if self.env.get("SITE_URL", "").startswith("https") else "http",
                behind_proxy=self._behind_proxy,
            )
        )
        self._wait_ready()

    def _add(self, service: Service) -> None:
        """Start a service without waiting, so that independent services start together."""
        service.echo = self._echo
        service.log = self.data_dir / "stack" / f"{service.name}.log" if not self._echo else None
        self.processes[service.name] = service
        if self._namespace:
            service.enter(self._namespace)
        service.start(wait=False)

    def _wait_ready(self) -> None:
        for service in self.processes.values():
            service.wait_ready()


def _secure(directory: Path, own: Path) -> str:
    """Make the stack's directories private; return the FILES_GROUP of the site.

    As root, the database and nginx run under an unprivileged account. Its group may traverse the
    parent directories of their files.
    """
    account = unprivileged_account(directory)
    group = group_of(account) if account else None
    data_dir.secure_all(directory, group.gr_gid if group else None)
    own.mkdir(mode=data_dir.OWN_DIR, exist_ok=True)
    if group is None:
        own.chmod(data_dir.OWN_DIR)
        return ""
    os.chown(own, -1, group.gr_gid)
    own.chmod(data_dir.PASSED_DIR)
    return group.gr_name


@contextlib.contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Lock a stack's directory. Raises ServiceError when another stack has the lock."""
    with open(path, "a+", opener=_own_file) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            pid = lock.read().strip() or "?"
            raise ServiceError(f"a stack already runs with {path.parent} (pid {pid})") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _own_file(path: str, flags: int) -> int:
    return os.open(path, flags, data_dir.OWN_FILE)


@contextlib.contextmanager
def _runtime_directory() -> Iterator[str]:
    """Create a directory with a short path for sockets and generated configuration.

    Other accounts may traverse it, to reach the part of their service, but cannot list it.
    """
    directory = tempfile.mkdtemp(prefix="socialsite-")
    Path(directory).chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _password(path: Path) -> str:
    """Return the password of this stack's services; creates it on first use."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(24))
    return path.read_text()


class StopSignal(Exception):
    """SIGINT, SIGTERM or SIGHUP arrived."""


def stop_on_signals() -> None:
    """Turn the first signal that asks for an end into `StopSignal`; ignore later ones."""

    def handler(number: int, frame: FrameType | None) -> None:
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        raise StopSignal(signal.Signals(number).name)

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, handler)


def supervise(processes: Mapping[str, Service]) -> None:
    """Restart services that end or stop answering, with growing pauses.

    Raises ServiceError for an essential one that ends.
    """
    liveness.watch(processes.values())
    started = dict.fromkeys(processes, time.monotonic())
    failures = dict.fromkeys(processes, 0)
    due: dict[str, float] = {}
    while True:
        time.sleep(CHECK_SECONDS)
        now = time.monotonic()
        for name, service in processes.items():
            if service.running:
                continue
            if name not in due:
                if service.essential:
                    raise ServiceError(f"{name} ended with code {service.exit_code}")
                if now - started[name] > HEALTHY_SECONDS:
                    failures[name] = 0
                pause = BACKOFF_SECONDS[min(failures[name], len(BACKOFF_SECONDS) - 1)]
                failures[name] += 1
                due[name] = now + pause
                print_line(
                    "stack", f"{name} ended with code {service.exit_code}, again in {pause} s"
                )
            elif now >= due[name]:
                del due[name]
                started[name] = now
                service.start(wait=False)


_colours = dict(
    zip(
        (
            *("database", "cache", "broker", *site_processes.HTTP, "sockets", "worker"),
            *("video", "nginx", "demo"),
        ),
        (34, 35, 36, 32, 92, 33, 31, 91, 94, 95),
        strict=True,
    )
)
_output = threading.Lock()


def print_line(name: str, line: str) -> None:
    """Print a line with the name of its service."""
    label = f"{name:>8} |"
    if sys.stdout.isatty():
        label = f"\033[{_colours.get(name, 1)}m{label}\033[0m"
    with _output:
        print(label, line, flush=True)


def main() -> int:
    """Run the stack in the foreground until a signal; environment variables configure it."""
    port, host = os.environ.get("PORT", "8000"), os.environ.get("HOST", "127.0.0.1")
    if not port.isdecimal():
        print(f"PORT must be a number, not {port!r}", file=sys.stderr)
        return 2
    stack = Stack(
        Path(os.environ.get("DATA_DIR") or site_processes.PROJECT_DIR / "data"),
        int(port),
        {name: os.environ[name] for name in site_processes.SERVICE_URLS if os.environ.get(name)},
        host=host,
        echo=print_line,
    )
    stop_on_signals()
    demo = None
    try:
        print_line("stack", "starting ...")
        stack.start()
        print_line("stack", f"serving {stack.url} - Ctrl-C stops everything")
        # As in the site's settings: a site with an https address gets a demo only on request.
        public = os.environ.get("SITE_URL", "").startswith("https://")
        wanted = os.environ.get("DEMO") or ("0" if public else "1")
        if wanted.lower() not in ("0", "false", "no", "off"):
            demo = site_processes.manage("demo", stack.env, "demo")
            demo.echo = print_line
            demo.start(wait=False)
        supervise(stack.processes)
    except StopSignal as signal_name:
        print_line("stack", f"{signal_name}: stopping ...")
    except ServiceError as error:
        print_line("stack", f"stopping, because {error}")
        return 1
    finally:
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        if demo:
            demo.stop()
        stack.stop()
    print_line("stack", "stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
