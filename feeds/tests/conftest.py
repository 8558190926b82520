"""Fixtures of the tests of feeds; some modules have a `browser` of their own."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from accounts.models import User
from accounts.tests.browsers import browser_of


@pytest.fixture
def browser(me: User) -> Client:
    """The browser in which this person is signed in."""
    return browser_of(me)


@pytest.fixture
def media_root(settings: LazySettings, tmp_path: Path) -> None:
    """A folder of the test's own for pictures."""
    settings.MEDIA_ROOT = tmp_path
