"""Follow, unfollow, block, unblock and remove a follower: each is one transition of a pair.

Each runs in one transaction. All actions publish events, return the actor's relation afterwards and
raise SelfRelation or UserNotFound; a follow also UserBanned, Blacklisted or FollowLimit. A banned
or closed account cannot be followed. Its followers may unfollow it, or its place below the cap
would be lost, and anyone may block it until it is erased. A repeated action changes and publishes
nothing. Each real transition raises the pair's version by one on both rows and adds one line to
RelationLog.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from accounts.models import User
from relations.counters import counts
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from relations.models import Relation, RelationCount, RelationLog, Relationship
from relations.pairs import locks, states
from relations.pairs.states import Action
from socialsite.core import db, site
from socialsite.core.db.compiled import compiled, compiled_update
from socialsite.core.errors import Blacklisted, FollowLimit, SelfRelation, UserBanned, UserNotFound
from socialsite.core.events import publish
from socialsite.core.models import SiteSettings

# In the log: the follow of `actor` was ended by `target`.
REMOVE = "removed"
_WRITTEN = ["relation", "followed_at", "fan_since", "blocked_at", "version", "counted"]


def follow(user: User, target: User) -> Relation | None:
    """Follow a person (A32). If the actor blocks them, the relation stays unchanged."""
    return _act(user.pk, target.pk, Action.FOLLOW)


def unfollow(user: User, target: User) -> Relation | None:
    """Stop following a person; their follow of the actor stays."""
    return _act(user.pk, target.pk, Action.UNFOLLOW)


def remove_follower(user: User, fan: User) -> Relation | None:
    """End a person's follow of the actor, as if they had unfollowed; they are not told."""
    return states.MIRROR[_act(fan.pk, user.pk, Action.UNFOLLOW, logged=REMOVE)]


def block(user: User, target: User) -> Relation | None:
    """Block a person, even one who blocks the actor; ends the follows of both directions."""
    return _act(user.pk, target.pk, Action.BLOCK)


def unblock(user: User, target: User) -> Relation | None:
    """Stop blocking a person; the follows that the block ended stay ended."""
    return _act(user.pk, target.pk, Action.UNBLOCK)


# --- imports ------------------------------------------------------------------------------------
def follow_quietly(user: User, target_id: int) -> int | None:
    """Follow a person without a notification; return its time (Unix ms), None if nothing changed.

    Raises Blacklisted also if the actor blocks the person.
    """
    if states.blocks(states.of(_row.first(user.pk, target_id))):
        raise Blacklisted
    return _transition(user.pk, target_id, Action.FOLLOW, quiet=True)[1]


def block_at(user: User, target_id: int) -> int | None:
    """Block a person; return its time (Unix ms), None if nothing changed."""
    return _transition(user.pk, target_id, Action.BLOCK)[1]


def unfollow_of(user: User, target_id: int, at: int) -> None:
    """End the follow that began at this time (Unix ms), and no later one."""
    _transition(user.pk, target_id, Action.UNFOLLOW, since=at)


def unblock_of(user: User, target_id: int, at: int) -> None:
    """End the block that began at this time (Unix ms), and no later one."""
    _transition(user.pk, target_id, Action.UNBLOCK, since=at)


@db.atomic
def end_all(one: int, two: int) -> None:
    """End every follow and block between two people, in both directions.

    For a closed account that is erased.
    """
    for actor, target in ((one, two), (two, one)):
        state = states.of(_row.first(actor, target))
        if states.follows(state):
            _act(actor, target, Action.UNFOLLOW)
        if states.blocks(state):
            _act(actor, target, Action.UNBLOCK)


def _act(actor: int, target: int, action: Action, logged: str = "") -> Relation | None:
    return _transition(actor, target, action, logged)[0]


