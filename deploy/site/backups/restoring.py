"""Restoring a back-up: the database up to a second, uploads, and keys.

Tokens that were issued after that second must stay worthless, although their numbers will be given
out again. So every sign-in ends with a restoration: see `manage.py end_sign_ins`.
"""

import contextlib
import datetime
import os
import re
import shutil
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.site.backups import binlog, making
from deploy.site.backups.making import Site
from deploy.site.backups.mariadb import Server, number_of
from deploy.site.backups.sealing import DamagedError, Seal, flow, work_directory
from deploy.site.backups.state import LEFT_OUT
from deploy.site.backups.targets import Target
from deploy.site.machine import InstallError
from socialsite.core.runtime import data_dir

# How root opens folders that the account of the site owns.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
SQL_TIME = "%Y-%m-%d %H:%M:%S"
# How many damaged files an error names.
SHOWN = 20


@dataclass(frozen=True)
class Chosen:
    """The full back-up to begin with, the files of the log after it, and the time to stop at.

    The files go together: those behind a gap are left out.
    """

    name: str
    manifest: dict[str, Any]
    logs: list[str]
    until: datetime.datetime
    everything: bool  # no time was asked for
    gap: str = ""  # the first file of the log that is missing


def choose(target: Target, seal: Seal, wanted: datetime.datetime | None, site: str = "") -> Chosen:
    """Choose what restores the site at `wanted` (exclusive; None: the last second that is copied).

    `site` is the id of the site, "" if the target has back-ups of only one. Raises InstallError if
    it has those of several, if no back-up is old enough, or if the copied log ends before, or has a
    gap there.
    """
    known = _of_site(target, making.manifests(target), site)
    usable = [
        name for name, manifest in known.items() if wanted is None or _moment(manifest) <= wanted
    ]
    if not usable:
        raise InstallError(
            f"{target} has no full back-up" + (f" before {wanted}" if wanted else "")
        )
    name = usable[-1]
    manifest = known[name]
    if manifest["format"] > making.FORMAT:
        raise InstallError(
            f"{name} was made by a newer version of the site (format {manifest['format']}):"
            " install that version first"
        )
    _require_version(name, manifest.get("version", ""))
    finished = _moment(manifest)
    logs: list[str] = []
    until, gap = finished, ""
    if "log" in manifest:
        logs, copied, gap = _logs(target, seal, manifest)
        until = max(copied or finished, finished)
        if wanted and wanted > until and gap:
            raise InstallError(
                f"The copied log has a gap after {until.isoformat()}: {gap} is missing. Restore to"
                f" that time or earlier{_later(known, until)}"
            )
    if wanted and wanted > until:
        raise InstallError(
            f"The copied log ends at {until.isoformat()}; restore to that time or earlier"
        )
    return Chosen(name, manifest, logs, wanted or until, wanted is None, gap)


