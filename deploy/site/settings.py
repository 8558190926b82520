"""The settings of an installed site: files of NAME=value in /etc/socialsite.

Only root reads them; systemd gives them to the processes of the site. `site.env` belongs to the
operator, and an installation changes only what its options say.
"""

import base64
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from deploy.services.databases import DATABASE_NAME, DATABASE_USER
from deploy.site import layout
from deploy.site.machine import InstallError, Machine

PRIVATE = 0o600
LINE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
NEW = """\
# The settings of this site: docs/configuration.md lists all of them. Only root reads this file.
# After a change: site reload

"""
# Of a new site, where the defaults of the settings are stricter about names than people expect.
POLICIES = {"NAME_POLICY": "open", "PASSWORD_POLICY": "asvs"}
# What an operator looks for first.
SUGGESTIONS = """
# Mails: without it they are written to /var/lib/socialsite/mail.
# EMAIL_URL=smtp://user:password@smtp.example.org:587/?tls=True
# EMAIL_FROM=noreply@example.org
# Where to report security problems, which push services need too.
# SECURITY_CONTACT=mailto:security@example.org
# LANGUAGE=zh-hans
"""


BACKUP = """\
# Where back-ups go. A folder on the disk of the site is lost with it: mount another machine's, or
# name a bucket of S3. Only root reads this file.
TARGET=/var/backups/socialsite
# TARGET=s3://bucket/path
# S3_ENDPOINT=https://s3.example.org
# AWS_ACCESS_KEY_ID=
# AWS_SECRET_ACCESS_KEY=
# The public half of a key of age (age1…) or GnuPG, for which back-ups are encrypted. Keep its
# private half elsewhere: without it nobody can restore them.
# RECIPIENT=
# How many full back-ups stay.
KEEP_DAILY=7
KEEP_WEEKLY=4
KEEP_MONTHLY=6
"""


def read(path: Path) -> dict[str, str]:
    """Return the values of a file of settings as systemd reads them; none if there is no file."""
    values = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if (found := LINE.fullmatch(line)) and not _is_comment(line):
            value = found[2].strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            values[found[1]] = value
    return values


def odd(path: Path) -> list[int]:
    """Return the numbers of lines of a file of settings that are neither values nor comments."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [
        number
        for number, line in enumerate(lines, 1)
        if line.strip() and not LINE.fullmatch(line) and not _is_comment(line)
    ]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", ";"))


def set_values(machine: Machine, path: Path, wanted: Mapping[str, str], new: str = "") -> None:
    """Set these names in a file, and leave its other lines as they are; `new` begins a new file."""
    text = path.read_text() if path.exists() else new
    known = read(path)
    for name, value in wanted.items():
        if re.search(r"[\x00-\x1f\x7f]", value):
            raise InstallError(f"{name} must not have line ends or control characters")
        if known.get(name) == value:
            continue
        line = f"{name}={value}"
        pattern = re.compile(rf"^[ \t]*{name}[ \t]*=.*$", re.MULTILINE)
        if pattern.search(text):
            text = pattern.sub(line.replace("\\", r"\\"), text)
        else:
            text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n"
    machine.write(path, text, PRIVATE)


def site_settings(machine: Machine, site_url: str, domain: str) -> None:
    """Write `site.env`, or change the address in the present one."""
    wanted = {"SITE_URL": site_url, "ALLOWED_HOSTS": domain}
    if not layout.SETTINGS.exists():
        wanted |= POLICIES
        set_values(machine, layout.SETTINGS, wanted, NEW)
        machine.write(layout.SETTINGS, layout.SETTINGS.read_text() + SUGGESTIONS, PRIVATE)
    set_values(machine, layout.SETTINGS, wanted)
    if not layout.BACKUP.exists():
        machine.write(layout.BACKUP, BACKUP, PRIVATE)


def generated(machine: Machine) -> dict[str, str]:
    """Generate the passwords and keys that `secrets.env` does not have; return all of them."""
    known = read(layout.SECRETS)
    wanted = new_secrets(
        database="127.0.0.1:3306",
        cache=f"unix://:{{password}}@/run/redis-{layout.CACHE}/redis.sock?db=0",
        broker=f"redis://:{{password}}@127.0.0.1:{BROKER_PORT}/0",
        known=known,
    )
    set_values(machine, layout.SECRETS, wanted | known)
    return wanted | known


def new_secrets(
    *, database: str, cache: str, broker: str, known: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return passwords and keys of a new site, and the URLs of its services with the passwords.

    `cache` and `broker` are URLs with `{password}`. `known` has passwords that stay.
    """
    password, redis = (
        known.get(name) or secrets.token_hex(24) for name in ("DATABASE_PASSWORD", "REDIS_PASSWORD")
    )
    return {
        "DATABASE_PASSWORD": password,
        "REDIS_PASSWORD": redis,
        "DATABASE_URL": f"mysql://{DATABASE_USER}:{password}@{database}/{DATABASE_NAME}",
        "REDIS_URL": cache.format(password=redis),
        "BROKER_URL": broker.format(password=redis),
        "SECRET_KEY": secrets.token_urlsafe(48),
        "JWT_KEYS": secrets.token_urlsafe(48),
        "METRICS_TOKEN": secrets.token_urlsafe(32),
        "VAPID_PRIVATE_KEY": _vapid(),
    }


# Beside a Redis of Debian that somebody uses for something else.
BROKER_PORT = 6390


def _vapid() -> str:
    """Return a new private key of the curve P-256: 32 random bytes, below its order."""
    # The order begins with 0xFFFFFFFF00000000FFFFFFFF: with another first byte a number is below.
    number = bytes([secrets.randbelow(255)]) + secrets.token_bytes(31)
    return base64.urlsafe_b64encode(number).rstrip(b"=").decode()


def fixed() -> dict[str, str]:
    """Return the settings that follow from where the site lies, which nobody changes."""
    return {
        "DATA_DIR": str(layout.DATA),
        "FILES_GROUP": layout.WEB_ACCOUNT,
        "TRUSTED_PROXIES": "1",
        "HOST": "127.0.0.1",
        "DEMO": "0",
        "PYTHONUNBUFFERED": "1",
    }


def environment() -> dict[str, str]:
    """Return the environment of a command of the site."""
    return {
        "PATH": os.defpath + ":/usr/local/bin",
        "LANG": "C.UTF-8",
        "TERM": os.environ.get("TERM", "dumb"),
        "HOME": str(layout.DATA),
        **fixed(),
        **read(layout.SECRETS),
        **read(layout.SETTINGS),
    }
