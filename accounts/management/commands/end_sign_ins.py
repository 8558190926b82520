"""`manage.py end_sign_ins`: the step after the database was restored from a back-up."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts import actions
from socialsite.core import redis
from socialsite.core.events.stream import waiting


class Command(BaseCommand):
    """End every sign-in."""

    help = (
        "End every sign-in of every person, also those that the restored database does not know."
        " Run it after a restoration and before the site starts. It empties the cache, and lets the"
        " ids of the change stream go on above those that were given out."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """End them; raises CommandError if the cache may still have old numbers."""
        people = actions.end_all_sign_ins()
        waiting.skip_ids()
        try:
            redis.call(lambda connection: connection.flushdb())
        except redis.RedisDown:
            raise CommandError("Redis does not answer: empty it before the site starts.") from None
        self.stdout.write(f"{people} people are signed out everywhere.")
