"""`manage.py follow_events`: print the records of the change stream."""

import contextlib
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from socialsite.core.events import stream


class Command(BaseCommand):
    """Print the change stream."""

    help = (
        "Print the records of the change stream, one JSON object on each line, with the position"
        " from which a consumer goes on later. A record may come twice, with the same id."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the position, and where to stop."""
        parser.add_argument(
            "--after", default="", metavar="POSITION", help="default: begin with the oldest record"
        )
        parser.add_argument("--stop", action="store_true", help="end at the end of the stream")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print records until the end, or until somebody stops the command."""
        found = stream.of_site()
        if found is None:
            raise CommandError("EVENT_STREAM_URL names no broker.")
        try:
            with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
                for position, record in found.read(options["after"], wait=not options["stop"]):
                    line = f'{{"position":{json.dumps(position)},"record":{record.to_json()}}}'
                    self.stdout.write(line)
                    self.stdout.flush()
        except stream.BadPosition as error:
            raise CommandError(f"--after: {error}.") from None
        except stream.Missed as error:
            raise CommandError(
                f"Records are missing after {options['after']}: {error}. Build anew what you made"
                " of the stream, and begin without --after."
            ) from None
        except stream.StreamDown as error:
            raise CommandError(f"The broker does not answer: {error}.") from None
