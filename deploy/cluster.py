"""Several machines of one site on this one, with HAProxy in front.

Each machine is a `Stack` with a data directory of its own. The first one also runs the database,
the cache and the broker; uploads are in a bucket of a server of their own. So nothing but these
services connects the processes of two machines.
"""

import contextlib
import secrets
import signal
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.services import site_processes
from deploy.services.bucket import bucket_server
from deploy.services.haproxy import haproxy
from deploy.services.service import free_port
from deploy.stack import Stack

BUCKET = "uploads"
# nginx first: a machine that dies answers nothing any more.
SITE = ("nginx", *site_processes.HTTP, "sockets", "worker", "video")


@dataclass(frozen=True)
class Cluster:
    """A site that runs: the port of HAProxy, and the machines behind it."""

    port: int
    machines: list[Stack]

    def signal(self, number: int, sig: signal.Signals) -> None:
        """Send a signal to all processes of the site on a machine."""
        for name in SITE:
            self.machines[number].processes[name].kill(sig)

    def start(self, number: int) -> None:
        """Start the processes of a machine again."""
        for name in reversed(SITE):
            self.machines[number].start(name)


@contextlib.contextmanager
def cluster(folder: Path, number: int, env: Mapping[str, str]) -> Iterator[Cluster]:
    """Run a site on so many machines for a block; `env` configures all of them."""
    with contextlib.ExitStack() as stack:
        runtime = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bucket, port = bucket_server(), free_port()
        stack.callback(bucket.service.stop)
        bucket.service.start()
        bucket.client().create_bucket(Bucket=BUCKET)
        shared = {
            "SECRET_KEY": secrets.token_urlsafe(48),
            "JWT_KEYS": secrets.token_urlsafe(48),
            "METRICS_TOKEN": secrets.token_urlsafe(16),
            "SITE_URL": f"http://127.0.0.1:{port}",
            "ALLOWED_HOSTS": "127.0.0.1",
            "MEDIA_URL": bucket.url(BUCKET),
            **env,
        }
        machines: list[Stack] = []
        for index in range(number):
            own = folder / f"machine{index}"
            own.mkdir()
            machine = stack.enter_context(Stack(own, env=shared, behind_proxy=True))
            machines.append(machine)
            known = machine.env.keys() & site_processes.SERVICE_URLS
            shared |= {name: machine.env[name] for name in known}
        addresses = {
            f"machine{index}": f"{machine.host}:{machine.port}"
            for index, machine in enumerate(machines)
        }
        proxy = haproxy(runtime, port, addresses)
        stack.callback(proxy.stop)
        proxy.start()
        yield Cluster(port, machines)
