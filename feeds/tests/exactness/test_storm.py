"""A short run of the storm of `make chaos ARGS=model`: quiet reads equal the oracle."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection

from feeds.tests.exactness import model
from feeds.tests.exactness.storm import Storm

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers"),
]

# Reads that are compared with the oracle, and runs of each job.
JUDGED, DONE = 100, 50


@pytest.mark.slow(reason="threads that write while one reads")
def test_every_read_that_no_write_overlaps_is_the_oracles(
    make_user: Callable[..., Any], settings: LazySettings
) -> None:
    # Six people: with four followers an author is ACTIVE, with five NONE.
    settings.PUSH_ALL_MAX, settings.PUSH_ACTIVE_MAX = 3, 4
    with model.small():
        people = [make_user() for _ in range(6)]
        found = Storm(people, seed=1, judged=JUDGED, done=DONE).run()
    assert found.errors == []
    assert found.wrong == []
    assert found.judged >= JUDGED
    assert min(found.done.values()) >= DONE
