"""Where back-ups are kept: a folder, or S3 through rclone."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from deploy.site.machine import InstallError, run

# The file with the random id of a target.
MARK = "target-id"
RCLONE_MISSING = (3, 4)  # its exit codes for a folder and a file that are not there
PRIVATE_DIR, PRIVATE_FILE = 0o700, 0o600


class Folder:
    """A folder of this machine, such as a mounted disk. Only root can read what is put there."""

    def __init__(self, path: Path) -> None:
        # A folder that is not there may be a disk that is not mounted.
        if not path.is_dir():
            raise InstallError(f"{path} is no folder: create it, or mount its disk")
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def put(self, local: Path, name: str) -> None:
        """Store a file under this name: complete and on the disk, or not at all."""
        target = self.path / name
        for parent in reversed(target.relative_to(self.path).parents[:-1]):
            (self.path / parent).mkdir(mode=PRIVATE_DIR, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        try:
            with local.open("rb") as source, part.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
                copy.flush()
                os.fsync(copy.fileno())
        except OSError:  # such as a full disk, which needs the room
            part.unlink(missing_ok=True)
            raise
        part.chmod(PRIVATE_FILE)
        part.replace(target)
        sync(target.parent)

    def get(self, name: str, local: Path) -> None:
        """Copy a stored file to `local`. Raises InstallError if there is none."""
        try:
            shutil.copyfile(self.path / name, local)
        except FileNotFoundError:
            raise InstallError(f"{self} has no {name}") from None

    def mark(self) -> str:
        """Return the id of the target, "" if it has none yet."""
        path = self.path / MARK
        return path.read_text().strip() if path.exists() else ""

    def set_mark(self, mark: str) -> str:
        """Store the id of the target and return it."""
        return _stored_mark(self, mark)

    def names(self, folder: str) -> Iterator[str]:
        """Yield the names of all files below a folder of the target."""
        for parent, _, files in os.walk(self.path / folder):
            for name in files:
                if not name.startswith("."):
                    yield str(Path(parent, name).relative_to(self.path))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the bytes of all files below a folder of the target."""
        return {name: (self.path / name).stat().st_size for name in self.names(folder)}

    def delete(self, name: str) -> None:
        """Delete a stored file."""
        (self.path / name).unlink(missing_ok=True)
        for parent in (self.path / name).parents:
            if parent == self.path or any(parent.iterdir()):
                break
            parent.rmdir()


class Bucket:
    """A bucket of S3 or of a server that speaks its protocol, and a path in it."""

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        if shutil.which("rclone") is None:
            raise InstallError("Back-ups in S3 need rclone: apt-get install rclone")
        self.url = url
        self.remote = f":s3:{url.removeprefix('s3://')}"
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",  # no configuration of somebody else
            "RCLONE_CONFIG": "/dev/null",
            "RCLONE_S3_PROVIDER": settings.get("S3_PROVIDER", "Other"),
            "RCLONE_S3_ENV_AUTH": "true",
            "RCLONE_S3_ENDPOINT": settings.get("S3_ENDPOINT", ""),
            "RCLONE_S3_REGION": settings.get("S3_REGION", ""),
            "AWS_ACCESS_KEY_ID": settings.get("AWS_ACCESS_KEY_ID", ""),
            "AWS_SECRET_ACCESS_KEY": settings.get("AWS_SECRET_ACCESS_KEY", ""),
        }

    def __str__(self) -> str:
        return self.url

    def _rclone(self, *words: str) -> str:
        return run("rclone", "--quiet", "--retries=5", *words, env=self.env)

    def put(self, local: Path, name: str) -> None:
        """Store a file under this name: complete, or not at all."""
        self._rclone("copyto", "--checksum", str(local), f"{self.remote}/{name}")

    def get(self, name: str, local: Path) -> None:
        """Copy a stored file to `local`. Raises InstallError if there is none."""
        self._rclone("copyto", f"{self.remote}/{name}", str(local))
        if not local.exists():
            raise InstallError(f"{self} has no {name}")

    def mark(self) -> str:
        """Return the id of the target, "" if it has none yet."""
        command = ("rclone", "--quiet", "--retries=5", "cat", f"{self.remote}/{MARK}")
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode in (0, *RCLONE_MISSING):
            return done.stdout.strip()
        raise InstallError(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stderr}")

    def set_mark(self, mark: str) -> str:
        """Store the id of the target and return it."""
        return _stored_mark(self, mark)

    def names(self, folder: str) -> Iterator[str]:
        """Yield the names of all files below a folder of the target."""
        listed = self._rclone("lsf", "--recursive", "--files-only", f"{self.remote}")
        yield from (name for name in listed.splitlines() if name.startswith(f"{folder}/"))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the bytes of all files below a folder of the target."""
        form = ("--format", "sp", "--separator", "\t")
        listed = self._rclone("lsf", "--recursive", "--files-only", *form, f"{self.remote}")
        found = (line.split("\t", 1) for line in listed.splitlines())
        return {name: int(size) for size, name in found if name.startswith(f"{folder}/")}

    def delete(self, name: str) -> None:
        """Delete a stored file."""
        self._rclone("deletefile", f"{self.remote}/{name}")


Target = Folder | Bucket


def _stored_mark(target: Target, mark: str) -> str:
    with tempfile.TemporaryDirectory() as work:
        local = Path(work, MARK)
        local.write_text(f"{mark}\n")
        target.put(local, MARK)
    return mark


def target_of(settings: Mapping[str, str]) -> Target:
    """Return the target that the settings name. Raises InstallError if they name none."""
    place = settings.get("TARGET", "")
    if place.startswith("s3://"):
        return Bucket(place.rstrip("/"), settings)
    if not place.startswith("/"):
        raise InstallError("TARGET must be a folder (/…) or a bucket (s3://…)")
    return Folder(Path(place))


def sync(directory: Path) -> None:
    """Write a directory to the disk, so that a new name in it survives a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
