"""Files of pictures and videos: below MEDIA_ROOT, or in a bucket (`core.media.buckets`).

- Below MEDIA_ROOT a public file has a second name below `public`. A web server in front serves only
  these, without asking the site. The site itself serves the others after it checks the reader
  (`socialsite.pages.media_files`). Both names are hard links to one file, so creating or removing a
  link makes a file public or private.
- In a bucket all files are private, and the site checks the reader of each. A file that is below
  MEDIA_ROOT all the same was not moved yet (`core.moving_uploads`), and is used from there.
"""

import contextlib
import logging
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from django.conf import settings

from socialsite.core.media.buckets import files as buckets
from socialsite.core.runtime import data_dir

logger = logging.getLogger(__name__)

PUBLIC = "public"
# Files are written before their row; a younger one may get it yet.
OLD_SECONDS = 86_400
# Names that `pictures.encode`, `videos.uploads` and `videos.captions` create. No other file has
# an address.
NAME = re.compile(r"[0-9a-f]{2}/[0-9a-f]{32}((-s)?\.(jpg|webp)|-v\.jpg|\.mp4|-[0-9a-f]{8}\.vtt)")
FOLDERS = [f"{number:02x}" for number in range(256)]
_SMALL = "-s."
_CAPTIONS = re.compile(r"-[0-9a-f]{8}\.vtt$")
_POSTER, _VIDEO = "-v.jpg", ".mp4"


def path_of(name: str) -> Path:
    """Return the path of a file, which is not there if the file is in the bucket."""
    return Path(settings.MEDIA_ROOT) / name


def public_path(name: str) -> Path:
    """Return the path of a file's public link, whether or not it exists."""
    return Path(settings.MEDIA_ROOT) / PUBLIC / name


def is_public(name: str) -> bool:
    """Return whether a file has a public link."""
    return public_path(name).is_file()


def full_name(name: str) -> str:
    """Return the name of the full picture or video, given one, a thumbnail, poster or captions."""
    return _CAPTIONS.sub(_VIDEO, name).replace(_SMALL, ".").replace(_POSTER, _VIDEO)


def new_video_name() -> str:
    """Return a random name of a video."""
    word = secrets.token_hex(16)
    return f"{word[:2]}/{word}{_VIDEO}"


def poster_of(name: str) -> str:
    """Return the name of the poster of a video."""
    return name.removesuffix(_VIDEO) + _POSTER


def new_captions_of(name: str) -> str:
    """Return a name for new captions of a video; caches keep the former ones under theirs."""
    return f"{name.removesuffix(_VIDEO)}-{secrets.token_hex(4)}.vtt"


def is_in_bucket(name: str) -> bool:
    """Return whether a file, if there is one, is in the bucket."""
    return buckets.is_used() and not path_of(name).exists()


def write(name: str, data: bytes) -> None:
    """Write a file atomically, with the permissions of `core.runtime.data_dir`."""
    if buckets.is_used():
        buckets.write(name, data)
        return
    with _replaced(name) as file:
        file.write(data)


@contextlib.contextmanager
def _replaced(name: str) -> Iterator[IO[bytes]]:
    """Give a file that becomes the one with this name when the block ends without an error."""
    path = path_of(name)
    make_directory(path.parent)
    draft = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            os.fchmod(file.fileno(), data_dir.shared_file(settings.FILES_GROUP))
            yield file
            file.flush()
            os.fsync(file.fileno())  # after a power cut the row must not exist without its bytes
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def move(path: Path, name: str) -> None:
    """Move a finished file, which is on the disk of MEDIA_ROOT, to its name."""
    if buckets.is_used():
        buckets.put(path, name)
        path.unlink()
        return
    target = path_of(name)
    make_directory(target.parent)
    with path.open("rb") as file:
        os.fchmod(file.fileno(), data_dir.shared_file(settings.FILES_GROUP))
        os.fsync(file.fileno())
    path.replace(target)


