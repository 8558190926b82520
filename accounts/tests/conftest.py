"""Fixtures of the tests of accounts."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def alice(make_user: Callable[..., Any]) -> Any:
    """A person with a name that tests may type."""
    return make_user("alice1")
