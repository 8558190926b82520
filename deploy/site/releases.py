"""Releases: folders with the code and the packages of one version, side by side.

A release has the name of its contents, so the same code is never installed twice. Processes keep
the release that they started with; `current` names the one for the next start.
"""

import fnmatch
import hashlib
import os
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

from deploy.site import layout, settings
from deploy.site.machine import InstallError, Machine, run

# Not part of the code: what tools and a development site leave in a checkout.
LEFT_OUT = (
    *(".git", ".venv", ".env", "data", "__pycache__", "*.pyc", ".*_cache", ".hypothesis"),
    *("node_modules", ".import_linter_cache", "build", "*.egg-info"),
)
COMPLETE = ".complete"
KEPT = 3


def files_of(source: Path) -> Iterator[Path]:
    """Yield the files of a checkout, relative to it and sorted, without what is not code."""
    for parent, directories, names in os.walk(source):
        directories[:] = sorted(name for name in directories if not _left_out(name))
        for name in sorted(names):
            if not _left_out(name):
                yield Path(parent, name).relative_to(source)


def _left_out(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in LEFT_OUT)


def name_of(source: Path) -> str:
    """Return the name of the release of a checkout: a hash of its files."""
    digest = hashlib.sha256()
    for path in files_of(source):
        found = source / path
        content = os.readlink(found).encode() if found.is_symlink() else found.read_bytes()
        executable = os.access(found, os.X_OK)
        digest.update(f"{path}\0{executable}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def folder_of(source: Path) -> Path:
    """Return the release of a checkout; that of a release is itself."""
    return source if source.parent == layout.RELEASES else layout.RELEASES / name_of(source)


def install(machine: Machine, source: Path) -> Path:
    """Copy a checkout into a release of its own with its packages, and return its folder."""
    require_checkout(source)
    release = folder_of(source)
    if is_complete(release):
        return release
    shutil.rmtree(release, ignore_errors=True)
    for path in files_of(source):
        target = release / path
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copy2(source / path, target, follow_symlinks=False)
    for parent, directories, names in os.walk(release):
        for name in (*directories, *names):
            _readable(Path(parent, name))
    _readable(release)
    machine.begins("the packages of the version are installed, for about half a minute")
    run("deploy/venv.sh", "stack", cwd=release)
    add_packages(release)
    # The account of the site cannot write here, so Python would compile everything at each start.
    run(
        *(str(release / ".venv/bin/python"), "-m", "compileall", "-q", "-j", "0", "."),
        cwd=release,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )
    (release / COMPLETE).touch()
    machine.changed(f"{release} installed")
    return release


def add_packages(release: Path) -> None:
    """Install the optional packages that the settings need, unless the release has them."""
    found, wanted = settings.environment(), list[str]()
    if found.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        wanted.append("otel")
    if found.get("MEDIA_URL", "").startswith("s3://"):
        wanted.append("s3")
    # An earlier version, which a roll-back starts, knows no sets; it has what it needed.
    if "otel|s3)" in (release / "deploy/venv.sh").read_text():
        for name in wanted:
            run("deploy/venv.sh", name, cwd=release)


def is_complete(release: Path) -> bool:
    """Return whether a release is installed."""
    return (release / COMPLETE).exists()


def require_checkout(source: Path) -> None:
    """Raise InstallError if a folder does not have the code of a version."""
    for name in ("manage.py", "deploy/install"):
        if not (source / name).is_file():
            raise InstallError(f"{source} is no checkout of socialsite: it has no {name}")


def again(release: Path) -> list[str]:
    """Return the command line by which a release makes the machine and itself run as it wants."""
    python = ("env", f"PYTHONPATH={release}", "/usr/bin/python3", "-P")
    return [*python, "-m", "deploy.site", "install", "--source", str(release)]


def _readable(path: Path) -> None:
    """Give a file or folder to root, readable by all, whoever owned the checkout."""
    os.chown(path, 0, 0, follow_symlinks=False)
    if not path.is_symlink():
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def version_of(release: Path) -> str:
    """Return the version of a release, such as 0.2.0; "" if it has none."""
    path = release / "pyproject.toml"
    if not path.exists():
        return ""
    return str(tomllib.loads(path.read_text())["project"].get("version", ""))


def current() -> Path | None:
    """Return the folder of the current release, None before the first one."""
    return layout.CURRENT.resolve() if layout.CURRENT.is_symlink() else None


def previous() -> Path:
    """Return the release that was current before. Raises InstallError if there is none."""
    if not is_complete(layout.PREVIOUS):
        raise InstallError("There is no release before the present one on this machine")
    return layout.PREVIOUS.resolve()


def discard(release: Path) -> None:
    """Make a release that did not start be installed anew the next time."""
    (release / COMPLETE).unlink(missing_ok=True)


def all_releases() -> list[Path]:
    """Return the complete releases, the newest first."""
    found = [path.parent for path in layout.RELEASES.glob(f"*/{COMPLETE}")]
    return sorted(found, key=lambda path: (path / COMPLETE).stat().st_mtime_ns, reverse=True)


def remove_old(machine: Machine) -> None:
    """Delete all but the newest releases and the current one, and those that did not start."""
    kept = {*all_releases()[:KEPT], current(), layout.PREVIOUS.resolve()}
    for release in sorted(layout.RELEASES.iterdir()):
        if release not in kept:
            shutil.rmtree(release)
            machine.changed(f"{release} deleted")


def manage(release: Path, *words: str) -> str:
    """Run a management command of a release under the account of the site; return its output."""
    return run(*as_site(release, *words), cwd=release, env=settings.environment())


def as_site(release: Path, *words: str) -> list[str]:
    """Return the command line of a management command under the account of the site."""
    account = layout.ACCOUNT
    drop = (f"--reuid={account}", f"--regid={account}", "--init-groups", "--no-new-privs")
    return ["setpriv", *drop, "--", str(release / ".venv/bin/python"), "manage.py", *words]
