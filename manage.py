#!/usr/bin/env python
"""Django's command line for socialsite."""

import os
import sys

# Commands of developers, which write into the sources and not into DATA_DIR.
SOURCES = frozenset(("compilemessages", "makemessages", "makemigrations", "spectacular"))


def main() -> None:
    """Run one management command; in the embedded mode one that writes needs the site's lock."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    from django.core.management import execute_from_command_line

    from socialsite.core.runtime import data_dir, embedded

    if not SOURCES.intersection(sys.argv[1:2]):
        os.umask(data_dir.UMASK)
    try:
        with embedded.command_line(sys.argv):
            execute_from_command_line(sys.argv)
    except embedded.AlreadyRunning as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
