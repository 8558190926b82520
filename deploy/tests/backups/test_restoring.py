"""Restoring back-ups of a real MariaDB, to a second."""

import dataclasses
import datetime
import shutil
import threading
from pathlib import Path

import pytest

from deploy.site.backups import making, restoring
from deploy.site.backups.making import Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal, work_directory
from deploy.site.backups.state import State
from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError
from deploy.tests.backups.support import (
    NAME,
    SECOND,
    apply,
    clock,
    insert,
    posts,
    restore,
    upload,
)

pytestmark = pytest.mark.once


def test_a_full_back_up_restores_everything(
    site: Site, target: Folder, state: State, tmp_path: Path
) -> None:
    making.full(site, target, Seal(), state, verify=True)
    assert isinstance(site.database, Server)
    site.database.query("DELETE FROM post; DELETE FROM person", NAME)
    shutil.rmtree(site.media / "ab")
    restore(site, target, Seal())
    assert site.database.query("SELECT words FROM post", NAME) == [["第一条 🎉"]]
    chosen = restoring.choose(target, Seal(), None)
    assert restoring.media(site, target, Seal(), chosen) == (1, [])
    assert (site.media / "ab" / "one.jpg").read_bytes() == b"ab/one.jpg"
    assert chosen.manifest["verified"]
    (tmp_path / "unpacked").mkdir()
    (unpacked,) = restoring.settings(target, Seal(), chosen, tmp_path / "unpacked")
    assert unpacked.read_text() == "A=1\n"


