"""The worker's database connection: kept from task to task, replaced when broken."""

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery.fixups.django import DjangoWorkerFixup  # type: ignore[attr-defined]  # not in the stubs
from celery.signals import task_postrun, task_prerun
from django.db import DatabaseError, connection

from socialsite.celery import app
from socialsite.core.runtime import request_ids


@pytest.fixture(autouse=True)
def _no_task_left() -> Iterator[None]:
    """Forget the id of the last task, which never ends here."""
    yield
    request_ids.begin("")


class Task:
    """The attributes of a task that Celery and its signals read."""

    name = "test.nothing"
    request = SimpleNamespace(is_eager=False)


def between_tasks() -> None:
    """Run the worker's signals after one task and before the next."""
    fixup = DjangoWorkerFixup(app)
    for act, signal in ((fixup.on_task_postrun, task_postrun), (fixup.on_task_prerun, task_prerun)):
        act(Task)
        signal.send(sender=Task)


@pytest.fixture
def connection_id(transactional_db: None) -> Callable[[], int]:
    """Ask the server which connection this is."""

    def ask() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            return int(cursor.fetchone()[0])

    return ask


@pytest.mark.full
@pytest.mark.skipif(connection.vendor != "mysql", reason="SQLite has no server")
class TestConnection:
    """On MariaDB."""

    def test_it_is_reused_from_task_to_task(self, connection_id: Callable[[], int]) -> None:
        first = connection_id()
        for _ in range(3):
            between_tasks()
        assert connection_id() == first

    def test_one_that_the_server_closed_is_replaced(self, connection_id: Callable[[], int]) -> None:
        first = connection_id()
        other: Any = connection.copy()
        with contextlib.suppress(DatabaseError), other.cursor() as cursor:
            cursor.execute(f"KILL {first}")
        other.close()
        between_tasks()
        assert connection_id() != first


@pytest.mark.django_db
def test_a_task_that_is_called_directly_leaves_its_callers_transaction_alone() -> None:
    @app.task
    def nothing() -> None:
        """Do nothing."""

    nothing.apply(throw=True)
    assert not connection.needs_rollback
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
