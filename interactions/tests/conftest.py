"""Fixtures of the tests of interactions; some modules have a `post` of their own."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from interactions import actions
from interactions.models import Case, ReportedKind


@pytest.fixture
def post(author: Any, make_post: Callable[..., Any]) -> Any:
    """A post of the author."""
    return make_post(author)


@pytest.fixture
def people(make_user: Callable[..., Any]) -> list[Any]:
    """Four people."""
    return [make_user() for _ in range(4)]


@pytest.fixture
def reporter(make_user: Any) -> User:
    return make_user("reporter1")


@pytest.fixture
def case_of(reporter: User) -> Any:
    """Return a function that reports an object and returns its case."""

    def report(kind: ReportedKind, subject_id: int, reason: str = "spam") -> Case:
        actions.report(reporter, kind, subject_id, reason, "my words")
        return Case.objects.get(kind=kind, subject_id=subject_id)

    return report
