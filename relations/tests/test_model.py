"""Random histories of several people, compared with a simple model of follows and blocks.

The model has no states, rows or events: only two dicts of ordered pairs with a time each. After
every action the two rows, their times, their version, the log and the published events are compared
with it; after every drain the counters and all lists.
"""

import itertools
import os
import time
from typing import Any

import pytest
from django.conf import settings as site
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from hypothesis.stateful import run_state_machine_as_test as run

from accounts import actions as accounts_actions
from relations import actions, queries
from relations.models import Relation, RelationLog, Relationship
from relations.pairs.states import Action
from relations.tests.helpers import counted, pair, row
from socialsite.core.errors import Blacklisted, FollowLimit, SelfRelation, UserBanned
from socialsite.core.events import relay
from socialsite.core.models import Event
from socialsite.core.positions import Position

pytestmark = pytest.mark.embedded

PEOPLE = 3
NUMBERS = st.integers(0, PEOPLE - 1)
Move = tuple[tuple[int, int], Action, int]
# Actor, target, action, and ms since the previous step; 0 ms tests equal times.
WHO = [*itertools.permutations(range(PEOPLE), 2), (0, 0)]
# As many follows as blocks, or friends would be rare.
ACTIONS = [Action.FOLLOW] * 3 + [Action.UNBLOCK] * 2 + [Action.UNFOLLOW, Action.BLOCK]
MOVES = st.tuples(st.sampled_from(WHO), st.sampled_from(ACTIONS), st.integers(0, 2))
# Few in CI; MODEL_EXAMPLES=2000 for a long run.
EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "8"))
REFUSALS = (Blacklisted, FollowLimit, SelfRelation, UserBanned)
# (I follow, the other follows, I block, the other blocks): nine of the sixteen are illegal.
STATES = {
    (0, 0, 0, 0): None,
    (1, 0, 0, 0): Relation.FOLLOWING,
    (0, 1, 0, 0): Relation.FOLLOWED,
    (1, 1, 0, 0): Relation.BI_FOLLOWING,
    (0, 0, 1, 0): Relation.BLACKLISTING,
    (0, 0, 0, 1): Relation.BLACKLISTED,
    (0, 0, 1, 1): Relation.BI_BLACKLISTING,
}
EVENTS = ("FollowCreated", "FollowCanceled", "Blocked", "Unblocked")


class Facts:
    """The expected facts, by person number; times in ms."""

    def __init__(self) -> None:
        self.follows: dict[tuple[int, int], int] = {}
        self.blocks: dict[tuple[int, int], int] = {}
        self.banned: set[int] = set()

    def act(self, a: int, b: int, action: Action, now: int, limit: int) -> None:
        """Apply an action, or raise the expected error."""
        if a == b:
            raise SelfRelation
        match action:
            case Action.FOLLOW if b in self.banned:
                raise UserBanned
            case Action.FOLLOW if (a, b) not in self.blocks and (a, b) not in self.follows:
                if (b, a) in self.blocks:
                    raise Blacklisted
                if len(self.followed_by(a)) >= limit:
                    raise FollowLimit
                self.follows[a, b] = now
            case Action.UNFOLLOW:
                self.follows.pop((a, b), None)
            case Action.BLOCK:
                self.blocks.setdefault((a, b), now)
                self.follows.pop((a, b), None)
                self.follows.pop((b, a), None)
            case Action.UNBLOCK:
                self.blocks.pop((a, b), None)

    def state(self, a: int, b: int) -> Relation | None:
        """Return the expected row of a about b."""
        mine = ((a, b) in self.follows, (b, a) in self.follows)
        return STATES[(*mine, (a, b) in self.blocks, (b, a) in self.blocks)]

    def published(self, a: int, b: int) -> set[tuple[str, int, int]]:
        """Return (fact, actor, target) for everything that holds between two people."""
        pairs = [(a, b), (b, a)]
        follows = {("follow", *one) for one in pairs if one in self.follows}
        return follows | {("block", *one) for one in pairs if one in self.blocks}

    def followed_by(self, a: int) -> dict[int, int]:
        """Return the people whom a follows, with the time."""
        return {b: at for (one, b), at in self.follows.items() if one == a}

    def followers_of(self, a: int) -> dict[int, int]:
        """Return a's followers, with the time."""
        return {b: at for (b, one), at in self.follows.items() if one == a}

    def friends_of(self, a: int) -> dict[int, int]:
        """Return the people with a mutual follow, with the time of a's own follow."""
        followers = self.followers_of(a)
        return {b: at for b, at in self.followed_by(a).items() if b in followers}

    def blocked_by(self, a: int) -> dict[int, int]:
        """Return the people whom a blocks, with the time."""
        return {b: at for (one, b), at in self.blocks.items() if one == a}


