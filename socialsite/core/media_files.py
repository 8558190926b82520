"""The files of pictures below MEDIA_ROOT, with a second name below `public` where all may see them.

A web server in front serves what is below `public` without asking the site, and nothing else: the
other files leave by the site alone (`socialsite.uploads`), which looks who asks. Both names are of
one file (a hard link), so a file becomes public or private by a link that is made or taken away.
"""

import logging
import os
import re
import secrets
from pathlib import Path

from django.conf import settings

from socialsite.core import data_dir

logger = logging.getLogger(__name__)

PUBLIC = "public"
# What `media.encode` calls its files. Nothing else has an address.
NAME = re.compile(r"[0-9a-f]{2}/[0-9a-f]{32}(-s)?\.(jpg|webp)")
_SMALL = "-s."


def path_of(name: str) -> Path:
    """Return where a file is."""
    return Path(settings.MEDIA_ROOT) / name


def public_path(name: str) -> Path:
    """Return where the link of a file is, if everybody may see it."""
    return Path(settings.MEDIA_ROOT) / PUBLIC / name


def is_public(name: str) -> bool:
    """Tell whether everybody may see a file, by its link."""
    return public_path(name).is_file()


def full_name(name: str) -> str:
    """Return the name of the full picture of a picture or thumbnail."""
    return name.replace(_SMALL, ".")


def write(name: str, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, readable as `core.data_dir` says."""
    path = path_of(name)
    _make_directory(path.parent)
    draft = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            os.fchmod(file.fileno(), data_dir.shared_file(settings.FILES_GROUP))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the row is to outlive a power cut with its bytes
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def publish(name: str) -> None:
    """Make a file public. Without the file, or on a disk without links, it stays as it is.

    The site then serves it itself whenever it is asked for.
    """
    link = public_path(name)
    try:
        _make_directory(link.parent)
        link.hardlink_to(path_of(name))
    except (FileExistsError, FileNotFoundError):
        pass
    except OSError as error:
        logger.warning("picture %s gets no public link: %s", name, error.strerror)


def withdraw(name: str) -> None:
    """Make a file private."""
    public_path(name).unlink(missing_ok=True)


def remove(name: str) -> None:
    """Remove a file; first what everybody may see of it."""
    withdraw(name)
    path_of(name).unlink(missing_ok=True)


def public_names(folder: str) -> list[str]:
    """Return the names of the public files of a folder (two hexadecimal digits)."""
    try:
        return sorted(f"{folder}/{entry}" for entry in os.listdir(public_path(folder)))
    except FileNotFoundError:
        return []


def _make_directory(path: Path) -> None:
    """Make a directory below MEDIA_ROOT that the web server passes where FILES_GROUP says so."""
    if path.is_dir():
        return
    if path != Path(settings.MEDIA_ROOT):
        _make_directory(path.parent)
    path.mkdir(mode=data_dir.OWN_DIR, parents=True, exist_ok=True)
    # Its group is that of the directory above; the umask took the group's right away.
    path.chmod(data_dir.shared_dir(settings.FILES_GROUP))
