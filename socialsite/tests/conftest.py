"""Running sites that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from deploy.stack import Stack
from socialsite.tests import stacks


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The full stack; a test that stops a part of it starts it again."""
    with stacks.full_stack(tmp_path_factory.mktemp("full")) as running:
        yield running


@pytest.fixture(scope="package")
def embedded_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site in one process; for what no service makes a difference to."""
    with stacks.embedded(tmp_path_factory.mktemp("embedded")) as url:
        yield url


@pytest.fixture(scope="package")
def site(request: pytest.FixtureRequest) -> str:
    """The address of a running site, by default of the full stack; each test signs up new people.

    `stacks.BOTH_MODES` and `stacks.IN_ONE_PROCESS` mark tests that run on another.
    """
    found = request.getfixturevalue(getattr(request, "param", "stack"))
    return found if isinstance(found, str) else found.url
