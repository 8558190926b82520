"""Which back-ups stay, and what is deleted with the others."""

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.site.backups import making
from deploy.site.backups.making import Keep, Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal
from deploy.site.backups.state import State
from deploy.site.backups.targets import Folder
from deploy.tests.backups.support import LAST, insert, restore

pytestmark = pytest.mark.once


def test_old_back_ups_are_deleted_with_what_only_they_needed(
    site: Site, target: Folder, state: State, day: Callable[[float], None]
) -> None:
    assert isinstance(site.database, Server)
    for number in range(3):
        day(2 * number)
        making.full(site, target, Seal(), state, verify=False)
        insert(site.database, number + 2)
        making.log(site, target, Seal(), state)
    before = len(list(target.names("log")))
    gone = making.forget(target, LAST, state)
    assert gone == ["full/20260101T000000Z", "full/20260103T000000Z"]
    assert list(making.manifests(target)) == ["full/20260105T000000Z"]
    assert len(list(target.names("log"))) < before
    restore(site, target, Seal())
    assert not (target.path / "full" / "20260101T000000Z").exists()


def test_a_machine_that_was_installed_anew_deletes_nothing_of_the_lost_one(
    site: Site, target: Folder, state: State, tmp_path: Path, day: Callable[[float], None]
) -> None:
    making.full(site, target, Seal(), state, verify=False)
    making.log(site, target, Seal(), state)
    before = set(target.names("."))
    new = State(tmp_path / "new", str(target))
    for number in (100, 200):
        day(number)
        making.full(site, target, Seal(), new, verify=False)
    assert len(making.forget(target, LAST, new)) == 1
    assert before <= set(target.names("."))


def test_uploads_that_another_site_copied_with_its_log_stay(
    site: Site, target: Folder, state: State, tmp_path: Path, day: Callable[[float], None]
) -> None:
    other = State(tmp_path / "other", str(target))
    making.full(site, target, Seal(), other, verify=False)
    (site.media / "ab" / "two.jpg").write_bytes(b"two")
    making.log(site, target, Seal(), other)  # no list of a full back-up has it yet
    (site.media / "ab" / "two.jpg").unlink()
    for number in (100, 200):
        day(number)
        making.full(site, target, Seal(), state, verify=False)
    assert len(making.forget(target, LAST, state)) == 1
    assert "media/ab/two.jpg.zst" in target.names("media")


def test_recent_ones_and_the_newest_of_each_day_week_and_month_stay() -> None:
    start = datetime.datetime(2026, 1, 1, 3, tzinfo=datetime.UTC)
    names = [
        (start + datetime.timedelta(hours=12 * half)).strftime(f"full/{making.STAMP}")
        for half in range(200)
    ]
    kept = sorted(making.chosen(names, Keep(daily=4, weekly=2, monthly=2)))
    assert kept == [
        "full/20260331T150000Z",
        "full/20260405T150000Z",
        "full/20260407T150000Z",
        "full/20260408T150000Z",
        "full/20260409T030000Z",
        "full/20260409T150000Z",
        "full/20260410T030000Z",
        "full/20260410T150000Z",
    ]
    assert making.chosen([], Keep()) == set()


def test_an_upload_that_is_deleted_later_stays_as_long_as_a_back_up_lists_it(
    site: Site, target: Folder, state: State, day: Callable[[float], None]
) -> None:
    for number in range(4):
        day(2 * number)
        making.full(site, target, Seal(), state, verify=False)
        making.forget(target, LAST, state)
        # The first two list it: it was deleted between them.
        assert bool(list(target.names("media"))) == (number < 2)
        (site.media / "ab" / "one.jpg").unlink(missing_ok=True)


def test_an_interrupted_back_up_is_deleted_after_a_day(
    site: Site, target: Folder, state: State, day: Callable[[float], None]
) -> None:
    for number in (0, 0.5, 1.2):
        day(number)
        making.full(site, target, Seal(), state, verify=False)
    for name in ("full/20260101T000000Z", "full/20260101T120000Z"):
        target.delete(f"{name}/{making.MANIFEST}")
    making.forget(target, Keep(), state)
    left = {name.split("/")[1] for name in target.names("full")}
    assert left == {"20260101T120000Z", "20260102T044800Z"}
