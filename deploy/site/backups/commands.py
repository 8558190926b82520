"""The commands `site backup` and `site restore`."""

import argparse
import contextlib
import datetime
import socket
from pathlib import Path

from deploy.site import databases, exclusive, layout, releases, running, settings, units
from deploy.site.backups import making, restoring
from deploy.site.backups.making import Keep, Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal, work_directory
from deploy.site.backups.sqlite import File
from deploy.site.backups.state import State
from deploy.site.backups.targets import Target, target_of
from deploy.site.machine import InstallError, Machine, succeeds

STATE = Path("/var/lib/socialsite-backup")
# What a restored site takes from the settings of its back-up; the address is that of the machine.
OWN_SETTINGS = ("SITE_URL", "ALLOWED_HOSTS")
# Passwords of the services belong to the machine, keys belong to the data.
KEYS = ("SECRET_KEY", "SECRET_KEY_FALLBACKS", "JWT_KEYS", "METRICS_TOKEN", "VAPID_PRIVATE_KEY")


def backup(options: argparse.Namespace) -> int:
    """Make a full back-up or one of the log, and delete old ones."""
    if options.log and options.data_dir is None:
        if exclusive.running() not in ("", exclusive.BACKUP):
            return 0  # the next minute will do
        _require_whole_data()
    site, target, seal = _chosen(options)
    if isinstance(site.database, File) and not site.database.path.is_file():
        raise InstallError(f"{site.data_dir} is no DATA_DIR of an embedded site: no db.sqlite3")
    known = State(_state_of(options), str(target))
    if options.new_target:
        known.recognize(target, new=True)
    if options.log:
        try:
            if number := making.log(site, target, seal, known):
                print(f"{number} files of the log copied to {target}")
            _worked(options, units.LOG_UNIT)
            return 0
        except making.NewLog as error:
            print(f"{error} A full back-up begins now.")
    with _alone(options), known.alone():
        if options.data_dir is None:
            _require_whole_data()
        with known.locked():
            is_first = not known.times
        name = making.full(site, target, seal, known, verify=not options.no_verify)
        is_checked = not options.no_verify and making.can_verify(seal)
        print(f"{name} in {target}, {_quality(seal, is_checked=is_checked)}")
        if is_first and (others := known.others()):
            print(f"Earlier back-ups, with keys, stay until you delete them: {', '.join(others)}")
        for old in making.forget(target, _keep(), known):
            print(f"{old} deleted")
    _worked(options, units.BACKUP_UNIT)
    return 0


def _worked(options: argparse.Namespace, unit: str) -> None:
    """Let `site status` forget that the unit which does the same has failed before."""
    if options.data_dir is None and not options.target:
        succeeds("systemctl", "reset-failed", unit)


def _quality(seal: Seal, *, is_checked: bool) -> str:
    """Return how good the newest full back-up is, for the operator."""
    sealed = "encrypted" if seal.recipient else "not encrypted"
    if is_checked:
        return f"{sealed}, restored into a scratch database for a check"
    return f"{sealed}, not checked" + (" (needs --identity FILE)" if seal.recipient else "")


def _require_whole_data() -> None:
    if layout.RESTORING.exists():
        raise InstallError("A restoration did not end: there is nothing to back up")


