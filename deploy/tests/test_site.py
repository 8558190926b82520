"""The parts of an installed site that need no machine: settings, releases, units, options.

`make chaos ARGS="install"` installs a whole site on a machine.
"""

import argparse
import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deploy.services.site_processes import PROJECT_DIR, ROLES
from deploy.site import guard, installing, layout, releases, settings, units, web
from deploy.site.__main__ import _installer, parser
from deploy.site.machine import InstallError, Machine
from deploy.site.web import Web

pytestmark = pytest.mark.once


class Unprivileged(Machine):
    """Leaves the owner as it is: these tests may run under any account."""

    @staticmethod
    def _differs(path: Path, mode: int, owner: str, group: str) -> bool:
        return path.stat().st_mode & 0o7777 != mode

    @staticmethod
    def _own(path: Path, mode: int, owner: str, group: str) -> None:
        path.chmod(mode)


@pytest.fixture
def machine() -> Machine:
    return Unprivileged()


def test_the_command_needs_nothing_but_pythons_own_library() -> None:
    """It also works when the environment of the site is broken."""
    code = f"import sys; sys.path.insert(0, {str(PROJECT_DIR)!r}); import deploy.site.__main__"
    code += ", deploy.services.role"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_the_command_runs_the_installed_code_in_the_folder_of_the_operator(tmp_path: Path) -> None:
    """`site update .` is called in a checkout of another version."""
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "__init__.py").write_text("raise RuntimeError('another version')")
    current = tmp_path / "current"
    current.symlink_to(PROJECT_DIR)
    script = installing.COMMAND.replace(str(layout.CURRENT), str(current))
    script = script.replace("/usr/bin/python3", sys.executable)
    command = ["sh", "-c", script, "site", "backup", "--data-dir", "nothing", "--target", "backups"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == "site: TARGET must be a folder (/…) or a bucket (s3://…)\n"
    command = [*command[:-1], str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    wanted = f"site: {tmp_path}/nothing is no DATA_DIR of an embedded site: no db.sqlite3\n"
    assert done.stderr == wanted
    assert not (tmp_path / "nothing").exists()


def test_a_file_is_written_once_and_its_mode_is_restored(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert machine.write(path, "text", 0o600)
    assert not machine.write(path, "text", 0o600)
    path.chmod(0o644)
    assert machine.write(path, "text", 0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    assert machine.write(path, "other", 0o600)
    assert len(machine.changes) == 3
    assert os.listdir(tmp_path) == ["file"]


def test_settings_are_read_as_systemd_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "site.env"
    path.write_text("# NO=1\n; NO=2\n\nA=1\n B = two words \nC=\"quoted\"\nD='x=y'\nE=\nbad line\n")
    wanted = {"A": "1", "B": "two words", "C": "quoted", "D": "x=y", "E": ""}
    assert settings.read(path) == wanted
    assert settings.read(tmp_path / "missing") == {}
    assert settings.odd(path) == [9]


def test_a_changed_setting_leaves_the_other_lines(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "site.env"
    path.write_text("# mine\nA=1\n#A=commented\nB=2")
    settings.set_values(machine, path, {"A": r"\1 new", "C": "3"})
    assert path.read_text() == "# mine\nA=\\1 new\n#A=commented\nB=2\nC=3\n"
    changes = len(machine.changes)
    settings.set_values(machine, path, {"A": r"\1 new", "C": "3"})
    assert len(machine.changes) == changes


@pytest.mark.parametrize("value", ["a\nB=2", "a\rb", "\x00"])
def test_a_setting_cannot_add_a_line(machine: Machine, tmp_path: Path, value: str) -> None:
    with pytest.raises(InstallError, match="A must not have line ends"):
        settings.set_values(machine, tmp_path / "site.env", {"A": value})
    assert not (tmp_path / "site.env").exists()


def test_generated_secrets_are_accepted_by_the_site_and_stay(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from socialsite.env import Env

    monkeypatch.setattr(layout, "SECRETS", tmp_path / "secrets.env")
    first = settings.generated(machine)
    assert settings.generated(machine) == first == settings.read(layout.SECRETS)
    given: dict[str, Any] = {**first, "JWT_KEYS": first["JWT_KEYS"].split(",")}
    env = Env(**{name: value for name, value in given.items() if name in Env.model_fields})
    assert not env.embedded
    assert settings._vapid() != settings._vapid()


def source(folder: Path) -> Path:
    """Return a small checkout."""
    (folder / "app").mkdir(parents=True)
    (folder / "manage.py").write_text("1")
    (folder / "app" / "a.py").write_text("2")
    return folder


def test_a_release_has_the_name_of_its_contents(tmp_path: Path) -> None:
    one, other = source(tmp_path / "one"), source(tmp_path / "other")
    name = releases.name_of(one)
    assert releases.name_of(other) == name
    for left_out in (".git/HEAD", "data/db.sqlite3", "app/__pycache__/a.pyc", ".venv/bin/python"):
        (other / left_out).parent.mkdir(parents=True, exist_ok=True)
        (other / left_out).write_text("noise")
    assert releases.name_of(other) == name
    (other / "app" / "a.py").chmod(0o755)
    assert releases.name_of(other) != name
    (other / "app" / "a.py").chmod(0o644)
    (other / "app" / "a.py").rename(other / "app" / "b.py")
    assert releases.name_of(other) != name


def test_only_a_checkout_is_installed(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="is no checkout of socialsite"):
        releases.install(machine, tmp_path)


def test_the_newest_releases_stay_and_those_that_did_not_start_go(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "RELEASES", tmp_path / "releases")
    monkeypatch.setattr(layout, "CURRENT", tmp_path / "current")
    monkeypatch.setattr(layout, "PREVIOUS", tmp_path / "previous")
    for number in range(6):
        folder = layout.RELEASES / str(number)
        folder.mkdir(parents=True)
        (folder / releases.COMPLETE).touch()
        os.utime(folder / releases.COMPLETE, (number, number))
    releases.discard(layout.RELEASES / "5")
    layout.CURRENT.symlink_to(layout.RELEASES / "0")
    layout.PREVIOUS.symlink_to(layout.RELEASES / "1")
    releases.remove_old(machine)
    assert sorted(os.listdir(layout.RELEASES)) == ["0", "1", "2", "3", "4"]
    layout.CURRENT.unlink()
    layout.CURRENT.symlink_to(layout.RELEASES / "4")
    releases.remove_old(machine)
    assert sorted(os.listdir(layout.RELEASES)) == ["1", "2", "3", "4"]


def test_a_checkout_has_all_that_a_site_needs() -> None:
    files = {str(path) for path in releases.files_of(PROJECT_DIR)}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=PROJECT_DIR, capture_output=True, text=True, check=True
    ).stdout.split()
    assert {name for name in tracked if not name.startswith((".ci/", ".git"))} - files == set()


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_role_has_a_hardened_unit(role: Any) -> None:
    lines = units.role_unit(role).splitlines()
    assert f"ExecStart=/usr/bin/python3 -m deploy.services.role {role.name} {layout.RUN}" in lines
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="):
        assert line in lines
    assert f"User={layout.ACCOUNT}" in lines
    assert ("WatchdogSec=90" in lines) == role.answers


def test_writes_are_refused_before_the_disk_is_full_and_until_there_is_room(tmp_path: Path) -> None:
    assert guard.needed(1000 * guard.MEGABYTE) == guard.LEAST_FREE
    assert guard.needed(10_000 * guard.MEGABYTE) == 500 * guard.MEGABYTE
    assert guard.needed(10**15) == guard.MOST_FREE
    size, limit = 10_000 * guard.MEGABYTE, 500 * guard.MEGABYTE
    mark = tmp_path / "read-only"
    found = guard.Guard(tmp_path, mark)
    assert found.look(limit, size) is None  # an operator may have forbidden writes
    assert found.look(limit - 1, size) is True
    mark.touch()
    assert found.look(limit, size) is True  # the database may have started again
    assert found.look(int(limit * guard.MARGIN), size) is False


def new_certificate(folder: Path, name: str, days: int) -> tuple[Path, Path]:
    """Make a certificate for a name that is valid for so many days, from ten days ago on."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=10)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / f"{name}-{days}.pem", folder / f"{name}-{days}.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


def test_a_certificate_is_checked_before_it_is_used(tmp_path: Path) -> None:
    certificate, key = new_certificate(tmp_path, "a.example", 30)
    web.check_certificate("a.example", certificate, key)
    with pytest.raises(InstallError, match=r"is for another name than b\.example"):
        web.check_certificate("b.example", certificate, key)
    _, other_key = new_certificate(tmp_path, "b.example", 30)
    with pytest.raises(InstallError, match=r"b.example-30.key is not the key of .*a.example-30"):
        web.check_certificate("a.example", certificate, other_key)
    old, old_key = new_certificate(tmp_path, "a.example", 1)
    with pytest.raises(InstallError, match="has expired"):
        web.check_certificate("a.example", old, old_key)


def options(*words: str) -> argparse.Namespace:
    return parser().parse_args(["install", "--source", ".", *words])


@pytest.fixture
def stored(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that stores how a site is reached."""
    monkeypatch.setattr(layout, "INSTALL", tmp_path / "install.env")
    return lambda web: installing.store(machine, web)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Give the name of the site"),
        (["--domain", "no name"], "Give the name of the site"),
        (["--domain", "a.example"], "Choose how browsers reach the site"),
        (["--domain", "a.example", "--key", "/etc/hostname"], "go together"),
        (["--domain", "a.example", "--certificate", "/no", "--key", "/no"], "/no is not there"),
        (["--domain", "a.example", "--acme", "a@b.example", "--http-only"], "Only one of"),
    ],
)
def test_options_that_say_too_little_are_refused(stored: Any, words: list[str], text: str) -> None:
    with pytest.raises(InstallError, match=text):
        installing.chosen(options(*words))


def test_a_later_run_keeps_what_its_options_do_not_say(stored: Any) -> None:
    first = installing.chosen(options("--domain", "a.example", "--acme", "me@a.example"))
    assert first == Web(domain="a.example", acme_email="me@a.example")
    stored(first)
    assert installing.chosen(options()) == first
    assert installing.chosen(options("--domain", "b.example")).acme_email == "me@a.example"
    assert installing.chosen(options("--http-only")) == Web(domain="a.example", http_only=True)


def test_an_update_runs_the_installation_of_the_new_version(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="no checkout of socialsite"):
        _installer(tmp_path)
    assert _installer(PROJECT_DIR) == [str(PROJECT_DIR / "deploy/install")]


def test_a_release_is_installed_in_its_own_place(tmp_path: Path) -> None:
    release = layout.RELEASES / "0123456789ab"
    assert releases.folder_of(release) == release
    assert releases.folder_of(tmp_path).parent == layout.RELEASES
    assert releases.again(release)[-3:] == ["install", "--source", str(release)]
