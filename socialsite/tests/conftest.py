"""The running sites that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from socialsite.tests import stacks


@pytest.fixture(scope="package", params=["full", "embedded"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running site; each test signs up people of its own."""
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "full":
        with stacks.full_stack(directory) as stack:
            yield stack.url
    else:
        with stacks.embedded(directory) as url:
            yield url
