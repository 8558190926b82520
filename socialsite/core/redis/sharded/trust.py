"""Which servers of the cache may be read: those that every process trusts, by a table.

A cached value is right as long as every writer could delete it. So a server that a writer does not
reach must not be read by anybody, and neither may a replica that became the master: Redis answers
before it replicates. The ids of the servers (their replication ids) and whether they are trusted
are rows of the database, which every writer reaches.

- Each process reads the rows every POLL_SECONDS. It uses a server only if its row, as read within
  the last PERMIT_SECONDS, is trusted. One that does not reach the database uses no server.
- A writer that could not delete a key distrusts the servers that may have it, and answers its
  client after PERMIT_SECONDS: then nobody reads them any more (`settle`).
- A server that is not trusted rests for a while (`ledger.REST_MS`). Then one process claims its
  row, empties it, and trusts it again (`_tend`). Before a new master is trusted, the rows of
  servers that are not masters any more are distrusted, and PERMIT_SECONDS pass.

Deletions are sent to every server, trusted or not. So what is filled from the moment of trust on
is newer than every write that could not be deleted before.
"""

import logging
import os
import secrets
import threading
import time
from collections.abc import Collection
from typing import NamedTuple

import redis
from django.db import Error, connection

from socialsite.core.redis.sharded import ledger
from socialsite.core.redis.sharded.topology import (
    Address,
    Connect,
    Replication,
    Topology,
    at_once,
    replication_of,
)
from socialsite.core.telemetry.instruments import CACHE_SERVERS_DISTRUSTED

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.4
PERMIT_SECONDS = 2.0
# For so long a writer tries to reach the database, after its commit, to distrust a server.
DATABASE_SECONDS = 10.0


class _Claim(NamedTuple):
    """A server that this process has emptied, to be trusted from a time (monotonic) on."""

    token: str
    ready_at: float


class Trust:
    """The servers that this process may use now; a thread keeps them current."""

    def __init__(self, topology: Topology, connect: Connect) -> None:
        self._topology, self._connect = topology, connect
        self._lock = threading.Lock()
        self._process, self._is_ended = 0, False
        self._thread: threading.Thread | None = None
        self._trusted: frozenset[str] = frozenset()
        self._until = 0.0
        self._is_wanted = True
        self._awake = threading.Event()
        self._claims: dict[str, _Claim] = {}

    def allowed(self) -> frozenset[str]:
        """Return the ids of the servers that may be used at this moment."""
        if self._process != os.getpid():
            self._start()
        return self._trusted if time.monotonic() < self._until else frozenset()

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

    def _state(self, address: Address) -> Replication | None:
        try:
            return replication_of(self._connect(address))
        except redis.RedisError as error:
            logger.info("the cache server %s:%d does not answer: %s", *address, error)
            return None

    def _start(self) -> None:
        with self._lock:
            if self._process != os.getpid():
                self._until, self._claims = 0.0, {}
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
        started = time.monotonic()
        rows = ledger.read()
        self._trusted = frozenset(one.replid for one in rows if one.is_trusted)
        self._until = started + PERMIT_SECONDS
        for replid, claim in [*self._claims.items()]:
            if claim.ready_at <= time.monotonic():
                del self._claims[replid]
                if ledger.trust(replid, claim.token):
                    logger.info("the cache server %s is empty and trusted", replid)
                    self._is_wanted = True
        if self._is_wanted:
            self._is_wanted = self._tend({one.replid: one for one in rows})

    def _tend(self, rows: dict[str, ledger.Row]) -> bool:
        """Claim and empty masters that are not trusted; return whether some are left."""
        self._topology.refresh()
        found = self.masters()
        is_left = len(found) < max(1, len(self._topology.masters()))
        for replid, address in found.items():
            row = rows.get(replid)
            if row is not None and row.is_trusted:
                continue
            is_left = True
            token = secrets.token_hex(8)
            if not ledger.claim(replid, token):
                continue
            # Servers that are not masters any more may still have readers.
            passed = ledger.distrust(keep=found)
            if self._empty(address, replid):
                wait = max(0.0, PERMIT_SECONDS - passed)
                self._claims[replid] = _Claim(token, time.monotonic() + wait)
            ledger.forget()
        return is_left

    def _empty(self, address: Address, replid: str) -> bool:
        """Empty a server; return False if it fails, or is another one by now."""
        try:
            server = self._connect(address)
            server.flushall(asynchronous=True)
            return replication_of(server).replid == replid
        except redis.RedisError as error:
            logger.info("the cache server %s:%d cannot be emptied: %s", *address, error)
            return False


def settle(done: Collection[str], *, is_complete: bool, keep: Collection[str]) -> None:
    """Make sure that no process reads what a commit made outdated. Never raises.

    Its keys were deleted on the servers `done`; `is_complete` if on all that this process knows.
    If these are trusted, nobody reads another one. Otherwise all servers but those to `keep` are
    distrusted, and it returns when no process uses them any more. While the database does not
    answer, it is asked again for DATABASE_SECONDS.
    """
    end = time.monotonic() + DATABASE_SECONDS
    while True:
        try:
            trusted = {one.replid for one in ledger.read() if one.is_trusted}
            if is_complete and trusted.issuperset(done):
                return
            passed = ledger.distrust(keep=keep)
            break
        except Error:
            connection.close()
            if time.monotonic() > end:
                logger.exception("servers of the cache that miss deletions are still trusted")
                return
            time.sleep(POLL_SECONDS)
    if passed < PERMIT_SECONDS:
        CACHE_SERVERS_DISTRUSTED.inc()
        logger.warning("a cache server missed deletions; waiting until nobody reads it")
        time.sleep(PERMIT_SECONDS - passed)
