"""Run a program that sees two files: `confined.py READ WRITE PROGRAM ARGUMENTS…`.

Landlock, a part of Linux since 5.13, refuses it all other files but the libraries and programs of
the system. Without Landlock the program runs as it is. The site starts this file by its path, and
it imports nothing of the site.
"""

import contextlib
import os
import shutil
import sys

from landlock import FSAccess, LandlockError, Ruleset

SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/urandom")
LOOK = FSAccess.READ_FILE
RUN = LOOK | FSAccess.READ_DIR | FSAccess.EXECUTE


def confine(read: str, write: str) -> None:
    """Leave this process and those that it starts the two files and the system."""
    rules = Ruleset()
    for path in SYSTEM:
        if os.path.exists(path):
            rules.allow(path, rules=RUN if os.path.isdir(path) else LOOK)
    rules.allow(*DEVICES, rules=LOOK | FSAccess.WRITE_FILE)
    rules.allow(read, rules=LOOK)
    if write:
        rules.allow(write, rules=FSAccess.all_file() & ~FSAccess.EXECUTE)
    rules.apply()


def main() -> None:
    """Become the program."""
    read, write, name, *arguments = sys.argv[1:]
    program = shutil.which(name) or name
    with contextlib.suppress(OSError, LandlockError):
        confine(read, write)
    os.execv(program, [name, *arguments])  # noqa: S606  (the site chose the program)


if __name__ == "__main__":
    main()
