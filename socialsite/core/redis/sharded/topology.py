"""Which server has which keys now: slots of a cluster, or the one master that Sentinels name.

The thread of `trust` refreshes it, and a writer that could not delete a key. Others learn of a
moved slot from the server's answer.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.sentinel import Sentinel

from socialsite.core.cache_servers import CacheServers
from socialsite.core.redis.sharded.slots import NONE, WHOLE, Slots, slots_of

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int


class Replication(NamedTuple):
    """What a server says of itself."""

    is_master: bool
    # Changes when a replica becomes a master, and when a server starts.
    replid: str


# Connects to an address, with short time-outs.
Connect = Callable[[Address], "redis.Redis"]


def replication_of(connection: "redis.Redis") -> Replication:
    """Ask a server for its role and id."""
    return replication(connection.info("replication"))


def replication(info: Any) -> Replication:
    """Return the role and the id of a reply to INFO."""
    return Replication(info.get("role") == "master", info.get("master_replid", ""))


class Refreshed:
    """One refresh at a time: who waits for one that began later than asked takes its result."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = 0.0

    def refresh(self) -> None:
        """Ask the servers, or use what another thread asks from now on."""
        asked = time.monotonic()
        with self._lock:
            if self._began < asked:
                self._began = time.monotonic()
                self._refresh()

    def _refresh(self) -> None:
        raise NotImplementedError


def at_once(function: Callable[[Any], T], items: Collection[Any]) -> list[T]:
    """Call a function with each item, in threads: some servers may not answer."""
    if not items:
        return []
    with ThreadPoolExecutor(len(items)) as threads:
        return [*threads.map(function, items)]


class Master(Refreshed):
    """One master, replaced by Sentinels."""

    is_split = False

    def __init__(self, servers: CacheServers, options: dict[str, Any]) -> None:
        super().__init__()
        self._name = servers.master or ""
        make: Any = Sentinel
        self._sentinel = make([*servers.addresses], sentinel_kwargs=options)
        self._address: Address | None = None

    def slot_of(self, _key: object) -> int:
        """Return what stands for a slot here."""
        return WHOLE

    def owner(self, _slot: int) -> Address | None:
        """Return the master's address; None while no Sentinel answered."""
        return self._address

    def slots_at(self, _address: Address) -> Slots:
        """Return what stands for all slots here."""
        return frozenset([WHOLE])

    ask_slots = slots_at

    def masters(self) -> list[Address]:
        """Return the master's address, if it is known."""
        return [self._address] if self._address else []

    def _refresh(self) -> None:
        try:
            self._address = Address(*self._sentinel.discover_master(self._name))
        except redis.RedisError as error:
            logger.info("no Sentinel names the master: %s", error)

    def moved(self, _slot: int, _to: Address) -> None:
        """Only slots of a cluster move."""


class _Own(NamedTuple):
    """What a node of a cluster says of itself."""

    slots: Slots
    # Those that are leaving it, or arriving.
    moving: Slots


class Cluster(Refreshed):
    """The slots of a cluster and their masters."""

    is_split = True

    def __init__(self, servers: CacheServers, connect: Connect) -> None:
        super().__init__()
        self._known = {Address(*one) for one in servers.addresses}
        self._connect = connect
        self._slots: list[Address | None] = []
        self._masters: list[Address] = []
        self._set([None] * REDIS_CLUSTER_HASH_SLOTS)

    def slot_of(self, key: str | bytes) -> int:
        """Return the slot of a key."""
        return key_slot(key.encode() if isinstance(key, str) else key)

    def owner(self, slot: int) -> Address | None:
        """Return the master of a slot; None if nobody has it."""
        return self._slots[slot]

    def slots_at(self, address: Address) -> Slots:
        """Return the slots of a master, as far as this process knows."""
        return _slots_at(address, self._slots)

    def ask_slots(self, address: Address) -> Slots:
        """Ask a server for its slots; those that are half moved, as any master says, do not count.

        There are none if the server does not answer.
        """
        asked = [address, *(one for one in self._masters if one != address)]
        own, *others = at_once(self._ask_own, asked)
        return own.slots.difference(own.moving, *(one.moving for one in others))

    def _ask_own(self, address: Address) -> _Own:
        connection: Any = self._connect(address)
        try:
            nodes: Any = connection.execute_command("CLUSTER NODES")
        except redis.RedisError as error:
            logger.info("the node %s:%d does not answer: %s", *address, error)
            return _Own(NONE, NONE)
        (own,) = (one for one in nodes.values() if "myself" in one["flags"])
        slots = slots_of(",".join("-".join(one) for one in own["slots"]))
        return _Own(slots, frozenset(int(one["slot"]) for one in own["migrations"]))

    def masters(self) -> list[Address]:
        """Return the masters that have slots."""
        return self._masters

    def _refresh(self) -> None:
        """Ask all nodes, and believe the one with the newest epoch."""
        found = at_once(self._ask, sorted(self._known))
        known = [one for one in found if one is not None]
        if known:
            _epoch, slots, nodes = max(known, key=lambda one: one[0])
            self._known |= nodes
            self._set(slots)

    def _set(self, slots: list[Address | None]) -> None:
        self._slots = slots
        self._masters = [*{one: None for one in slots if one}]

    def _ask(self, address: Address) -> tuple[int, list[Address | None], set[Address]] | None:
        connection: Any = self._connect(address)
        try:
            state: Any = connection.execute_command("CLUSTER INFO")
            ranges: Any = connection.execute_command("CLUSTER SLOTS")
        except redis.RedisError as error:
            logger.info("the node %s:%d does not answer: %s", *address, error)
            return None
        state = state if isinstance(state, dict) else fields_of(state)
        slots: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        known: set[Address] = set()
        for first, last, *some in ranges:
            # The master comes first. A node that does not know its host is the one that was asked.
            nodes = [Address(host or address.host, port) for host, port, *_ in some]
            known.update(nodes)
            slots[first : last + 1] = [nodes[0]] * (last - first + 1)
        # A node that does not see the majority may know less than another of the same epoch.
        is_ok = state.get("cluster_state") == "ok"
        return 2 * int(state["cluster_current_epoch"]) + is_ok, slots, known

    def moved(self, slot: int, to: Address) -> None:
        """Remember where a server says that a slot is."""
        self._known.add(to)
        self._slots[slot] = to
        if to not in self._masters:
            self._masters = [*self._masters, to]


Topology = Master | Cluster


def _slots_at(address: Address, owners: Sequence[Address | None]) -> Slots:
    return frozenset(slot for slot, owner in enumerate(owners) if owner == address)


def fields_of(text: Any) -> dict[str, str]:
    """Return the fields of a reply to INFO."""
    lines = (text.decode() if isinstance(text, bytes) else str(text)).split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)
