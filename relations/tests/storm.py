"""Random actions on few people by many threads, and what must hold afterwards (I3, I8)."""

import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

from relations import actions, states
from relations.models import RelationLog, Relationship
from relations.states import Action
from relations.tests.helpers import at_once, counted, facts
from socialsite.core import relay
from socialsite.core.errors import Blacklisted


@dataclass
class Findings:
    """What a storm left behind."""

    people: list[Any]
    errors: list[Exception] = field(default_factory=list)
    illegal: list[Any] = field(default_factory=list)
    broken: list[Any] = field(default_factory=list)

    def drift(self) -> dict[int, Any]:
        """Counters that differ from the facts, by person."""
        return {
            person.pk: (counted(person), facts(person))
            for person in self.people
            if counted(person) != facts(person)
        }


def storm(
    people: list[Any], *, threads: int, operations: int, relays: int = 0, seed: int = 1
) -> Findings:
    """Let `threads` threads do `operations` random actions each, with relays beside them."""
    found = Findings(people)

    def act(number: int) -> None:
        dice = random.Random(seed * 1000 + number)
        for _ in range(operations):
            one, two = dice.sample(people, 2)
            with contextlib.suppress(Blacklisted):
                getattr(actions, dice.choice(list(Action)))(one, two)

    def run_relay() -> None:
        for _ in range(operations):
            relay.relay(20)

    works: list[Any] = [lambda number=number: act(number) for number in range(threads)]
    results = at_once(works + [run_relay] * relays)
    found.errors = [result for result in results if isinstance(result, Exception)]
    _check(found)
    return found


def _check(found: Findings) -> None:
    rows = {(row.from_user_id, row.to_user_id): row for row in Relationship.objects.all()}
    for (one, two), row in rows.items():
        other = rows.get((two, one))
        if other is None or states.MIRROR[states.of(row)] != states.of(other):
            found.illegal.append((row, other))
        elif one < two:
            found.broken.extend(_breaks(row, other))


def _breaks(low: Relationship, high: Relationship) -> list[Any]:
    """Replay the log of a pair against the pure table."""
    ids = (low.from_user_id, low.to_user_id)
    log = RelationLog.objects.filter(actor__in=ids, target__in=ids).order_by("version")
    pair = {ids[0]: None, ids[1]: None}
    breaks: list[Any] = []
    for number, line in enumerate(log, start=1):
        after = states.transition(pair[line.actor_id], Action(line.action))
        if (line.version, line.before, line.after) != (number, pair[line.actor_id], after.mine):
            breaks.append(line)
        pair[line.actor_id], pair[line.target_id] = after
    if (low.version, high.version) != (len(log), len(log)):
        breaks.append((low, high))
    if (pair[ids[0]], pair[ids[1]]) != (states.of(low), states.of(high)):
        breaks.append((low, high, pair))
    return breaks
