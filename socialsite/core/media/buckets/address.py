"""The address of a bucket, as the setting MEDIA_URL has it.

`s3://key:secret@host:port/bucket/prefix?region=…&style=virtual&tls=False`: key and secret are
percent-encoded; without them boto3 looks for credentials where it always does (environment, role of
the machine). The prefix and all options may be missing.
"""

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

SCHEME = "s3://"
REGION = "us-east-1"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"([A-Za-z0-9._-]+/)*")
_REGION = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a bucket is. `endpoint` is the origin of the server, such as https://s3.example.org."""

    endpoint: str
    bucket: str
    prefix: str = ""
    key: str = ""
    secret: str = field(default="", repr=False)
    region: str = REGION
    style: Literal["path", "virtual"] = "path"

    @property
    def origin(self) -> str:
        """The origin from which browsers load the files."""
        scheme, _, host = self.endpoint.partition("://")
        return f"{scheme}://{self.bucket}.{host}" if self.style == "virtual" else self.endpoint


def read(text: str) -> Address:
    """Read an address. Raises ValueError, whose text never has the secret."""
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
        options = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
    except ValueError:
        raise ValueError("is no address, s3://key:secret@host:port/bucket") from None
    bucket, _, prefix = url.path.removeprefix("/").partition("/")
    prefix = f"{prefix.rstrip('/')}/" if prefix else ""
    key, secret = unquote(url.username or ""), unquote(url.password or "")
    region, style = options.pop("region", REGION), options.pop("style", "path")
    tls = options.pop("tls", "True").lower()
    if not host or not _BUCKET.fullmatch(bucket) or not _PREFIX.fullmatch(prefix):
        raise ValueError("must be s3://key:secret@host:port/bucket, with a prefix if you like")
    if ".." in prefix or not _REGION.fullmatch(region) or bool(key) != bool(secret) or url.fragment:
        raise ValueError("needs both key and secret or none, and a region such as us-east-1")
    if options or style not in ("path", "virtual") or tls not in ("true", "false"):
        raise ValueError("has only the options region, style (path, virtual), tls (True, False)")
    scheme = "https" if tls == "true" else "http"
    at = f"[{host}]" if ":" in host else host
    endpoint = f"{scheme}://{at}" + (f":{port}" if port else "")
    return Address(
        endpoint, bucket, prefix, key, secret, region, "path" if style == "path" else "virtual"
    )