def _require_version(what: str, made_by: str) -> None:
    """Raise InstallError if a newer version of the site wrote something."""
    if _numbers(made_by) > _numbers(making.VERSION):
        raise InstallError(
            f"{what} was made by version {made_by} of the site, and this is {making.VERSION}:"
            " install that version first, or a newer one"
        )


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version; none of a back-up before 0.2.0."""
    return [int(part) for part in re.findall(r"\d+", version)]


def site_of(manifest: dict[str, Any]) -> str:
    """Return the id of the site of a full back-up; those of the first version have none."""
    return str(manifest.get("site", manifest["lineage"]))


def _of_site(
    target: Target, known: dict[str, dict[str, Any]], site: str
) -> dict[str, dict[str, Any]]:
    """Return the full back-ups of a site.

    Raises InstallError with all sites if the target has several and none is chosen: the newest
    back-up may be the empty one of a machine that was just installed.
    """
    newest = {site_of(manifest): manifest for manifest in known.values()}
    if site in newest or (not site and len(newest) < 2):
        return {name: one for name, one in known.items() if not site or site_of(one) == site}
    lines = [
        f"  --site {ident}  {one.get('host') or '(address unknown)'},"
        f" up to {_last(target, one).isoformat(timespec='seconds')}"
        for ident, one in newest.items()
    ]
    if site:
        fault = f"{target} has no back-ups of the site {site}. It has those of"
    else:
        fault = f"{target} has back-ups of several sites. Choose one"
    raise InstallError("\n".join([f"{fault}:", *lines]))


def _last(target: Target, manifest: dict[str, Any]) -> datetime.datetime:
    """Return the last time that a full back-up and the log after it have."""
    moment = _moment(manifest)
    if "log" not in manifest:
        return moment
    return max(_mark(target, manifest)[0] or moment, moment)


def _mark(target: Target, manifest: dict[str, Any]) -> tuple[datetime.datetime | None, str, str]:
    """Return up to when the log after a full back-up was copied, its last file, and the version.

    Returns None if it never was, and no file or version if an earlier version copied it.
    """
    mark = f"log/{manifest['lineage']}/{making.UNTIL}"
    if mark not in target.names(f"log/{manifest['lineage']}"):
        return None, "", ""
    with work_directory() as work:
        target.get(mark, work / making.UNTIL)
        time, last, version, *_ = [*(work / making.UNTIL).read_text().split(), "", ""]
    return datetime.datetime.fromisoformat(time), last, version


def _logs(
    target: Target, seal: Seal, manifest: dict[str, Any]
) -> tuple[list[str], datetime.datetime | None, str]:
    """Return the copied log after a full back-up up to its first gap, until when, and the gap.

    The gap is the name of the file that is missing, "" if there is none. Raises InstallError if a
    newer version of the site copied it.
    """
    # Read before the names, as it is written after the files.
    until, last, version = _mark(target, manifest)
    _require_version("The log", version)
    folder = f"log/{manifest['lineage']}"
    stored = sorted(target.names(folder))
    mark = f"{folder}/{making.UNTIL}"
    # One of each: a file may be there with and without encryption.
    files = {_file_of(name): name for name in stored if name != mark}
    first = number_of(manifest["log"])
    logs = [files[name] for name in sorted(files, key=number_of) if number_of(name) >= first]
    base, _, number = manifest["log"].rpartition(".")
    for place in range(len(logs) + 1):
        wanted = f"{base}.{first + place:0{len(number)}}"
        if place < len(logs):
            is_there = _file_of(logs[place]) == wanted
        else:  # nothing needs to be behind the last one
            is_there = not last or number_of(last) < first + place
        if is_there:
            continue
        kept = logs[:place]
        with work_directory() as work:
            return kept, binlog.end(_opened(target, seal, kept[-1], work)) if kept else None, wanted
    return logs, until, ""


def _file_of(stored: str) -> str:
    """Return the name that a stored file had in the log."""
    return Path(stored).name.partition(".zst")[0]


def _later(known: dict[str, dict[str, Any]], until: datetime.datetime) -> str:
    """Return a hint at the first full back-up after a time."""
    later = [moment for manifest in known.values() if (moment := _moment(manifest)) > until]
    return f", or to {min(later).isoformat()} or later" if later else ""


def _opened(target: Target, seal: Seal, stored: str, work: Path) -> Path:
    """Copy a file of the log into `work`, open it, and return its path."""
    sealed, plain = work / Path(stored).name, work / _file_of(stored)
    target.get(stored, sealed)
    flow(seal.opening(sealed.name), source=sealed, target=plain)
    sealed.unlink()
    return plain


def _moment(manifest: dict[str, Any]) -> datetime.datetime:
    """Return the earliest time to which a full back-up can be restored: its dump is not later."""
    begun = datetime.datetime.fromisoformat(manifest["begun"])
    return max(begun, datetime.datetime.fromisoformat(manifest.get("snapshot", manifest["begun"])))


@dataclass(frozen=True)
class Fetched:
    """A dump that was read once, sealed, and the opened files of the log."""

    dump: Path
    logs: list[Path]
    settings: dict[str, Path]  # by the names that they had


def fetch(target: Target, seal: Seal, chosen: Chosen, work: Path) -> Fetched:
    """Copy what a restoration needs into `work`, and open all of it.

    Raises InstallError if something is missing, damaged, or sealed for another key: so nothing is
    deleted before. The error names all damaged files.
    """
    stored = chosen.manifest["database"]
    dump, folder = work / stored, work / "settings"
    folder.mkdir()
    target.get(f"{chosen.name}/{stored}", dump)
    logs: list[Path] = []
    unpacked: list[Path] = []
    damaged: list[str] = []
    with _noted(damaged, f"{chosen.name}/{stored}"):
        flow(seal.opening(stored), source=dump)
    with _noted(damaged, f"{chosen.name}/settings.tar"):
        unpacked = settings(target, seal, chosen, folder)
    for log in chosen.logs:
        with _noted(damaged, log):
            logs.append(_opened(target, seal, log, work))
    if damaged:
        raise InstallError(
            f"{len(damaged)} files of the back-up are damaged, and nothing was changed:\n"
            + "\n".join(damaged[:SHOWN])
            + (f"\nand {len(damaged) - SHOWN} more" if len(damaged) > SHOWN else "")
        )
    return Fetched(dump, logs, {path.name: path for path in unpacked})


@contextlib.contextmanager
def _noted(damaged: list[str], name: str) -> Iterator[None]:
    """Note a file that is damaged, so that the next ones are looked at too."""
    try:
        yield
    except DamagedError as error:
        damaged.append(f"{name}: {error}")


def left_out(chosen: Chosen, fetched: Fetched) -> str:
    """Return a warning if a clock went back, so writes before the time are not restored; or ""."""
    if chosen.everything or not fetched.logs:
        return ""
    return binlog.left_out(fetched.logs, chosen.manifest["offset"], chosen.until)


def database(site: Site, seal: Seal, chosen: Chosen, fetched: Fetched) -> None:
    """Replace the database by that of the back-up, and repeat the writes up to the time."""
    opening = seal.opening(fetched.dump.name)
    if not isinstance(site.database, Server):
        copy = site.database.path.with_name(".restored.sqlite3")
        flow(opening, source=fetched.dump, target=copy)
        site.database.replace(copy)
        return
    site.database.load(fetched.dump, site.database.name, opening)
    if fetched.logs:
        until = "" if chosen.everything else chosen.until.strftime(SQL_TIME)
        offset = chosen.manifest["offset"]
        site.database.replay(fetched.logs, offset, until, site.database.name)


def media(site: Site, target: Target, seal: Seal, chosen: Chosen) -> tuple[int, list[str]]:
    """Copy the uploads that this machine does not have; return their number.

    Also returns those that are damaged or missing in the target, with the reason. Some may belong
    to posts that were deleted since: the site compares its files with the tables over 16 nights and
    removes those that no row names.
    """
    copied, damaged = 0, []
    missing = making.listed(target, chosen.name)
    with work_directory() as work:
        for stored in target.names("media"):
            name = stored.removeprefix("media/").partition(".zst")[0]
            path = site.media / name
            missing.discard(name)
            if path.exists() or path.relative_to(site.media).parts[0] in LEFT_OUT:
                continue
            # The account of the site may have left links here.
            if path.parent.is_symlink() or site.media not in path.parents or ".." in path.parts:
                raise InstallError(f"{path.parent} is no folder of uploads")
            sealed, plain = work / f"sealed{stored.partition('.zst')[2]}", work / "plain"
            target.get(stored, sealed)
            try:
                flow(seal.opening(stored), source=sealed, target=plain)
            except DamagedError as error:
                damaged.append(f"{stored}: {error}")
                continue
            _place(site.media, name, plain)
            copied += 1
    damaged += [
        f"media/{name}: missing in {target}"
        for name in sorted(missing)
        if Path(name).parts[0] not in LEFT_OUT and not (site.media / name).exists()
    ]
    return copied, damaged


def _place(media: Path, name: str, plain: Path) -> None:
    """Put a restored file below `media`, with the owner, the group and the rights of the uploads.

    The account of the site owns these folders and may change them meanwhile: root follows no link
    there. Half a file never has the name of a whole one, also after a power cut.
    """
    like = media.lstat()
    group = like.st_gid if like.st_mode & stat.S_IXGRP else None
    *folders, last = Path(name).parts
    with contextlib.ExitStack() as opened:
        directory = os.open(media, FOLDER)
        opened.callback(os.close, directory)
        for folder in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, dir_fd=directory)
                new = os.open(folder, FOLDER, dir_fd=directory)
                opened.callback(os.close, new)
                _give(new, like, data_dir.shared_dir(group))
            directory = os.open(folder, FOLDER, dir_fd=directory)
            opened.callback(os.close, directory)
        part = f".{last}.part"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with plain.open("rb") as source:
            copy = os.open(part, flags, 0o600, dir_fd=directory)
            with os.fdopen(copy, "wb") as target:
                shutil.copyfileobj(source, target)
                target.flush()
                os.fsync(copy)
                _give(copy, like, data_dir.shared_file(group))
        os.replace(part, last, src_dir_fd=directory, dst_dir_fd=directory)


def _give(descriptor: int, like: os.stat_result, mode: int) -> None:
    if os.geteuid() == 0:
        os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, mode)


def settings(target: Target, seal: Seal, chosen: Chosen, folder: Path) -> list[Path]:
    """Unpack the files with keys and settings into a folder, and return their paths."""
    prefix = f"{chosen.name}/settings.tar.zst"
    (stored,) = (name for name in target.names(chosen.name) if name.startswith(prefix))
    with work_directory() as work:
        sealed, packed = work / Path(stored).name, work / "settings.tar"
        target.get(stored, sealed)
        flow(seal.opening(stored), source=sealed, target=packed)
        with tarfile.open(packed) as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is not None:
                    path = folder / Path(member.name).name
                    path.touch(mode=0o600)
                    path.write_bytes(content.read())
    return sorted(folder.iterdir())