def _alone(options: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Return the lock for a full back-up, also for one that replaces a back-up of the log.

    An installation and a restoration start one, which waits for their end.
    """
    if options.data_dir is not None:
        return contextlib.nullcontext()
    return exclusive.alone(exclusive.BACKUP, wait=True)


def restore(options: argparse.Namespace) -> int:
    """Replace the data of this site by those of a back-up, and start it."""
    site, target, seal = _chosen(options)
    chosen = restoring.choose(target, seal, _time(options.to), options.site)
    print(_described(chosen))
    if not options.yes:
        raise InstallError("This deletes what the site has now. If you want that, add --yes")
    is_embedded = options.data_dir is not None
    stopped = exclusive.stopped(site.data_dir) if is_embedded else contextlib.nullcontext()
    with stopped, work_directory() as work:
        fetched = restoring.fetch(target, seal, chosen, work)
        if warning := restoring.left_out(chosen, fetched):
            print(warning)
        found = fetched.settings
        # Nothing is deleted before everything was opened. More uploads do no harm.
        _media(site, target, seal, chosen, skip_damaged=options.skip_damaged)
        if is_embedded:
            restoring.database(site, seal, chosen, fetched)
            _begin_again(_state_of(options), chosen)
            _take_keys(site, found)
            return 0
        machine = Machine()
        layout.RESTORING.touch()
        machine.run("systemctl", "stop", *units.timers(), *units.backups())
        running.stop(machine)
        _begin_again(STATE, chosen)
        try:
            restoring.database(site, seal, chosen, fetched)
            _take_settings(machine, found)
            release = _finish(machine)
        except (InstallError, OSError, KeyboardInterrupt) as error:
            raise InstallError(
                f"{str(error) or 'Ended before it was done'}\nThe restoration did not end: the data"
                " is incomplete, and the site stays stopped. Run `site restore` again, perhaps with"
                " another back-up."
            ) from None
    layout.RESTORING.unlink()
    print(f"Restored to {chosen.until:%F %T} UTC. All people must log in again.")
    for timer in units.timers():
        machine.enabled(timer)
    machine.run("systemctl", "start", "--no-block", units.BACKUP_UNIT)
    running.start(machine, restart=False)
    for command in ("recount", "recount_interactions", "verify_feeds"):
        try:
            said = releases.manage(release, command).strip()
            print("\n".join(f"{command}: {line}" for line in said.splitlines()))
        except InstallError as error:
            print(f"{error}\nThe data is restored; correct this with: site manage {command} --help")
    return 0


def _described(chosen: restoring.Chosen) -> str:
    """Return what will be restored, for the operator."""
    text = f"{chosen.name}, and {len(chosen.logs)} files of the log, up to {chosen.until:%F %T} UTC"
    gap = f"\nThe copied log has a gap after that: {chosen.gap} is missing" if chosen.gap else ""
    return text + gap


def _media(
    site: Site, target: Target, seal: Seal, chosen: restoring.Chosen, *, skip_damaged: bool
) -> None:
    """Copy missing uploads. Raises InstallError if some are damaged and may not be left out."""
    copied, damaged = restoring.media(site, target, seal, chosen)
    print(f"{copied} uploads copied")
    for text in damaged:
        print(f"damaged: {text}")
    if damaged and not skip_damaged:
        raise InstallError(
            f"{len(damaged)} uploads of the back-up are damaged or missing, and nothing else was"
            " changed. To restore without them, add --skip-damaged"
        )


def _begin_again(folder: Path, chosen: restoring.Chosen) -> None:
    """Note that the restored database has another log, which a full back-up has to begin."""
    State(folder).begin_again(restoring.site_of(chosen.manifest))


def _take_keys(site: Site, found: dict[str, Path]) -> None:
    """Take the keys of the back-up into an embedded site, and say what is left to do."""
    if "keys.json" in found:
        keys = found["keys.json"].read_bytes()
        making.give(site.data_dir / "keys.json", keys, like=site.data_dir)
    print("Now run, before the site starts: manage.py migrate && manage.py end_sign_ins")


def _finish(machine: Machine) -> Path:
    """Make the restored data that of the installed release, which is returned."""
    release = releases.current()
    if release is None:
        raise InstallError("The site is not installed: deploy/install")
    for words in (["migrate", "--noinput", "--verbosity", "0"], ["end_sign_ins"]):
        print(releases.manage(release, *words).strip())
    databases.empty_redis(machine)
    return release


def _take_settings(machine: Machine, found: dict[str, Path]) -> None:
    """Take the keys and the settings of the back-up into those of this machine."""
    if path := found.get(layout.SECRETS.name):
        keys = {name: value for name, value in settings.read(path).items() if name in KEYS}
        settings.set_values(machine, layout.SECRETS, keys)
    if path := found.get(layout.SETTINGS.name):
        own = settings.read(path)
        wanted = {name: value for name, value in own.items() if name not in OWN_SETTINGS}
        settings.set_values(machine, layout.SETTINGS, wanted)
    if path := found.get(layout.BACKUP.name):
        # The next back-ups are encrypted as those before.
        recipient = settings.read(path).get("RECIPIENT", "")
        if recipient and not settings.read(layout.BACKUP).get("RECIPIENT"):
            settings.set_values(machine, layout.BACKUP, {"RECIPIENT": recipient})


def _chosen(options: argparse.Namespace) -> tuple[Site, Target, Seal]:
    """Return what is backed up, where to, and how it is sealed."""
    known = settings.read(layout.BACKUP)
    if options.target:
        known["TARGET"] = options.target
    seal = Seal(options.recipient or known.get("RECIPIENT", ""), options.identity or "")
    if options.data_dir is not None:
        data_dir = Path(options.data_dir).resolve()
        keys = (data_dir / "keys.json",)
        host = f"{socket.gethostname()}:{data_dir}"
        return Site(File(data_dir / "db.sqlite3"), data_dir, keys, host), target_of(known), seal
    files = (layout.SECRETS, layout.SETTINGS, layout.BACKUP)
    host = settings.read(layout.SETTINGS).get("SITE_URL", "")
    return Site(Server("socialsite"), layout.DATA, files, host), target_of(known), seal


def _state_of(options: argparse.Namespace) -> Path:
    return STATE if options.data_dir is None else Path(options.data_dir).resolve() / "backup-state"


def _keep() -> Keep:
    known = settings.read(layout.BACKUP)
    try:
        values = {
            name: int(known.get(f"KEEP_{name.upper()}", getattr(Keep, name)))
            for name in ("daily", "weekly", "monthly")
        }
    except ValueError:
        raise InstallError(f"KEEP_… in {layout.BACKUP} must be whole numbers") from None
    return Keep(**values)


def _time(text: str | None) -> datetime.datetime | None:
    """Return the time that `--to` says; without a zone it is UTC."""
    if not text:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InstallError("--to must be a time such as 2026-11-28T20:15:00 (UTC)") from None
    time = time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
    return time.astimezone(datetime.UTC).replace(microsecond=0)
