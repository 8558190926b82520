"""Checks the helpers of the revocation trial: each way ends a sign-in, even if the process dies."""

import itertools
import os

import pytest

from accounts import actions
from accounts.request_auth import authentication
from accounts.tests.sign_in.ways_out import killed, ways
from socialsite.core.errors import AppError

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.full]

COUNT = 7  # number of ways


def is_accepted(access: str) -> bool:
    try:
        authentication.by_access(access)
    except AppError:
        return False
    return True


def test_each_way_ends_a_sign_in_one_phase_after_the_other(make_user) -> None:
    user = make_user()
    for phase in ("normal", "killed", "normal"):
        for number, (act, prepare, mend) in enumerate(itertools.islice(ways(actions), COUNT)):
            prepare(user)
            access = actions.sign_in(user, "chrome").access
            assert is_accepted(access), (phase, number)
            if phase == "killed":
                killed(act, user)
            else:
                act(user)
            assert not is_accepted(access), (phase, number)
            mend(user)


def test_a_revoker_that_fails_is_reported_and_does_not_go_on(make_user, tmp_path, capfd) -> None:
    user, came_back = make_user(), tmp_path / "came-back"

    def fail(user) -> None:
        raise ValueError("refused")

    try:
        with pytest.raises(RuntimeError, match="was not killed"):
            killed(fail, user)
    except ValueError:  # raised in the child, if it continued with this test's frames
        came_back.touch()
        os._exit(0)
    assert not came_back.exists()
    assert "ValueError: refused" in capfd.readouterr().err
