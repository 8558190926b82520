"""The reader of notifications, and a post that others answer."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def me(make_user: Callable[..., Any]) -> Any:
    """A person whom others mention by this name."""
    return make_user("reader1")


@pytest.fixture
def post(me: Any, make_post: Callable[..., Any]) -> Any:
    """A post of this person."""
    return make_post(me, content="my words")