class History(RuleBasedStateMachine):
    """Several people act on each other; the relay delivers from time to time."""

    make_user: Any
    clock: list[int]

    @initialize(limit=st.sampled_from([PEOPLE, PEOPLE, 1]))
    def begin(self, limit: int) -> None:
        """Create new people without relations."""
        self.people = [self.make_user() for _ in range(PEOPLE)]
        self.ids = [person.pk for person in self.people]
        self.facts = Facts()
        self.limit = site.FOLLOW_LIMIT = limit
        self.versions: dict[frozenset[int], int] = {}

    @rule(moves=st.lists(MOVES, min_size=5, max_size=15))
    def act(self, moves: list[Move]) -> None:
        """Apply several actions."""
        for who, action, pause in moves:
            self._act(*who, action, pause)

    def _act(self, a: int, b: int, action: Action, pause: int) -> None:
        self.clock[0] += pause
        before, state = self.facts.published(a, b), None if a == b else self.facts.state(a, b)
        expected = self._expect(a, b, action)
        events = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        try:
            after = getattr(actions, action)(self.people[a], self.people[b])
            refusal = None
        except REFUSALS as error:
            after, refusal = state, type(error)
        assert refusal is expected
        if a == b:
            return
        assert after is self.facts.state(a, b)
        changed = self.facts.published(a, b) ^ before
        number = self.versions.get(frozenset((a, b)), 0) + bool(changed)
        self.versions[frozenset((a, b))] = number
        self._check_pair(a, b)
        self._check_log(a, b, action, state, number, changed=bool(changed))
        self._check_events(events, changed, number)
        for person in (a, b):  # it enforces the cap, so it is right at once
            following = counted(self.people[person])["following"]
            assert following == len(self.facts.followed_by(person))

    def _expect(self, a: int, b: int, action: Action) -> type[Exception] | None:
        try:
            self.facts.act(a, b, action, self.clock[0], self.limit)
        except REFUSALS as error:
            return type(error)
        return None

    @rule(a=NUMBERS, moves=st.lists(MOVES, max_size=4))
    def act_while_one_is_banned(self, a: int, moves: list[Move]) -> None:
        """A ban hides a person and refuses new followers; everything else about a pair works."""
        accounts_actions.ban(self.people[a])
        self.facts.banned.add(a)
        self.act(moves)
        self._check_lists((a + 1) % PEOPLE)
        accounts_actions.unban(self.people[a])
        self.facts.banned.discard(a)

    @rule(limit=st.integers(1, PEOPLE - 1))
    def set_limit(self, limit: int) -> None:
        """Change the cap; follows above it survive."""
        self.limit = site.FOLLOW_LIMIT = limit

    @rule(events=st.integers(1, 3))
    def deliver_some(self, events: int) -> None:
        """Let a relay deliver a few events."""
        relay.relay(events)

    @rule()
    def drain(self) -> None:
        """Deliver all events and compare everything derived."""
        while relay.relay():
            pass
        assert not Event.objects.filter(type__in=EVENTS).exists()
        for a, b in itertools.combinations(range(PEOPLE), 2):
            self._check_pair(a, b)
        for a in range(PEOPLE):
            assert counted(self.people[a]) == {
                "following": len(self.facts.followed_by(a)),
                "followers": len(self.facts.followers_of(a)),
                "friends": len(self.facts.friends_of(a)),
                "blocked": len(self.facts.blocked_by(a)),
            }
            self._check_lists(a)

    def teardown(self) -> None:
        """Drain at the end of every history."""
        if hasattr(self, "people"):
            self.drain()

    def _check_pair(self, a: int, b: int) -> None:
        """Check both rows: state, number of changes, and times."""
        one, two = self.people[a], self.people[b]
        assert pair(one, two) == (self.facts.state(a, b), self.facts.state(b, a))
        for (x, y), found in (((a, b), row(one, two)), ((b, a), row(two, one))):
            if found is None:
                assert not self.versions.get(frozenset((a, b)), 0)
                continue
            assert found.version == self.versions[frozenset((a, b))]
            assert found.followed_at == self.facts.follows.get((x, y))
            assert found.fan_since == self.facts.follows.get((y, x))
            assert found.blocked_at == self.facts.blocks.get((x, y))

    def _check_log(
        self, a: int, b: int, action: Action, before: Any, number: int, *, changed: bool
    ) -> None:
        """Check that the log has one line for each change, without gaps."""
        ids = (self.ids[a], self.ids[b])
        lines = RelationLog.objects.filter(actor__in=ids, target__in=ids).order_by("-version")
        assert lines.count() == number
        if changed:
            line = lines[0]
            assert (line.version, line.actor_id, line.target_id) == (number, *ids)
            assert (line.action, line.before) == (action, before)
            assert (line.after, line.at) == (self.facts.state(a, b), self.clock[0])

    def _check_events(self, seen: int, changed: set[tuple[str, int, int]], number: int) -> None:
        """Check that there is one event for each changed fact, and no other."""
        new = Event.objects.filter(pk__gt=seen)
        found = [
            (event.type, event.payload["fromUserId"], event.payload["toUserId"]) for event in new
        ]
        names = {
            ("follow", True): "FollowCreated",
            ("follow", False): "FollowCanceled",
            ("block", True): "Blocked",
            ("block", False): "Unblocked",
        }
        stand = {"follow": self.facts.follows, "block": self.facts.blocks}
        assert sorted(found) == sorted(
            (names[what, (who, whom) in stand[what]], self.ids[who], self.ids[whom])
            for what, who, whom in changed
        )
        assert all(event.payload["version"] == number for event in new)

    def _check_lists(self, a: int) -> None:
        """Check order, paging, and what each reader must not see."""
        owner = self.ids[a]
        kept = {
            "following": self.facts.followed_by(a),
            "followers": self.facts.followers_of(a),
            "friends": self.facts.friends_of(a),
        }
        for kind, people in kept.items():
            for viewer in (None, (a + 1) % PEOPLE):
                reader = None if viewer is None else self.ids[viewer]
                found = _walk(
                    lambda cursor, kind=kind, reader=reader: queries.LISTS[kind](
                        owner, cursor, 1, reader
                    )
                )
                assert found == self._seen(people, viewer)
        found = _walk(lambda cursor: queries.blocked(owner, cursor, 1))
        # visible or not, they do not change the order of others
        banned = {self.ids[b] for b in self.facts.banned}
        assert [ident for ident, _ in found if ident not in banned] == [
            self.ids[b] for b in self._order(self.facts.blocked_by(a))
        ]

    def _order(self, people: dict[int, int]) -> list[int]:
        """Return the people newest first by (time, id), without the banned."""
        places = sorted(((at, self.ids[b], b) for b, at in people.items()), reverse=True)
        return [b for _, _, b in places if b not in self.facts.banned]

    def _seen(self, people: dict[int, int], viewer: int | None) -> list[tuple[int, str | None]]:
        """Return a list as a reader sees it: (id, the reader's relation to that person)."""
        shown: list[tuple[int, str | None]] = []
        for b in self._order(people):
            state = None if viewer in (None, b) else self.facts.state(viewer, b)
            if viewer is None or not ({(viewer, b), (b, viewer)} & self.facts.blocks.keys()):
                shown.append((self.ids[b], queries.name(state)))
        return shown


def _walk(read: Any) -> list[tuple[int, str | None]]:
    """Return all pages of a list, joined."""
    found, cursor = [], None
    while True:
        page = read(cursor)
        found += [(int(person["id"]), person["relation"]) for person in page.items]
        if page.next is None:
            return found
        cursor = Position.decode(page.next)


@pytest.mark.django_db
@pytest.mark.timeout(0 if EXAMPLES > 100 else 300)
def test_any_history_is_that_of_the_plain_facts(make_user: Any, monkeypatch: Any) -> None:
    clock = [int(time.time() * 1000)]
    monkeypatch.setattr("socialsite.core.db.now_ms", lambda: clock[0])
    monkeypatch.setattr(site, "FOLLOW_LIMIT", PEOPLE)  # restored at the end
    given = {"make_user": staticmethod(make_user), "clock": clock}
    machine = type("History", (History,), given)
    run(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Relationship.objects.exists()
