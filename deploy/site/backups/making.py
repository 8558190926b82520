"""Making back-ups: a full one, one of the log since the last, and what becomes of old ones."""

import datetime
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.site import releases
from deploy.site.backups import space, sqlite
from deploy.site.backups.mariadb import Server, goes_back, number_of
from deploy.site.backups.sealing import WORK, Seal, flow, work_directory
from deploy.site.backups.state import State, open_upload, uploads
from deploy.site.backups.targets import Folder, Target
from deploy.site.machine import InstallError

SCRATCH = "socialsite_verify"
STAMP = "%Y%m%dT%H%M%SZ"
MANIFEST = "manifest.json"
UNTIL = "until"
LISTED = "media"
# Whoever backs up by hand after a mishap must not lose the back-up from before it.
RECENT = datetime.timedelta(days=2)
# A full back-up that has no manifest after that was interrupted.
UNFINISHED = datetime.timedelta(days=1)
# Of the code that runs.
VERSION = releases.version_of(Path(__file__).parents[3])
FORMAT = 2


@dataclass(frozen=True)
class Site:
    """What is backed up: a database, uploads, and files with keys and settings."""

    database: Server | sqlite.File
    data_dir: Path
    settings: Sequence[Path] = ()
    host: str = ""  # its address, for people who choose among back-ups

    @property
    def media(self) -> Path:
        """The folder of the uploads."""
        return self.data_dir / "media"


@dataclass(frozen=True)
class Keep:
    """How many full back-ups stay: the newest of so many days, weeks and months."""

    daily: int = 7
    weekly: int = 4
    monthly: int = 6


