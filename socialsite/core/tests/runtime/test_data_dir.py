"""Permissions of DATA_DIR: revoked at each start, and kept by a command beside a running site."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from socialsite.core.runtime import data_dir

pytestmark = [pytest.mark.once, pytest.mark.embedded]

GROUP = os.getegid()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Set the umask of a shell, whatever the entry points of the site have set before."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A DATA_DIR created by an older version."""
    found = tmp_path / "data"
    (found / "media" / "ab").mkdir(parents=True)
    for name in ("db.sqlite3", "db.sqlite3-wal", "keys.json", "lock", "media/ab/x.jpg"):
        (found / name).touch()
        (found / name).chmod(0o644)
    for directory in (found, found / "media", found / "media" / "ab"):
        directory.chmod(0o755)
    return found


def test_a_start_makes_the_directory_and_its_files_private(site: Path) -> None:
    data_dir.secure(site)
    assert mode_of(site) == mode_of(site / "media") == mode_of(site / "static") == 0o700
    assert {mode_of(path) for path in site.iterdir() if path.is_file()} == {0o600}


def test_files_deeper_in_the_directory_are_private_after_a_start(site: Path) -> None:
    assert data_dir.secure_all(site) == 2
    assert (mode_of(site / "media/ab"), mode_of(site / "media/ab/x.jpg")) == (0o700, 0o600)
    assert data_dir.secure_all(site) == 0


def test_a_group_may_enter_and_read_served_files(site: Path) -> None:
    data_dir.secure_all(site, GROUP)
    assert mode_of(site) == 0o710
    assert mode_of(site / "media") == mode_of(site / "media/ab") == 0o2710
    assert mode_of(site / "media/ab/x.jpg") == 0o640
    assert mode_of(site / "db.sqlite3") == 0o600


def test_a_command_without_the_group_does_not_stop_a_site_that_has_one(site: Path) -> None:
    data_dir.secure_all(site, GROUP)
    data_dir.secure(site)
    assert (mode_of(site), mode_of(site / "media")) == (0o710, 0o2710)
    data_dir.secure_all(site)
    assert (mode_of(site), mode_of(site / "media")) == (0o700, 0o700)


def test_a_directory_of_everybody_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "other").touch(mode=0o644)
    (tmp_path / "keys.json").touch(mode=0o644)
    data_dir.secure_all(tmp_path)
    assert (mode_of(tmp_path), mode_of(tmp_path / "other")) == (0o1777, 0o644)
    assert mode_of(tmp_path / "keys.json") == 0o600


def test_links_are_not_followed(site: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(mode=0o644)
    (site / "media" / "link").symlink_to(elsewhere)
    (site / "mail").mkdir()
    (site / "mail" / "link").symlink_to(elsewhere)
    data_dir.secure_all(site)
    assert mode_of(elsewhere) == 0o644
