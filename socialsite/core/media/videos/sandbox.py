"""Run ffmpeg and ffprobe with limits of the kernel; they parse files that strangers made.

A program gets limited memory, processor time and file size, no environment but the least, no input,
and a low priority. It sees the file that it reads, the file that it writes and the system's own
(`confined`). It dies with the thread that started it. Its output is read up to a maximum.
util-linux, which is on every Debian, has `setpriv` and `prlimit`.
"""

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from socialsite.core.media.videos import confined
from socialsite.core.runtime import data_dir

logger = logging.getLogger(__name__)

PROGRAMS = ("ffmpeg", "ffprobe", "setpriv", "prlimit", "nice")
NICENESS = "10"
TICK_SECONDS = 1.0
OUTPUT_MAX = 1_000_000
BLOCK = 65536
ERROR_MAX = 500
FILES_MAX = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run: wall-clock and processor time, address space, size of a written file."""

    seconds: float
    cpu_seconds: int
    memory_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Result:
    """How a program ended: its exit code (negative: a signal), output, and last words."""

    code: int
    output: bytes
    error: str


class TooSlow(Exception):
    """The program did not end in time."""


def missing_programs() -> list[str]:
    """Return the needed programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def limited(argv: Sequence[str], limits: Limits, read: Path, write: Path | None) -> list[str]:
    """Return the command line that runs a program within limits."""
    files = (str(read), "" if write is None else str(write))
    return [
        *("setpriv", "--pdeathsig=KILL", "--no-new-privs", "--"),
        *("prlimit", f"--as={limits.memory_bytes}", f"--cpu={limits.cpu_seconds}"),
        *(f"--fsize={limits.file_bytes}", "--core=0", f"--nofile={FILES_MAX}", "--"),
        *("nice", "-n", NICENESS, sys.executable, "-I", confined.__file__, *files, *argv),
    ]


def run(
    argv: Sequence[str],
    limits: Limits,
    read: Path,
    write: Path | None = None,
    on_tick: Callable[[bytes], None] | None = None,
) -> Result:
    """Run a program that sees the file `read` and, if given, creates the file `write`.

    `on_tick` gets its newest output about every second. If it raises, the program is killed. Raises
    TooSlow.
    """
    if write is not None:
        write.touch(mode=data_dir.OWN_FILE)  # only a file that is there can be allowed
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "MALLOC_ARENA_MAX": "2"}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603  (the arguments are ours)
            limited(argv, limits, read, write),
            cwd="/",
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        output = _Output(process)
        try:
            _wait(process, output, limits.seconds, on_tick)
        finally:
            process.kill()
            process.wait()
            output.close()
        return Result(process.returncode, bytes(output.data), _last_words(errors))


def _wait(
    process: "subprocess.Popen[bytes]",
    output: "_Output",
    seconds: float,
    on_tick: Callable[[bytes], None] | None,
) -> None:
    latest = time.monotonic() + seconds
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TICK_SECONDS)
            return
        if time.monotonic() > latest:
            raise TooSlow
        if on_tick is not None:
            on_tick(bytes(output.data[-ERROR_MAX:]))


class _Output:
    """The output of a program, read by a thread; a program that writes too much is killed."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.data = bytearray()
        self._process = process
        self._thread = threading.Thread(target=self._read, name="video-output", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for the end of the output; the program has ended."""
        self._thread.join(timeout=5)

    def _read(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        with stream:
            while block := os.read(stream.fileno(), BLOCK):
                self.data += block
                if len(self.data) > OUTPUT_MAX:
                    self._process.kill()
                    return


def _last_words(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - ERROR_MAX))
    return errors.read(ERROR_MAX).decode(errors="replace").strip()
