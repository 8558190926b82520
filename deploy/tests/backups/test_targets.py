"""Where back-ups are kept."""

from pathlib import Path

import pytest

from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError

pytestmark = pytest.mark.once


def test_a_folder_that_is_not_there_may_be_a_disk_that_is_not_mounted(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="mount its disk"):
        Folder(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
