"""A throw-away S3 server, for tests and trials: moto's, which keeps its files in memory."""

import sys
from dataclasses import dataclass
from typing import Any

import boto3

from deploy.services.haproxy import listens
from deploy.services.service import Service, free_port
from deploy.services.site_processes import LOOPBACK
from socialsite.core.media.buckets.address import REGION

KEY, SECRET = "key", "secret"


@dataclass(frozen=True)
class BucketServer:
    """A server that listens at an address; a bucket has to be made before it is used."""

    service: Service
    port: int
    host: str = LOOPBACK

    def url(self, bucket: str, prefix: str = "") -> str:
        """Return the value of MEDIA_URL for a bucket."""
        return f"s3://{KEY}:{SECRET}@{self.host}:{self.port}/{bucket}/{prefix}?tls=False"

    def client(self) -> Any:
        """Return a client that is not the site's."""
        return boto3.client(
            "s3",
            endpoint_url=f"http://{self.host}:{self.port}",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name=REGION,
        )


def bucket_server(host: str = LOOPBACK) -> BucketServer:
    """Return a server that is not started yet."""
    port = free_port()
    argv = (sys.executable, "-m", "moto.server", "-H", host, "-p", str(port))
    return BucketServer(Service("s3", argv, ready=lambda: listens(port, host)), port, host)
