"""Helpers of the relation tests: the rows of a pair, true counts, real threads."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection

from relations import actions
from relations.models import Relation, RelationCount, Relationship
from relations.pairs import states
from socialsite.core.models import Event

# Actions that bring a new pair into each of the seven legal states of the first person's row.
ROUTES: dict[Any, str] = {
    None: "",
    Relation.FOLLOWING: "a follow",
    Relation.FOLLOWED: "b follow",
    Relation.BI_FOLLOWING: "a follow, b follow",
    Relation.BLACKLISTING: "a block",
    Relation.BLACKLISTED: "b block",
    Relation.BI_BLACKLISTING: "a block, b block",
}


def bring(a: Any, b: Any, state: Any) -> None:
    """Bring a pair into a state through actions."""
    for step in filter(None, ROUTES[state].split(", ")):
        who, action = step.split()
        getattr(actions, action)(*((a, b) if who == "a" else (b, a)))


def row(a: Any, b: Any) -> Relationship | None:
    """Return the row of a about b."""
    return Relationship.objects.filter(from_user=a, to_user=b).first()


def stored(a: Any, b: Any) -> Relationship:
    """Return the row of a about b, which must exist."""
    return Relationship.objects.get(from_user=a, to_user=b)


def pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the states of both rows of a pair."""
    return states.of(row(a, b)), states.of(row(b, a))


def pending_events() -> list[tuple[str, int, int]]:
    """Return (type, from, to) of the pending events, in the order in which they were written."""
    return [
        (event.type, event.payload["fromUserId"], event.payload["toUserId"])
        for event in Event.objects.order_by("pk")
        if "fromUserId" in event.payload
    ]


def facts(user: Any) -> dict[str, int]:
    """Return the counters of a person, computed from the rows."""
    found = [states.of(row) for row in Relationship.objects.filter(from_user=user)]
    return {
        "following": sum(map(states.follows, found)),
        "followers": sum(map(states.is_followed, found)),
        "friends": found.count(Relation.BI_FOLLOWING),
        "blocked": sum(map(states.blocks, found)),
    }


def counted(user: Any) -> dict[str, int]:
    """Return the stored counters of a person."""
    found = RelationCount.objects.filter(pk=user.pk)
    names = ("following", "followers", "friends", "blocked")
    kept = found.values_list(*names).first()
    return dict(zip(names, kept or (0, 0, 0, 0), strict=True))


def at_once(works: Sequence[Callable[..., Any]]) -> list[Any]:
    """Run each call in a thread of its own, started together; returns results or exceptions."""
    start = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def run(number: int) -> None:
        try:
            start.wait()
            results[number] = works[number]()
        except Exception as error:
            results[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
