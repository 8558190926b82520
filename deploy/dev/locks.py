"""Lock files: every package that an installation may fetch, with the hashes of its files.

People edit the lists: `requirements/base.txt`, `requirements.txt` and `requirements/dev.txt`, and
`build.txt`, `tools.txt`, `otel.txt` and `s3.txt` beside them. `make lock` resolves each list with
uv and writes `requirements/lock/<set>.txt`: every package that the list needs, also on other
systems and newer versions of Python, with the SHA-256 of each file that PyPI has of that version.
`deploy/venv.sh` installs from lock files only.

`python -m deploy.dev.locks --check` compares lists and lock files without a network and prints each
difference; `make check` runs it. `make lock` keeps the locked versions as far as the lists permit.
ARGS="--upgrade-package NAME" fetches the newest version of an indirect package.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PROJECT_DIR = Path(__file__).resolve().parents[2]
LOCK_DIR = "requirements/lock"
# The largest of the nested sets comes first: the smaller ones take their versions from it.
GROWING = {
    "dev": "requirements/dev.txt",
    "stack": "requirements.txt",
    "base": "requirements/base.txt",
}
LISTS = {
    **GROWING,
    "build": "requirements/build.txt",
    "tools": "requirements/tools.txt",
    "otel": "requirements/otel.txt",
    "s3": "requirements/s3.txt",
}
# Installed beside one of the nested sets, so they have the same versions.
OPTIONAL = ("otel", "s3")
OLDEST_PYTHON = "3.11"

PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[A-Za-z0-9,._-]+\])?==([A-Za-z0-9.!]+)")
LOCKED = re.compile(PIN.pattern + r"(?: ; [^\\#]+?)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
DIRECT = re.compile(r"    #(?: via|  ) -r requirements\S*\.txt")


class Locked(NamedTuple):
    """A package of a lock file; `direct` if a list names it."""

    version: str
    hashes: int
    direct: bool


def normal(name: str) -> str:
    """Return the normalized form of a package name, for comparison."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: Path) -> dict[str, str]:
    """Return name and version of the packages in a list and the lists it includes.

    Raises ValueError for a line that is neither a pin nor an include.
    """
    found: dict[str, str] = {}
    for line in path.read_text().splitlines():
        text = line.split("#")[0].strip()
        if text.startswith("-r "):
            found |= pins(path.parent / text.removeprefix("-r "))
        elif match := PIN.fullmatch(text):
            found[normal(match[1])] = match[2]
        elif text:
            raise ValueError(f"{path}: no exact version: {text}")
    return found


def locked(path: Path) -> dict[str, Locked]:
    """Return the packages of a lock file.

    Raises ValueError for lines that uv does not write for PyPI's packages: the URL of an index or a
    file, an option, a local version, a duplicate package.
    """
    found: dict[str, Locked] = {}
    name = ""
    for line in path.read_text().splitlines():
        if match := LOCKED.fullmatch(line):
            name = normal(match[1])
            if name in found:
                raise ValueError(f"{path}: {name} appears twice")
            found[name] = Locked(match[2], 0, False)
        elif name and HASH.fullmatch(line):
            found[name] = found[name]._replace(hashes=found[name].hashes + 1)
        elif name and DIRECT.fullmatch(line):
            found[name] = found[name]._replace(direct=True)
        elif line.strip() and not line.lstrip().startswith("#"):
            raise ValueError(f"{path}: not a line of a lock file: {line}")
    return found


def differences(root: Path = PROJECT_DIR) -> list[str]:
    """Return one sentence for each difference between the lists and the lock files."""
    said = []
    versions: dict[str, str] = {}
    for name, file in LISTS.items():
        lock = f"{LOCK_DIR}/{name}.txt"
        try:
            wanted, have = pins(root / file), locked(root / lock)
        except (OSError, ValueError) as error:
            said.append(str(error))
            continue
        direct = {package: entry.version for package, entry in have.items() if entry.direct}
        for package in sorted(wanted.keys() | direct.keys()):
            if wanted.get(package) != direct.get(package):
                said.append(
                    f"{package}: {file} has {wanted.get(package, 'none')}, "
                    f"{lock} has {direct.get(package, 'none')}"
                )
        said += [f"{lock}: {package} has no hash" for package, it in have.items() if not it.hashes]
        if name in GROWING or name in OPTIONAL:
            said += [
                f"{lock}: {package} {it.version}, elsewhere {versions[package]}"
                for package, it in have.items()
                if versions.setdefault(package, it.version) != it.version
            ]
    return said


def write(options: list[str]) -> None:
    """Resolve every list and write its lock file.

    Raises CalledProcessError when a list has no solution. Uses only PyPI, or a mirror in
    UV_DEFAULT_INDEX: other indexes and wheel folders of this machine's configuration may have files
    that nobody else can fetch.
    """
    kept = ("UV_DEFAULT_INDEX", "UV_CACHE_DIR")
    env = {key: value for key, value in os.environ.items() if key[:3] != "UV_" or key in kept}
    folder = PROJECT_DIR / LOCK_DIR
    folder.mkdir(exist_ok=True)
    for name, file in LISTS.items():
        output = folder / f"{name}.txt"
        if (name in GROWING or name in OPTIONAL) and name != "dev":
            # uv prefers the versions in the existing output file: those of the largest set.
            shutil.copy(folder / "dev.txt", output)
        upgrade = options if name in ("dev", "build", "tools") else []
        subprocess.run(
            [
                *(str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet"),
                *("--no-config", "--universal", "--python-version", OLDEST_PYTHON),
                *("--fork-strategy", "fewest", "--generate-hashes", "--no-emit-index-url"),
                *("--no-emit-find-links", "--custom-compile-command", "make lock", *upgrade),
                *(file, "--output-file", str(output.relative_to(PROJECT_DIR))),
            ],
            cwd=PROJECT_DIR,
            env=env,
            check=True,
        )


def main(arguments: list[str]) -> int:
    """Write or check the lock files; return the exit code."""
    if arguments != ["--check"]:
        try:
            write(arguments)
        except subprocess.CalledProcessError as error:
            return error.returncode
    said = differences()
    for sentence in said:
        print(sentence)
    if said:
        print("`make lock` rewrites the lock files.")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
