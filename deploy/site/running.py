"""Starting, restarting and switching the processes of an installed site, and their health."""

import time
from pathlib import Path

from deploy.services.site_processes import HTTP, ROLES, http_answers
from deploy.site import exclusive, layout, releases, settings, units, web
from deploy.site.machine import CommandError, InstallError, Machine, run, succeeds

HEALTH_SECONDS = 30
# Requests that a worker has when nginx sends it no more, are answered within this time.
DRAIN_SECONDS = 2
UNRESTORED = "A restoration did not end, so the site stays stopped: run `site restore` again"


def switch(machine: Machine, release: Path, *, is_new: bool) -> None:
    """Make a release the current one: its tables, its static files, and all processes.

    If a process does not answer, the release before is named the current one again; whoever called
    this then lets that release start its processes. One that is new is installed again the next
    time; one that has run before stays, also if it was only ended.
    """
    before = releases.current()
    earlier = layout.PREVIOUS.readlink() if layout.PREVIOUS.is_symlink() else before
    needs_restart = bool(machine.files & _configuration())
    if before != release and not layout.RESTORING.exists():
        with exclusive.undisturbed():  # half of a migration could not be repeated
            releases.manage(release, "migrate", "--noinput", "--verbosity", "0")
    # Also for the same release: another one may have been collected before it was taken back.
    releases.manage(release, "collectstatic", "--noinput", "--verbosity", "0")
    if before not in (None, release):
        # First: a machine that loses its power in between can be rolled back.
        machine.link(layout.PREVIOUS, before)
    machine.link(layout.CURRENT, release)
    machine.enabled(layout.TARGET, start=False)
    if layout.RESTORING.exists():
        print(UNRESTORED)
        return
    try:
        start(machine, restart=needs_restart)
    except (InstallError, OSError, KeyboardInterrupt) as error:
        if before not in (None, release):
            machine.link(layout.CURRENT, before)
            machine.link(layout.PREVIOUS, earlier or before)
            if is_new and not isinstance(error, KeyboardInterrupt):
                releases.discard(release)
        raise


def _configuration() -> set[Path]:
    """Return the files that processes read once, at their start."""
    units = {layout.UNITS / layout.unit_of(role.name) for role in ROLES}
    return units | {layout.SETTINGS, layout.SECRETS}


def start(machine: Machine, *, restart: bool) -> None:
    """Start what does not run, and replace processes of another release, one after the other.

    With `restart` all are replaced. While one HTTP worker starts, nginx sends its requests to the
    other. Raises InstallError if one does not become ready.
    """
    if layout.RESTORING.exists():
        raise InstallError(UNRESTORED)
    release = releases.current()
    old = {unit for unit in _units() if restart or _release_of(unit) != release}
    if old and release:
        releases.add_packages(release)
        _check_settings(release)  # a bad setting must not stop what runs
    # Workers first: they understand what new HTTP workers send.
    for role in sorted(ROLES, key=lambda role: role.answers):
        unit = layout.unit_of(role.name)
        if not is_active(unit):
            machine.run("systemctl", "start", unit)
        elif unit in old and role.name in HTTP:
            _replace_http(machine, role.name)
        elif unit in old:
            machine.run("systemctl", "restart", unit)
        if role.answers and not _answers(role.name):
            raise InstallError(f"{unit} does not answer; see: journalctl -u {unit}")
    if units.GUARD_UNIT in old and is_active(units.GUARD_UNIT):
        machine.run("systemctl", "restart", units.GUARD_UNIT)
    machine.enabled(units.GUARD_UNIT)
    if not is_active(layout.NGINX_UNIT):
        machine.run("systemctl", "start", layout.NGINX_UNIT)
    elif machine.files & {layout.NGINX_CONFIG, web.CERTIFICATE, web.KEY}:
        reload_nginx(machine)


def _check_settings(release: Path) -> None:
    """Raise InstallError if the site cannot work with its settings; warn of misspelt ones."""
    try:
        names = settings.read(layout.SETTINGS)
        warnings = releases.manage(release, "check_settings", *names).splitlines()
    except CommandError as error:
        raise InstallError(
            f"Nothing was restarted, as {release} does not start with the settings of"
            f" {layout.SETTINGS}:\n{error.output}"
        ) from None
    # Without the line: it may be a part of a key.
    warnings += [f"line {number} is no NAME=value" for number in settings.odd(layout.SETTINGS)]
    for text in warnings:
        print(f"Warning: {layout.SETTINGS}: {text}")


def _units() -> list[str]:
    return [*(layout.unit_of(role.name) for role in ROLES), units.GUARD_UNIT]


def _release_of(unit: str) -> Path | None:
    """Return the release of a running process; None if it does not run."""
    pid = run("systemctl", "show", "-P", "MainPID", unit).strip()
    try:
        return Path(f"/proc/{pid}/cwd").readlink() if pid != "0" else None
    except OSError:
        return None


