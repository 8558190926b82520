"""A throw-away S3 server, for tests and trials: moto's, which keeps its files in memory."""

import socket
import sys
from dataclasses import dataclass
from typing import Any

import boto3

from deploy.services.service import Service, free_port
from socialsite.core.media.buckets.address import REGION

KEY, SECRET = "key", "secret"


@dataclass(frozen=True)
class BucketServer:
    """A server on a loopback port; a bucket has to be made before it is used."""

    service: Service
    port: int

    def url(self, bucket: str, prefix: str = "") -> str:
        """Return the value of MEDIA_URL for a bucket."""
        return f"s3://{KEY}:{SECRET}@127.0.0.1:{self.port}/{bucket}/{prefix}?tls=False"

    def client(self) -> Any:
        """Return a client that is not the site's."""
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name=REGION,
        )


def bucket_server() -> BucketServer:
    """Return a server that is not started yet."""
    port = free_port()
    argv = (sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port))
    return BucketServer(Service("s3", argv, ready=lambda: _accepts(port)), port)


def _accepts(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
