"""Vote in polls.

One row for each person and poll: of two requests of one person at once, one writes it, the other
waits and finds it. Nobody changes a vote, so nobody is swayed by results that show only afterwards.
"""

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from feeds import queries as feeds_queries
from feeds.content.polls import queries as poll_queries
from feeds.content.polls.definition import Definition
from interactions import cache
from interactions.actions.counts import FOLD_AT, FOLD_MAX
from interactions.events import Voted
from interactions.models import Tally, Vote
from socialsite.core import db
from socialsite.core.errors import AlreadyVoted, InvalidInput, NotFound, PollClosed
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def vote(user: "User", post_id: int, choices: Collection[int]) -> None:
    """Vote in the poll of a post; the same choices again change nothing. Publishes Voted.

    `choices` are places of options from 0. Raises NotFound if the person may not see the post or it
    has no poll, InvalidInput (`choices`), AlreadyVoted for other choices, PollClosed.
    """
    feeds_queries.visible_post(user, post_id)
    poll = poll_queries.definition(post_id)
    if poll is None:
        raise NotFound
    wanted = _bits(poll, choices)
    own = Vote.objects.filter(post_id=post_id, user_id=user.pk)
    found = own.first()
    if found is None:
        if not poll_queries.hold_open(post_id):
            raise PollClosed
        if _insert(user.pk, post_id, wanted):
            return
        found = own.get()
    if found.choices != wanted:
        raise AlreadyVoted


def _bits(poll: Definition, choices: Collection[int]) -> int:
    """Return the choices as they are stored."""
    different = set(choices)
    if not different:
        raise InvalidInput(fields={"choices": [_("Choose an option.")]})
    if not different <= set(range(len(poll["options"]))):
        raise InvalidInput(fields={"choices": [_("There is no such option.")]})
    if len(different) > 1 and not poll["multiple"]:
        raise InvalidInput(fields={"choices": [_("Choose one option only.")]})
    return sum(1 << choice for choice in different)


def _insert(user_id: int, post_id: int, choices: int) -> bool:
    """Write the vote; return whether the person had none."""
    row = Vote(
        post_id=post_id,
        user_id=user_id,
        choices=choices,
        created_at=db.now_ms(),
        waiting=post_id,
    )
    if not db.insert_once(row):
        return False
    publish(Voted(row.pk, post_id=post_id, user_id=user_id))
    if Vote.objects.filter(waiting=post_id).count() >= FOLD_AT:
        # Robust: the vote is committed, and its event folds as well.
        transaction.on_commit(partial(fold_votes, post_id, wait=False), robust=True)
    cache.post_changed(post_id, user_id)
    return True


@db.atomic
def fold_votes(post_id: int, *, wait: bool = True) -> int:
    """Add waiting votes to the tally; return how many. Without `wait` only if nobody else does."""
    tallies = Tally.objects.filter(pk=post_id)
    if tallies.select_for_update(skip_locked=not wait).first() is None:
        if not wait and tallies.exists():
            return 0
        db.ensure(Tally(post_id=post_id))
    rows = Vote.objects.filter(waiting=post_id).order_by("id")
    found = list(rows.values_list("id", "choices")[:FOLD_MAX])
    if found:
        added = [sum(column) for column in zip(*(Tally.of(bits) for _, bits in found), strict=True)]
        changes = zip(Tally.COUNTS, added, strict=True)
        tallies.update(**{name: F(name) + by for name, by in changes})
        Vote.objects.filter(pk__in=[ident for ident, _ in found]).update(waiting=None)
    return len(found)


@db.atomic
def withdraw_vote(user_id: int, vote_id: int) -> None:
    """Take a vote of a closed account out of its poll: people themselves cannot change a vote."""
    found = Vote.objects.filter(pk=vote_id, user_id=user_id).first()
    if found is None:
        return
    # The lock of a fold: the vote is either counted or waits.
    db.ensure(Tally(post_id=found.post_id))
    tallies = Tally.objects.filter(pk=found.post_id)
    tallies.select_for_update().get()
    vote = Vote.objects.filter(pk=vote_id).first()
    if vote is None:
        return
    if vote.waiting is None:
        counted = zip(Tally.COUNTS, Tally.of(vote.choices), strict=True)
        tallies.update(**{name: F(name) - by for name, by in counted if by})
    vote.delete()
    cache.post_changed(found.post_id, user_id)
