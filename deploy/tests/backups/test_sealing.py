"""Back-ups that are encrypted for a key."""

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.site.backups import making, restoring
from deploy.site.backups.making import Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal
from deploy.site.backups.state import State
from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError
from deploy.tests.backups.support import NAME, apply, insert, posts, restore
from socialsite.doctor import backups

pytestmark = pytest.mark.once


def test_a_back_up_for_a_key_needs_its_private_half(
    site: Site,
    target: Folder,
    state: State,
    age_key: Seal,
    tmp_path: Path,
    day: Callable[[float], None],
) -> None:
    assert isinstance(site.database, Server)
    public = Seal(age_key.recipient)
    day(0)
    making.full(site, target, public, state, verify=True)
    assert all(
        name.endswith((".zst.age", making.MANIFEST, "/media.zst"))
        for folder in ("full", "media")
        for name in target.names(folder)
    )
    chosen = restoring.choose(target, Seal(), None)
    assert chosen.manifest["verified"] == ""  # this machine cannot read it
    other = Seal(age_key.recipient, str(tmp_path / "other.txt"))
    subprocess.run(["age-keygen", "-o", other.identity], check=True, capture_output=True)
    with pytest.raises(InstallError, match="nothing was backed up"):
        making.full(site, target, other, state, verify=True)
    day(1)
    making.full(site, target, age_key, state, verify=True)
    checked = backups.newest(site.data_dir)
    day(2)
    making.full(site, target, public, state, verify=True)
    later = backups.newest(site.data_dir)
    assert checked is not None
    assert later is not None
    assert later.finished_at > checked.finished_at
    assert later.verified_at == checked.verified_at is not None
    for seal, text in ((public, "--identity"), (other, "no identity matched")):
        with pytest.raises(InstallError, match=text):
            apply(site, target, seal, chosen)
        assert posts(site) == [1], "nothing may be deleted"
    insert(site.database, 2)
    apply(site, target, age_key, chosen)
    assert posts(site) == [1]


def test_a_back_up_for_a_key_of_gnupg(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as home:  # its socket needs a short path
        monkeypatch.setenv("GNUPGHOME", home)
        new = ("--quick-generate-key", "operator@example.org", "default", "default", "never")
        subprocess.run(
            ["gpg", "--batch", "--passphrase", "", *new], check=True, capture_output=True
        )
        seal = Seal("operator@example.org")
        making.full(site, target, seal, state, verify=False)
        assert isinstance(site.database, Server)
        site.database.query("DELETE FROM post", NAME)
        restore(site, target, seal)
        assert posts(site) == [1]
        subprocess.run(["gpgconf", "--kill", "all"], check=True)
