"""Fixtures of the tests of interactions; some modules have a `post` of their own."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def post(author: Any, make_post: Callable[..., Any]) -> Any:
    """A post of the author."""
    return make_post(author)


@pytest.fixture
def people(make_user: Callable[..., Any]) -> list[Any]:
    """Four people."""
    return [make_user() for _ in range(4)]
