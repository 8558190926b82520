"""A broken connection to MariaDB is detected without a ping, and without mistakes."""

from collections.abc import Iterator
from unittest import mock

import pytest
from django.db import OperationalError, connection, connections
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
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute("KILL %s", [before])
    other.close()
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
