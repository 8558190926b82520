"""Following and blocking: one transition of a pair in one transaction, told by events.

All four actions return the actor's relation afterwards and raise SelfRelation or UserNotFound; a
follow also UserBanned, Blacklisted or FollowLimit. A banned or closed account cannot be followed,
but whoever follows it may leave, or its place below the cap would be lost, and anyone may block it.
Repeating an action changes and tells nothing. Each real transition raises the pair's version by one
on both rows and leaves one line in RelationLog.
"""

from collections.abc import Mapping

from django.conf import settings

from accounts.models import User
from relations import counts, locks, states
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from relations.models import Relation, RelationCount, RelationLog, Relationship
from relations.states import Action
from socialsite.core import db
from socialsite.core.errors import FollowLimit, SelfRelation, UserBanned, UserNotFound
from socialsite.core.events import publish

_WRITTEN = ["relation", "followed_at", "fan_since", "blocked_at", "version", "counted"]


def follow(user: User, target: User) -> Relation | None:
    """Follow someone (A32). Someone the actor blocks stays blocked: the relation is unchanged."""
    return _act(user.pk, target.pk, Action.FOLLOW)


def unfollow(user: User, target: User) -> Relation | None:
    """Stop following someone; whoever follows the actor goes on doing so."""
    return _act(user.pk, target.pk, Action.UNFOLLOW)


def block(user: User, target: User) -> Relation | None:
    """Block someone, also someone who blocks the actor; ends the follows of both directions."""
    return _act(user.pk, target.pk, Action.BLOCK)


def unblock(user: User, target: User) -> Relation | None:
    """Stop blocking someone; the follows that the block ended stay ended."""
    return _act(user.pk, target.pk, Action.UNBLOCK)


@db.atomic
def _act(actor: int, target: int, action: Action) -> Relation | None:
    if actor == target:
        raise SelfRelation
    _check(target, action)
    # Without a lock first: most repeats end here and neither wait nor leave rows behind.
    seen = Relationship.objects.filter(from_user=actor, to_user=target).first()
    state = states.of(seen)
    if states.transition(state, action).mine is state:
        return state
    # A block may end follows of both, an unblock none; `following` moves under its owner's lock.
    counters = locks.counters((actor, target) if action is Action.BLOCK else (actor,))
    mine, other = locks.pair(actor, target, make=seen is None)
    before = states.Pair(states.of(mine), states.of(other))
    after = states.transition(before.mine, action)
    if after == before:
        return before.mine
    if (
        states.follows(after.mine)
        and not states.follows(before.mine)
        and counters[actor].following >= settings.FOLLOW_LIMIT
    ):
        raise FollowLimit
    now = db.now_ms()
    _write(mine, other, after, now, counters)
    RelationLog.objects.create(
        actor_id=actor,
        target_id=target,
        action=action,
        before=before.mine,
        after=after.mine,
        version=mine.version,
        at=now,
    )
    _tell(mine, before.mine, after.mine)
    _tell(other, before.other, after.other)
    return after.mine


def _check(target: int, action: Action) -> None:
    """Raise what keeps anybody from doing this to the target."""
    columns = User.objects.filter(pk=target).values_list("banned_at", "deleted_at")
    account = columns.first()
    if account is None:
        raise UserNotFound
    banned_at, deleted_at = account
    if action is Action.FOLLOW and deleted_at is not None:
        raise UserNotFound
    if action is Action.FOLLOW and banned_at is not None:
        raise UserBanned


def _write(
    mine: Relationship,
    other: Relationship,
    after: states.Pair,
    now: int,
    counters: Mapping[int, RelationCount],
) -> None:
    """Give both locked rows their new state, their times (ms) and the pair's next number.

    Only locked counters move here: who is not among them has no follow that changes.
    """
    version = mine.version + 1
    for row, state in zip((mine, other), after, strict=True):
        row.relation, row.version = state, version
        # A time stands while its state holds: a follow back does not move the first follow.
        row.followed_at = (row.followed_at or now) if states.follows(state) else None
        row.fan_since = (row.fan_since or now) if states.is_followed(state) else None
        row.blocked_at = (row.blocked_at or now) if states.blocks(state) else None
        moved = states.follows(state) - bool(row.counted & counts.FOLLOWING)
        count = counters.get(row.from_user_id)
        if moved and count is not None:
            row.counted ^= counts.FOLLOWING
            counts.move(count, {"following": moved})
        locks.row(row).update(**{name: getattr(row, name) for name in _WRITTEN})


def _tell(row: Relationship, before: states.State, after: states.State) -> None:
    """Publish what changed in the direction of one row."""
    fact = (row.pk, row.from_user_id, row.to_user_id, row.version)
    if states.follows(before) != states.follows(after):
        publish((FollowCreated if states.follows(after) else FollowCanceled)(*fact))
    if states.blocks(before) != states.blocks(after):
        publish((Blocked if states.blocks(after) else Unblocked)(*fact))
