"""The home feed under the WSGI server, compared with a view that only returns the same bytes.

Readers have 10 to 2,000 follows, three of them authors whose posts are pulled; they have blocks,
likes and counts, and inboxes of INBOX_MAX rows. Measured are: the warm page by API and in HTML, its
growth with the follows and with the table of inboxes, pages far down, the page with Redis dead or
emptied before each request, and the size of an inbox entry in Redis and in the table.
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.support import harness, http

PULLED = 3
BLOCKED = 5
FOLLOWS = (10, 100, 500, 2000)
DEEP_INBOX = 5000
LIKES = 100
SIZE = 20
PER_INBOX = 1000
CONNECTIONS, MANY_CONNECTIONS = 8, 16
DEAD = {"REDIS_URL": "redis://127.0.0.1:1/0"}
FEED = f"/api/v1/feed?size={SIZE}"
# The database of the site with the large inbox table.
GROWN = "grown"


class World:
    """The people of this benchmark."""

    def __init__(self, posts_each: int, seed: int) -> None:
        from bench.support import feeds, people

        dice = random.Random(seed)
        count = max(FOLLOWS)
        ids = people.make_people(count + 20)
        self.authors, rest = ids[:count], ids[count:]
        self.pulled, self.others = self.authors[:PULLED], rest[:BLOCKED]
        self.viewers = dict(zip(FOLLOWS, rest[BLOCKED:], strict=False))
        self.deep = rest[-1]
        self.posts = feeds.make_posts(self.authors, posts_each, pulled=self.pulled, seed=seed)
        now = int(time.time() * 1000) - 40 * 86_400_000
        follows = {}
        for wanted, viewer in [*self.viewers.items(), (max(FOLLOWS) + 1, self.deep)]:
            others = dice.sample(self.authors[PULLED:], min(wanted, count) - PULLED)
            follows[viewer] = dict.fromkeys([*self.pulled, *others], now)
            feeds.deliver(viewer, others, DEEP_INBOX if viewer == self.deep else PER_INBOX)
            feeds.like(viewer, _posts_of(dice.sample([*self.pulled, *others], 10))[:LIKES])
        rows = list(people.rows_of(follows))
        for viewer in follows:
            rows += [(viewer, one, people.BLOCKING, None, None, now) for one in self.others]
            rows += [(one, viewer, people.BLOCKED_BY, None, None, None) for one in self.others]
        people.insert(sorted(rows))
        people.count_all()


def _posts_of(authors: Sequence[int]) -> list[int]:
    from feeds.models import Post

    return list(Post.objects.filter(author_id__in=authors).values_list("pk", flat=True))


class Feeds:
    """Requests of the readers."""

    def __init__(self, world: World, report: harness.Report, bodies: Path) -> None:
        self.world, self.report, self.options = world, report, report.options
        self.bodies = bodies
        self.sign_in()

    def sign_in(self) -> None:
        """Give everybody a new token, which lasts a quarter of an hour."""
        from accounts import actions as accounts_actions
        from accounts.models import User

        everybody = [*self.world.viewers.values(), self.world.deep]
        people = User.objects.in_bulk(everybody)
        self.tokens = {
            viewer: accounts_actions.sign_in(people[viewer], "chrome") for viewer in everybody
        }

    def api(self, viewer: int, query: str = "") -> bytes:
        """Return the request for a page by API."""
        token = self.tokens[viewer].access
        return http.request(FEED + query, f"Authorization: Bearer {token}")

    def page(self, viewer: int) -> bytes:
        """Return the request for a page in HTML."""
        cookies = f"access={self.tokens[viewer].access}; csrf={'x' * 32}"
        return http.request("/", f"Cookie: {cookies}", "Accept-Language: en")

    def same(self, name: str, site: http.Site, sent: bytes) -> bytes:
        """Return a request for the bytes of another response, from a view that does no work."""
        connection = http.Connection(site.sockets[0])
        (self.bodies / name).write_bytes(connection.ask(sent))
        connection.close()
        return http.request(f"/bench/bytes/{name}")

    def compare(self, kinds: Mapping[str, http.Asked], connections: int) -> dict[str, http.Load]:
        """Measure in turns."""
        return http.compare(kinds, self.options, connections=connections)

    def deep_cursor(self, site: http.Site, viewer: int, number: int, size: int) -> str:
        """Return the query string of a page by its number, from 2 on."""
        import orjson

        connection, query = http.Connection(site.sockets[0]), f"&size={size}"
        for _ in range(number - 1):
            found = orjson.loads(connection.ask(self.api(viewer, query)))["next"]
            query = f"&size={size}&cursor={found}"
        connection.close()
        return query


def warm(feeds: Feeds, site: http.Site) -> None:
    """Measure the page by API and in HTML beside the same bytes."""
    viewer = feeds.world.viewers[100]
    kinds = {
        "the same bytes as JSON": [feeds.same("feed.json", site, feeds.api(viewer))],
        "feed by API": [feeds.api(viewer)],
        "the same bytes as HTML": [feeds.same("home.html", site, feeds.page(viewer))],
        "home page": [feeds.page(viewer)],
    }
    asked = {name: http.Asked(site, sent) for name, sent in kinds.items()}
    json, api, html, page = kinds
    for connections in (CONNECTIONS, MANY_CONNECTIONS):
        loads = feeds.compare(asked, connections)
        title = f"Warm, 100 follows, {SIZE} posts, {connections} connections:"
        http.table(feeds.report, loads, json, title)
        if connections == CONNECTIONS:
            goal = feeds.report.goal
            goal(
                "warm feed by API / the same bytes, requests/s",
                loads[api].of(loads[json]),
                at_least=0.25,
            )
            goal(
                "warm home page / the same bytes, requests/s",
                loads[page].of(loads[html]),
                at_least=0.14,
            )
    spread = loads[api].percentile(99) / loads[api].percentile(50)
    feeds.report.goal(
        f"warm feed by API at {CONNECTIONS * 2} connections, p99 / p50", spread, at_most=4
    )


def follows(feeds: Feeds, site: http.Site) -> None:
    """Measure the page by the number of follows."""
    viewers = feeds.world.viewers
    kinds = {f"{count} follows": [feeds.api(viewer)] for count, viewer in viewers.items()}
    asked = {name: http.Asked(site, sent) for name, sent in kinds.items()}
    loads = feeds.compare(asked, CONNECTIONS)
    few, *_, many = loads
    http.table(feeds.report, loads, few, "Warm page of the API by follows:")
    growth = 1 / loads[many].of(loads[few])
    feeds.report.goal(f"page with {many} / {few}", growth, at_most=1.2)


def deep(feeds: Feeds, site: http.Site) -> None:
    """Measure pages far down, within a long inbox and below the floor of a trimmed one."""
    asked = {}
    for name, viewer in (("in the inbox", feeds.world.deep), ("pulled", feeds.world.viewers[2000])):
        for number in (2, 200):
            query = feeds.deep_cursor(site, viewer, number, 10)
            asked[f"page {number}, {name}"] = http.Asked(site, [feeds.api(viewer, query)])
    loads = feeds.compare(asked, CONNECTIONS)
    http.table(feeds.report, loads, "page 2, in the inbox", "Pages of 10 posts, 2,000 follows:")
    for name in ("in the inbox", "pulled"):
        growth = 1 / loads[f"page 200, {name}"].of(loads[f"page 2, {name}"])
        feeds.report.goal(f"page 200 / page 2, {name}", growth, at_most=1.5)


def without_redis(feeds: Feeds, site: http.Site) -> None:
    """Measure the page without Redis, and with Redis emptied before each request."""
    from socialsite.core import redis

    sent = feeds.api(feeds.world.viewers[100])
    with http.site(DEAD | {"BENCH_BODIES": str(feeds.bodies)}) as dead:
        kinds = {"warm": http.Asked(site, [sent]), "Redis dead": http.Asked(dead, [sent])}
        loads = feeds.compare(kinds, CONNECTIONS)
    http.table(feeds.report, loads, "warm", "100 follows, by API:")
    share = loads["Redis dead"].of(loads["warm"])
    feeds.report.goal("Redis dead / warm, requests/s", share, at_least=0.15)

    connection = http.Connection(site.sockets[0])

    times: dict[str, harness.Series] = {"warm": harness.Series(), "emptied": harness.Series()}
    for number in range(feeds.options.rounds):
        for name in times:
            if name == "emptied":
                redis.call(lambda client: client.flushdb())
            else:
                connection.ask(sent)
            began = time.perf_counter()
            connection.ask(sent)
            if number:
                times[name].times.append(time.perf_counter() - began)
    connection.close()
    feeds.report.table(times, floor="warm", title="One request at a time:")
    share = times["warm"].p50 / times["emptied"].p50
    feeds.report.goal("Redis emptied before each / warm, requests/s", share, at_least=0.15)


def memory(feeds: Feeds) -> None:
    """Measure the size of an inbox entry in Redis."""
    from feeds import cache
    from socialsite.core import redis

    viewer = feeds.world.viewers[100]
    key = cache.INBOX.key(viewer)
    size, entries = redis.call(lambda client: (client.memory_usage(key), client.zcard(key)))
    if not size or not entries:
        raise RuntimeError("the inbox is not cached")
    each = size / entries
    feeds.report.say(f"\nCached inbox: {entries} entries in {size} bytes")
    feeds.report.goal("bytes of a cached entry of an inbox", each, at_most=24)


def table_growth(feeds: Feeds, site: http.Site, rows: int) -> None:
    """Compare the page of one site with that of another, whose inbox table has `rows` more."""
    from bench.support import people

    viewer = feeds.world.viewers[10]
    began = time.monotonic()
    env = grown(rows)
    each = people.bytes_of("feeds_inboxentry", GROWN) / _rows_of(feeds.world, rows)
    feeds.report.say(f"\n{rows} rows more of inboxes: {time.monotonic() - began:.0f} s")
    with http.site(env | {"BENCH_BODIES": str(feeds.bodies)}) as other:
        sent = [feeds.api(viewer)]
        few, many = f"{_rows_of(feeds.world, 0)} rows", f"{_rows_of(feeds.world, rows)} rows"
        asked = {few: http.Asked(site, sent), many: http.Asked(other, sent)}
        loads = feeds.compare(asked, CONNECTIONS)
    http.table(feeds.report, loads, few, "Warm page of the API by rows of inboxes:")
    growth = 1 / loads[many].of(loads[few])
    feeds.report.goal(f"page with {rows} rows more / without", growth, at_most=1.2)
    feeds.report.goal("bytes of a row of the table of inboxes", each, at_most=115)


def _rows_of(world: World, more: int) -> int:
    return PER_INBOX * len(world.viewers) + DEEP_INBOX + more


def grown(rows: int) -> dict[str, str]:
    """Copy the database, add rows to its inbox table; return the environment of its site."""
    from django.db import connection

    from bench.support import feeds, people

    original = connection.settings_dict["NAME"]
    people.execute(f"CREATE DATABASE {GROWN} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    for table in connection.introspection.table_names():
        people.execute(f"CREATE TABLE {GROWN}.{table} LIKE {table}")
        people.execute(f"INSERT INTO {GROWN}.{table} SELECT * FROM {table}")  # noqa: S608
    people.execute(f"USE {GROWN}")
    feeds.fill_inboxes(rows, PER_INBOX, people.FIRST_ID // 2)
    people.execute(f"USE {original}")
    return {
        "DATABASE_URL": os.environ["DATABASE_URL"].removesuffix(original) + GROWN,
        "REDIS_URL": os.environ["REDIS_URL"].replace("?db=0", "?db=1"),
    }


def main() -> int:
    """Measure."""
    numbers = {
        "--turns": 15,
        "--milliseconds": 1000,
        "--rounds": 200,
        "--posts": 12,
        "--rows": 10_000_000,
    }
    options = harness.arguments(__doc__ or "", numbers)
    harness.setup()
    from django.core.management import call_command

    from bench.support import people

    call_command("collectstatic", interactive=False, verbosity=0)
    people.be_patient()
    report = harness.Report("feed", options)
    began = time.monotonic()
    world = World(options.posts, options.seed)
    report.say(f"{world.posts} posts in {time.monotonic() - began:.0f} s")
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as folder:
        feeds = Feeds(world, report, Path(folder))
        with http.site({"BENCH_BODIES": folder}) as site:
            steps: list[Callable[[], Any]] = [
                lambda: warm(feeds, site),
                lambda: memory(feeds),
                lambda: follows(feeds, site),
                lambda: deep(feeds, site),
                lambda: without_redis(feeds, site),
                lambda: table_growth(feeds, site, options.rows),
            ]
            for step in steps:
                feeds.sign_in()
                step()
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
