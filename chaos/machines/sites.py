"""Processes of a site on machines of their own (`links`), each reached by its own socket.

MariaDB and the broker run on this machine. HAProxy brings their ports into the namespaces of the
site's machines, under the same address as here.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from deploy.services import site_processes
from deploy.services.host import Host
from deploy.services.service import Service
from deploy.services.site_processes import LOOPBACK, program

HTTP_EACH = 2
DEFAULTS = """defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
"""


@dataclass(frozen=True)
class Process:
    """An HTTP process: its machine, counted from 0, its name and its socket."""

    machine: int
    name: str
    uds: Path


@dataclass
class Sites:
    """The processes of a site that run."""

    env: Mapping[str, str]
    http: list[Process]
    services: list[Service]

    def manage(self, *words: str) -> tuple[int, str]:
        """Run a management command on this machine; return its exit code and its last lines."""
        command = site_processes.manage(f"manage.py {words[0]}", self.env, *words)
        command.start()
        try:
            return command.wait(), "\n".join(command.tail)
        finally:
            command.stop()


@contextlib.contextmanager
def sites(folder: Path, hosts: Sequence[Host], env: Mapping[str, str]) -> Iterator[Sites]:
    """Run two HTTP processes and a worker on each of these machines for a block.

    `env` has DATABASE_URL and BROKER_URL with ports of loopback.
    """
    http = list[Process]()
    with contextlib.ExitStack() as stack:
        doors = _doors(folder, hosts, [_port(env["DATABASE_URL"]), _port(env["BROKER_URL"])])
        services = [doors]
        stack.callback(doors.kill)
        doors.start()
        for number, host in enumerate(hosts):
            for turn in range(HTTP_EACH):
                uds = folder / f"http{number + 1}-{turn + 1}.sock"
                http.append(Process(number, uds.stem, uds))
                services.append(site_processes.wsgi(env, uds))
            name = f"worker{number + 1}"
            one = ("--concurrency", "1")
            services.append(site_processes.celery_worker(env, name=name, options=one))
            for service in services[-1 - HTTP_EACH :]:
                service.enter(host.namespace)
        for service in services[1:]:
            service.log = folder / f"{service.name}.log"
            stack.callback(service.kill)
            service.start(wait=False)
        for service in services[1:]:
            service.wait_ready()
        yield Sites(env, http, services)
        for service in services[1:]:
            service.stop()


def _doors(folder: Path, hosts: Sequence[Host], ports: Sequence[int]) -> Service:
    config = folder / "doors.cfg"
    parts = [DEFAULTS]
    for host in hosts:
        for port in ports:
            address = f"{LOOPBACK}:{port}"
            parts.append(
                f"listen {host.namespace}-{port}\n"
                f"    bind {address} namespace {host.namespace}\n"
                f"    server here {address}\n"
            )
    config.write_text("".join(parts))
    return Service("doors", [program("haproxy"), "-W", "-db", "-f", str(config)], stop_seconds=2)


def _port(url: str) -> int:
    return urlsplit(url).port or 0
