"""Fixtures of the tests of accounts."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client


@pytest.fixture
def alice(make_user: Callable[..., Any]) -> Any:
    """A person with a name that tests may type."""
    return make_user("alice1")


@pytest.fixture
def browser(client: Client, alice: Any) -> Client:
    """A browser in which alice is signed in."""
    response = client.post("/login", {"username": alice.username, "password": "right.pass1"})
    assert response.status_code == 303
    return client
