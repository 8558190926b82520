"""Many people and follows, inserted by the database without the actions: for measuring only.

All rows are the same as after the actions: both rows of a pair, their times, the counted bits, the
counters. The log and the events are left out. Needs MariaDB for its sequence engine.
"""

import contextlib
import random
import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from django.db import connection

if TYPE_CHECKING:
    from accounts.models import User

FIRST_ID = 10**18
BATCH = 5000
FOLLOWING, FOLLOWED, BLOCKING, BLOCKED_BY, FRIENDS = range(5)  # as in `relations.pairs.states`
# The counts that a row in this state adds to for its owner (relations.counters.counts).
_COUNTED = {FOLLOWING: 1, FOLLOWED: 2, BLOCKING: 8, BLOCKED_BY: 0, FRIENDS: 1 | 2 | 4}
_COLUMNS = (
    "from_user_id, to_user_id, relation, followed_at, fan_since, blocked_at, version, counted"
)
# The distribution of B9: the shares of people who follow and are followed, who only follow, and who
# are only followed. The means follow from 40 % following 7.9, 35 % followed by 9.2, both 26 % with
# 8.3 and 10.4.
BOTH, ONLY_FOLLOW, ONLY_FANS = 0.26, 0.14, 0.09
MEAN_BOTH, MEAN_ONLY_FOLLOW = 7.7, 7.1  # the first one includes follow-backs, below
WEIGHT_BOTH, WEIGHT_ONLY_FANS = 10.4, 5.73
ANSWERED = 0.1  # the share of follows that are mutual, which B9 leaves open
PER_PERSON = 0.4 * 7.9

Row = tuple[int, int, int, int | None, int | None, int | None]


def be_patient() -> None:
    """Raise the statement timeout from the site's 20 s. Call it before the first statement."""
    connection.close()
    connection.settings_dict["OPTIONS"]["read_timeout"] = 3600


