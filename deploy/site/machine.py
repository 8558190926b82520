"""Changes of the machine: each is made only where something differs, and is reported.

So a second installation with the same options changes nothing, and says so.
"""

import contextlib
import grp
import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

# Of the output of a command that failed.
SHOWN_LINES = 20


class InstallError(Exception):
    """The machine cannot be changed as asked; the text says why, and what to do."""


class CommandError(InstallError):
    """A command failed; `output` is what it said."""

    def __init__(self, command: Sequence[str], code: int, output: str) -> None:
        self.output = _end(output)
        super().__init__(f"`{' '.join(command)}` ended with {code}:\n{self.output}")


def _end(output: str) -> str:
    """Return the last lines of what a program said: where tracebacks have their reason."""
    lines = output.splitlines()
    return output if len(lines) <= SHOWN_LINES else "\n".join(["…", *lines[-SHOWN_LINES:]])


class Machine:
    """The machine, and the list of what was changed."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.files: set[Path] = set()  # written in this run
        self._is_quiet = False

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Print no changes meanwhile: they are steps of one that is printed."""
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False

    def changed(self, text: str) -> None:
        """Report one change."""
        self.changes.append(text)
        if not self._is_quiet:
            self.begins(text)

    @staticmethod
    def begins(text: str) -> None:
        """Report something that takes its time, and is no change by itself."""
        with contextlib.suppress(OSError):  # a closed terminal must not stop the work halfway
            print(f"  {text}", flush=True)

    def write(
        self, path: Path, text: str, mode: int = 0o644, owner: str = "root", group: str = "root"
    ) -> bool:
        """Make a file have this text, mode and owner; return whether it differed."""
        now = path.read_text() if path.is_file() else None
        if now == text and not self._differs(path, mode, owner, group):
            return False
        # The new file is complete and has its mode before it has its name.
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        self._own(Path(name), mode, owner, group)
        os.replace(name, path)
        self.files.add(path)
        self.changed(f"{path} {'written' if now is None else 'changed'}")
        return True

    def directory(
        self, path: Path, mode: int = 0o755, owner: str = "root", group: str = "root"
    ) -> None:
        """Make a directory exist with this mode and owner."""
        if path.is_dir() and not self._differs(path, mode, owner, group):
            return
        known = path.is_dir()
        path.mkdir(parents=True, exist_ok=True)
        self._own(path, mode, owner, group)
        self.changed(f"{path} {'changed' if known else 'created'}")

    def link(self, path: Path, target: Path) -> bool:
        """Make a symbolic link point to `target` at once; return whether it differed."""
        if path.is_symlink() and path.readlink() == target:
            return False
        new = path.with_name(f".{path.name}.new")
        new.unlink(missing_ok=True)
        new.symlink_to(target)
        os.replace(new, path)
        self.changed(f"{path} points to {target}")
        return True

    def account(self, name: str, home: Path, groups: Sequence[str]) -> None:
        """Make a system account exist that nobody can log in to, with these other groups."""
        try:
            pwd.getpwnam(name)
        except KeyError:
            options = ("--system", "--user-group", "--no-create-home", "--shell=/usr/sbin/nologin")
            run("useradd", *options, f"--home-dir={home}", name)
            self.changed(f"account {name} created")
        for group in groups:
            if name not in grp.getgrnam(group).gr_mem:
                run("usermod", "--append", f"--groups={group}", name)
                self.changed(f"account {name} joined the group {group}")

    def run(self, *command: str) -> None:
        """Run a command that changes the machine, and report it."""
        run(*command)
        self.changed(" ".join(command))

    def enabled(self, unit: str, *, start: bool = True) -> None:
        """Make a unit start with the machine, and by default now."""
        if not succeeds("systemctl", "--quiet", "is-enabled", unit):
            self.run("systemctl", "--quiet", "enable", unit)
        if start and not succeeds("systemctl", "--quiet", "is-active", unit):
            self.run("systemctl", "start", unit)

    def disabled(self, unit: str) -> None:
        """Make a unit not start with the machine, and stop it."""
        if succeeds("systemctl", "--quiet", "is-enabled", unit):
            self.run("systemctl", "--quiet", "disable", "--now", unit)

    @staticmethod
    def _differs(path: Path, mode: int, owner: str, group: str) -> bool:
        found = path.stat()
        wanted = (mode, pwd.getpwnam(owner).pw_uid, grp.getgrnam(group).gr_gid)
        return (found.st_mode & 0o7777, found.st_uid, found.st_gid) != wanted

    @staticmethod
    def _own(path: Path, mode: int, owner: str, group: str) -> None:
        os.chown(path, pwd.getpwnam(owner).pw_uid, grp.getgrnam(group).gr_gid)
        path.chmod(mode)


def run(
    *command: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> str:
    """Run a command and return its output. Raises InstallError with its output if it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CommandError(command, done.returncode, f"{done.stdout}{done.stderr}".strip())
    return done.stdout


def succeeds(*command: str) -> bool:
    """Return whether a command ends with 0."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
