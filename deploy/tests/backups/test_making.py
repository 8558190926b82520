"""Making back-ups: who reads them, what is noticed, and root among files of the site."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.site.backups import making, restoring
from deploy.site.backups.making import Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal
from deploy.site.backups.state import State, open_upload
from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError
from deploy.tests.backups.support import NAME
from socialsite.doctor import backups

pytestmark = pytest.mark.once


def test_a_second_full_back_up_at_the_same_time_is_refused(state: State) -> None:
    other = State(state.folder, state.target)
    with state.alone(), pytest.raises(InstallError, match="Another full back-up"), other.alone():
        pass
    with other.alone():
        pass


def test_others_cannot_read_a_back_up(site: Site, target: Folder, state: State) -> None:
    making.full(site, target, Seal(), state, verify=False)
    for path in (target.path, *target.path.rglob("*")):
        assert not path.stat().st_mode & 0o077, path
    assert not (site.data_dir / "backup.json").stat().st_mode & 0o077


def test_the_site_can_read_when_it_was_backed_up(
    site: Site, target: Folder, state: State, day: Callable[[float], None]
) -> None:
    day(0)
    making.log(site, target, Seal(), state)
    assert backups.newest(site.data_dir) is None
    making.full(site, target, Seal(), state, verify=False)
    full = backups.newest(site.data_dir)
    assert full is not None
    assert (full.verified_at, full.target, full.is_same_disk) == (None, str(target), True)
    day(1)
    making.log(site, target, Seal(), state)
    later = backups.newest(site.data_dir)
    assert later is not None
    assert later.finished_at == full.finished_at
    assert later.copied_until is not None
    assert later.copied_until > later.finished_at


def test_a_damaged_back_up_is_noticed(site: Site, target: Folder, state: State) -> None:
    assert isinstance(site.database, Server)
    site.database.query("SET FOREIGN_KEY_CHECKS=0; INSERT INTO post VALUES (2, 99, 'x')", NAME)
    with pytest.raises(InstallError, match=r"post.person: 1 rows"):
        making.full(site, target, Seal(), state, verify=True)
    assert making.manifests(target) == {}
    found = site.database.query("SHOW DATABASES")
    assert [making.SCRATCH] not in found


def test_root_follows_no_link_and_waits_for_no_pipe_of_the_site(
    site: Site, target: Folder, state: State, tmp_path: Path
) -> None:
    """The account of the site owns the folders that root reads and writes."""
    secret = tmp_path / "secret"
    secret.write_text("of root")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "four.jpg").write_text("of root")
    (site.media / "ab" / "two.jpg").symlink_to(secret)
    os.mkfifo(site.media / "ab" / "three.jpg")
    (site.media / "cd").symlink_to(tmp_path / "elsewhere")
    (site.data_dir / ".backup.json.part").symlink_to(secret)
    making.full(site, target, Seal(), state, verify=False)
    assert list(target.names("media")) == ["media/ab/one.jpg.zst"]
    assert secret.read_text() == "of root"
    for name in ("ab/two.jpg", "ab/three.jpg", "cd/four.jpg"):
        with pytest.raises(FileNotFoundError):
            open_upload(site.media, name)
    chosen = restoring.choose(target, Seal(), None)
    (site.media / "ab").rename(site.media / "old")
    (site.media / "ab").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InstallError, match="no folder of uploads"):
        restoring.media(site, target, Seal(), chosen)


def test_an_upload_that_the_target_lost_is_copied_again(
    site: Site, target: Folder, state: State
) -> None:
    making.full(site, target, Seal(), state, verify=False)
    target.delete("media/ab/one.jpg.zst")
    making.full(site, target, Seal(), state, verify=False)
    assert list(target.names("media")) == ["media/ab/one.jpg.zst"]


def test_an_upload_of_which_the_target_has_a_part_is_copied_again(
    site: Site, target: Folder, state: State
) -> None:
    making.full(site, target, Seal(), state, verify=False)
    stored = target.path / "media/ab/one.jpg.zst"
    whole = stored.read_bytes()
    stored.write_bytes(whole[:5])
    making.full(site, target, Seal(), state, verify=False)
    assert stored.read_bytes() == whole
    # What the site deleted meanwhile cannot be copied: the older back-up keeps what there is.
    stored.write_bytes(whole[:5])
    (site.media / "ab" / "one.jpg").unlink()
    making.full(site, target, Seal(), state, verify=False)
    assert stored.read_bytes() == whole[:5]
