"""The author whose pages the tests of this folder open."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def author(make_user: Callable[..., Any]) -> Any:
    """A person who writes, and whose name tests may type."""
    return make_user("writer1")
