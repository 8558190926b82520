"""Debian 12 machines with systemd, booted by `systemd-nspawn`.

    with Machine("site") as machine:
        machine.output("apt-get", "update")
        machine.reboot()

A machine has a network namespace with loopback only, and reaches package registries by a proxy in
it (`chaos.machines.registries`). Nothing outside is changed, and nothing is left. `missing` says
why this machine cannot do that: then a trial says so and ends.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from chaos.machines.registries import proxy
from deploy.services.service import tied
from deploy.services.site_processes import PROJECT_DIR

SUITE = "bookworm"
# What Debian's installer puts on every machine, as far as a container can have it.
INCLUDED = "systemd,systemd-sysv,dbus,ca-certificates,iproute2,python3,make,git,cron,logrotate"
FOLDER = Path("/var/tmp/socialsite-machines")  # noqa: S108  (only root can write its own folder)
NAMESPACES = Path("/run/netns")
BOOT_SECONDS = 60
BOOTED = ("running", "degraded")
TOOLS = ("systemd-nspawn", "mmdebstrap", "nsenter", "ip")
LANDLOCK = "landlock_create_ruleset landlock_add_rule landlock_restrict_self"
CA_FILE = "/etc/ssl/certs/ca-certificates.crt"


class MachineError(Exception):
    """A machine did not boot, or a command in it failed; the text has its output."""


def missing() -> str:
    """Return why no machine can be booted here; "" if it can."""
    if os.geteuid() != 0:
        return "only root can boot machines"
    lacking = [name for name in TOOLS if shutil.which(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)} (apt-get install systemd-container mmdebstrap)"
    name = f"sst-{secrets.token_hex(3)}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "this machine allows no network namespaces"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return ""


def base() -> Path:
    """Return the root of a bare Debian 12, made on first use and kept."""
    root = FOLDER / SUITE
    if not (root / "etc").exists():
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        work = FOLDER / f"{SUITE}.new"
        shutil.rmtree(work, ignore_errors=True)
        _checked(
            ["mmdebstrap", "--variant=minbase", f"--include={INCLUDED}", SUITE, str(work)], "base"
        )
        work.rename(root)
    return root


class Machine:
    """One machine: booted on entering, destroyed on leaving."""

    def __init__(self, name: str, shared: Path | None = None, *options: str) -> None:
        self.name = f"sst-{name}-{secrets.token_hex(2)}"
        self.root = FOLDER / self.name
        self.namespace = NAMESPACES / self.name
        # A folder of this machine that is /shared there, as a disk of another machine is.
        self.shared = shared
        self.options = options  # more of them for systemd-nspawn
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            _checked(["cp", "-a", "--reflink=auto", str(base()), str(self.root)], self.name)
            self._cleanup.callback(shutil.rmtree, self.root)
            self._cleanup.callback((FOLDER / f".#{self.name}.lck").unlink, missing_ok=True)
            _checked(["ip", "netns", "add", self.name], self.name)
            self._cleanup.callback(_checked, ["ip", "netns", "delete", self.name], self.name)
            _checked(["ip", "-n", self.name, "link", "set", "lo", "up"], self.name)
            self._reach_registries(self._cleanup.enter_context(proxy(self.namespace)))
            self.boot()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def boot(self) -> None:
        """Boot the machine and wait until systemd has started everything."""
        console = (FOLDER / f"{self.name}.console").open("wb")
        self._cleanup.callback(Path(console.name).unlink, missing_ok=True)
        with console:
            self._nspawn = subprocess.Popen(
                [
                    *tied(),
                    *("systemd-nspawn", "--quiet", f"--directory={self.root}", "--boot"),
                    *("--register=no", "--keep-unit", f"--machine={self.name}"),
                    f"--network-namespace-path={self.namespace}",
                    "--resolv-conf=off",
                    *([f"--bind={self.shared}:/shared"] if self.shared else []),
                    *self.options,
                    # Refused by default in this version, and part of every Debian kernel.
                    f"--system-call-filter={LANDLOCK}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline:
            if self._leader():
                state = self.output("systemctl", "is-system-running", check=False).strip()
                if state in BOOTED:
                    return
            time.sleep(0.2)
        raise MachineError(f"{self.name} did not boot:\n{Path(console.name).read_text()[-3000:]}")

    def power_off(self) -> None:
        """End the machine at once, as a power cut does."""
        if self._nspawn is not None:
            # The end of its init ends all processes of a machine; the end of nspawn would not.
            if leader := self._leader():
                os.kill(int(leader), signal.SIGKILL)
            self._nspawn.wait()
            self._nspawn = None

    def reboot(self) -> None:
        """Shut the machine down in order and boot it again."""
        self.output("systemctl", "--no-block", "poweroff", check=False)
        if self._nspawn is not None:
            self._nspawn.wait(BOOT_SECONDS)
        self.boot()

    def output(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        cwd: str = "/root",
        stdin: str | None = None,
        check: bool = True,
    ) -> str:
        """Run a command as root in the machine and return its output. Raises MachineError."""
        words = [
            *("nsenter", f"--target={self._leader()}", "--mount", "--uts", "--ipc", "--net"),
            *("--pid", "--root", f"--wdns={cwd}", "--", "env", "-i", "HOME=/root"),
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            *(f"{key}={value}" for key, value in {"LANG": "C.UTF-8", **(env or {})}.items()),
            *command,
        ]
        return _checked(words, f"{self.name}: {' '.join(command)}", stdin=stdin, check=check)

    def check_out(self, target: str, version: str = "") -> None:
        """Put a checkout into a new folder, without what a newcomer lacks.

        It is this working tree, or the commit or tag `version`.
        """
        folder = self.root / target.lstrip("/")
        if version:
            folder.mkdir(parents=True)
            archive = ["git", "-C", str(PROJECT_DIR), "archive", "--format=tar", version]
            with subprocess.Popen(archive, stdout=subprocess.PIPE) as made:
                subprocess.run(["tar", "-x", "-C", str(folder)], stdin=made.stdout, check=True)
            if made.returncode:
                raise MachineError(f"{version} is no version in this repository")
            return
        listed = _checked(["git", "-C", str(PROJECT_DIR), "ls-files", "-z"], "git")
        for name in filter(None, listed.split("\0")):
            if (PROJECT_DIR / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT_DIR / name, folder / name)

    def _leader(self) -> str:
        """Return the process id of the machine's init here; "" before it runs."""
        if self._nspawn is None or self._nspawn.poll() is not None:
            return ""
        path = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children")
        with contextlib.suppress(OSError):
            return (path.read_text().split() or [""])[0]
        return ""

    def _reach_registries(self, url: str) -> None:
        """Make apt and pip use the proxy, with the certificates that this machine trusts."""
        files = {
            "etc/apt/apt.conf.d/90proxy": f'Acquire::http::Proxy "{url}";\n',
            "etc/pip.conf": f"[global]\nproxy = {url}\ncert = {CA_FILE}\ntimeout = 120\n",
            "etc/hostname": f"{self.name}\n",
            "etc/hosts": f"127.0.0.1 localhost {self.name}\n",
        }
        for name, text in files.items():
            (self.root / name).write_text(text)
        shutil.copy(CA_FILE, self.root / CA_FILE.lstrip("/"))

    def _end(self) -> None:
        self.power_off()
        self._cleanup.close()


def _checked(command: list[str], name: str, *, stdin: str | None = None, check: bool = True) -> str:
    done = subprocess.run(
        command,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if check and done.returncode:
        raise MachineError(f"{name} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout
