"""Lock files match the lists, and an installation accepts nothing else."""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.dev import locks

pytestmark = pytest.mark.once


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with copies of all lists and lock files."""
    shutil.copytree(locks.PROJECT_DIR / "requirements", tmp_path / "requirements")
    shutil.copy(locks.PROJECT_DIR / "requirements.txt", tmp_path)
    return tmp_path


def change(file: str, old: str, new: str) -> Callable[[Path], None]:
    """Return a function that replaces an existing text in a file of a folder."""

    def apply(root: Path) -> None:
        text = (root / file).read_text()
        assert old in text
        (root / file).write_text(text.replace(old, new, 1))

    return apply


def cut_hashes(root: Path) -> None:
    """Remove all hashes of the first package of a lock file."""
    path = root / "requirements/lock/base.txt"
    lines = path.read_text().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    end = next(number for number in range(first, len(lines)) if "# via" in lines[number])
    path.write_text("".join(lines[: first + 1] + lines[end:]))


def test_the_lock_files_match_the_lists() -> None:
    assert locks.differences() == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (change("requirements/base.txt", "jinja2==3", "jinja2==4"), "jinja2: requirements/base"),
        (change("requirements/base.txt", "tqdm==", "tqdm2=="), "tqdm2: requirements/base.txt has"),
        (change("requirements.txt", "granian", "# granian"), "granian: requirements.txt has none"),
        (change("requirements/dev.txt", "ruff==", "ruff>="), "no exact version: ruff>="),
        (change("requirements/lock/dev.txt", "kombu==", "kombu==9"), "kombu 5.7.0, elsewhere 95."),
        (change("requirements/lock/base.txt", "kombu==", "kombu @ x=="), "not a line of a lock"),
        (change("requirements/lock/base.txt", "six==1", "six==1+x"), "not a line of a lock file"),
        (change("requirements/lock/base.txt", "six==", "--index-url x\nsix=="), "--index-url x"),
        (change("requirements/lock/base.txt", "sha256:", "md5:"), "not a line of a lock file"),
        (change("requirements/lock/base.txt", "six==", "amqp==1 \\\nsix=="), "amqp appears twice"),
        (cut_hashes, "altcha has no hash"),
        (lambda root: (root / "requirements/lock/stack.txt").unlink(), "No such file"),
    ],
)
def test_each_difference_is_found(project: Path, fault: Callable[[Path], None], said: str) -> None:
    fault(project)
    assert said in "\n".join(locks.differences(project))


def wheel(folder: Path) -> Path:
    """Create the wheel of a package without content."""
    path = folder / "harmless-1.0-py3-none-any.whl"
    info = "harmless-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: harmless\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")
    return path


def test_an_installation_accepts_only_files_with_a_locked_hash(tmp_path: Path) -> None:
    harmless = wheel(tmp_path)
    (tmp_path / "Makefile").touch()
    lock_dir = tmp_path / "requirements" / "lock"
    lock_dir.mkdir(parents=True)
    (lock_dir / "build.txt").touch()
    # A venv as if pip had just been installed: it links to the packages of the test run.
    venv = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = next(venv.glob("lib/python3*/site-packages"))
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    (venv / ".stamp-build").write_text(hashlib.sha256().hexdigest())

    def install() -> subprocess.CompletedProcess[str]:
        """Run the project's script in the folder, without an index."""
        configuration = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
        return subprocess.run(
            [str(locks.PROJECT_DIR / "deploy/venv.sh"), "base"],
            cwd=tmp_path,
            env={**os.environ, **configuration, "PIP_FIND_LINKS": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    for bad in ("harmless==1.0\n", f"harmless==1.0 --hash=sha256:{'0' * 64}\n"):
        (lock_dir / "base.txt").write_text(bad)
        refused = install()
        assert refused.returncode
        assert "hash" in refused.stderr.lower()
        assert not (venv / ".stamp-base").exists()

    good = hashlib.sha256(harmless.read_bytes()).hexdigest()
    (lock_dir / "base.txt").write_text(f"harmless==1.0 --hash=sha256:{good}\n")
    done = install()
    assert done.returncode == 0, done.stderr
    assert (packages / "harmless-1.0.dist-info").is_dir()