def test_writes_are_restored_to_a_second(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every write before the moment is there, and none of it or later; one thread writes meanwhile.

    The test sets the clock of the writes. The server's own events have the real time, before it.
    """
    assert isinstance(site.database, Server)
    server, written, stop = site.database, [1], threading.Event()

    def write(second: int) -> None:
        number = len(written) + 1
        insert(server, number, second)
        written.append(number)

    def write_on() -> None:
        while not stop.is_set():
            write(SECOND)

    clock(monkeypatch, SECOND)
    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        making.full(site, target, Seal(), state, verify=False)
        making.log(site, target, Seal(), state)
    finally:
        stop.set()
        writer.join()
    write(SECOND + 1)
    making.log(site, target, Seal(), state)
    before = list(written)
    write(SECOND + 2)
    write(SECOND + 3)
    clock(monkeypatch, SECOND + 10)
    making.log(site, target, Seal(), state)
    restore(site, target, Seal(), datetime.datetime.fromtimestamp(SECOND + 2, datetime.UTC))
    assert posts(site) == before


def test_without_a_time_everything_copied_is_restored(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(site.database, Server)
    clock(monkeypatch, SECOND)
    making.full(site, target, Seal(), state, verify=False)
    insert(site.database, 2, SECOND)  # in the very second of the copy
    upload(site, "cd/two.jpg")
    assert making.log(site, target, Seal(), state)
    assert making.log(site, target, Seal(), state) == 0
    insert(site.database, 3, SECOND)
    restore(site, target, Seal())
    assert posts(site) == [1, 2]
    assert "media/cd/two.jpg.zst" in set(target.names("media"))


def test_a_time_that_was_not_copied_is_an_error(site: Site, target: Folder, state: State) -> None:
    assert isinstance(site.database, Server)
    with pytest.raises(InstallError, match="has no full back-up"):
        restoring.choose(target, Seal(), None)
    making.full(site, target, Seal(), state, verify=False)
    for number in (2, 3, 4):
        insert(site.database, number)
        making.log(site, target, Seal(), state)
    later = making.now() + datetime.timedelta(hours=1)
    with pytest.raises(InstallError, match="The copied log ends at"):
        restoring.choose(target, Seal(), later)
    with pytest.raises(InstallError, match="has no full back-up before"):
        restoring.choose(target, Seal(), later - datetime.timedelta(days=1))


def test_a_back_up_of_a_newer_version_is_refused(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "VERSION", "0.10.0")
    making.full(site, target, Seal(), state, verify=False)
    assert restoring.choose(target, Seal(), None)
    monkeypatch.setattr(making, "VERSION", "0.9.1")
    with pytest.raises(InstallError, match=r"made by version 0\.10\.0 of the site"):
        restoring.choose(target, Seal(), None)


def test_behind_a_gap_in_the_log_nothing_is_restored(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(site.database, Server)
    making.full(site, target, Seal(), state, verify=False)
    for number in (2, 3, 4):
        insert(site.database, number, int(making.now().timestamp()))
        making.log(site, target, Seal(), state)
    logs = sorted(name for name in target.names("log") if not name.endswith(making.UNTIL))
    target.delete(logs[-2])
    gap = Path(logs[-2]).name.partition(".zst")[0]
    behind = making.now()
    with pytest.raises(InstallError, match=f"has a gap after .*: {gap} is missing") as error:
        restoring.choose(target, Seal(), behind)
    assert "or later" not in str(error.value)
    restore(site, target, Seal())
    assert posts(site) == [1, 2]
    clock(monkeypatch, int(behind.timestamp()) + 3600)
    making.full(site, target, Seal(), state, verify=False)
    with pytest.raises(InstallError, match=r"Restore to that time or earlier, or to .* or later"):
        restoring.choose(target, Seal(), behind)


def test_writes_that_a_clock_stepping_back_hides_are_named(
    site: Site, target: Folder, state: State
) -> None:
    assert isinstance(site.database, Server)
    making.full(site, target, Seal(), state, verify=False)
    for number, second in ((2, 1100), (3, 1300), (4, 1150)):
        insert(site.database, number, SECOND + second)
    making.log(site, target, Seal(), state)
    chosen = restoring.choose(target, Seal(), None)
    moment = datetime.datetime.fromtimestamp(SECOND + 1200, datetime.UTC)
    chosen = dataclasses.replace(chosen, until=moment, everything=False)
    with work_directory() as work:
        fetched = restoring.fetch(target, Seal(), chosen, work)
        warning = restoring.left_out(chosen, fetched)
    assert "1 transactions after that have a time before" in warning
    apply(site, target, Seal(), chosen)
    assert posts(site) == [1, 2]
    assert not restoring.left_out(dataclasses.replace(chosen, everything=True), fetched)


def test_a_log_that_begins_anew_needs_a_full_back_up(
    site: Site, target: Folder, state: State
) -> None:
    assert isinstance(site.database, Server)
    making.full(site, target, Seal(), state, verify=False)
    for number in (2, 3):
        insert(site.database, number)
        making.log(site, target, Seal(), state)
    lineage = state.lineage
    site.database.query("RESET MASTER")
    insert(site.database, 4)
    with pytest.raises(InstallError, match="has begun anew"):
        making.log(site, target, Seal(), state)
    making.full(site, target, Seal(), state, verify=False)
    assert state.lineage != lineage
    insert(site.database, 5)
    making.log(site, target, Seal(), state)
    insert(site.database, 6)
    restore(site, target, Seal())
    assert posts(site) == [1, 2, 3, 4, 5]


def test_damaged_uploads_are_named_before_anything_is_deleted(
    site: Site, target: Folder, state: State
) -> None:
    making.full(site, target, Seal(), state, verify=False)
    (target.path / "media/ab/one.jpg.zst").write_bytes(b"no archive")
    (site.media / "ab/one.jpg").unlink()
    chosen = restoring.choose(target, Seal(), None)
    copied, (text,) = restoring.media(site, target, Seal(), chosen)
    assert copied == 0
    assert text.startswith("media/ab/one.jpg.zst: ")
    assert not (site.media / "ab/one.jpg").exists()
    target.delete("media/ab/one.jpg.zst")
    missing = f"media/ab/one.jpg: missing in {target}"
    assert restoring.media(site, target, Seal(), chosen) == (0, [missing])


def test_all_damaged_files_are_named_in_one_error(
    site: Site, target: Folder, state: State, age_key: Seal
) -> None:
    assert isinstance(site.database, Server)
    making.full(site, target, age_key, state, verify=False)
    for number in (2, 3, 4):
        insert(site.database, number)
        making.log(site, target, age_key, state)
    chosen = restoring.choose(target, age_key, None)
    whole = (target.path / chosen.logs[1]).read_bytes()
    (target.path / chosen.logs[0]).write_bytes(b"no archive")
    (target.path / chosen.logs[1]).write_bytes(whole[: len(whole) // 2])
    dump = f"{chosen.name}/{chosen.manifest['database']}"
    with (target.path / dump).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    with pytest.raises(InstallError, match=r"^3 files of the back-up are damaged") as error:
        apply(site, target, age_key, chosen)
    for name in (dump, *chosen.logs[:2]):
        assert f"{name}: " in str(error.value)
    assert posts(site) == [1, 2, 3, 4], "nothing may be deleted"


def test_files_that_are_missing_at_the_end_of_the_log_are_a_gap(
    site: Site, target: Folder, state: State
) -> None:
    assert isinstance(site.database, Server)
    making.full(site, target, Seal(), state, verify=False)
    for number in (2, 3):
        insert(site.database, number, SECOND + number)
        making.log(site, target, Seal(), state)
    *_, last = sorted(name for name in target.names("log") if not name.endswith(making.UNTIL))
    target.delete(last)
    moment = datetime.datetime.fromtimestamp(SECOND + 3, datetime.UTC)
    gap = Path(last).name.partition(".zst")[0]
    with pytest.raises(InstallError, match=f"has a gap after .*: {gap} is missing"):
        restoring.choose(target, Seal(), moment)
    restore(site, target, Seal())
    assert posts(site) == [1, 2]


def test_a_target_with_several_sites_needs_a_choice(
    site: Site, target: Folder, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new machine has backed up its empty site before the lost one is restored on it."""
    assert isinstance(site.database, Server)
    lost = dataclasses.replace(site, host="https://lost.example.org")
    clock(monkeypatch, SECOND)
    making.full(lost, target, Seal(), state, verify=False)
    insert(site.database, 2, SECOND)
    clock(monkeypatch, SECOND + 60)
    making.log(lost, target, Seal(), state)
    site.database.query("DELETE FROM post", NAME)
    clock(monkeypatch, SECOND + 120)
    new = State(tmp_path / "new", str(target))
    making.full(site, target, Seal(), new, verify=False)
    with pytest.raises(InstallError, match="several sites") as error:
        restoring.choose(target, Seal(), None)
    until = datetime.datetime.fromtimestamp(SECOND + 60, datetime.UTC).isoformat()
    assert f"--site {state.site}  https://lost.example.org, up to {until}" in str(error.value)
    assert f"--site {new.site}  (address unknown), up to " in str(error.value)
    with pytest.raises(InstallError, match="no back-ups of the site nobody"):
        restoring.choose(target, Seal(), None, "nobody")
    apply(site, target, Seal(), restoring.choose(target, Seal(), None, state.site))
    assert posts(site) == [1, 2]
    assert restoring.choose(target, Seal(), None, new.site).manifest["site"] == new.site
