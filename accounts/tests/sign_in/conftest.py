"""Fixtures of the tests of passkeys."""

from collections.abc import Callable

import pytest
from django.conf import LazySettings
from rest_framework.test import APIClient

from accounts.models import User


@pytest.fixture
def at_localhost(settings: LazySettings) -> None:
    """The address of the site is one for which browsers have passkeys."""
    settings.SITE_URL = "http://localhost:8000"


@pytest.fixture
def hers(alice: User, api_for: Callable[..., APIClient]) -> APIClient:
    """A signed-in device of alice."""
    return api_for(alice, "linux")
