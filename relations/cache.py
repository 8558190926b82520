"""The newest members of big people's lists in Redis (B8), for the lists that everyone looks at.

A list is one ZSET: score = ms of the follow, member = the other person's id in fixed width. It has
every member from the newest down to its lowest one, its floor; the mark NO_MORE below them says
that the list ends there. One key, so that it is whole or gone whenever Redis evicts it; never
empty, so that a lost key and an empty list cannot be taken for each other (T46).

- A reader who finds no list takes a lease, reads the table, and fills only while the lease is its
  own. A writer, after the commit, takes the lease away first and then puts the pair in line with
  the table, in a list that exists only (T43-T45).
- A writer reads the pair, writes it, and reads again until both agree. Whichever of several writers
  comes last has seen what the table says at the end, so late, repeated and reordered events do no
  harm; no numbers need to be kept.
- Lists follow events, a few ms after the commit. A list lives TTL_MS from its fill at most, which
  bounds what an event that is late, dead or lost with Redis can leave behind.
- What a list says about a pair is never shown: readers take their relation to each person from the
  table, and their own place in the list too (`queries`).

What it gains: MariaDB 10.11 beside Redis 7 on two cores, 100,000 followers, pages of 20 in mixed
order, n = 1253 each, p50. The rows of the first page take 0.29 ms from here and 0.68 ms from the
covering index, of the sixth 0.30 and 0.99 ms (a bare PING 0.17 ms); the whole page with relations
and cards 2.30 and 2.38 ms, the sixth 2.28 and 2.70 ms. So it takes one query of three from the
database, gives the reader little, and a list takes 8 kB: worth it only for a list that is read far
more often than it is filled, which is once a minute at most. Hence BIG_FROM.
"""

import logging
import secrets
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from relations.models import Relationship
from socialsite.core import redis
from socialsite.core.pagination import Position

logger = logging.getLogger(__name__)

Kind = Literal["followers", "following"]

# The column of the owner's rows that dates the members of a list.
TIME: dict[Kind, str] = {"followers": "fan_since", "following": "followed_at"}

# Followers from which a person's lists are cached: S0's big author. Below it a list is seldom read
# twice while it would live.
BIG_FROM = 5000
CAP = 400
TTL_MS = 60_000
LEASE_MS = 5_000
ID_DIGITS = 19
# Sorts below every member: ids are positive, times too.
NO_MORE = "0"
SMALL = "small"
SYNC_ROUNDS = 5


class Found(NamedTuple):
    """A page, or None when the cache does not know it; a lease when the caller may fill it."""

    page: list[Position] | None
    lease: str | None = None


def _list(kind: Kind, owner: int) -> str:
    return f"rel:{kind}:{owner}"


def _lease(kind: Kind, owner: int) -> str:
    return f"rel:{kind}:{owner}:lease"


def _member(ident: int) -> str:
    return f"{ident:0{ID_DIGITS}}"


def page(kind: Kind, owner: int, place: Position | None, want: int) -> Found:
    """Return the next `want` members after a place; fewer only where the list ends.

    Only the first page takes a lease: a reader far down would fill a list that does not reach it.
    """
    start = ["", ""] if place is None else [place.ts_ms, _member(place.id)]
    token = secrets.token_hex(8) if place is None else ""
    script = redis.script(__file__, "list_page")
    keys = [_list(kind, owner), _lease(kind, owner)]
    try:
        reply = script(keys, [want, *start, token, LEASE_MS if token else ""])
    except redis.RedisDown:
        return Found(None)
    answer, *found = [text.decode() for text in reply]
    if answer != "hit":
        return Found(None, token if answer == "lease" else None)
    members, scores = found[::2], found[1::2]
    ends = bool(members) and members[-1] == NO_MORE
    if len(members) < want and not ends:
        return Found(None)  # it goes on below the floor
    rows = zip(scores, members, strict=True)
    return Found([Position(int(float(at)), int(ident)) for at, ident in rows if ident != NO_MORE])


def fill(kind: Kind, owner: int, lease: str, newest: Sequence[Position]) -> bool:
    """Put a list in place from its newest CAP + 1 members or all; False when a writer was faster.

    They must have been read after the lease was taken.
    """
    entries: list[object] = []
    for position in newest[:CAP]:
        entries += [position.ts_ms, _member(position.id)]
    if len(newest) <= CAP:
        entries += [0, NO_MORE]
    script = redis.script(__file__, "list_fill")
    try:
        return bool(script([_list(kind, owner), _lease(kind, owner)], [lease, TTL_MS, *entries]))
    except redis.RedisDown as error:
        logger.info("%s of %s are not cached: %s", kind, owner, error)
        return False


def decline(kind: Kind, owner: int) -> None:
    """Say that a list is too small to be kept, so that nobody asks for a while."""
    key = _lease(kind, owner)
    try:
        redis.call(lambda connection: connection.set(key, SMALL, px=TTL_MS, xx=True))
    except redis.RedisDown as error:
        logger.info("%s of %s are not declined: %s", kind, owner, error)


def sync(pairs: Iterable[tuple[Kind, int, int]]) -> None:
    """Put pairs (list, owner, other person) in line with the table; call after the commit.

    One round trip where no list is cached, as for most people. Without Redis nothing is done: the
    lists run out by time.
    """
    wanted = list(pairs)
    batch = redis.Batch()
    # First the leases: whoever takes a new one reads the table after this commit.
    for kind, owner, _ in wanted:
        batch.add("DEL", _lease(kind, owner))
    known: list[redis.Promise[int]] = [
        batch.add("EXISTS", _list(kind, owner)) for kind, owner, _ in wanted
    ]
    batch.run()
    try:
        for pair, exists in zip(wanted, known, strict=True):
            if exists.value:
                _sync(*pair)
    except redis.RedisDown as error:
        logger.info("cached lists are not brought up to date: %s", error)


def _sync(kind: Kind, owner: int, other: int) -> None:
    written: tuple[int | None] | None = None
    for _ in range(SYNC_ROUNDS):
        now = (_time_of(kind, owner, other),)
        if now == written:
            return
        if now[0] is None:
            _remove(kind, owner, other)
        else:
            _add(kind, owner, Position(now[0], other))
        written = now
    drop(kind, owner)  # two people who cannot make up their minds


def _time_of(kind: Kind, owner: int, other: int) -> int | None:
    """Return since when (ms) someone is in a list, None when they are not."""
    rows = Relationship.objects.filter(from_user=owner, to_user=other)
    return rows.values_list(TIME[kind], flat=True).first()


def _add(kind: Kind, owner: int, position: Position) -> None:
    script = redis.script(__file__, "list_add")
    script([_list(kind, owner)], [position.ts_ms, _member(position.id), CAP, NO_MORE])


def _remove(kind: Kind, owner: int, other: int) -> None:
    redis.call(lambda connection: connection.zrem(_list(kind, owner), _member(other)))


def drop(kind: Kind, owner: int) -> None:
    """Forget a list; RedisDown when that cannot be done."""
    redis.call(lambda connection: connection.delete(_list(kind, owner)))
