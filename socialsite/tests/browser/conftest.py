"""The browser that the tests of this folder share."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from socialsite.tests import stacks
from socialsite.tests.support.waiting import LIMIT_MS


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Debian's Chromium, without the service worker: a page's `route` does not see its requests.

    A test of the worker asks for it (`service_workers="allow"`), one of notifications for the whole
    Chromium (`stacks.WHOLE_CHROMIUM`).
    """
    executable = getattr(request, "param", stacks.SHELL)
    with stacks.browser(executable) as found, pytest.MonkeyPatch.context() as patch:
        open_context = found.new_context

        def bare(**options: Any) -> BrowserContext:
            context = open_context(**{"service_workers": "block", **options})
            context.set_default_timeout(LIMIT_MS)  # on a busy machine a page may take long
            return context

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
