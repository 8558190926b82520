#!/usr/bin/env python
"""Django's command line for socialsite."""

import os
import select
import sys

# Commands of developers, which write into the sources and not into DATA_DIR.
SOURCES = frozenset(("compilemessages", "makemessages", "makemigrations", "spectacular"))


def is_unread(pipe: int) -> bool:
    """Return whether nobody reads a pipe any more."""
    poll = select.poll()
    poll.register(pipe, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def main() -> None:
    """Run one management command, here or inside the embedded site that runs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    from django.core.management import execute_from_command_line

    from socialsite.core.runtime import data_dir, logs
    from socialsite.core.runtime.control import client

    if not SOURCES.intersection(sys.argv[1:2]):
        os.umask(data_dir.UMASK)
    try:
        client.run(sys.argv, execute_from_command_line)
        sys.stdout.flush()
    except BrokenPipeError:
        if not is_unread(sys.stdout.fileno()):
            raise
        # As by `| head`; Python would try to write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if not logs.is_outage(error):
            raise
        sys.exit(f"The database does not answer: {error}")


if __name__ == "__main__":
    main()
