"""What must happen to tokens after the database was restored from a back-up."""

from django.db.models import F

from accounts.models import PushSubscription, TokenBatch, TokenVersion, User
from socialsite.core import db

# More batches than any person began between the restored moment and the loss of the database.
LOST_BATCHES = 1_000_000
PART = 1000


@db.atomic
def end_all_sign_ins() -> int:
    """End every sign-in of every person; return the number of people. For a site that is stopped.

    Tokens that were issued after the restored moment have numbers that the site would give out
    again. So the floors are raised above all numbers that may have been given out.
    """
    known = TokenBatch.objects.values("user_id")
    missing = User.objects.exclude(pk__in=known).values_list("pk", flat=True)
    for start in range(0, len(ids := list(missing)), PART):
        db.insert_ignore(TokenBatch, [TokenBatch(user_id=pk) for pk in ids[start : start + PART]])
    # MariaDB assigns from left to right and would read the new `batch`, so that is the last one.
    people = TokenBatch.objects.update(
        access_floor=F("batch") + LOST_BATCHES,
        refresh_floor=F("batch") + LOST_BATCHES,
        ended="forced",
        batch=F("batch") + LOST_BATCHES + 1,
    )
    TokenVersion.objects.update(refresh_jti="", previous_jti="", oldest_jti="")
    PushSubscription.objects.all().delete()
    return people
