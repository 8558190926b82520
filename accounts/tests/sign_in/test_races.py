"""Sixty rounds of each sign-on race in real threads; `make chaos` runs thousands."""

import pytest

from accounts.tests.sign_in.races import RACES

ROUNDS = 40


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_a_race_of_sign_on_never_ends_illegally(race) -> None:
    wrongs = [wrong for _ in range(ROUNDS) for wrong in race()]
    assert wrongs == []
