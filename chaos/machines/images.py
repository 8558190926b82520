"""Images of containers, built without a registry of images.

Debian's base image is made by mmdebstrap. MariaDB and Redis are images with Debian's packages; they
stand in for the official ones of the same name in compose.yaml, with their users, and as much of
their entry point as the site uses.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.machines.nspawn import CA_FILE, SUITE, MachineError
from deploy.services.site_processes import PROJECT_DIR

FOLDER = Path("/var/tmp/socialsite-images")  # noqa: S108  (only root can write its own folder)
BASE = "docker.io/library/debian:bookworm-slim"
SITE = "localhost/socialsite:latest"
TOOLS = ("buildah", "mmdebstrap")
PIP = f"[global]\ncert = {CA_FILE}\ntimeout = 120\n"
MARIADB_ENTRY = """\
#!/bin/sh
set -eu
[ -d /var/lib/mysql/mysql ] || mariadb-install-db --datadir=/var/lib/mysql --skip-test-db >/dev/null
cat >/tmp/init.sql <<END
CREATE DATABASE IF NOT EXISTS $MARIADB_DATABASE;
CREATE USER IF NOT EXISTS '$MARIADB_USER'@'%' IDENTIFIED BY '$MARIADB_PASSWORD';
GRANT ALL ON $MARIADB_DATABASE.* TO '$MARIADB_USER'@'%';
END
exec mariadbd --bind-address=0.0.0.0 --init-file=/tmp/init.sql "$@"
"""
STAND_INS = {
    "docker.io/library/mariadb:10.11": (
        f"FROM {BASE}\n"
        "RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq"
        " --no-install-recommends mariadb-server && rm -rf /var/lib/mysql/*\n"
        "COPY entry /usr/local/bin/docker-entrypoint.sh\n"
        'ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]\n',
        MARIADB_ENTRY,
    ),
    "docker.io/library/redis:7": (
        f"FROM {BASE}\n"
        "RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq"
        " --no-install-recommends redis-server\n"
        "RUN install -d -o redis -g redis /data\n"
        "WORKDIR /data\n",
        "",
    ),
}


@dataclass(frozen=True)
class Image:
    """A mounted image: its files and its configuration."""

    name: str
    root: Path
    config: dict[str, Any]

    @property
    def env(self) -> dict[str, str]:
        """Its environment."""
        return dict(line.split("=", 1) for line in self.config.get("Env") or ())


def missing() -> str:
    """Return why no images can be built here; "" if they can."""
    lacking = [name for name in TOOLS if shutil.which(name) is None]
    if not lacking:
        return ""
    return f"not installed: {', '.join(lacking)} (apt-get install {' '.join(TOOLS)})"


def build_site() -> str:
    """Build the image of the site from the checkout and return the output."""
    _base()
    return _build(SITE, PROJECT_DIR, PROJECT_DIR / "Containerfile", "--label", "trial=1")


def build_stand_in(name: str) -> None:
    """Build the image that stands in for an official one, unless it is there."""
    if _exists(name):
        return
    _base()
    text, entry = STAND_INS[name]
    folder = FOLDER / "stand-in"
    folder.mkdir(exist_ok=True)
    (folder / "Containerfile").write_text(text)
    (folder / "entry").write_text(entry)
    (folder / "entry").chmod(0o755)
    _build(name, folder, folder / "Containerfile")


def megabytes(name: str) -> float:
    """Return the size of an image on the disk."""
    text = checked("buildah", "images", "--json", name)
    return sum(path_bytes(item) for item in json.loads(text)[:1])


def path_bytes(item: dict[str, Any]) -> float:
    """Return the megabytes of one entry of `buildah images`, which writes them as a text."""
    number, unit = item["size"].split()
    return float(number) * {"kB": 0.001, "KB": 0.001, "MB": 1, "GB": 1000}[unit]


def mounted(name: str, container: str) -> Image:
    """Mount an image as the files of a buildah container of this name; `unmounted` ends it."""
    checked("buildah", "from", "--pull=never", "--name", container, name)
    root = Path(checked("buildah", "mount", container).strip())
    config = json.loads(checked("buildah", "inspect", "--type", "image", name))
    return Image(name, root, config["Docker"]["config"])


def unmounted(container: str) -> None:
    """Delete a buildah container with its mount."""
    checked("buildah", "rm", container)


def _base() -> None:
    """Make Debian's base image, as small as mmdebstrap can, unless it is there."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    if _exists(BASE):
        return
    tar = FOLDER / "base.tar"
    checked("mmdebstrap", "--variant=minbase", SUITE, str(tar))
    container = checked("buildah", "from", "scratch").strip()
    checked("buildah", "add", "--quiet", container, str(tar), "/")
    checked("buildah", "commit", "--quiet", "--rm", container, BASE)
    tar.unlink()


def _exists(name: str) -> bool:
    command = ["buildah", "inspect", "--type", "image", name]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _build(name: str, folder: Path, file: Path, *options: str) -> str:
    """Build an image; pip trusts the certificates that this machine trusts."""
    pip = FOLDER / "pip.conf"
    pip.write_text(PIP.replace(CA_FILE, "/run/trial-certificates.crt"))
    return checked(
        *("buildah", "build", "--isolation", "chroot", "--layers", "--pull=never"),
        *("--format", "docker", "--volume", f"{pip}:/etc/pip.conf:ro"),
        *("--volume", f"{os.path.realpath(CA_FILE)}:/run/trial-certificates.crt:ro"),
        *("--tag", name, "--file", str(file), *options, str(folder)),
    )


def checked(*command: str) -> str:
    """Run a command and return its output. Raises MachineError."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        text = f"{done.stdout}{done.stderr}"[-4000:]
        raise MachineError(f"{' '.join(command[:3])} ended with {done.returncode}:\n{text}")
    return done.stdout
