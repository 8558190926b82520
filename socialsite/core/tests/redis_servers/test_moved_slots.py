"""Slots of the cache's cluster that move: followed, and read only where they are trusted."""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.db import Error, connection

from deploy.services.redis_cluster import Cluster, slot_of
from deploy.services.redis_node import Node
from socialsite.core import redis
from socialsite.core.cache import lease
from socialsite.core.redis.sharded import ledger, trust
from socialsite.core.redis.sharded.client import Sharded
from socialsite.core.redis.sharded.losses import Losses
from socialsite.core.redis.sharded.slots import slots_of, text_of
from socialsite.core.tests.redis_servers.acts import Away, ask, put, seen_until, value
from socialsite.core.tests.redis_servers.conftest import Process
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]

KEY, OTHER, THIRD = "{moving}:a", "{moving}:b", "{moving}:c"
SLOT = slot_of(KEY)

take = redis.script(lease.__file__, "lease_take", lease._TAKE)


class Move(NamedTuple):
    """A slot between two masters."""

    cluster: Cluster
    source: Node
    to: Node

    def begin(self) -> None:
        self.cluster.begin_move(SLOT, self.source, self.to, keys=1)

    def end(self) -> None:
        self.cluster.end_move(SLOT, self.source, self.to)

    def there(self) -> None:
        self.cluster.move_slots([SLOT], self.to)

    def back(self) -> None:
        self.cluster.move_slots([SLOT], self.source)

    def keys(self, node: Node) -> int:
        """Return the number of keys that a node has in the slot."""
        return int(node.ask("CLUSTER", "COUNTKEYSINSLOT", SLOT))


@pytest.fixture
def move(cluster: Cluster) -> Iterator[Move]:
    """The move of a slot; the slot is back at the end."""
    source = cluster.master_of(KEY)
    found = Move(cluster, source, next(one for one in cluster.masters() if one is not source))
    yield found
    for node in cluster.masters():
        node.ask("CLUSTER", "SETSLOT", SLOT, "STABLE")
    cluster.wait()
    found.back()
    cluster.wait()


def rows_of(slot: int) -> list[str]:
    """Return the ids of the servers that may be read for a slot."""
    return [one.replid for one in ledger.read() if slot in one.slots]


def replid(node: Node) -> str:
    return node.info("replication")["master_replid"]


def is_row_of(node: Node) -> bool:
    """Return whether a server has the slot, and no other one."""
    return rows_of(SLOT) == [replid(node)]


def test_a_slot_that_moves_is_followed_before_while_and_after(move: Move, process: Process) -> None:
    client = process()
    put(client, KEY, OTHER)
    move.begin()
    left, moved = (KEY, OTHER) if move.source.ask("EXISTS", KEY) else (OTHER, KEY)
    # What has moved, and what is new, waits for the end of the move.
    seen_until(client, left, b"old")
    assert [value(client, one) for one in (moved, THIRD)] == ["unknown", "unknown"]
    (many,) = ask(client, ("MGET", left, moved))
    assert isinstance(many[1], Exception)
    for command in (("SET", THIRD, "x"), take.command([left, THIRD], [b"!x", 60_000])):
        assert isinstance(ask(client, command)[0], Exception)
    assert [move.keys(node) for node in (move.source, move.to)] == [1, 1]
    client.delete_everywhere([left, moved])  # on both: nobody is distrusted
    assert [move.keys(node) for node in (move.source, move.to)] == [0, 0]
    assert is_row_of(move.source)
    move.end()
    put(client, THIRD)
    assert is_row_of(move.to)
    move.back()
    put(client, KEY)
    assert is_row_of(move.source)
    assert all(one.is_trusted for one in ledger.read())


def test_a_missed_deletion_does_not_travel_with_its_slot(move: Move, process: Process) -> None:
    writer, reader = process(), process()
    put(writer, KEY)
    seen_until(reader, KEY, b"old")
    with Away(writer, move.source):
        writer.delete_everywhere([KEY])
        move.there()
        assert b"old" not in seen_until(reader, KEY, None)


