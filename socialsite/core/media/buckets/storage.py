"""Django's storage of a bucket: django-storages with one connection for all threads.

boto3 is optional (`requirements/s3.txt`), so only a site with a bucket imports this module.
"""

from types import SimpleNamespace
from typing import Any

from botocore.config import Config
from storages.backends.s3 import S3Storage

from socialsite.core.media.buckets.address import Address

CONNECT_SECONDS, READ_SECONDS, TRIES, CONNECTIONS = 3, 20, 3, 20


class BucketStorage(S3Storage):
    """Files of a private bucket; addresses are signed."""

    def __init__(self, address: Address, **options: Any) -> None:
        super().__init__(
            access_key=address.key or None,
            secret_key=address.secret or None,
            endpoint_url=address.endpoint,
            bucket_name=address.bucket,
            location=address.prefix,
            region_name=address.region,
            file_overwrite=True,
            default_acl=None,
            querystring_auth=True,
            client_config=Config(
                signature_version="s3v4",
                s3={"addressing_style": address.style},
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                retries={"total_max_attempts": TRIES, "mode": "standard"},
                max_pool_connections=CONNECTIONS,
                # Older servers refuse the checksums that boto3 adds of itself.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
            **options,
        )
        # A connection takes 10 MB and 60 ms; its client may be used by several threads.
        self._connections = SimpleNamespace()
