"""The browser that the tests of this folder share."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from socialsite.tests import stacks


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with stacks.browser() as found:
        yield found


@pytest.fixture(autouse=True)
def _closed_contexts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close what a test opened in the browser, so that its pages ask for nothing any more."""
    if "browser" not in request.fixturenames:
        yield
        return
    shared: Browser = request.getfixturevalue("browser")
    before = set(shared.contexts)
    yield
    for context in set(shared.contexts) - before:
        context.close()