def test_a_deletion_that_is_missed_while_a_slot_is_away_is_not_read_when_it_is_back(
    move: Move, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = process(), process()
    put(writer, KEY)
    with monkeypatch.context() as patched, Away(writer, move.to):
        # So the first server's row keeps the slot until the writer takes it away.
        patched.setattr(trust.Trust, "_tend", lambda _self, _rows: False)
        move.there()
        assert is_row_of(move.source)
        writer.delete_everywhere([KEY])
        assert not rows_of(SLOT)
        move.back()
        assert value(reader, KEY) == "unknown"
    assert b"old" not in seen_until(reader, KEY, None)


def test_a_deletion_that_misses_the_new_place_of_a_key_is_not_read_there(
    move: Move, process: Process
) -> None:
    writer, reader = process(), process()
    put(writer, KEY)
    move.begin()
    with Away(writer, move.to):
        writer.delete_everywhere([KEY])
    assert not rows_of(SLOT)
    move.end()
    assert b"old" not in seen_until(reader, KEY, None)


def test_a_move_that_is_given_up_brings_no_missed_deletion_back(
    move: Move, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = process(), process()
    put(writer, KEY)
    move.begin()
    tried: list[str] = []
    real = ledger.trust

    def spied(replid: str, *args: Any) -> bool:
        done = real(replid, *args)
        tried.append(replid)
        return done

    monkeypatch.setattr(ledger, "trust", spied)
    monkeypatch.setattr(ledger, "REST_MS", 3_600_000)  # nobody empties the other server
    with Away(writer, move.to):
        writer.delete_everywhere([KEY])
    source = replid(move.source)
    eventually(lambda: tried.count(source) > 1)
    assert not rows_of(SLOT)
    # As `redis-cli --cluster fix` brings back what only the importing server has.
    move.source.ask("CLUSTER", "SETSLOT", SLOT, "STABLE")
    keys = move.cluster._keys(move.to, SLOT, 10)
    assert keys == [KEY.encode()]
    move.cluster._migrate(move.to, move.source, keys)
    move.to.ask("CLUSTER", "SETSLOT", SLOT, "STABLE")
    assert b"old" not in seen_until(reader, KEY, None)
    assert is_row_of(move.source)


def test_a_writer_that_has_not_noticed_a_moved_slot_distrusts_nobody_in_vain(
    move: Move, process: Process
) -> None:
    writer, reader = process(), process()
    put(writer, KEY)
    move.there()
    put(reader, KEY)  # at its new place
    with Away(writer, move.source):
        writer.delete_everywhere([KEY])
    assert is_row_of(move.to)
    assert all(one.is_trusted for one in ledger.read())
    assert b"old" not in seen_until(reader, KEY, None)


def test_a_moved_slot_is_used_again_and_the_others_keep_their_values(
    move: Move, process: Process
) -> None:
    client, reader = process(), process()
    at = move.cluster.slots(move.to)
    stays = next(key for key in (f"stays:{n}" for n in range(999)) if slot_of(key) in at)
    put(client, KEY, stays)
    move.there()
    assert b"old" not in seen_until(reader, KEY, None)  # it arrives, and is emptied
    put(reader, KEY)
    seen_until(client, KEY, b"old")
    assert None not in seen_until(client, stays, b"old")
    assert is_row_of(move.to)


def test_two_processes_that_tend_at_once_lose_nothing(
    move: Move, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [process(), process()]
    put(clients[0], KEY)
    for one in clients:
        one.trust.end()
    move.there()
    both, real = threading.Barrier(2), ledger.claim
    claims: list[ledger.Claimed | None] = []

    def claim(*args: Any) -> ledger.Claimed | None:
        both.wait(60)
        claims.append(found := real(*args))
        return found

    def tend(client: Sharded) -> None:
        client.trust.want()
        client.trust.look()
        connection.close()

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "claim", claim)
        threads = [threading.Thread(target=tend, args=[one]) for one in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (won,) = filter(None, claims)
    assert (len(claims), won.slots, won.is_whole) == (2, frozenset([SLOT]), False)
    assert not rows_of(SLOT)  # the first server has lost it, and the second one does not have it
    (winner,) = (one for one in clients if one.trust._claims)
    (late,) = (one for one in clients if one is not winner)

    def is_done() -> bool:
        winner.trust.look()
        return is_row_of(move.to)

    eventually(is_done)
    assert seen_until(late, KEY, None) <= {"unknown", None}
    put(late, KEY)
    winner.trust.want()
    winner.trust.look()
    assert None not in seen_until(winner, KEY, b"old")


def test_who_claims_a_slot_takes_it_from_all_other_rows(db: None) -> None:
    first, second = slots_of("0-9"), slots_of("5-14")
    claimed = ledger.claim("a", "1", first)
    assert claimed is not None
    assert claimed[:2] == (first, True)
    assert Losses().seconds(claimed.rows) == float("inf")
    assert ledger.claim("b", "2", second) is not None
    assert not ledger.trust("a", "1", slots_of("5-9"))  # "b" claims these
    assert ledger.trust("b", "2", second)
    assert {one.replid: one.slots for one in ledger.read() if one.slots} == {"b": second}
    again = ledger.claim("a2", "3", first)
    assert again is not None
    assert "b" in {one.replid for one in again.rows if one.lost_ms}
    assert {one.replid: one.slots for one in ledger.read() if one.slots} == {"b": slots_of("10-14")}


def test_a_loss_counts_from_when_this_process_saw_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("socialsite.core.redis.sharded.losses.time.monotonic", lambda: now)
    lost = ledger.Row("a", slots_of("0"), frozenset(), lost_ms=1)
    other, again = lost._replace(replid="b", lost_ms=0), lost._replace(lost_ms=2)
    seen = Losses()
    assert seen.seconds([lost, other]) == 0  # however old its stamp is
    now += 3
    assert seen.seconds([lost, other]) == 3
    seen.note([again, other])
    now += 1
    assert seen.seconds([again]) == 1
    assert seen.seconds([other]) == float("inf")
    assert [*seen._seen] == [("a", 2)]


@pytest.mark.parametrize("text", ["", "0", "0-16383", "3,5-7,9,11-16383", "0-1,3"])
def test_slots_have_a_text(text: str) -> None:
    assert text_of(slots_of(text)) == text


def test_what_a_writer_could_not_say_to_the_database_is_said_later(
    move: Move, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = process(), process()
    put(writer, KEY)
    real, is_back = ledger.read, threading.Event()
    mine = (threading.main_thread(), writer.trust._thread)

    def away() -> list[ledger.Row]:
        if threading.current_thread() in mine and not is_back.is_set():
            raise Error("away")
        return real()

    monkeypatch.setattr(trust, "DATABASE_SECONDS", 0.0)
    monkeypatch.setattr(ledger, "read", away)
    with Away(writer, move.source):
        writer.delete_everywhere([KEY])
        assert not writer.trust.allowed()  # this process uses nothing meanwhile
        is_back.set()
        eventually(writer.trust.allowed)
    eventually(lambda: value(reader, KEY), lambda found: found != b"old")
    assert b"old" not in seen_until(reader, KEY, None)


def test_what_writers_owe_is_one_fact(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    client = process()
    client.trust.end()
    client.trust._owe({"a": slots_of("0-9"), "b": slots_of("10-19")})
    client.trust._owe({"a": slots_of("5-14"), "c": slots_of("20")})
    assert client.trust._owed == {"a": slots_of("5-9")}
    assert client.trust.allowed() == {}
    client.trust.end()
