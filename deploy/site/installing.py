"""`deploy/install`: the steps that make a Debian machine a site, in their order."""

import argparse
import dataclasses
import re
from pathlib import Path

from deploy.site import databases, layout, releases, running, settings, units
from deploy.site import web as web_server
from deploy.site.machine import InstallError, Machine, run
from deploy.site.web import Web

LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
DOMAIN = re.compile(rf"{LABEL}(\.{LABEL})*")
# It stays in the folder of the operator, whose paths may be relative. `-P`: that folder may be a
# checkout, whose code is another version.
COMMAND = f"""\
#!/bin/sh
# Written by the installation of socialsite: runs the command `site` of the current release.
exec env PYTHONPATH="$(readlink -f {layout.CURRENT})" /usr/bin/python3 -P -m deploy.site "$@"
"""


def install(options: argparse.Namespace) -> Machine:
    """Install the site as the options say, or change the installation; return what was changed."""
    machine = Machine()
    web, source = chosen(options), Path(options.source).resolve()
    machine.directory(layout.ETC, 0o755)
    former, before = web_server.stored(), releases.current()
    store(machine, web)
    try:
        _install(machine, web, source)
    except (InstallError, OSError, KeyboardInterrupt) as error:
        if former not in (web, Web()):  # the address that the site still has
            store(machine, former)
            settings.site_settings(machine, former.url, former.domain)
        if before is None or before == releases.folder_of(source):
            raise
        fault = "Ended before it was done" if isinstance(error, KeyboardInterrupt) else error
        raise InstallError(f"{fault}\n{_taken_back(before)}") from None
    return machine


def _taken_back(before: Path) -> str:
    """Let the release before make its units and processes run again; say whether they do."""
    try:
        run(*releases.again(before))
    except (InstallError, OSError) as error:
        return f"The release before does not run either: {error}"
    return f"The release before runs again: {before}"


def _install(machine: Machine, web: Web, source: Path) -> None:
    if web.certificate and Path(web.certificate).exists():  # before anything is changed
        web_server.check_certificate(web.domain, Path(web.certificate), Path(web.key))
    machine.account(layout.ACCOUNT, layout.DATA, [layout.REDIS_ACCOUNT, layout.WEB_ACCOUNT])
    for path, mode in ((layout.OPT, 0o755), (layout.RELEASES, 0o755)):
        machine.directory(path, mode)
    machine.directory(layout.BACKUPS, 0o700)
    machine.directory(layout.DATA, 0o710, layout.ACCOUNT, layout.WEB_ACCOUNT)
    secrets = settings.generated(machine)
    settings.site_settings(machine, web.url, web.domain)
    databases.database(machine, secrets["DATABASE_PASSWORD"])
    databases.redis(machine, secrets["REDIS_PASSWORD"])
    is_new = not releases.is_complete(releases.folder_of(source))
    release = releases.install(machine, source)
    units.write(machine)
    web_server.configure(machine, web)
    machine.write(layout.COMMAND, COMMAND, 0o755)
    running.switch(machine, release, is_new=is_new)
    if web.acme_email:
        web_server.fetch_certificate(machine, web)
        machine.enabled("certbot.timer")
        running.reload_nginx(machine)
    releases.remove_old(machine)
    for timer in units.timers():
        machine.enabled(timer)
    if not (layout.DATA / "backup.json").exists():
        machine.run("systemctl", "start", "--no-block", units.BACKUP_UNIT)


def chosen(options: argparse.Namespace) -> Web:
    """Return how the site is reached, by the options or else by those of the last installation.

    Raises InstallError if they say too little or contradict each other.
    """
    known = web_server.stored()
    answers = {name: getattr(options, name) for name in web_server.FIELDS}
    given = {name: value for name, value in answers.items() if value not in (None, False)}
    for name in ("certificate", "key"):
        if name in given:
            given[name] = str(Path(given[name]).absolute())  # it is read again later
    if len({"http_only", "acme_email", "certificate"} & given.keys()) > 1:
        raise InstallError("Only one of --certificate, --acme and --http-only is possible")
    sources = ("certificate", "key", "acme_email", "acme_server", "http_only")
    if given.keys() & set(sources):
        known = Web(domain=known.domain)  # another way than before
    web = dataclasses.replace(known, **given)
    if not DOMAIN.fullmatch(web.domain):
        raise InstallError("Give the name of the site: --domain social.example.org")
    if bool(web.certificate) != bool(web.key):
        raise InstallError("A certificate and its key go together: --certificate PATH --key PATH")
    for path in filter(None, (options.certificate, options.key)):
        if not Path(path).is_file():
            raise InstallError(f"{path} is not there")
    if not (web.https or web.http_only):
        raise InstallError(
            "Choose how browsers reach the site: --certificate PATH --key PATH,"
            " --acme you@example.org, or --http-only for a trial in a private network"
        )
    return web


def store(machine: Machine, web: Web) -> None:
    """Keep how the site is reached for the next installation."""
    values = {name.upper(): str(value or "") for name, value in dataclasses.asdict(web).items()}
    settings.set_values(machine, layout.INSTALL, values)
