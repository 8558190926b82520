"""Running sites that the tests of this folder share: one of each mode in a process of pytest."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.stack import Stack
from socialsite.core.runtime import vapid
from socialsite.tests import stacks


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The full stack; a test that stops a part of it starts it again.

    It may send requests to this machine, as to the push service of a test.
    """
    env = {"OUTGOING_LOOPBACK": "1", "VAPID_PRIVATE_KEY": vapid.new()}
    with stacks.full_stack(tmp_path_factory.mktemp("full"), **env) as running:
        yield running


@pytest.fixture(scope="session")
def embedded_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of `embedded_site`."""
    return tmp_path_factory.mktemp("embedded")


@pytest.fixture(scope="session")
def embedded_site(embedded_dir: Path) -> Iterator[str]:
    """The address of the site in one process; for what no service makes a difference to.

    It may send requests to this machine too.
    """
    with stacks.embedded(embedded_dir, OUTGOING_LOOPBACK="1") as url:
        yield url


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> str:
    """The address of a running site, by default of the full stack; each test signs up new people.

    `stacks.BOTH_MODES` and `stacks.IN_ONE_PROCESS` mark tests that run on another.
    """
    found = request.getfixturevalue(getattr(request, "param", "stack"))
    return found if isinstance(found, str) else found.url
