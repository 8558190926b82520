"""A broken connection to MariaDB is detected without a ping, and without mistakes."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.db.backends.mysql import base as django_mysql

from socialsite.core.db.mysql import base

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.full]


def begin_a_request() -> None:
    connection.close_if_unusable_or_obsolete()


def connection_id() -> int:
    """Return the server's id of this connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        return int(cursor.fetchone()[0])


def kill(ident: int) -> None:
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute("KILL %s", [ident])
    other.close()


@pytest.fixture
def pings() -> Iterator[mock.Mock]:
    """Count the pings of a connection that was just checked."""
    real = django_mysql.DatabaseWrapper.is_usable
    with mock.patch.object(
        django_mysql.DatabaseWrapper, "is_usable", autospec=True, side_effect=real
    ) as pings:
        connection.close()
        connection_id()
        yield pings


def test_a_connection_in_use_is_reused_without_a_ping(pings: mock.Mock) -> None:
    before = connection_id()
    for _ in range(3):
        begin_a_request()
        assert connection_id() == before
    assert not pings.called


def test_a_connection_that_the_server_ended_is_replaced(pings: mock.Mock) -> None:
    before = connection_id()
    kill(before)
    begin_a_request()
    assert connection_id() != before
    assert pings.called


def test_a_connection_idle_for_long_is_pinged(
    pings: mock.Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "UNSEEN_SECONDS", 0)
    begin_a_request()
    connection_id()
    assert pings.call_count == 1


def test_a_connection_after_an_error_is_pinged(pings: mock.Mock) -> None:
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute("KILL QUERY CONNECTION_ID()")
    begin_a_request()
    connection_id()
    assert pings.call_count == 1


def test_nothing_is_expected_of_a_connection_closed_by_this_side() -> None:
    connection_id()
    connection.connection.close()
    assert not connection.is_usable()
    connection.connection = None


def test_a_connection_that_is_lost_at_the_end_of_a_transaction_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = connection_id()
    real = connection._commit  # type: ignore[attr-defined]

    def commit_and_lose() -> None:
        real()
        kill(before)

    with monkeypatch.context() as patch:
        patch.setattr(connection, "_commit", commit_and_lose)
        with pytest.raises(OperationalError), transaction.atomic():
            connection_id()
    with transaction.atomic():
        assert connection_id() != before
    assert not connection.in_atomic_block


def test_a_new_connection_that_is_lost_at_once_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    before = connection_id()
    real = django_mysql.DatabaseWrapper.get_new_connection

    def connect_and_lose(self: base.DatabaseWrapper, params: dict[str, Any]) -> Any:
        made = real(self, params)
        if self is connection_of_thread:
            kill(made.thread_id())
        return made

    connection_of_thread = connections["default"]
    with monkeypatch.context() as patch:
        patch.setattr(django_mysql.DatabaseWrapper, "get_new_connection", connect_and_lose)
        kill(before)
        with pytest.raises(OperationalError), transaction.atomic():
            connection_id()
        with pytest.raises(OperationalError), transaction.atomic():
            connection_id()
    with transaction.atomic():
        assert connection_id() != before
    assert not connection.in_atomic_block