def _started(unit: str) -> float:
    """Return when a unit was started, Unix time; 0 if it does not run."""
    shown = run("systemctl", "show", "--timestamp=unix", "-P", "InactiveExitTimestamp", unit)
    return float(shown.strip().removeprefix("@") or 0) if is_active(unit) else 0


def _replace_http(machine: Machine, name: str) -> None:
    """Start an HTTP worker again, which gets no requests meanwhile."""
    reached = web.stored()
    served = is_active(layout.NGINX_UNIT)
    try:
        if served:
            with machine.quiet():
                web.configure(machine, reached, without=name)
                reload_nginx(machine)
                time.sleep(DRAIN_SECONDS)
                # Whatever happens to this machine now, its next nginx has both.
                web.configure(machine, reached)
        machine.run("systemctl", "restart", layout.unit_of(name))
    finally:
        with machine.quiet():
            web.configure(machine, reached)
            if served:
                reload_nginx(machine)


def stop(machine: Machine) -> None:
    """Stop the processes of the site; nginx answers that it is unavailable."""
    machine.run("systemctl", "stop", *(layout.unit_of(role.name) for role in ROLES))


def reload_nginx(machine: Machine) -> None:
    """Make nginx read its configuration and certificate again; no connection is cut."""
    machine.run("systemctl", "reload", layout.NGINX_UNIT)


def is_active(unit: str) -> bool:
    """Return whether systemd runs the unit."""
    return succeeds("systemctl", "--quiet", "is-active", unit)


def _answers(role: str, path: str = "/readyz") -> bool:
    deadline = time.monotonic() + HEALTH_SECONDS
    while time.monotonic() < deadline:
        if http_answers(layout.RUN / f"{role}.sock", path):
            return True
        time.sleep(0.2)
    return False


def status() -> tuple[list[str], bool]:
    """Return lines that describe what runs, and whether all is well."""
    release = releases.current()
    version = releases.version_of(release) if release else ""
    lines, well = [f"release  {release}, version {version}"], True
    names = [layout.unit_of(role.name) for role in ROLES] + [layout.NGINX_UNIT, "mariadb.service"]
    names += [f"redis-server@{name}.service" for name in (layout.CACHE, layout.BROKER)]
    names += [units.GUARD_UNIT, *units.timers()]
    shown = ("ActiveState", "SubState", "StateChangeTimestamp", "NRestarts", "MemoryCurrent")
    for unit in names:
        text = run("systemctl", "show", unit, *(f"--property={name}" for name in shown))
        found = dict(line.split("=", 1) for line in text.splitlines())
        well = well and found["ActiveState"] == "active"
        lines.append(
            f"{unit:42} {found['ActiveState']} ({found['SubState']})"
            f" since {found['StateChangeTimestamp'] or '-'}, {found.get('NRestarts', '0')} restarts"
        )
    is_whole = not layout.RESTORING.exists()
    if is_whole and not all(is_active(layout.unit_of(role.name)) for role in ROLES):
        lines.append(
            "Something does not run. `site reload` starts it; `journalctl -u UNIT` says why"
        )
    for unit in units.backups():
        if succeeds("systemctl", "--quiet", "is-failed", unit):
            well = False
            lines.append(f"{unit:42} FAILED; see: journalctl -u {unit}")
    unfinished = _unfinished(release)
    well = well and not unfinished
    lines += unfinished
    for role in ROLES:
        if role.answers:
            answers = http_answers(layout.RUN / f"{role.name}.sock", "/readyz")
            well = well and answers
            lines.append(f"{role.name:42} {'answers' if answers else 'IS NOT READY: site doctor'}")
    return lines, well


def _unfinished(release: Path | None) -> list[str]:
    """Return what a command that was ended in its middle left undone, and what to do."""
    if layout.RESTORING.exists():
        return [UNRESTORED]
    if exclusive.running():
        return []
    lines = [
        f"{unit:42} runs {found}: run `site reload`"
        for unit in _units()
        if (found := _release_of(unit)) not in (None, release)
    ]
    roles = [layout.unit_of(role.name) for role in ROLES]
    starts = [started for unit in roles if (started := _started(unit))]
    for path in (layout.SETTINGS, layout.SECRETS):
        changed = path.stat().st_mtime - 1  # systemd says whole seconds
        if any(started < changed for started in starts):
            lines.append(f"{path} was changed since the start: run `site reload`")
    wanted = web.configuration(web.stored())
    if not layout.NGINX_CONFIG.exists() or layout.NGINX_CONFIG.read_text() != wanted:
        lines.append(f"{layout.NGINX_CONFIG} is not what the site needs: run `site reload`")
    return lines
