"""Where an installed site lies on its machine."""

from pathlib import Path

ACCOUNT = "socialsite"
# nginx; its group reads uploads and static files.
WEB_ACCOUNT = "www-data"
REDIS_ACCOUNT = "redis"

# Each release is a folder with the code and its `.venv`, owned by root; `current` links to one,
# and `previous` to the one before.
OPT = Path("/opt/socialsite")
RELEASES = OPT / "releases"
CURRENT = OPT / "current"
PREVIOUS = OPT / "previous"

ETC = Path("/etc/socialsite")
SETTINGS = ETC / "site.env"  # the operator's
SECRETS = ETC / "secrets.env"  # generated
INSTALL = ETC / "install.env"  # the options of the last `deploy/install`
BACKUP = ETC / "backup.env"  # where back-ups go, the operator's
RESTORING = ETC / "restoring"  # while it exists the data is incomplete, and nothing starts
TLS = ETC / "tls"
NGINX_CONFIG = ETC / "nginx.conf"

DATA = Path("/var/lib/socialsite")
BACKUPS = Path("/var/backups/socialsite")  # the first target
CHALLENGES = Path("/var/lib/socialsite-acme")
RUN = Path("/run/socialsite")  # sockets of the HTTP workers
GUARD_MARK = Path("/run/socialsite-guard/read-only")  # while the disk is nearly full
NGINX_WORK = Path("/run/socialsite-nginx")

TMPFILES = Path("/etc/tmpfiles.d/socialsite.conf")
JOURNAL = Path("/etc/systemd/journald.conf.d/socialsite.conf")
UNITS = Path("/etc/systemd/system")
TARGET = "socialsite.target"
NGINX_UNIT = "socialsite-nginx.service"
CACHE, BROKER = "socialsite-cache", "socialsite-broker"  # the two Redis
REDIS_ETC = Path("/etc/redis")
COMMAND = Path("/usr/local/sbin/site")


def unit_of(role: str) -> str:
    """Return the name of the systemd unit of a role."""
    return f"socialsite-{role}.service"