def execute(sql: str, *params: Any) -> int:
    """Run one statement and return how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params or None)
        return int(cursor.rowcount)


def register(name: str, count: int) -> "list[User]":
    """Create a few accounts by the action, with names that begin alike and unknown passwords."""
    from accounts import actions

    names = [f"{name}{number}" for number in range(count)]
    return [actions.register(one, one.title(), secrets.token_hex(8)) for one in names]


def make_people(count: int) -> list[int]:
    """Create accounts b1, b2, … with ascending ids from FIRST_ID; nobody can log in to them."""
    from accounts.models import User

    now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    User.objects.create(
        id=FIRST_ID, username="b0", username_key="b0", nickname="b0", nickname_key="b0"
    )
    name = "CONCAT('b', seq)"
    own = {
        "id": f"{FIRST_ID} + seq",
        **dict.fromkeys(("username", "username_key", "nickname", "nickname_key"), name),
        "created_at": f"'{now}'",
        "last_seen": f"'{now}'",
    }
    # All other columns are copied from the first account.
    columns = [
        column for field in User._meta.concrete_fields if (column := field.column) is not None
    ]
    values = [own.get(column, f"u.{column}") for column in columns]
    execute(
        f"INSERT INTO accounts_user ({', '.join(columns)}) SELECT {', '.join(values)}"  # noqa: S608
        f" FROM seq_1_to_{count - 1} JOIN accounts_user u ON u.id = {FIRST_ID}"
    )
    return list(range(FIRST_ID, FIRST_ID + count))


def follows_like_s1(people: list[int], edges: int, seed: int) -> dict[int, dict[int, int]]:
    """Return who follows whom since when (ms), distributed as in B9: actor -> {target: time}."""
    dice = random.Random(seed)
    order = people[:]
    dice.shuffle(order)
    both = order[: int(len(order) * BOTH)]
    only_follow = order[len(both) : len(both) + int(len(order) * ONLY_FOLLOW)]
    start = len(both) + len(only_follow)
    only_fans = order[start : start + int(len(order) * ONLY_FANS)]
    targets = both + only_fans
    in_both = set(both)
    weights, total = [], 0.0
    for target in targets:
        mean = WEIGHT_BOTH if target in in_both else WEIGHT_ONLY_FANS
        total += mean * dice.paretovariate(1.6)  # a few have many followers, most have few
        weights.append(total)
    now = int(time.time() * 1000)
    year = 365 * 86_400_000
    follows: dict[int, dict[int, int]] = defaultdict(dict)
    made = 0
    actors = [(actor, MEAN_BOTH) for actor in both]
    actors += [(actor, MEAN_ONLY_FOLLOW) for actor in only_follow]
    while made < edges:
        for actor, mean in actors:
            wanted = 1 + int(dice.expovariate(1 / (mean - 0.5)))
            for target in dice.choices(targets, cum_weights=weights, k=min(wanted, 900)):
                if target == actor or target in follows[actor]:
                    continue
                follows[actor][target] = now - dice.randrange(year)
                made += 1
                if actor in in_both and target in in_both and dice.random() < ANSWERED:
                    made += actor not in follows[target]
                    follows[target].setdefault(actor, now - dice.randrange(year))
            if made >= edges:
                break
    return follows


def shape(people: list[int], follows: dict[int, dict[int, int]]) -> str:
    """Describe the created graph in the terms of B9."""
    following = {actor: len(targets) for actor, targets in follows.items() if targets}
    fans: dict[int, int] = defaultdict(int)
    for targets in follows.values():
        for target in targets:
            fans[target] += 1
    both = following.keys() & fans.keys()
    edges = sum(following.values())
    count = len(people)
    return (
        f"{edges} follows among {count} people: {len(following) / count:.0%} follow, mean "
        f"{edges / len(following):.1f}; {len(fans) / count:.0%} have followers, mean "
        f"{edges / len(fans):.1f}, most {max(fans.values())}; {len(both) / count:.0%} both"
    )


def rows_of(follows: dict[int, dict[int, int]]) -> Iterator[Row]:
    """Yield both rows of every pair, by owner and other person."""
    fans: dict[int, dict[int, int]] = defaultdict(dict)
    for actor, targets in follows.items():
        for target, since in targets.items():
            fans[target][actor] = since
    for owner in sorted(follows.keys() | fans.keys()):
        mine, theirs = follows.get(owner, {}), fans.get(owner, {})
        for other in sorted(mine.keys() | theirs.keys()):
            followed, fan = mine.get(other), theirs.get(other)
            state = FRIENDS if followed and fan else FOLLOWING if followed else FOLLOWED
            yield owner, other, state, followed, fan, None


def insert(rows: Iterable[Row]) -> int:
    """Insert rows of relations, thousands in a statement; return how many."""
    done = 0
    parts: list[str] = []

    def flush() -> None:
        if parts:
            execute(
                f"INSERT INTO relations_relationship ({_COLUMNS}) VALUES {','.join(parts)}"  # noqa: S608
            )
            parts.clear()

    for owner, other, state, followed, fan, blocked in rows:
        version = 2 if state == FRIENDS else 1
        parts.append(
            f"({owner},{other},{state},{followed or 'NULL'},{fan or 'NULL'},{blocked or 'NULL'},"
            f"{version},{_COUNTED[state]})"
        )
        done += 1
        if len(parts) == BATCH:
            flush()
    flush()
    return done


def insert_followers(author: int, first: int, count: int) -> None:
    """Let `count` people from id `first` on follow an author, in an order unrelated to ids."""
    since = int(time.time() * 1000) - 365 * 86_400_000
    # A step without a common factor with any power of ten scatters the ids over the times.
    at = f"{since} + (seq * 7919 % {count}) * 25"
    other = f"{first} + seq"
    for owner, person, state, times in (
        (author, other, FOLLOWED, f"NULL, {at}"),
        (other, author, FOLLOWING, f"{at}, NULL"),
    ):
        execute(
            f"INSERT INTO relations_relationship ({_COLUMNS}) SELECT {owner}, {person}, {state},"  # noqa: S608
            f" {times}, NULL, 1, {_COUNTED[state]} FROM seq_0_to_{count - 1}"
        )


def count_all() -> None:
    """Compute everyone's counters from the rows."""
    execute("DELETE FROM relations_relationcount")
    execute(
        "INSERT INTO relations_relationcount (user_id, following, followers, friends, blocked)"
        " SELECT from_user_id, SUM(relation IN (0, 4)), SUM(relation IN (1, 4)),"
        " SUM(relation = 4), SUM(relation IN (2, 5)) FROM relations_relationship"
        " GROUP BY from_user_id ORDER BY from_user_id"
    )


@contextlib.contextmanager
def without_indexes(model: Any) -> Iterator[None]:
    """Drop a table's secondary indexes and rebuild them at the end: sorted, not row by row."""
    with connection.schema_editor() as editor:
        for index in model._meta.indexes:
            editor.remove_index(model, index)
    yield
    with connection.schema_editor() as editor:
        for index in model._meta.indexes:
            editor.add_index(model, index)
    execute(f"ANALYZE TABLE {model._meta.db_table}")


def bytes_of(table: str, database: str | None = None) -> int:
    """Return the size of a table with its indexes, as the database estimates it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT data_length + index_length FROM information_schema.tables"
            " WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s",
            [database, table],
        )
        return int(cursor.fetchone()[0])
