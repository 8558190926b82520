"""The 28 cells of A32 are those of the tested table."""

import pytest

from relations.models import Relation
from relations.pairs import states
from relations.pairs.states import Pair
from relations.tests.transitions import CELLS, REFUSED, TABLE
from socialsite.core.errors import Blacklisted


def test_the_table_has_all_28_cells() -> None:
    assert len(CELLS) == 28
    assert {before[0] for before in TABLE} == {None, *Relation}


@pytest.mark.parametrize(("before", "action", "after"), CELLS)
def test_each_cell_leads_to_the_pair_of_the_specification(before, action, after) -> None:
    if after == REFUSED:
        with pytest.raises(Blacklisted):
            states.transition(before[0], action)
    else:
        assert states.transition(before[0], action) == Pair(*after)


@pytest.mark.parametrize("pair", TABLE)
def test_the_rows_of_a_legal_pair_mirror_each_other(pair) -> None:
    assert states.MIRROR[pair[0]] == pair[1]
    assert states.follows(pair[0]) == states.is_followed(pair[1])
    assert states.blocks(pair[0]) == states.is_blocked(pair[1])
    assert states.blocked_either_way(pair[0]) == (states.blocks(pair[0]) or states.blocks(pair[1]))


def test_the_numbers_of_the_states_are_frozen() -> None:
    assert {state.name: state.value for state in Relation} == {
        "FOLLOWING": 0,
        "FOLLOWED": 1,
        "BLACKLISTING": 2,
        "BLACKLISTED": 3,
        "BI_FOLLOWING": 4,
        "BI_BLACKLISTING": 5,
    }
