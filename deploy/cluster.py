"""Several machines of one site on this one, with HAProxy in front.

Each machine is a `Stack` with a data directory of its own. The first one also runs the database,
the cache and the broker; uploads are in a bucket of a server of their own. So nothing but these
services connects the processes of two machines.
"""

import contextlib
import secrets
import signal
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import boto3

from deploy.services import site_processes
from deploy.services.bucket import KEY, SECRET, bucket_server
from deploy.services.haproxy import haproxy
from deploy.services.service import free_port
from deploy.stack import Stack

BUCKET = "uploads"
SHARED = ("DATABASE_URL", "REDIS_URL", "BROKER_URL")
# nginx first: a machine that dies answers nothing any more.
SITE = ("nginx", *site_processes.HTTP, "sockets", "worker", "video")


class Cluster:
    """A site on `number` machines; `env` configures all of them."""

    def __init__(self, folder: Path, number: int, env: dict[str, str]) -> None:
        self.port = free_port()
        self.machines: list[Stack] = []
        self._folder, self._number = folder, number
        self._env = {
            "SECRET_KEY": secrets.token_urlsafe(48),
            "JWT_KEYS": secrets.token_urlsafe(48),
            "METRICS_TOKEN": secrets.token_urlsafe(16),
            "SITE_URL": f"http://127.0.0.1:{self.port}",
            "ALLOWED_HOSTS": "127.0.0.1",
            **env,
        }
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def _start(self) -> None:
        runtime = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory()))
        bucket = bucket_server()
        self._cleanup.callback(bucket.service.stop)
        bucket.service.start()
        boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{bucket.port}",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        ).create_bucket(Bucket=BUCKET)
        env = {**self._env, "MEDIA_URL": bucket.url(BUCKET)}
        for number in range(self._number):
            folder = self._folder / f"machine{number}"
            folder.mkdir()
            machine = Stack(folder, env=env, behind_proxy=True)
            self._cleanup.enter_context(machine)
            self.machines.append(machine)
            env |= {name: machine.env[name] for name in SHARED}
        addresses = {
            f"machine{number}": f"{machine.host}:{machine.port}"
            for number, machine in enumerate(self.machines)
        }
        proxy = haproxy(runtime, self.port, addresses)
        self._cleanup.callback(proxy.stop)
        proxy.start()

    def signal(self, number: int, sig: signal.Signals) -> None:
        """Send a signal to all processes of the site on a machine."""
        for name in SITE:
            self.machines[number].processes[name].kill(sig)

    def start(self, number: int) -> None:
        """Start the processes of a machine again."""
        for name in reversed(SITE):
            self.machines[number].start(name)
