"""Where back-ups are kept."""

from pathlib import Path

import pytest

from deploy.site.backups import making
from deploy.site.backups.making import Site
from deploy.site.backups.sealing import Seal
from deploy.site.backups.state import State
from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError

pytestmark = pytest.mark.once


def test_a_folder_that_is_not_there_may_be_a_disk_that_is_not_mounted(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="mount its disk"):
        Folder(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()


def test_an_empty_mount_point_gets_no_back_up_unless_it_is_accepted(
    site: Site, target: Folder, state: State
) -> None:
    making.full(site, target, Seal(), state, verify=False)
    target.path.rename(target.path.with_name("disk"))
    target.path.mkdir()
    for make in (
        lambda: making.full(site, target, Seal(), state, verify=False),
        lambda: making.log(site, target, Seal(), state),
    ):
        with pytest.raises(InstallError, match="Is its disk mounted"):
            make()
    assert not list(target.path.iterdir())
    state.recognize(target, new=True)
    making.full(site, target, Seal(), state, verify=False)
    assert list(target.names("media")) == ["media/ab/one.jpg.zst"]
