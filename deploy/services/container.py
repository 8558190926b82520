"""The main process of a container: `python3 -m deploy.services.container WORD`.

| word | effect |
|---|---|
| the name of a role | runs it, and ends it if it does not answer any more |
| `nginx` | nginx on port 8080, which a reverse proxy in front of it reaches |
| `migrate` | migrates the database and writes the static files, then ends |
| `health` | ends with 0 if what runs in this container does its work (`HEALTHCHECK`) |
| `settings URL` | prints the file `.env` of a new site, with generated passwords and keys |

It needs only Python's own library, except for `migrate`.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from deploy.services import nginx
from deploy.services.role import SILENT_SECONDS, run
from deploy.services.site_processes import HTTP, PROJECT_DIR, ROLES, http_answers
from deploy.site import layout, settings

PORT = 8080
SCRATCH = Path("/var/tmp")  # noqa: S108  (a volume)
NGINX_WORK = Path("/var/cache/socialsite-nginx")
# In the memory of the container: what runs in it, and whether that has said that it is ready.
NAME, READY = Path("/tmp/socialsite-name"), Path("/tmp/socialsite-ready")  # noqa: S108
# The names and ports of the services of compose.yaml.
DATABASE, CACHE, BROKER = "database:3306", "cache:6379", "broker:6379"
ROLE_NAMES = {role.name: role for role in ROLES}
NEW = """\
# Settings of this site, for compose.yaml: docs/configuration.md lists all of them. Keep a copy
# where no attacker finds it. After a change: docker compose up --detach
"""


def run_role(name: str) -> int:
    """Run a role until it ends and return its exit code."""

    def tell(state: str) -> None:
        if state == "READY=1":
            READY.touch()

    _named(name)
    # For large uploads, which memory must not hold. A killed process left its files.
    shutil.rmtree(SCRATCH / name, ignore_errors=True)
    (SCRATCH / name).mkdir(mode=0o700)
    os.environ["TMPDIR"] = str(SCRATCH / name)
    return run(ROLE_NAMES[name], layout.RUN, tell, SILENT_SECONDS)


def run_nginx() -> None:
    """Become nginx."""
    _named("nginx")
    config = NGINX_WORK / "nginx.conf"
    config.write_text(nginx_configuration(os.environ.get("SITE_URL", "")))
    os.execv("/usr/sbin/nginx", ["nginx", "-e", "stderr", "-c", str(config)])  # noqa: S606


def nginx_configuration(site_url: str) -> str:
    """Return the text of nginx.conf for a site with this public address."""
    return nginx.configuration(
        NGINX_WORK,
        [f"0.0.0.0:{PORT}"],
        http_uds=[layout.RUN / f"{name}.sock" for name in HTTP],
        sockets_uds=layout.RUN / "sockets.sock",
        files=layout.DATA,
        scheme=urlsplit(site_url).scheme or "http",
        behind_proxy=True,
    )


def migrate() -> int:
    """Migrate the database and write the static files; return the exit code."""
    python = str(PROJECT_DIR / ".venv" / "bin" / "python")
    for words in (("migrate", "--noinput"), ("collectstatic", "--noinput", "--verbosity", "0")):
        done = subprocess.run([python, "manage.py", *words], cwd=PROJECT_DIR, check=False)
        if done.returncode:
            return done.returncode
    return 0


def health() -> bool:
    """Return whether what runs in this container does its work."""
    name = NAME.read_text() if NAME.exists() else ""
    if name == "nginx":
        return nginx_answers()
    if name not in ROLE_NAMES:
        return False
    if ROLE_NAMES[name].answers:
        return http_answers(layout.RUN / f"{name}.sock")
    return READY.exists() and is_connected(os.environ.get("BROKER_URL", ""))


def nginx_answers(port: int = PORT) -> bool:
    """Return whether nginx answers, even that the site does not."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
        return client.recv(8).startswith(b"HTTP/1.")
    return False


def is_connected(url: str, table: Path = Path("/proc/net/tcp")) -> bool:
    """Return whether a process of this container has a connection to the broker of this URL.

    A worker keeps one as long as it waits for tasks. Only IPv4 is looked at.
    """
    wanted = set[str]()
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
        for one in url.split(";"):
            parts = urlsplit(one)
            # Redis is where its Sentinels are, on a port that they know.
            port = "" if parts.scheme == "sentinel" else f"{parts.port or _port(parts.scheme):04X}"
            # An address as the kernel writes it: the number of four bytes in its own order.
            wanted |= {
                f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port}"
                for address in socket.gethostbyname_ex(parts.hostname or "")[2]
            }
    except OSError:
        return False
    established = "01"
    return any(row[2].startswith(tuple(wanted)) and row[3] == established for row in rows)


def _port(scheme: str) -> int:
    return {"amqp": 5672, "amqps": 5671}.get(scheme, 6379)


def new_settings(site_url: str) -> str:
    """Return the text of `.env` for a new site. Raises ValueError for a URL that is none."""
    parts = urlsplit(site_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise ValueError(f"{site_url} is no address of a site, such as https://social.example.org")
    lines = {
        "SITE_URL": site_url.rstrip("/"),
        "ALLOWED_HOSTS": parts.hostname,
        **settings.POLICIES,
        **settings.new_secrets(
            database=DATABASE,
            cache=f"redis://:{{password}}@{CACHE}/0",
            broker=f"redis://:{{password}}@{BROKER}/0",
        ),
    }
    return f"{NEW}{_text(lines)}{settings.SUGGESTIONS}"


def _text(lines: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def _named(name: str) -> None:
    """Note what runs, for `health`."""
    READY.unlink(missing_ok=True)
    NAME.write_text(name)


def main(words: list[str]) -> int:
    """Do what the command line says."""
    word, *rest = words or [""]
    if word in ROLE_NAMES and not rest:
        return run_role(word)
    if word == "nginx" and not rest:
        run_nginx()
    if word == "migrate" and not rest:
        return migrate()
    if word == "health" and not rest:
        return 0 if health() else 1
    if word == "settings" and len(rest) == 1:
        try:
            print(new_settings(rest[0]), end="")
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
        return 0
    known = "|".join([*ROLE_NAMES, "nginx", "migrate", "health", "settings URL"])
    print(f"usage: python3 -m deploy.services.container {known}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