def now() -> datetime.datetime:
    """Return the time, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def full(site: Site, target: Target, seal: Seal, state: State, *, verify: bool) -> str:
    """Make a full back-up and return its name. It is complete once it has its manifest."""
    begun, name = _begin(site, target, seal, state)
    manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "begun": begun.isoformat()}
    with work_directory() as work:
        dump = work / f"database{seal.suffix}"
        position = site.database.dump(dump, seal)
        manifest["snapshot"] = position.moment.isoformat()
        if position.file:
            manifest |= {"log": position.file, "offset": position.offset}
        if isinstance(target, Folder):
            space.require(target.path, dump.stat().st_size, "The back-up")
        state.recognize(target)  # a dump takes its time
        # Uploads of the dump are on the disk: their rows are written after them.
        with state.locked():
            manifest |= {"site": state.site, "host": site.host, "lineage": state.lineage}
            state.dump = dump.stat().st_size
            _forget_lost(site, target, state)
            copy_media(site, target, seal, state)
            names = work / LISTED
            names.write_text("".join(f"{upload}\n" for upload in sorted(state.media)))
            # From here on only uploads that still exist count as copied.
            state.media = {name: state.media[name] for name in _here(site, state.media)}
        packed = work / "settings.tar"
        with tarfile.open(packed, "w") as archive:
            for path in site.settings:
                if path.exists():
                    archive.add(path, path.name)
        # The names of uploads are random, and are read again without a private key.
        for plain, how in ((names, Seal()), (packed, seal)):
            sealed = work / f"{plain.name}{how.suffix}"
            flow(how.closing(), source=plain, target=sealed)
            target.put(sealed, f"{name}/{sealed.name}")
        target.put(dump, f"{name}/{dump.name}")
        if verify:
            manifest["verified"] = _verified(site, dump, seal)
        manifest |= {"database": dump.name, "finished": now().isoformat()}
        (work / MANIFEST).write_text(json.dumps(manifest))
        target.put(work / MANIFEST, f"{name}/{MANIFEST}")
    with state.locked():
        state.times["finished_at"] = manifest["finished"]
        state.times["verified_at"] = manifest.get("verified") or state.times.get("verified_at")
        _report(site, target, state)
    return name


class NewLog(InstallError):
    """The log does not go on from the last copy: only a full back-up helps."""


def log(site: Site, target: Target, seal: Seal, state: State) -> int:
    """Copy the log since the last time, and new uploads; return the number of files of the log."""
    server = site.database
    if not isinstance(server, Server):
        raise InstallError("SQLite has no log of its writes: make full back-ups")
    state.recognize(target)
    if state.written and goes_back(state.written, server.position()):
        # Under the same names there will be other files.
        state.begin_again(state.site)
        raise NewLog("The binary log of MariaDB has begun anew, as by RESET MASTER.")
    with state.locked(), work_directory() as work:
        until = now()  # what was committed before is in the files that are complete now
        files, written = server.rotate_log(state.written)
        missing = [name for name in files if name not in state.logs]
        copy_media(site, target, seal, state)
        for name in missing:
            copy = server.copy_log(name, work)
            sealed = work / f"{name}{seal.suffix}"
            flow(seal.closing(), source=copy, target=sealed)
            target.put(sealed, f"log/{state.lineage}/{sealed.name}")
            copy.unlink()
            sealed.unlink()
        mark = work / UNTIL
        # With the last file, so that one that is missing at the end is noticed.
        mark.write_text(" ".join([until.isoformat(), *files[-1:], VERSION]))
        target.put(mark, f"log/{state.lineage}/{UNTIL}")
        state.written, state.logs = written, files
        state.times["copied_until"] = until.isoformat()
        _report(site, target, state)
    return len(missing)


def _room_for_dump(site: Site, state: State) -> None:
    """Raise InstallError if the disk for files on their way has too little room."""
    with state.locked():
        known = state.dump * 5 // 4
    if isinstance(site.database, Server):
        space.require(WORK, known or site.database.size() // 2, "The dump of the database")
    else:  # the copy, and its sealed form
        space.require(WORK, site.database.size() * 2, "The copy of the database")


def _forget_lost(site: Site, target: Target, state: State) -> None:
    """Let uploads be copied again that the target lost, or of which it has another size."""
    sizes = target.sizes("media")
    kept = {_upload_of(stored) for stored in sizes}
    here = set(_here(site, state.media))
    for stored, size in sizes.items():
        name = _upload_of(stored)
        if state.media.get(name) not in (None, 0, size) and name in here:
            target.delete(stored)
            kept.discard(name)
    state.media = {name: size for name, size in state.media.items() if name in kept}


def _here(site: Site, names: Container[str]) -> Iterator[str]:
    """Yield those of some uploads that the site still has."""
    return (name for name in uploads(site.media) if name in names)


def copy_media(site: Site, target: Target, seal: Seal, state: State) -> None:
    """Copy the uploads that the target does not have; they never change."""
    with work_directory() as work:
        for name in sorted(set(uploads(site.media)) - state.media.keys()):
            sealed = work / "upload"
            try:
                with open_upload(site.media, name) as upload:
                    flow(seal.closing(), source=upload, target=sealed)
            except FileNotFoundError:
                continue  # deleted meanwhile, or no upload
            target.put(sealed, f"media/{name}{seal.suffix}")
            state.media[name] = sealed.stat().st_size


def _begin(site: Site, target: Target, seal: Seal, state: State) -> tuple[datetime.datetime, str]:
    """Look at everything that can be known before; return the time and the name of a back-up."""
    state.recognize(target)
    seal.prove()
    if isinstance(site.database, Server) and goes_back(state.written, site.database.position()):
        state.begin_again(state.site)
    _room_for_dump(site, state)
    while True:
        begun = now()
        name = f"full/{begun.strftime(STAMP)}"
        if not list(target.names(name)):
            return begun, name
        time.sleep(0.1)  # one of the same second


def can_verify(seal: Seal) -> bool:
    """Return whether this machine can open what it seals."""
    return bool(seal.identity) or not seal.recipient


def _verified(site: Site, dump: Path, seal: Seal) -> str:
    """Restore a dump into a scratch database, look at it, and return the time.

    Raises InstallError if it is damaged. A sealed dump is opened with the private key if the
    machine has it; without it, only its size says something, and "" is returned.
    """
    if not can_verify(seal):
        return ""
    opening = seal.opening(dump.name)
    if isinstance(site.database, Server):
        server = site.database
        if (folder := server.folder()).is_dir():  # else another machine's
            space.require(folder, server.size(), f"The check of the back-up ({SCRATCH})")
        try:
            server.load(dump, SCRATCH, opening)
            faults = server.broken_references(SCRATCH)
        finally:
            server.drop(SCRATCH)
    else:
        copy = dump.with_name("verify.sqlite3")
        flow(opening, source=dump, target=copy)
        faults = sqlite.faults(copy)
        copy.unlink()
    if faults:
        raise InstallError("The back-up is damaged: " + "; ".join(faults))
    return now().isoformat()


def manifests(target: Target) -> dict[str, dict[str, Any]]:
    """Return the manifests of the complete full back-ups by their names, the oldest first."""
    found = {}
    with work_directory() as work:
        for name in sorted(target.names("full")):
            if name.endswith(f"/{MANIFEST}"):
                target.get(name, work / MANIFEST)
                found[name.removesuffix(f"/{MANIFEST}")] = json.loads((work / MANIFEST).read_text())
    return found


def forget(target: Target, keep: Keep, state: State) -> list[str]:
    """Delete full back-ups that are too old, and what only they needed; return their names.

    Those of another lineage stay: a machine that was installed anew, to restore the site, must not
    delete what it is about to restore.
    """
    with state.locked():
        known = manifests(target)
        own = [name for name in known if known[name]["lineage"] == state.lineage]
        kept = chosen(own, keep)
        gone = [name for name in own if name not in kept]
        # Another site may have its uploads here too, of which no list knows yet.
        candidates = set[str]().union(*(listed(target, name) for name in gone))
        stored = list(target.names("full"))
        for name in stored:
            if name.rpartition("/")[0] in {*gone, *_unfinished(stored, known)}:
                target.delete(name)
        if not gone:
            return []
        first = known[min(kept)].get("log", "")  # the oldest file of the log that is needed
        for name in target.names(f"log/{state.lineage}"):
            file = name.rpartition("/")[2]
            if first and file != UNTIL and number_of(file.partition(".zst")[0]) < number_of(first):
                target.delete(name)
        lists = (listed(target, name) for name in known if name not in gone)
        needed = set(state.media).union(*lists)
        for name in target.names("media"):
            if _upload_of(name) in candidates - needed:
                target.delete(name)
    return gone


def _unfinished(stored: Iterable[str], known: Container[str]) -> set[str]:
    """Return the full back-ups without a manifest that nobody makes any more."""
    folders = {name.rpartition("/")[0] for name in stored}
    return {name for name in folders if name not in known and now() - _time_of(name) > UNFINISHED}


def _time_of(name: str) -> datetime.datetime:
    """Return the time at which a full back-up was begun."""
    return datetime.datetime.strptime(name, f"full/{STAMP}").replace(tzinfo=datetime.UTC)


def _upload_of(stored: str) -> str:
    """Return the name of the upload of a stored file."""
    return stored.removeprefix("media/").partition(".zst")[0]


def listed(target: Target, name: str) -> set[str]:
    """Return the names of the uploads of a full back-up."""
    with work_directory() as work:
        sealed, plain = work / "sealed", work / "plain"
        target.get(f"{name}/{LISTED}{Seal().suffix}", sealed)
        flow(Seal().opening(sealed.name), source=sealed, target=plain)
        return set(plain.read_text().splitlines())


def chosen(names: Sequence[str], keep: Keep) -> set[str]:
    """Return which full back-ups stay: all of the last two days before the newest one, and the
    newest of each of the last days, weeks and months.
    """
    times = {name: _time_of(name) for name in sorted(names)}
    kept = {name for name, time in times.items() if max(times.values()) - time < RECENT}
    for number, period in ((keep.daily, "%Y-%j"), (keep.weekly, "%G-%V"), (keep.monthly, "%Y-%m")):
        newest = {time.strftime(period): name for name, time in times.items()}
        kept |= set(sorted(newest.values())[-number:] if number else ())
    return kept


def _report(site: Site, target: Target, state: State) -> None:
    """Write what the doctor and the metrics of the site read, with the owner of DATA_DIR."""
    known = state.times | {"target": str(target), "is_same_disk": _is_same_disk(site, target)}
    if "finished_at" in known:  # otherwise an earlier version made the full back-up
        give(site.data_dir / "backup.json", json.dumps(known).encode(), like=site.data_dir)


def _is_same_disk(site: Site, target: Target) -> bool:
    """Return whether the site and its back-ups are lost together."""
    return isinstance(target, Folder) and target.path.stat().st_dev == site.data_dir.stat().st_dev


def give(path: Path, content: bytes, *, like: Path) -> None:
    """Write a private file at once, with the owner of another one.

    The directory may belong to the account of the site: root follows no link that it made there.
    """
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        if os.geteuid() == 0:
            owner = like.stat()
            os.fchown(stream.fileno(), owner.st_uid, owner.st_gid)
    os.replace(part, path)
