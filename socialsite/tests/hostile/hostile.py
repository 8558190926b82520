"""The most expensive requests, and a site's memory use after them."""

import io
import json
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from PIL import Image

from socialsite.core.http.server import body_limits
from socialsite.core.media import encoding
from socialsite.core.tests.media.peak import resident
from socialsite.tests.stacks import Client

AT_ONCE = 4


def send(base: str, path: str, body: bytes, token: str = "", kind: str = "application/json") -> int:
    """Send a POST and return the status of the response."""
    headers = {"Content-Type": kind}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(base + path, data=body, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=100) as answer:  # noqa: S310
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            error.read()
            return error.code


def lists(size: int, field: str = "a") -> bytes:
    """Return JSON of many empty lists, of at most this size."""
    return f'{{"{field}":[[]'.encode() + b",[]" * ((size - 20) // 3) + b"]}"


def picture(size: tuple[int, int], kind: str, mode: str, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size).save(out, kind, **options)
    return out.getvalue()


def form(data: bytes) -> tuple[bytes, str]:
    """Return the body and the content type of an upload."""
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    return head + data + b"\r\n--x--\r\n", "multipart/form-data; boundary=x"


def at_once(base: str, path: str, body: bytes, token: str = "", **kind: str) -> set[int]:
    """Send the same request several times at once and return the statuses."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sent = [pool.submit(send, base, path, body, token, **kind) for _ in range(AT_ONCE)]
        return {one.result() for one in sent}


def warm_up(base: str, username: str) -> Client:
    """Trigger lazy loading, so that later measurements cover only the requests."""
    client = Client.new(base, username)
    for mode, kind in (("RGB", "JPEG"), ("RGBA", "WEBP")):
        body, content_type = form(picture((900, 900), kind, mode))
        assert at_once(base, "/api/v1/media", body, client.token, kind=content_type) == {201}
    for _ in range(3):
        assert at_once(base, "/api/v1/auth/login", lists(3000)) == {400}
        assert at_once(base, "/api/v1/posts", lists(3000, "images"), client.token) == {400}
    return client


def attack(base: str, client: Client) -> None:
    """Send bodies of the maximum size, larger ones, and a picture of many pixels."""
    large = lists(body_limits.FILES - 1000)
    assert at_once(base, "/api/v1/auth/login", large) == {413}
    assert at_once(base, "/api/v1/auth/login", lists(body_limits.OTHER - 1000)) == {400}
    images = lists(body_limits.ARTICLE - 1000, "images")
    assert at_once(base, "/api/v1/posts", images, client.token) == {400}
    many = json.dumps({f"k{number}": [number] for number in range(30_000)}).encode()
    assert at_once(base, "/api/v1/posts", many, client.token) == {400}
    sides = (encoding.MAX_SIDE, encoding.MAX_PIXELS // encoding.MAX_SIDE)
    for data in (
        picture(sides, "JPEG", "RGB", progressive=True, subsampling=0),
        picture((2800, 2800), "WEBP", "RGBA", lossless=True),
    ):
        body, kind = form(data)
        # While one is decoded the others wait; after too long a wait a request gets 503.
        assert at_once(base, "/api/v1/media", body, client.token, kind=kind) <= {201, 503}


def megabytes(pids: Iterable[int]) -> float:
    """Return the total memory of processes in megabytes."""
    return sum(resident("VmRSS", pid) for pid in pids)


def of_group(leader: int) -> list[int]:
    """Return the processes of a service, which leads its own group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == leader:
            found.append(int(stat.parent.name))
    return found
