"""Which servers of the cache may be read, and for which keys: a table says it to all processes.

A cached value is right as long as every writer could delete it. So a server that a writer does not
reach must not be read by anybody, and neither may a replica that became the master: Redis answers
before it replicates. A slot of a cluster that moves takes its values along, also those that a
writer could not delete. So rows of the database, which every writer reaches, name the servers (by
their replication ids) and the slots that may be read there.

- Each process reads the rows every POLL_SECONDS. It uses a slot of a server only if a row that was
  read within the last PERMIT_SECONDS has it. One that does not reach the database uses no server.
- A slot is in one row at most, and PERMIT_SECONDS pass before another server gets it. So a writer
  that deleted a key on the server that has the slot knows that nobody reads the key elsewhere.
- A writer that could not delete a key takes the key's slot from all rows, and everything from the
  row of the server that failed. It answers its client after PERMIT_SECONDS: then nobody reads them
  any more (`Trust.settle`).
- A server that has slots which are not in its row is tended (`_tend`): one process claims them,
  waits until nobody uses them elsewhere, deletes their keys there, and adds them to the row.
  A server that is not trusted at all rests for a while before (`ledger.REST_MS`).

Deletions are sent to every server, trusted or not. So what is filled from the moment of trust on
is newer than every write that could not be deleted before.
"""

import logging
import os
import secrets
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import redis
from django.db import Error, connection

from socialsite.core.redis.sharded import ledger
from socialsite.core.redis.sharded.emptying import empty
from socialsite.core.redis.sharded.losses import Losses
from socialsite.core.redis.sharded.slots import NONE, Slots
from socialsite.core.redis.sharded.topology import (
    Address,
    Connect,
    Replication,
    Topology,
    at_once,
    replication_of,
)
from socialsite.core.telemetry.instruments import CACHE_SERVERS_DISTRUSTED, CACHE_SERVERS_UNUSED

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.4
PERMIT_SECONDS = 2.0
# Servers that nobody asked about are looked at so often, since slots may move meanwhile.
TEND_SECONDS = 10.0
# For so long a writer tries to reach the database, after its commit, to distrust a server.
DATABASE_SECONDS = 10.0

Allowed = Mapping[str, Slots]


class _Claim(NamedTuple):
    """What this process empties and trusts from a time (monotonic) on."""

    replid: str
    address: Address
    token: str
    claimed: ledger.Claimed
    ready_at: float


