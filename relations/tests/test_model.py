"""Random histories against a model of four bits a pair: my follow, yours, my block, yours."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relations import actions
from relations.models import Relation
from relations.states import Action
from relations.tests.helpers import counted, facts, pair
from socialsite.core import relay
from socialsite.core.errors import Blacklisted

PEOPLE = 3
STEPS = st.one_of(
    st.just(None),  # deliver what was told so far
    st.tuples(st.permutations(range(PEOPLE)), st.sampled_from(list(Action))),
)


class Bits:
    """Who follows and who blocks whom, as two sets of ordered pairs."""

    def __init__(self) -> None:
        self.follows: set[tuple[int, int]] = set()
        self.blocks: set[tuple[int, int]] = set()

    def act(self, a: int, b: int, action: Action) -> None:
        """Do what a person would expect; Blacklisted where it is refused."""
        match action:
            case Action.FOLLOW:
                if (a, b) in self.blocks:
                    return
                if (b, a) in self.blocks:
                    raise Blacklisted
                self.follows.add((a, b))
            case Action.UNFOLLOW:
                self.follows.discard((a, b))
            case Action.BLOCK:
                self.blocks.add((a, b))
                self.follows -= {(a, b), (b, a)}
            case Action.UNBLOCK:
                self.blocks.discard((a, b))

    def state(self, a: int, b: int) -> Relation | None:
        """What the row of a about b must say."""
        return {
            (0, 0, 0, 0): None,
            (1, 0, 0, 0): Relation.FOLLOWING,
            (0, 1, 0, 0): Relation.FOLLOWED,
            (1, 1, 0, 0): Relation.BI_FOLLOWING,
            (0, 0, 1, 0): Relation.BLACKLISTING,
            (0, 0, 0, 1): Relation.BLACKLISTED,
            (0, 0, 1, 1): Relation.BI_BLACKLISTING,
        }[
            (a, b) in self.follows,
            (b, a) in self.follows,
            (a, b) in self.blocks,
            (b, a) in self.blocks,
        ]


@pytest.mark.django_db
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, max_size=25))
def test_any_history_is_that_of_the_four_bits(make_user: Any, steps: list[Any]) -> None:
    people = [make_user() for _ in range(PEOPLE)]
    model = Bits()
    for step in steps:
        if step is None:
            relay.relay()
            continue
        (a, b, _), action = step
        refused = False
        try:
            model.act(a, b, action)
        except Blacklisted:
            refused = True
        try:
            assert getattr(actions, action)(people[a], people[b]) is model.state(a, b)
            assert not refused
        except Blacklisted:
            assert refused
    for a, b in itertools.permutations(range(PEOPLE), 2):
        assert pair(people[a], people[b]) == (model.state(a, b), model.state(b, a))
    while relay.relay():
        pass
    for person in people:
        assert counted(person) == facts(person)
