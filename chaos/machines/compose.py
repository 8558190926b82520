"""Runs the services of compose.yaml on a machine where no container engine works.

Each service is a `systemd-nspawn` of the files of its image, with its user, command, environment,
read-only root, volumes, temporary file systems and networks as the file says. Health checks, the
order of starts and restarts are done here. Options that this program does not know are an error.
Resource limits, logging and the engine's own filter of system calls are not imitated.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml

from chaos.machines.images import FOLDER, Image, checked, mounted, unmounted
from chaos.machines.nspawn import LANDLOCK, NAMESPACES, MachineError
from deploy.services.service import tied
from deploy.site import settings

HONOURED = {
    *("image", "command", "user", "env_file", "environment", "networks", "tmpfs", "volumes"),
    *("healthcheck", "depends_on", "restart", "stop_signal", "stop_grace_period", "read_only"),
    *("cap_drop", "security_opt", "init", "group_add", "ports"),
    "ulimits",
}
WITHOUT_EFFECT = {"pull_policy", "logging"}
VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?::([-?])([^}]*))?\})")
READY_SECONDS = 180
PROBE_SECONDS = 0.5


def read(path: Path, values: Mapping[str, str]) -> dict[str, Any]:
    """Return a file of compose with its variables replaced. Raises MachineError for a missing one.

    The anchors of YAML are resolved.
    """

    def one(found: re.Match[str]) -> str:
        dollar, name, sign, text = found.groups()
        if dollar:
            return "$"
        if values.get(name):
            return values[name]
        if sign != "-":
            raise MachineError(f"{name} is not set")
        return text

    def resolved(value: Any) -> Any:
        if isinstance(value, str):
            return VARIABLE.sub(one, value)
        if isinstance(value, list):
            return [resolved(item) for item in value]
        if isinstance(value, dict):
            return {key: resolved(item) for key, item in value.items()}
        return value

    return resolved(yaml.safe_load(path.read_text()))


@dataclass
class Container:
    """One service: its options, its image and its process."""

    name: str
    options: dict[str, Any]
    image: Image
    namespace: Path
    addresses: dict[str, str]
    arguments: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    restarts: int = 0
    ended: int | None = None  # the exit code of one that is not started again
    stopping: bool = False

    @property
    def user(self) -> str:
        """The user of its processes."""
        return str(self.options.get("user") or self.image.config.get("User") or "root")

    @property
    def leader(self) -> str:
        """The process id of its init here; "" if it does not run."""
        if self.process is None or self.process.poll() is not None:
            return ""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with contextlib.suppress(OSError):
            return (path.read_text().split() or [""])[0]
        return ""

    def processes(self) -> list[int]:
        """Return the ids, here, of its processes, without the init that the engine adds."""
        if not (leader := self.leader):
            return []
        namespace = os.readlink(f"/proc/{leader}/ns/pid")
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if path.name != leader and os.readlink(path / "ns" / "pid") == namespace:
                    found.append(int(path.name))
        return sorted(found)

    def commands(self) -> list[str]:
        """Return the command lines of its processes, shortened."""
        found = []
        for number in self.processes():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{number}/cmdline").read_text().split("\0")
                found.append(" ".join(words)[:100])
        return found

    def main(self) -> int:
        """Return the id of its main process, 0 if it does not run: the first child of its init.

        Its id inside is 2, unless a health check entered before it began.
        """
        children = Path(f"/proc/{self.leader or 0}/task/{self.leader}/children")
        with contextlib.suppress(OSError):
            return int((children.read_text().split() or ["0"])[0])
        return 0

    def as_user(self) -> list[str]:
        """Return the command line that gives up root's rights as the options say."""
        within = ("chroot", str(self.image.root))
        name, _, uid, gid, *_ = checked(*within, "getent", "passwd", self.user).split(":")
        groups = checked(*within, "id", "-G", name).split()
        for group in self.options.get("group_add", ()):
            groups.append(checked(*within, "getent", "group", group).split(":")[2])
        words = ["setpriv", f"--reuid={uid}", f"--regid={gid}", f"--groups={','.join(groups)}"]
        if self.options["cap_drop"] == ["ALL"]:
            words += ["--bounding-set=-all", "--inh-caps=-all"]
        if "no-new-privileges:true" in self.options["security_opt"]:
            words.append("--no-new-privs")
        return words

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in it, as its user."""
        leader = self.leader
        return subprocess.run(
            [
                *("nsenter", f"--target={leader or 0}", "--mount", "--uts", "--ipc", "--net"),
                *("--pid", "--root", f"--wdns={self.image.config.get('WorkingDir') or '/'}"),
                *(*self.as_user(), "env", "-i"),
                *(f"{key}={value}" for key, value in self.env.items()),
                *words,
            ],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )

    def healthy(self) -> bool:
        """Return the result of its health check."""
        if not self.leader:
            return False
        kind, *words = self.options["healthcheck"]["test"]
        if kind == "CMD-SHELL":
            words = ["/bin/sh", "-c", *words]
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.run(*words).returncode == 0
        return False


class Compose:
    """All services of a file of compose: started on entering, ended on leaving."""

    def __init__(self, path: Path, env_file: Path, values: Mapping[str, str]) -> None:
        self.path, self.env_file, self.values = path, env_file, values
        self.name = f"ssc-{secrets.token_hex(2)}"
        self.work = FOLDER / self.name
        self.document = read(path, values)
        self.containers: dict[str, Container] = {}
        self.killed: list[str] = []  # those that did not end in time
        self._cleanup = contextlib.ExitStack()
        self._networks = list(self.document["networks"])

    @property
    def namespace(self) -> Path:
        """The network namespace of the machine that runs the containers."""
        return NAMESPACES / self.name

    def __enter__(self) -> Self:
        try:
            self.work.mkdir(mode=0o700)
            self._cleanup.callback(shutil.rmtree, self.work)
            self._network()
            for name, options in self.document["services"].items():
                self._prepare(name, options)
            for name in self._order():
                self._start_in_turn(name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all containers, in the reverse order."""
        for name in reversed(self._order() if self.containers else []):
            self.stop(self.containers[name])
        self._cleanup.close()

    def log(self, name: str) -> str:
        """Return what a service wrote."""
        path = self.work / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def stop(self, container: Container) -> None:
        """End a container as an engine does: its signal, then SIGKILL after its grace period."""
        container.stopping = True
        process = container.process
        if process is None or process.poll() is not None:
            return
        wanted = container.options.get("stop_signal") or container.image.config.get("StopSignal")
        with contextlib.suppress(ProcessLookupError):
            if main := container.main():
                os.kill(main, signal.Signals[wanted or "SIGTERM"])
        grace = int(container.options.get("stop_grace_period", "10s").removesuffix("s"))
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            self.killed.append(f"{container.name} with {container.commands()} after {grace} s")
            if leader := container.leader:
                os.kill(int(leader), signal.SIGKILL)
            process.wait()

    def _network(self) -> None:
        """Make a namespace with a bridge for each network; it has no way to the outside."""
        checked("ip", "netns", "add", self.name)
        self._cleanup.callback(checked, "ip", "netns", "delete", self.name)
        checked("ip", "-n", self.name, "link", "set", "lo", "up")
        for number, network in enumerate(self._networks):
            checked("ip", "-n", self.name, "link", "add", network, "type", "bridge")
            address = f"10.89.{number}.1/24"
            checked("ip", "-n", self.name, "address", "add", address, "dev", network)
            checked("ip", "-n", self.name, "link", "set", network, "up")

    def _prepare(self, name: str, options: dict[str, Any]) -> None:
        unknown = options.keys() - HONOURED - WITHOUT_EFFECT
        if unknown:
            raise MachineError(f"{name}: this program does not know {', '.join(sorted(unknown))}")
        image = options["image"]
        full = image if "/" in image else f"localhost/{image}:latest"
        holder = f"{self.name}-{name}"
        found = mounted(full, holder)
        self._cleanup.callback(unmounted, holder)
        namespace = f"{self.name}-{len(self.containers)}"
        checked("ip", "netns", "add", namespace)
        self._cleanup.callback(checked, "ip", "netns", "delete", namespace)
        checked("ip", "-n", namespace, "link", "set", "lo", "up")
        addresses = {}
        for number, network in enumerate(self._networks):
            if network in options["networks"]:
                addresses[network] = f"10.89.{number}.{len(self.containers) + 2}"
                self._plug(namespace, network, addresses[network], len(self.containers))
        self.containers[name] = Container(name, options, found, NAMESPACES / namespace, addresses)

    def _plug(self, namespace: str, network: str, address: str, number: int) -> None:
        """Connect a namespace with a bridge."""
        outer = f"{network[:8]}{number}"
        checked(
            *("ip", "-n", self.name, "link", "add", outer, "type", "veth", "peer", "name"),
            *(network, "netns", namespace),
        )
        checked("ip", "-n", self.name, "link", "set", outer, "master", network, "up")
        checked("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", network)
        checked("ip", "-n", namespace, "link", "set", network, "up")

    def _order(self) -> list[str]:
        """Return the services so that each comes after those that it depends on."""
        ordered: list[str] = []

        def visit(name: str) -> None:
            for other in self.document["services"][name].get("depends_on", {}):
                visit(other)
            if name not in ordered and name in self.containers:
                ordered.append(name)

        for name in self.document["services"]:
            visit(name)
        return ordered

    def _start_in_turn(self, name: str) -> None:
        container = self.containers[name]
        for other, wish in container.options.get("depends_on", {}).items():
            self._await(self.containers[other], wish["condition"])
        container.env = self._environment(container)
        container.arguments = self._nspawn(container)
        self._start(container)
        threading.Thread(target=self._supervise, args=(container,), daemon=True).start()

    def _await(self, container: Container, condition: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if condition == "service_healthy" and container.healthy():
                return
            if condition == "service_completed_successfully" and container.ended is not None:
                if container.ended == 0:
                    return
                break
            time.sleep(PROBE_SECONDS)
        raise MachineError(f"{container.name} is not ready:\n{self.log(container.name)[-3000:]}")

    def await_health(self) -> None:
        """Wait until every service that has a health check is healthy."""
        for container in self.containers.values():
            if "test" in container.options["healthcheck"]:
                self._await(container, "service_healthy")

    def _start(self, container: Container) -> None:
        with (self.work / f"{container.name}.log").open("ab") as log:
            container.process = subprocess.Popen(
                [*tied(), *container.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _supervise(self, container: Container) -> None:
        """Start a container again when it ends, as its restart policy says."""
        while container.process is not None:
            code = container.process.wait()
            if container.stopping:
                return
            if container.options["restart"] == "no":
                container.ended = code
                return
            time.sleep(0.1)
            container.restarts += 1
            self._start(container)

    def _environment(self, container: Container) -> dict[str, str]:
        options = container.options
        given = {"PATH": os.defpath} | container.image.env
        for name in options.get("env_file", ()):
            given |= settings.read(self.env_file if name == ".env" else self.path.parent / name)
        return given | {key: str(value) for key, value in options.get("environment", {}).items()}

    def _nspawn(self, container: Container) -> list[str]:
        """Return the command line that runs a service."""
        options, config = container.options, container.image.config
        machine = f"{self.name}-{container.name}"
        hosts = self.work / f"{container.name}.hosts"
        hosts.write_text(self._hosts(container))
        words = [
            *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--as-pid2"),
            *(f"--directory={container.image.root}", f"--machine={machine}", "--console=pipe"),
            f"--network-namespace-path={container.namespace}",
            *("--resolv-conf=off", "--timezone=off", f"--bind-ro={hosts}:/etc/hosts"),
            f"--chdir={config.get('WorkingDir') or '/'}",
            f"--system-call-filter={LANDLOCK}",
            *(f"--setenv={key}={value}" for key, value in container.env.items()),
        ]
        if options["read_only"]:
            words.append("--read-only")
        words += [f"--rlimit=RLIMIT_NOFILE={options['ulimits']['nofile']}"]
        words += [f"--tmpfs={item}" for item in options.get("tmpfs", ())]
        for item in options.get("volumes", ()):
            name, path, *mode = item.split(":")
            kind = "bind-ro" if mode == ["ro"] else "bind"
            words.append(f"--{kind}={self._volume(name, container.image, path)}:{path}")
        command = options.get("command") or config.get("Cmd") or []
        # nspawn's own option for a user wants to create a home.
        return [*words, "--", *container.as_user(), *(config.get("Entrypoint") or []), *command]

    def _hosts(self, container: Container) -> str:
        """Return the names of the services that share a network with this one."""
        lines = [f"127.0.0.1 localhost {self.name}-{container.name}"]
        for other in self.containers.values():
            shared = [name for name in other.addresses if name in container.addresses]
            if shared:
                lines.append(f"{other.addresses[shared[0]]} {other.name}")
        return "".join(f"{line}\n" for line in lines)

    def _volume(self, name: str, image: Image, path: str) -> Path:
        """Return the folder of a volume; a new one is a copy of what the image has there."""
        folder = self.work / "volumes" / name
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            folder.parent.chmod(0o711)
            checked("cp", "-a", f"{image.root}{path}", str(folder))
        return folder