class Trust:
    """What this process may use now; a thread keeps it current."""

    def __init__(self, topology: Topology, connect: Connect) -> None:
        self._topology, self._connect = topology, connect
        self._lock = threading.Lock()
        self._process, self._is_ended = 0, False
        self._thread: threading.Thread | None = None
        self._allowed: Allowed = {}
        self._until, self._tended = 0.0, 0.0
        self._is_wanted = True
        self._awake = threading.Event()
        self._claims: list[_Claim] = []
        self._losses = Losses()
        # All that rows may keep, for a writer that did not reach the database.
        self._owed: Allowed | None = None

    def allowed(self) -> Allowed:
        """Return the slots that may be used at this moment, by the ids of their servers."""
        if self._process != os.getpid():
            self._start()
        is_current = time.monotonic() < self._until and self._owed is None
        return self._allowed if is_current else {}

    def covers(self, done: Mapping[int, Collection[str]]) -> bool:
        """Return whether nobody reads the keys of some slots but where they were deleted.

        `done` has the ids of the servers where all keys of a slot were deleted.
        """
        allowed = self.allowed()
        return all(
            any(slot in allowed.get(replid, NONE) for replid in ids) for slot, ids in done.items()
        )

    def want(self) -> None:
        """Look for masters that are new or may be trusted again."""
        if not self._is_wanted:
            self._is_wanted = True
            self._awake.set()

    def masters(self) -> dict[str, Address]:
        """Return the masters that answer, by their ids."""
        addresses = self._topology.masters()
        states = at_once(self._state, addresses)
        both = zip(states, addresses, strict=True)
        return {one.replid: address for one, address in both if one and one.is_master}

    def unused(self, allowed: Allowed) -> list[Address]:
        """Return the masters that do not answer, or some of whose slots may not be used."""
        used = {
            address
            for replid, address in self.masters().items()
            if self._topology.slots_at(address) <= allowed.get(replid, NONE)
        }
        return [one for one in self._topology.masters() if one not in used]

    def _state(self, address: Address) -> Replication | None:
        try:
            return replication_of(self._connect(address))
        except redis.RedisError as error:
            logger.info("the cache server %s:%d does not answer: %s", *address, error)
            return None

    def _start(self) -> None:
        with self._lock:
            if self._process != os.getpid():
                self._until, self._claims = 0.0, []
                self._process = os.getpid()
                self._awake, self._is_ended = threading.Event(), False
                self._thread = threading.Thread(target=self._run, name="cache-trust", daemon=True)
                self._thread.start()

    # --- the thread -----------------------------------------------------------------------------
    def end(self) -> None:
        """End the thread; the next use starts it again."""
        self._is_ended = True
        self._awake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._is_ended:
            try:
                self.look()
            except Error as error:
                logger.warning("which servers of the cache are trusted is not known: %s", error)
                connection.close()
            except Exception:
                logger.exception("looking for servers of the cache failed")
                connection.close()
            self._awake.wait(POLL_SECONDS)
            self._awake.clear()
            time.sleep(POLL_SECONDS / 10)  # at most ten times as often when it is wanted
        self._process = 0
        connection.close()

    def look(self) -> None:
        """Read the rows, and tend to servers if that is wanted."""
        self._pay()
        started = time.monotonic()
        rows = ledger.read()
        self._losses.note(rows)
        self._allowed = {one.replid: one.slots for one in rows if one.slots}
        self._until = started + PERMIT_SECONDS
        ready = [one for one in self._claims if one.ready_at <= time.monotonic()]
        for claim in ready:
            self._claims.remove(claim)
            self._finish(claim)
        if self._is_wanted or started > self._tended + TEND_SECONDS:
            self._tended = started
            self._is_wanted = self._tend({one.replid: one for one in rows})

    def _tend(self, rows: dict[str, ledger.Row]) -> bool:
        """Claim the slots of masters that are not in their rows; return whether some are left."""
        self._topology.refresh()
        found = self.masters()
        owned = {replid: self._topology.slots_at(address) for replid, address in found.items()}
        ledger.shrink(owned)
        left = max(1, len(self._topology.masters())) - len(found)
        for replid, address in found.items():
            if replid in rows and owned[replid] <= rows[replid].slots:
                continue
            left += 1
            token = secrets.token_hex(8)
            claimed = ledger.claim(replid, token, owned[replid])
            if claimed is not None:
                ready_at = time.monotonic() + self._left(claimed.rows)
                self._claims.append(_Claim(replid, address, token, claimed, ready_at))
                ledger.forget()
        CACHE_SERVERS_UNUSED.set(left)
        return left > 0

    def _finish(self, claim: _Claim) -> None:
        """Empty what this process claimed, and trust what the server still owns of it."""
        slots = self._emptied(claim)
        if ledger.trust(claim.replid, claim.token, slots):
            logger.info("the cache server %s is trusted with %d slots", claim.replid, len(slots))
            self.want()

    def _emptied(self, claim: _Claim) -> Slots:
        """Empty what this process claimed; return the slots that the server owned all the time.

        Not those that are half moved: outdated values may come back if the move is given up.
        """
        places, address = self._topology, claim.address
        try:
            # A slot that arrives after it was emptied may bring values along.
            slots = claim.claimed.slots & places.ask_slots(address)
            server = self._connect(address)
            empty(server, None if claim.claimed.is_whole else slots)
            is_same = replication_of(server) == Replication(True, claim.replid)
            return slots & places.ask_slots(address) if is_same else NONE
        except redis.RedisError as error:
            logger.info("the cache server %s:%d cannot be emptied: %s", *address, error)
            return NONE

    # --- writers --------------------------------------------------------------------------------
    def settle(self, done: Mapping[int, Collection[str]], keep: Allowed) -> None:
        """Make sure that no process reads what a commit made outdated. Never raises.

        `done` has the ids of the servers where all keys of a slot were deleted, none if one failed.
        If somebody may read such a key elsewhere, all rows lose what is not in `keep`, and this
        returns when nobody uses it any more. While the database does not answer, it is asked again
        for DATABASE_SECONDS. Then the thread goes on with it, and this process uses no server
        until that is done.
        """
        end = time.monotonic() + DATABASE_SECONDS
        while True:
            try:
                left = self._left(ledger.settle(done, keep))
                break
            except Error:
                connection.close()
                if time.monotonic() > end:
                    logger.exception("servers of the cache that miss deletions are still trusted")
                    self._owe(keep)
                    return
                time.sleep(POLL_SECONDS)
        if left:
            CACHE_SERVERS_DISTRUSTED.inc()
            logger.warning("a cache server missed deletions; waiting until nobody reads it")
            time.sleep(left)

    def _left(self, rows: Iterable[ledger.Row]) -> float:
        """Return the seconds until everybody knows what some rows lost."""
        return max(0.0, PERMIT_SECONDS - self._losses.seconds(rows))

    def _owe(self, keep: Allowed) -> None:
        """Let the thread distrust all but this as soon as the database answers."""
        with self._lock:
            owed = self._owed
            if owed is not None:
                keep = {replid: owed[replid] & keep[replid] for replid in owed.keys() & keep.keys()}
            self._owed = keep
        self._awake.set()

    def _pay(self) -> None:
        """Distrust what writers could not."""
        owed = self._owed
        if owed is None:
            return
        ledger.distrust(owed)
        with self._lock:
            if self._owed is owed:  # no writer added anything meanwhile
                self._until = 0.0  # before the other: readers look at both
                self._owed = None
        self.want()