@contextlib.contextmanager
def opened(name: str, alive: Callable[[], None] | None = None) -> Iterator[IO[bytes]]:
    """Open a file to read it; `alive` is called while it comes. Raises FileNotFoundError."""
    with contextlib.ExitStack() as stack:
        try:
            file: IO[bytes] = stack.enter_context(path_of(name).open("rb"))
        except FileNotFoundError:
            if not buckets.is_used():
                raise
            file = stack.enter_context(tempfile.TemporaryFile())
            buckets.copy(name, file, alive)
            file.seek(0)
        yield file


def size(name: str) -> int:
    """Return the bytes of a file. Raises FileNotFoundError."""
    try:
        return path_of(name).stat().st_size
    except FileNotFoundError:
        if not buckets.is_used():
            raise
    return buckets.size(name)


def publish(name: str) -> None:
    """Make a file public. Does nothing if the file is missing or the disk has no links.

    The site then serves the file itself.
    """
    if is_in_bucket(name):
        return
    link = public_path(name)
    try:
        make_directory(link.parent)
        link.hardlink_to(path_of(name))
    except (FileExistsError, FileNotFoundError):
        pass
    except OSError as error:
        logger.warning("no public link for %s; the site serves it: %s", name, error.strerror)


def withdraw(name: str) -> None:
    """Make a file private."""
    public_path(name).unlink(missing_ok=True)


def remove(name: str) -> None:
    """Remove a file, its public link first."""
    remove_local(name)
    if buckets.is_used():
        buckets.remove(name)


def remove_local(name: str) -> None:
    """Remove a file below MEDIA_ROOT, its public link first."""
    withdraw(name)
    path_of(name).unlink(missing_ok=True)


def fetch(name: str) -> int:
    """Copy a file of the bucket below MEDIA_ROOT; return its bytes. Raises FileNotFoundError."""
    with _replaced(name) as file:
        buckets.copy(name, file)
        return file.tell()


def public_names(folder: str) -> list[str]:
    """Return the names of the public files in a folder (two hexadecimal digits)."""
    try:
        return sorted(f"{folder}/{entry}" for entry in os.listdir(public_path(folder)))
    except FileNotFoundError:
        return []


def local_names() -> Iterator[str]:
    """Yield the names of the files below MEDIA_ROOT."""
    for folder in FOLDERS:
        yield from _local_names(folder)


def _local_names(folder: str) -> Iterator[str]:
    with contextlib.suppress(FileNotFoundError), os.scandir(path_of(folder)) as entries:
        for entry in entries:
            if NAME.fullmatch(name := f"{folder}/{entry.name}"):
                yield name


def old_names(folder: str) -> list[str]:
    """Return the names of the files in a folder that have been there for a day."""
    found = set(_old_local(folder))
    if buckets.is_used():
        found.update(_old_in_bucket(f"{folder}/"))
    return sorted(found)


def all_old_names() -> Iterator[str]:
    """Yield those of all folders; one that is being moved twice."""
    for folder in FOLDERS:
        yield from _old_local(folder)
    if buckets.is_used():
        yield from _old_in_bucket("")


def _old_local(folder: str) -> Iterator[str]:
    limit = time.time() - OLD_SECONDS
    for name in _local_names(folder):
        with contextlib.suppress(FileNotFoundError):
            # A move and a link count: a restored or renamed file may have been written before.
            if path_of(name).stat().st_ctime < limit:
                yield name


def _old_in_bucket(prefix: str) -> Iterator[str]:
    limit = time.time() - OLD_SECONDS
    for one in buckets.listed(prefix):
        if NAME.fullmatch(one.name) and one.written.timestamp() < limit:
            yield one.name


def make_directory(path: Path) -> None:
    """Create a directory below MEDIA_ROOT that the group FILES_GROUP, if set, may traverse."""
    if path.is_dir():
        return
    if path != Path(settings.MEDIA_ROOT):
        make_directory(path.parent)
    path.mkdir(mode=data_dir.OWN_DIR, parents=True, exist_ok=True)
    # It inherits the group of the directory above, but the umask removed the group's right.
    path.chmod(data_dir.shared_dir(settings.FILES_GROUP))
