"""The browser that the tests of this folder share."""

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Browser

from socialsite.tests import stacks


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without the service worker: a page's `route` does not see its requests.

    A test of the worker asks for it (`service_workers="allow"`).
    """
    with stacks.browser() as found, pytest.MonkeyPatch.context() as patch:
        bare = partial(found.new_context, service_workers="block")
        patch.setattr(found, "new_context", bare)
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
