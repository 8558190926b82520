"""The command `site`, and the second half of `deploy/install`."""

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from deploy.site import exclusive, installing, layout, releases, running, settings, web
from deploy.site.backups import commands
from deploy.site.machine import InstallError, Machine

# Their options are those of management commands.
PASSED_ON = ("manage", "shell", "doctor")
NEXT = f"""\
Next: site manage createsuperuser   makes the first member of staff
      site doctor                   says what is left to do, such as mail
      {layout.BACKUP}   where back-ups go; now: a folder on this disk
      docs/operations.md            has everything else"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="site", description="Operate the site of this machine.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text)

    install = add("install", "install the site, or change the installation")
    install.add_argument("--source", required=True, help=argparse.SUPPRESS)
    install.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    install.add_argument("--domain", help="the name of the site, such as social.example.org")
    install.add_argument("--certificate", help="path of the certificate with its chain (PEM)")
    install.add_argument("--key", help="path of the key of the certificate (PEM)")
    install.add_argument(
        "--acme", dest="acme_email", help="fetch a certificate; this address gets its mails"
    )
    install.add_argument("--acme-server", help="another authority than Let's Encrypt (URL)")
    install.add_argument("--http-only", action="store_true", help="no TLS, for a trial only")
    add("status", "show what runs; ends with 1 if something does not")
    add("reload", "read settings and certificate again, one process after the other")
    add("reload-certificate", "copy a renewed certificate of certbot and reload nginx")
    update = add("update", "install the version of a checkout and switch to it")
    update.add_argument("source", help="folder of a checkout of the new version")
    add("rollback", "switch back to the release before")
    _add_backups(add)
    manage = add("manage", "run a management command: site manage recount --fix")
    manage.add_argument("words", nargs=argparse.REMAINDER)
    add("shell", "open a Python shell in the site")
    add("doctor", "examine the site and say what to do; --json, --strict, --mail ADDRESS")
    return top


def _add_backups(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    backup = add("backup", "back the site up to the target of /etc/socialsite/backup.env")
    backup.add_argument("--log", action="store_true", help="only what was written since the last")
    backup.add_argument("--no-verify", action="store_true", help="do not restore it for a check")
    backup.add_argument("--new-target", action="store_true", help="accept another target")
    restore = add("restore", "replace the data of the site by those of a back-up")
    restore.add_argument("--to", help="restore this moment, such as 2026-11-28T20:15:00 (UTC)")
    restore.add_argument(
        "--site", default="", metavar="ID", help="which site, if the target has several"
    )
    restore.add_argument(
        "--skip-damaged", action="store_true", help="leave out uploads that cannot be read"
    )
    restore.add_argument("--yes", action="store_true", help="delete what the site has now")
    for command in (backup, restore):
        command.add_argument("--target", help="another folder, or s3://bucket/path")
        command.add_argument("--recipient", help="encrypt for this key of age or GnuPG")
        command.add_argument("--identity", help="file of the private key (age)")
        command.add_argument("--data-dir", help="an embedded site: its DATA_DIR")


def main() -> int:
    """Run the command that the command line names."""
    arguments = ["--help"] if sys.argv[1:] in ([], ["help"]) else sys.argv[1:]
    options, words = parser().parse_known_args(arguments)
    if words and options.command not in PASSED_ON:
        parser().error(f"unrecognized arguments: {' '.join(words)}")
    options.words = [*getattr(options, "words", []), *words]
    os.umask(0o022)
    os.environ.pop("PYTHONPATH", None)  # of this command, not of those that it runs
    try:
        if os.geteuid() != 0 and getattr(options, "data_dir", None) is None:
            raise InstallError(f"Only root can do this: sudo site {options.command}")
        with _lock(options), exclusive.ended_by_exception():
            code = run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # as by `| head`; Python would try to write the rest at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (InstallError, OSError) as error:
        return _failed(f"site: {error}", 1)
    except KeyboardInterrupt:
        return _failed("site: ended before it was done", 130)
    except Exception:  # so that the journal shows it as an error
        return _failed(traceback.format_exc(), 1)


def _failed(text: str, code: int) -> int:
    """Print an error, in a unit of systemd with its level, and return the exit code."""
    found = os.fstat(2)
    is_journal = os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
    level = "<3>" if is_journal else ""
    print("\n".join(f"{level}{line}" for line in text.splitlines()), file=sys.stderr)
    return code


def _lock(options: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Return the lock for commands that change the site of this machine; `update` and `rollback`
    become an installation, which takes it.
    """
    command = options.command
    is_installing = command == "install" and not options.check
    if getattr(options, "data_dir", None) is not None:
        return contextlib.nullcontext()
    if is_installing or command in ("reload", "restore"):
        return exclusive.alone(command)
    # certbot runs it once after a renewal, and not again if it fails.
    if command == "reload-certificate":
        return exclusive.alone(command, wait=True)
    return contextlib.nullcontext()  # a back-up takes it itself


def run(options: argparse.Namespace) -> int:
    """Run one command and return its exit code. Raises InstallError."""
    machine = Machine()
    match options.command:
        case "install" if options.check:
            installing.chosen(options)
        case "install":
            is_first = releases.current() is None
            machine = installing.install(options)
            if not machine.changes:
                print("Nothing was changed.")
            print(f"The site is at {web.stored().url}/, {_version()}")
            if is_first:
                print(NEXT)
        case "status":
            lines, well = running.status()
            print("\n".join([f"address  {web.stored().url}/", *lines]))
            return 0 if well else 1
        case "reload":
            web.configure(machine, web.stored())
            running.start(machine, restart=True)
            running.reload_nginx(machine)
        case "reload-certificate":
            web.fetch_certificate(machine, web.stored())
            running.reload_nginx(machine)
        case "update":
            _become(_installer(Path(options.source)), dict(os.environ))
        case "rollback":
            _become(releases.again(releases.previous()), dict(os.environ))
        case "backup":
            return commands.backup(options)
        case "restore":
            return commands.restore(options)
        case "manage" | "shell" | "doctor":
            first = [] if options.command == "manage" else [options.command]
            if layout.RESTORING.exists():
                print(running.UNRESTORED, file=sys.stderr)
            _manage([*first, *options.words] or ["help"])
    return 0


def _version() -> str:
    version = releases.version_of(layout.CURRENT)
    return f"version {version}" if version else "not installed"


def _installer(source: Path) -> list[str]:
    """Return the command line that installs a version: its own, which knows what it needs."""
    releases.require_checkout(source)
    return [str(source.resolve() / "deploy/install")]


def _manage(words: list[str]) -> None:
    """Become a management command of the site."""
    release = releases.current()
    if release is None:
        raise InstallError("The site is not installed: deploy/install")
    os.chdir(release)
    _become(releases.as_site(release, *words), settings.environment())


def _become(command: list[str], env: dict[str, str]) -> None:
    """Replace this process by another."""
    os.execvpe(command[0], command, env)  # noqa: S606


if __name__ == "__main__":
    sys.exit(main())
