"""The tier rule: which followers get a post pushed into their inboxes, and who pulls it.

The tier (`Mode`) of a post is fixed when it is published: pushed to all followers, to the active
ones, or to nobody. An imported post is pushed to nobody, whoever its author is: thousands of them
cost no fan-out. No other module decides by a `Mode`.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from feeds.models import NAMED, Mode, PostAudience
from relations import queries as relations_queries

# An author falls back to the lower tier only below this share of the threshold.
HYSTERESIS = 0.8

# Readers skip an author without pushes on pages that lie above the author's newest such post. They
# know its week only, so that their caches are renewed once a week an author.
WEEK_MS = 7 * 86_400_000

# Filter of posts and deliveries, for queries.
PUSHED_TO_ALL = Q(mode=Mode.ALL)


def of_post(author: Mode, visibility: str, *, imported: bool) -> Mode:
    """Return the tier of a new post of an author in that tier."""
    if imported:
        return Mode.IMPORTED
    # Posts for few people are pushed to those who follow, whatever the number of followers.
    return Mode.ALL if visibility in NAMED else author


def mode_for(followers: int, before: Mode) -> Mode:
    """Return the tier of a new post: to all, to active followers, or pull only.

    Up above a threshold, down at 0.8 of it, so that an author at the edge does not flap.
    """

    def limit(threshold: int, tier: Mode) -> float:
        return threshold * HYSTERESIS if before > tier else threshold

    if followers <= limit(settings.PUSH_ALL_MAX, Mode.ALL):
        return Mode.ALL
    if followers <= limit(settings.PUSH_ACTIVE_MAX, Mode.ACTIVE):
        return Mode.ACTIVE
    return Mode.NONE


def is_pushed(mode: int) -> bool:
    """Return True if posts of this tier have a fan-out: some followers have them in the inbox."""
    return mode < Mode.NONE


def is_pulled(mode: int) -> bool:
    """Return True if readers always pull posts of this tier, because some get no push."""
    return mode != Mode.ALL


def is_imported(mode: int) -> bool:
    """Return True if nobody is told of posts of this tier."""
    return mode == Mode.IMPORTED


def pulled_until(last: int) -> int:
    """Return the end (ms) of the week of an author's newest pulled post; 0 without one."""
    return last and last - last % WEEK_MS + WEEK_MS - 1


def active_since() -> datetime:
    """Return the earliest last visit of people who still get posts pushed in mode ACTIVE."""
    return timezone.now() - timedelta(days=settings.ACTIVE_DAYS)


def recipients(
    author_id: int, lower: int, upper: int, mode: int, named: int | None = None
) -> "QuerySet[Any, int]":
    """Return the followers with `lower < id <= upper` who get the push, by current relations.

    `named` is the id of a post for named people: only these are recipients.
    """
    found = followers(author_id, named).filter(to_user_id__gt=lower, to_user_id__lte=upper)
    return found.filter(to_user__last_seen__gte=active_since()) if mode == Mode.ACTIVE else found


def followers(author_id: int, named: int | None = None) -> "QuerySet[Any, int]":
    """Return the author's followers, or those whom the post `named` is for, ascending."""
    found = relations_queries.follower_ids(author_id)
    if named is None:
        return found
    people = PostAudience.objects.filter(post_id=named).values("user_id")
    return found.filter(to_user_id__in=people)


def without_push(people: "QuerySet[Any, Any]", mode: int) -> "QuerySet[Any, Any]":
    """Return the users among these followers who get no push of a post of this tier."""
    if mode == Mode.ALL:
        return people.none()
    return people.filter(last_seen__lt=active_since()) if mode == Mode.ACTIVE else people
