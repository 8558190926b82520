"""The tokens that the tests of this folder share."""

import pytest

from accounts import actions
from accounts.models import User
from accounts.tokens import TokenPair


@pytest.fixture
def pair(user: User) -> TokenPair:
    """The tokens of a device of this person."""
    return actions.sign_in(user, "chrome")
