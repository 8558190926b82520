"""Compression by zstd, and encryption by age or GnuPG.

A recipient is a public key: `age1…` or `ssh-…` for age, anything else is a key of GnuPG. The name
of a sealed file says how it was made: `database.zst.age`.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from deploy.site.machine import InstallError


class DamagedError(InstallError):
    """A file cannot be opened: it is damaged, or sealed for another key."""


# Survives a full memory; each use makes a private folder in it.
WORK = Path("/var/tmp")  # noqa: S108
ZSTD = ["zstd", "--quiet", "--stdout", "-3"]
# Programs end with the command, also if it is killed: they may write into the database.
BOUND = ["setpriv", "--pdeathsig", "TERM", "--"]
UNZSTD = ["zstd", "--quiet", "--stdout", "--decompress"]


@dataclass(frozen=True)
class Seal:
    """How files are sealed: the recipient, and for reading the file of the private key."""

    recipient: str = ""
    identity: str = ""

    @property
    def suffix(self) -> str:
        """The end of the names of files that are sealed now."""
        return ".zst" + ({True: ".age", False: ".gpg"}[self._age] if self.recipient else "")

    @property
    def _age(self) -> bool:
        return self.recipient.startswith(("age1", "ssh-"))

    def closing(self) -> list[list[str]]:
        """Return the programs that seal what flows through them."""
        if not self.recipient:
            return [ZSTD]
        if self._age:
            return [ZSTD, ["age", "--recipient", self.recipient]]
        trust = ("--batch", "--yes", "--trust-model", "always", "--compress-algo", "none")
        return [ZSTD, ["gpg", *trust, "--recipient", self.recipient, "--encrypt"]]

    def opening(self, name: str) -> list[list[str]]:
        """Return the programs that open a file of this name. Raises InstallError without a key."""
        if name.endswith(".age"):
            if not self.identity:
                raise InstallError(f"{name} is encrypted: give the private key, --identity FILE")
            return [["age", "--decrypt", "--identity", self.identity], UNZSTD]
        if name.endswith(".gpg"):
            return [["gpg", "--batch", "--quiet", "--decrypt"], UNZSTD]
        return [UNZSTD]

    def prove(self) -> None:
        """Raise InstallError if the private key is there and is not that of the recipient."""
        if not (self.recipient and self.identity):
            return
        with work_directory() as work:
            plain, sealed = work / "plain", work / f"sealed{self.suffix}"
            plain.write_text("proof")
            flow(self.closing(), source=plain, target=sealed)
            try:
                flow(self.opening(sealed.name), source=sealed)
            except DamagedError as error:
                raise InstallError(
                    f"The key of {self.identity} does not open what is encrypted for"
                    f" {self.recipient}, so nothing was backed up:\n{error}"
                ) from None


def flow(
    programs: Sequence[Sequence[str]],
    *,
    source: Path | BinaryIO | None = None,
    target: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run programs as one pipe from a file to a file.

    Raises InstallError if one of them is not installed, DamagedError if one fails, and
    FileNotFoundError if `source` is missing.
    """
    for program in programs:
        if shutil.which(program[0]) is None:
            raise InstallError(f"{program[0]} is not installed: apt-get install {program[0]}")
    with ExitStack() as stack:
        errors = stack.enter_context(tempfile.TemporaryFile())
        before: Any = source or subprocess.DEVNULL
        if isinstance(source, Path):
            before = stack.enter_context(source.open("rb"))
        output = stack.enter_context(target.open("wb")) if target else subprocess.DEVNULL
        running: list[subprocess.Popen[bytes]] = []
        for number, program in enumerate(programs):
            last = number == len(programs) - 1
            process = subprocess.Popen(
                [*BOUND, *program],
                stdin=before,
                stdout=output if last else subprocess.PIPE,
                stderr=errors,
                env=env,
            )
            if running and running[-1].stdout:
                running[-1].stdout.close()  # so that its reader's end is noticed
            running.append(process)
            stack.callback(_end, process)
            before = process.stdout or subprocess.DEVNULL
        codes = [process.wait() for process in running]
        if any(codes):
            errors.seek(0)
            names = " | ".join(program[0] for program in programs)
            text = errors.read().decode(errors="replace").strip()
            raise DamagedError(f"`{names}` failed ({codes}):\n{text}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program of a pipe that was interrupted."""
    if process.poll() is None:
        process.terminate()
        process.wait()


@contextmanager
def work_directory() -> Iterator[Path]:
    """Return a private directory for files on their way."""
    with tempfile.TemporaryDirectory(prefix="socialsite-backup-", dir=WORK) as folder:
        yield Path(folder)
