"""The streams and the interrupts of a command that runs inside the site."""

import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection, transaction

from socialsite.core.runtime.control import caller as callers
from socialsite.core.runtime.control import server, wire
from socialsite.core.runtime.control.caller import Caller
from socialsite.core.runtime.control.wire import Kind
from socialsite.tests.support.waiting import LIMIT

pytestmark = pytest.mark.once


@pytest.fixture
def operator() -> Iterator[socket.socket]:
    """Return the operator's end of a connection; `caller_of` has the other."""
    ours, theirs = socket.socketpair()
    ours.settimeout(LIMIT)
    with ours, theirs:
        _ends[ours] = theirs
        yield ours
        del _ends[ours]


_ends: dict[socket.socket, socket.socket] = {}


def caller_of(operator: socket.socket, monkeypatch: pytest.MonkeyPatch, *argv: str) -> Caller:
    """Return the caller at the site's end; the streams of `sys` are shared until the test ends."""
    for name in callers.STREAMS:
        monkeypatch.setattr(sys, name, getattr(sys, name))  # restores it
    callers.share_streams()
    ttys = dict.fromkeys(callers.STREAMS, False)
    request = {"argv": ["manage.py", *argv], "cwd": "/home/operator", "ttys": ttys}
    return Caller(_ends[operator], json.dumps(request))


def test_the_streams_are_those_of_the_operator_in_the_thread_of_the_command_only(
    operator: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = caller_of(operator, monkeypatch, "recount")
    wire.send(operator, Kind.ANSWER, "typed\n")
    wire.send(operator, Kind.ANSWER, "secret")
    with caller.active():
        sys.stdout.write("to the operator")
        other = threading.Thread(target=lambda text: sys.stdout.write(text), args=("to the site",))
        other.start()
        other.join()
        sys.stderr.write("a mistake")
        assert input("Name: ") == "typed"
        assert callers.hidden_line("Password: ") == "secret"
        assert callers.path("old.log") == Path("/home/operator/old.log")
    sys.stdout.write("to the site again")
    caller.end(0)
    found = [wire.receive(operator) for _ in range(6)]
    assert found == [
        (Kind.OUT, "to the operator"),
        (Kind.ERR, "a mistake"),
        (Kind.OUT, "Name: "),
        (Kind.LINE, ""),
        (Kind.HIDDEN, "Password: "),
        (Kind.END, "0"),
    ]
    assert callers.path("old.log") == Path("old.log")


def query() -> None:
    """Ask the database in a transaction."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@pytest.mark.django_db(transaction=True)
def test_an_interrupt_comes_once_before_the_next_query_and_rolls_back(
    operator: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = caller_of(operator, monkeypatch, "recount")
    with caller.active():
        query()
        operator.shutdown(socket.SHUT_WR)
        with pytest.raises(KeyboardInterrupt):
            query()
        assert not connection.in_atomic_block
        query()
        sys.stdout.write("stopped")
    assert wire.receive(operator) == (Kind.OUT, "stopped")


def test_an_interrupt_comes_before_the_next_output(
    operator: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = caller_of(operator, monkeypatch, "make_key")
    operator.shutdown(socket.SHUT_WR)
    with caller.active(), pytest.raises(KeyboardInterrupt):
        sys.stdout.write("more")


def test_a_command_without_an_operator_ends(
    operator: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = caller_of(operator, monkeypatch, "unknown")
    operator.close()
    assert server.run(caller) == server.INTERRUPTED
