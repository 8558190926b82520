"""Files of pictures and videos below MEDIA_ROOT; public ones have a second name below `public`.

A web server in front serves only the files below `public`, without asking the site. The site itself
serves the others after it checks the reader (`socialsite.pages.media_files`). Both names are hard
links to one file, so creating or removing a link makes a file public or private.
"""

import contextlib
import logging
import os
import re
import secrets
import time
from pathlib import Path

from django.conf import settings

from socialsite.core.runtime import data_dir

logger = logging.getLogger(__name__)

PUBLIC = "public"
# Files are written before their row; a younger one may get it yet.
OLD_SECONDS = 86_400
# Names that `pictures.encode`, `videos.uploads` and `videos.captions` create. No other file has
# an address.
NAME = re.compile(r"[0-9a-f]{2}/[0-9a-f]{32}((-s)?\.(jpg|webp)|-v\.jpg|\.mp4|-[0-9a-f]{8}\.vtt)")
_SMALL = "-s."
_CAPTIONS = re.compile(r"-[0-9a-f]{8}\.vtt$")
_POSTER, _VIDEO = "-v.jpg", ".mp4"


def path_of(name: str) -> Path:
    """Return the path of a file."""
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


def write(name: str, data: bytes) -> None:
    """Write a file atomically, with the permissions of `core.runtime.data_dir`."""
    path = path_of(name)
    make_directory(path.parent)
    draft = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            os.fchmod(file.fileno(), data_dir.shared_file(settings.FILES_GROUP))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # after a power cut the row must not exist without its bytes
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def publish(name: str) -> None:
    """Make a file public. Does nothing if the file is missing or the disk has no links.

    The site then serves the file itself.
    """
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
    withdraw(name)
    path_of(name).unlink(missing_ok=True)


def public_names(folder: str) -> list[str]:
    """Return the names of the public files in a folder (two hexadecimal digits)."""
    try:
        return sorted(f"{folder}/{entry}" for entry in os.listdir(public_path(folder)))
    except FileNotFoundError:
        return []


def old_names(folder: str) -> list[str]:
    """Return the names of the files in a folder that have been there for a day."""
    limit, found = time.time() - OLD_SECONDS, []
    with contextlib.suppress(FileNotFoundError), os.scandir(path_of(folder)) as entries:
        for entry in entries:
            name = f"{folder}/{entry.name}"
            with contextlib.suppress(FileNotFoundError):
                # A move and a link count: a restored or renamed file may have been written before.
                if NAME.fullmatch(name) and entry.stat().st_ctime < limit:
                    found.append(name)
    return sorted(found)


def make_directory(path: Path) -> None:
    """Create a directory below MEDIA_ROOT that the group FILES_GROUP, if set, may traverse."""
    if path.is_dir():
        return
    if path != Path(settings.MEDIA_ROOT):
        make_directory(path.parent)
    path.mkdir(mode=data_dir.OWN_DIR, parents=True, exist_ok=True)
    # It inherits the group of the directory above, but the umask removed the group's right.
    path.chmod(data_dir.shared_dir(settings.FILES_GROUP))
