"""Fixtures of the tests of relations; some modules have `people` of their own."""

from collections.abc import Callable
from typing import Any

import pytest

from socialsite.core.models import Event


@pytest.fixture
def people(make_user: Callable[..., Any]) -> tuple[Any, Any]:
    """Two people, of whose registration no event waits."""
    found = make_user(), make_user()
    Event.objects.all().delete()
    return found
