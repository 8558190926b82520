"""Every hot statement names the owner of its rows, so Vitess sends it to one shard or a few.

Every address of the API and of the pages runs here with every method, with cold caches, and its
events are delivered. Each statement on a table with an owner goes through `routing`. What does not
name an owner must be in a list with its reason, and so must each transaction that changes rows of
several owners. The admin and nightly commands are left out: they are not hot.
"""

from collections import defaultdict
from typing import Any

import pytest
from django.db import connection

from accounts.models import Failures
from feeds.models import Draft
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.models import Allowance
from socialsite.core.rate_limits import local
from socialsite.core.sharding import places
from socialsite.tests.sharding.addresses import Clients, Route, routes
from socialsite.tests.sharding.crossings import CROSS_SHARD, SEVERAL_OWNERS
from socialsite.tests.sharding.recording import Recorder
from socialsite.tests.sharding.routing import How, Router

pytestmark = [pytest.mark.django_db]


class Crawl:
    """Asks every address, and records what runs."""

    def __init__(self, world: dict[str, Any], clients: Clients, drain: Any) -> None:
        self.world, self.clients, self.drain = world, clients, drain
        self.recorder = Recorder(places())
        self.found: list[tuple[str, int]] = []

    def run(self) -> None:
        """Ask all addresses; those with a parameter also about a post of one's own."""
        with self.recorder():
            for route in routes():
                for own in (False, True) if "<" in route.path else (False,):
                    for method in route.methods:
                        self._ask(route, method, own=own)

    def _ask(self, route: Route, method: str, *, own: bool) -> None:
        self.recorder.address = ""
        me, friend = self.world["me"], self.world["friend"]
        relations_actions.unblock(me, friend)  # whatever the previous request did
        relations_actions.follow(me, friend)
        Draft.objects.all().delete()
        self._refill()
        values = self.world["fresh"](route, own=own)
        self._refill()
        self.recorder.address = f"{method} {route.path}"
        answer = self.clients.ask(route, method, values)
        assert answer.status_code < 500, self.recorder.address
        assert answer.status_code != 429, self.recorder.address
        self.found.append((self.recorder.address, answer.status_code))
        self.drain()

    def _refill(self) -> None:
        """Empty the caches and fill the budgets."""
        redis.call(lambda one: one.flushdb())
        local.reset()
        Allowance.objects.all().delete()
        Failures.objects.all().delete()


@pytest.mark.timeout(600)
def test_every_hot_statement_names_the_owner(
    world: dict[str, Any], api_for: Any, drain: Any
) -> None:
    assert connection.vendor == "mysql"
    crawl = Crawl(world, Clients(world["me"], api_for), drain)
    crawl.run()
    # The addresses did something, most of them.
    assert sum(status < 400 for _, status in crawl.found) > 200
    recorder, router = crawl.recorder, Router(places())
    crossing: dict[tuple[str, str], tuple[How, str]] = {}
    ways: dict[How, set[str]] = defaultdict(set)
    for text, functions in recorder.functions.items():
        for use in router.uses(text):
            ways[use.how].add(use.table)
            if use.how >= How.ALL:
                about = f"{use.how.name} {use.why} {recorder.addresses[text]}: {text[:2000]}"
                for function in functions:
                    # What is refused in one statement counts before what asks all shards.
                    key = (function, use.table)
                    if key not in crossing or use.how > crossing[key][0]:
                        crossing[key] = (use.how, about)
    listed = {(one.function, table): one.how for one in CROSS_SHARD for table in one.tables}
    unlisted = [
        f"{' '.join(key)}: {about}"
        for key, (how, about) in crossing.items()
        if listed.get(key) != how
    ]
    assert unlisted == [], "\n".join(unlisted)
    assert listed.keys() - crossing.keys() == set()
    hot = {"accounts_user", "feeds_post", "feeds_inboxentry", "relations_relationship"}
    assert hot <= ways[How.VALUE]
    several = {(name, table) for name, tables in recorder.several.items() for table in tables}
    known = {(one.function, table) for one in SEVERAL_OWNERS for table in one.tables}
    differing = sorted(" ".join(key) for key in several ^ known)
    assert differing == [], "\n".join(differing)


def test_a_chunk_of_a_fan_out_names_the_author_and_the_range_of_its_followers(
    world: dict[str, Any], make_post: Any, drain: Any
) -> None:
    recorder = Recorder(places(), address="a post")
    with recorder():
        make_post(world["friend"])
        drain()
    delivery = [
        text
        for text, functions in recorder.functions.items()
        if "feeds.delivery.fanout.deliver._deliver" in functions
    ]
    (insertion,) = [text for text in delivery if text.startswith("INSERT")]
    for condition in ("`from_user_id` = 1", "`to_user_id` > 1", "`to_user_id` <= 1"):
        assert condition in insertion
    ways = {use.table: use.how for text in delivery for use in Router(places()).uses(text)}
    assert ways["relations_relationship"] == How.VALUE
    assert ways["feeds_fanoutchunk"] == How.VALUE
    assert ways["feeds_inboxentry"] == How.MOVED


def test_a_function_is_listed_once() -> None:
    for entries in (CROSS_SHARD, SEVERAL_OWNERS):
        keys = [(one.function, table) for one in entries for table in one.tables]
        assert len(keys) == len(set(keys))
        assert all(one.reason for one in entries)