@db.atomic
def _transition(
    actor: int,
    target: int,
    action: Action,
    logged: str = "",
    *,
    quiet: bool = False,
    since: int | None = None,
) -> tuple[Relation | None, int | None]:
    """Return the actor's relation afterwards, and the time of the transition if there was one.

    With `since`, only the follow or block that began then ends.
    """
    if actor == target:
        raise SelfRelation
    _check(target, action)
    # First without a lock: most repeats end here, without waiting and without new rows.
    seen: Relationship | None = _row.first(actor, target)
    state = states.of(seen)
    if states.transition(state, action).mine is state:
        return state, None
    # A block may end follows of both people, an unblock ends none. `following` changes under its
    # owner's lock.
    counters = locks.counters((actor, target) if action is Action.BLOCK else (actor,))
    mine, other = locks.pair(actor, target, make=seen is None)
    before = states.Pair(states.of(mine), states.of(other))
    after = states.transition(before.mine, action)
    is_later = since is not None and since not in (mine.followed_at, mine.blocked_at)
    if after == before or is_later:
        return before.mine, None
    if _begins_follow(before.mine, after.mine) and _is_full(counters[actor].following):
        raise FollowLimit
    now = db.now_ms()
    mine.quiet |= quiet
    _write(mine, other, after, now, counters)
    db.insert(
        RelationLog(
            actor_id=actor,
            target_id=target,
            action=logged or action,
            before=before.mine,
            after=after.mine,
            version=mine.version,
            at=now,
        )
    )
    _publish_changes(mine, before.mine, after.mine)
    _publish_changes(other, before.other, after.other)
    return after.mine, now


def _begins_follow(before: states.State, after: states.State) -> bool:
    return states.follows(after) and not states.follows(before)


def _is_full(following: int) -> bool:
    """Return whether who follows so many may follow nobody else."""
    least = min(SiteSettings.FOLLOWS_LEAST, settings.FOLLOW_LIMIT)
    return following >= least and following >= site.current().limits.follow_max


_row = compiled(locks.row)


@compiled
def _account(user_id: int) -> "QuerySet[User, Any]":
    return User.objects.filter(pk=user_id).values_list("banned_at", "deleted_at", "username_key")


def _check(target: int, action: Action) -> None:
    """Raise the error that forbids this action on the target for everybody."""
    account = _account.first(target)
    if account is None:
        raise UserNotFound
    banned_at, deleted_at, key = account
    if key.startswith(User.ERASED) and action in (Action.FOLLOW, Action.BLOCK):
        raise UserNotFound
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
    """Store the new states, times (ms) and version in both locked rows.

    Only locked counters change here: a person without a locked counter loses no follow.
    """
    version = mine.version + 1
    for row, state in zip((mine, other), after, strict=True):
        row.relation, row.version = state, version
        # A time is set while its state holds: a follow back does not change the time of the first
        # follow.
        row.followed_at = (row.followed_at or now) if states.follows(state) else None
        row.fan_since = (row.fan_since or now) if states.is_followed(state) else None
        row.blocked_at = (row.blocked_at or now) if states.blocks(state) else None
        row.quiet = row.quiet and states.follows(state)
        moved = states.follows(state) - bool(row.counted & counts.FOLLOWING)
        count = counters.get(row.from_user_id)
        if moved and count is not None:
            row.counted ^= counts.FOLLOWING
            counts.move(count, {"following": moved})
        values = (getattr(row, name) for name in _WRITTEN)
        _update(row.from_user_id, row.to_user_id, *values, quiet=row.quiet)


@compiled_update
def _update(
    from_user: int, to_user: int, *values: int | None, quiet: bool
) -> "tuple[QuerySet[Relationship], dict[str, Any]]":
    return locks.row(from_user, to_user), dict(zip(_WRITTEN, values, strict=True), quiet=quiet)


def _publish_changes(row: Relationship, before: states.State, after: states.State) -> None:
    """Publish the changes in the direction of one row."""
    fact = (row.pk, row.from_user_id, row.to_user_id, row.version)
    if states.follows(before) != states.follows(after):
        publish((FollowCreated if states.follows(after) else FollowCanceled)(*fact))
    if states.blocks(before) != states.blocks(after):
        publish((Blocked if states.blocks(after) else Unblocked)(*fact))
