"""The author whose posts the tests of this folder look for."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def author(make_user: Callable[..., Any]) -> Any:
    """A person who writes, and whose name tests may type."""
    return make_user("writer1")
