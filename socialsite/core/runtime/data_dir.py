"""File permissions in DATA_DIR: only the account that runs the site can read it.

The one exception is FILES_GROUP, the group of a web server in front. It may traverse DATA_DIR and
read uploads and static files, but list neither. New files inherit that group, because the
directories have the setgid bit.

`secure` is cheap and runs whenever a process of the site starts. `secure_all` also walks through
files that older versions wrote. This module does not need Django: `deploy` uses it as well.
"""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

logger = logging.getLogger(__name__)

UMASK = 0o077
OWN_DIR, OWN_FILE = 0o700, 0o600
PASSED_DIR = 0o710
SHARED_DIR, SHARED_FILE = 0o2710, 0o640
# Directories that a web server in front serves.
SHARED = ("media", "static")
# The site's own files: nothing else in the directory is changed.
OWN = (
    *("keys.json", "backup.json", "doctor.json", "lock", "control.sock", "mail"),
    *("db.sqlite3*", "beat-schedule*"),
)


def secure(data_dir: Path, group: int | None = None) -> None:
    """Create DATA_DIR if missing and revoke the rights of others at its top level.

    `group` is the id of FILES_GROUP. Raises PermissionError if this account may not assign files to
    that group. Permissions of files that belong to another account cannot be changed; this is
    logged. Without `group`, a group that already has access keeps it: a command run beside a
    running site may have another environment and must not lock the web server out.
    """
    data_dir.mkdir(mode=OWN_DIR, parents=True, exist_ok=True)
    if _is_own(data_dir):
        _change(data_dir, OWN_DIR if group is None else PASSED_DIR, group, passed=True)
    for name in SHARED:
        (data_dir / name).mkdir(mode=OWN_DIR, exist_ok=True)
        _change(data_dir / name, shared_dir(group), group, passed=True)
    for pattern in OWN:
        for path in data_dir.glob(pattern):
            _change(path, OWN_DIR if path.is_dir() else OWN_FILE)


def secure_all(data_dir: Path, group: int | None = None) -> int:
    """Do the same for everything below as well; return how many permissions were changed."""
    secure(data_dir, group)
    changed = sum(_change(path, OWN_FILE) for path in _files(data_dir / "mail"))
    if group is None and _is_own(data_dir):
        changed += _change(data_dir, OWN_DIR)
    for name in SHARED:
        changed += _change(data_dir / name, shared_dir(group), group)
        for path in _files(data_dir / name, with_directories=True):
            mode = shared_dir(group) if path.is_dir() else shared_file(group)
            changed += _change(path, mode, group)
    return changed


def shared_dir(group: int | None) -> int:
    """Return the mode of a directory of uploads or static files."""
    return OWN_DIR if group is None else SHARED_DIR


def shared_file(group: int | None) -> int:
    """Return the mode of an upload or a static file."""
    return OWN_FILE if group is None else SHARED_FILE


def _is_own(data_dir: Path) -> bool:
    """Return False for a directory that is clearly shared: `/`, `/tmp`, a home."""
    shared_by_all = data_dir.stat().st_mode & stat.S_ISVTX
    return not shared_by_all and data_dir not in (Path("/"), Path.home())


def _files(directory: Path, *, with_directories: bool = False) -> Iterator[Path]:
    for parent, directories, names in os.walk(directory):
        for name in (*directories, *names) if with_directories else names:
            path = Path(parent, name)
            if not path.is_symlink():
                yield path


def _change(path: Path, mode: int, group: int | None = None, *, passed: bool = False) -> bool:
    """Set mode and group where they differ; return True if something was changed.

    With `passed`, a directory that some group may traverse stays so if no group is given.
    """
    try:
        now = path.stat(follow_symlinks=False)
        if stat.S_ISLNK(now.st_mode):
            return False
        if passed and group is None and now.st_mode & 0o777 == PASSED_DIR:
            return False
        if group is not None and now.st_gid != group:
            os.chown(path, -1, group)
        elif stat.S_IMODE(now.st_mode) == mode:
            return False
        path.chmod(mode)
    except FileNotFoundError:  # another process deleted it
        return False
    except PermissionError:
        if path.stat().st_uid == os.geteuid():
            raise
        logger.warning("%s belongs to another account; its permissions stay unchanged", path)
        return False
    return True
