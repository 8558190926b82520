"""Moves, cut connections, writes and reads in any order: nobody reads an outdated value."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from deploy.services.redis_cluster import Cluster, slot_of
from deploy.services.redis_node import Node
from socialsite.core.redis.sharded import ledger, trust
from socialsite.core.tests.redis_servers.acts import Away, ask, value
from socialsite.core.tests.redis_servers.conftest import Process
from socialsite.tests.support.waiting import eventually

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(900),  # it waits for trust after most steps
]

KEYS = ("{x}:1", "{x}:2", "{y}:1")
keys, clients, nodes = st.sampled_from(KEYS), st.integers(0, 1), st.integers(0, 2)


class Moves(RuleBasedStateMachine):
    """Two processes of a site, and three masters, two of whose slots move."""

    cluster: Cluster
    processes: list[Any]

    def __init__(self) -> None:
        super().__init__()
        self.masters = sorted(self.cluster.masters(), key=lambda node: node.name)
        self.versions: Counter[str] = Counter()
        self.half: dict[int, tuple[Node, Node]] = {}
        self.cuts: dict[tuple[int, int], Away] = {}
        for key in KEYS:
            self.write(key, 0)

    @rule(key=keys, number=clients)
    def write(self, key: str, number: int) -> None:
        self.versions[key] += 1
        self.processes[number].delete_everywhere([key])

    @rule(key=keys, number=clients)
    def read(self, key: str, number: int) -> None:
        self.is_read(key, number)

    def is_read(self, key: str, number: int) -> bool:
        """Read, fill if nothing is there, and return whether something was."""
        right = str(self.versions[key]).encode()
        found = value(self.processes[number], key)
        assert found in ("unknown", None, right)
        if found is None:
            ask(self.processes[number], ("SET", key, right))
        return bool(found == right)

    @rule(key=keys)
    def fill(self, key: str) -> None:
        """Let both processes read the key from the cache, if nothing is away."""

        def are_read() -> bool:
            for process in self.processes:
                process.trust.want()
            return all(self.is_read(key, number) for number in (0, 1))

        if self.cuts or slot_of(key) in self.half:
            are_read()
        else:
            eventually(are_read)

    @rule(key=keys, number=nodes)
    def begin(self, key: str, number: int) -> None:
        slot, to = slot_of(key), self.masters[number]
        source = self.cluster.owner(slot)
        if slot not in self.half and source is not to:
            self.cluster.begin_move(slot, source, to, keys=1)
            self.half[slot] = (source, to)

    @rule(key=keys)
    def end(self, key: str) -> None:
        slot = slot_of(key)
        if slot in self.half:
            self.cluster.end_move(slot, *self.half.pop(slot))
            self.cluster.wait()

    @rule(key=keys, number=nodes)
    def move(self, key: str, number: int) -> None:
        self.begin(key, number)
        self.end(key)

    @rule(number=clients, node=nodes)
    def cut(self, number: int, node: int) -> None:
        if away := self.cuts.pop((number, node), None):
            away.__exit__()
        elif not self.cuts:
            away = self.cuts[number, node] = Away(self.processes[number], self.masters[node])
            away.__enter__()

    @rule(key=keys, number=clients)
    def miss(self, key: str, number: int) -> None:
        """Write without reaching the server of the key, which the other process reads."""
        self.fill(key)
        node = self.masters.index(self.cluster.owner(slot_of(key)))
        self.cut(number, node)
        self.write(key, number)
        self.read(key, 1 - number)

    def teardown(self) -> None:
        for away in self.cuts.values():
            away.__exit__()
        for slot, places in self.half.items():
            self.cluster.end_move(slot, *places)
        self.cluster.wait()


def test_nobody_reads_an_outdated_value(
    cluster: Cluster, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = {slot_of(key): cluster.master_of(key) for key in KEYS}
    # Shorter times, in the same order: so more happens.
    monkeypatch.setattr(trust, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(trust, "PERMIT_SECONDS", 0.5)
    monkeypatch.setattr(ledger, "REST_MS", 1_000)
    Moves.cluster, Moves.processes = cluster, [process(), process()]
    try:
        run_state_machine_as_test(
            Moves,
            settings=settings(
                max_examples=8,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=[*HealthCheck],
            ),
        )
    finally:
        for slot, owner in owners.items():
            cluster.move_slots([slot], owner)
        cluster.wait()
