"""Files in the bucket that MEDIA_URL names, by the names that they have below MEDIA_ROOT.

The bucket is private. Readers get signed addresses, after the site has checked them: those of
public files are valid for PUBLIC_SECONDS, others for PRIVATE_SECONDS or LONG_SECONDS. A file that
is deleted is gone at once, whatever its addresses.

Raises FileNotFoundError for a file that is not there, and Unavailable if the server does not
answer: at once if it does not answer others (`places`).
"""

import contextlib
import functools
import io
import mimetypes
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

from django.conf import settings
from django.core.files.base import File

from socialsite.core.media.buckets.address import Address
from socialsite.core.media.buckets.places import Down, NoAnswer, Places

PUBLIC_SECONDS, PRIVATE_SECONDS = 7200, 60
# Players and downloads ask for further parts by the same address.
LONG_SECONDS = 3600
ALIVE_SECONDS = 2
_places = Places()


class Stored(NamedTuple):
    """A file of the bucket, and when it was written."""

    name: str
    written: datetime


def is_used() -> bool:
    """Return whether the site keeps its uploads in a bucket."""
    return settings.MEDIA_BUCKET is not None


def _storage() -> Any:
    return _storage_of(settings.MEDIA_BUCKET)


@functools.lru_cache
def _storage_of(bucket: Address) -> Any:
    from socialsite.core.media.buckets.storage import BucketStorage

    return BucketStorage(bucket)


@contextlib.contextmanager
def _translated(name: str = "") -> Iterator[None]:
    """Turn the errors of boto3 into those of this module."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if status == 404 and error.response.get("Error", {}).get("Code") != "NoSuchBucket":
            raise FileNotFoundError(name) from None
        raise Down from error
    except (BotoCoreError, Boto3Error) as error:
        raise NoAnswer from error


@contextlib.contextmanager
def _asked(name: str = "") -> Iterator[None]:
    """Do the same for a short call, in one of the places for such calls."""
    with _places.held(), _translated(name):
        yield


@contextlib.contextmanager
def _sent(name: str) -> Iterator[None]:
    """Do the same for a long transfer, which takes no place from others.

    If the last call found no answer, a short one tries first.
    """
    if _places.is_down:
        with contextlib.suppress(FileNotFoundError):
            size(name)
    with _places.noted(), _translated(name):
        yield


def write(name: str, content: bytes | IO[bytes]) -> None:
    """Write a file, in place of one with its name; bytes are short, and other content is long."""
    if isinstance(content, bytes):
        with _asked(name):
            _storage().save(name, File(io.BytesIO(content), name))
    else:
        with _sent(name):
            _storage().save(name, File(content, name))


def put(path: Path, name: str) -> None:
    """Write a file with the bytes of one of this machine."""
    with path.open("rb") as file:
        write(name, file)


def put_long(path: Path, name: str, alive: Callable[[], None]) -> None:
    """Do the same, and call `alive` every ALIVE_SECONDS meanwhile.

    If `alive` raises, its error is raised when the file has arrived, or cannot arrive any more.
    """
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(put, path, name)
        while not done.done():
            wait([done], ALIVE_SECONDS)
            alive()
        done.result()


def head(name: str, number: int) -> bytes:
    """Return the first bytes of a file."""
    with _asked(name):
        found = _object(name).get(Range=f"bytes=0-{number - 1}")
        return bytes(found["Body"].read())


def read(name: str) -> bytes:
    """Return the bytes of a file; for small ones."""
    with _asked(name):
        return bytes(_object(name).get()["Body"].read())


def copy(name: str, target: IO[bytes], alive: Callable[[], None] | None = None) -> None:
    """Append the bytes of a file to one of this machine, and call `alive` for each MB."""
    with _translated(name):
        for block in _object(name).get()["Body"].iter_chunks(1024 * 1024):
            target.write(block)
            if alive:
                alive()


def size(name: str) -> int:
    """Return the bytes of a file."""
    with _asked(name):
        return int(_object(name).content_length)


def _object(name: str) -> Any:
    storage = _storage()
    return storage.bucket.Object(storage.location + name)


def remove(name: str) -> None:
    """Delete a file, if it is there."""
    with _asked(name):
        _storage().delete(name)


def names(prefix: str) -> list[str]:
    """Return the names of the few files whose names begin with a prefix, in their order."""
    with _asked():
        return [one.name for one in listed(prefix)]


def listed(prefix: str) -> Iterator[Stored]:
    """Yield the files whose names begin with a prefix, in the order of their names."""
    storage = _storage()
    with _translated():
        for found in storage.bucket.objects.filter(Prefix=storage.location + prefix):
            yield Stored(found.key.removeprefix(storage.location), found.last_modified)


def is_open_to_all(name: str) -> bool:
    """Return whether the server gives a file to readers without a signature."""
    from botocore.exceptions import ClientError

    storage = _storage()
    found = storage.unsigned_connection.Object(storage.bucket_name, storage.location + name)
    with _translated(name):
        try:
            found.get()
        except ClientError:
            return False
    return True


def address(name: str, cache: str, seconds: int, more: Mapping[str, str] | None = None) -> str:
    """Return a signed address of a file for some seconds, with the `Cache-Control` of its answer.

    `more` has other headers of that answer; only Content-Disposition can be set. Asks no server.
    """
    wanted = {"ResponseCacheControl": cache}
    if kind := mimetypes.guess_type(name)[0]:
        wanted["ResponseContentType"] = kind
    if disposition := (more or {}).get("Content-Disposition"):
        wanted["ResponseContentDisposition"] = disposition
    with _translated(name):
        return str(_storage().url(name, parameters=wanted, expire=seconds))
