"""`make bench`, `make chaos`: runs programs of `bench/` or `chaos/` on throw-away services.

`python -m deploy.dev.trials bench [name [arguments]]` starts MariaDB and two Redis in a private
temporary directory on free ports, with all tables (`deploy.services.migrated`), and runs
`python -m bench.<name> arguments` with the environment of these services; without a name, every
program of the package in turn.
"""

import os
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.services import migrated, site_processes
from deploy.services.service import ServiceError, tied
from deploy.services.throwaway import throw_away_services
from deploy.stack import StopSignal, stop_on_signals

PACKAGES = ("bench", "chaos")


def programs(package: str) -> list[str]:
    """Return the programs of a package, sorted by name."""
    found = pkgutil.iter_modules([str(site_processes.PROJECT_DIR / package)])
    return [name for _, name, is_package in found if not (is_package or name.startswith("_"))]


def run(package: str, name: str, arguments: list[str]) -> int:
    """Run one program on services of its own and return its exit code."""
    if migrated.MARIADB not in os.environ:
        os.environ.update(migrated.ensure())  # for the services that start here
    inherited = site_processes.environment()
    with tempfile.TemporaryDirectory(prefix=f"socialsite-{package}-") as folder:
        directory = Path(folder)
        directory.chmod(0o711)  # services may run under another account
        with throw_away_services(directory) as urls:
            data = str(directory / "data")
            # Trials send more from one address than the budgets allow.
            env = {"BUDGETS": "0", **inherited, **urls, "DATA_DIR": data, "PYTHONUNBUFFERED": "1"}
            for command in (
                site_processes.python("manage.py", "migrate", "--verbosity", "0"),
                site_processes.python("-m", f"{package}.{name}", *arguments),
            ):
                process = subprocess.Popen(
                    [*tied(), *command], env=env, cwd=site_processes.PROJECT_DIR
                )
                try:
                    code = process.wait()
                finally:
                    process.kill()
                if code:
                    return code
    return 0


def main() -> int:
    """Run the program that the command line names."""
    stop_on_signals()
    package, *rest = sys.argv[1:] or [""]
    if package not in PACKAGES or (rest and rest[0] not in programs(package)):
        known = {name: programs(name) for name in PACKAGES}
        print(f"usage: python -m deploy.dev.trials PACKAGE [NAME [ARGUMENTS]]; there are {known}")
        return 2
    try:
        if rest:
            return run(package, rest[0], rest[1:])
        return max([run(package, name, []) for name in programs(package)], default=0)
    except StopSignal as signal_name:
        print(f"{signal_name}: stopped", file=sys.stderr)
        return 130
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
