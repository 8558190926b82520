"""Fixtures of the tests of previews."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from feeds.tests.content.sites import Site


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


@pytest.fixture
def previews_on(settings: LazySettings) -> None:
    settings.LINK_PREVIEWS = settings.OUTGOING_LOOPBACK = True
