"""Writes by API, compared with a raw transaction: `make bench ARGS="writes"`.

One client publishes, follows, likes and comments in turns over a kept connection; the baseline is a
transaction of mysqlclient alone that inserts three rows of the event outbox. Then eight clients
comment on one post, and for comparison eight connections run the raw transaction. Tasks are queued,
but no worker runs them.
"""

import itertools
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from bench.support import harness, http

CLIENTS = 8
# Upper bounds of the ratio to the raw transaction.
WORKS = dict.fromkeys(("publish", "follow", "like", "comment"), 12)
COMMENTS_A_SECOND = 150


def raw_transaction() -> Callable[[], None]:
    """Return a function that inserts three rows and commits, on a connection of its own."""
    import MySQLdb
    from django.db import connection

    options: dict[str, Any] = connection.get_connection_params()
    options.pop("conv", None)
    raw = MySQLdb.connect(**options)
    cursor = raw.cursor()
    cursor.execute("CREATE TABLE IF NOT EXISTS bench_raw LIKE core_event")
    payload = '{"type": "Raw", "id": 1, "postId": 2, "authorId": 3}'

    def run() -> None:
        cursor.execute("BEGIN")
        for number in range(3):
            cursor.execute(
                "INSERT INTO bench_raw (aggregate_type, aggregate_id, type, payload, created_at,"
                " available_at, lease, attempts, applied, dead, error)"
                " VALUES ('raw', %s, 'Raw', %s, UTC_TIMESTAMP(6), 0, 0, 0, 0, 0, '')",
                (number, payload),
            )
        cursor.execute("COMMIT")

    return run


class Writes:
    """The requests of one person, each of them with an effect of its own."""

    def __init__(self, people: list[int], posts: list[int]) -> None:
        from accounts import actions as accounts_actions
        from accounts.models import User

        self.posts = posts
        users = User.objects.in_bulk(people[:CLIENTS])
        self.tokens = [
            accounts_actions.sign_in(users[one], "chrome").access for one in people[:CLIENTS]
        ]
        self._targets, self._liked = iter(people[CLIENTS + 1 :]), iter(posts[1:])
        self._number = itertools.count()

    def request(self, path: str, body: Any = None, client: int = 0, method: str = "POST") -> bytes:
        """Return the bytes of a write."""
        content = b"" if body is None else orjson.dumps(body)
        head = [
            f"{method} /api/v1/{path} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {self.tokens[client]}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        ]
        return "\r\n".join([*head, "", ""]).encode() + content

    def next(self, work: str) -> bytes:
        """Return the next request of a kind."""
        if work == "publish":
            return self.request("posts", {"content": f"Post {next(self._number)} of a benchmark"})
        if work == "follow":
            return self.request(f"users/{next(self._targets)}/follow")
        if work == "like":
            return self.request(f"posts/{next(self._liked)}/like", method="PUT")
        return self.comment(0)

    def comment(self, client: int) -> bytes:
        """Return the request for a comment on the first post."""
        text = {"content": f"Comment {next(self._number)} of a benchmark"}
        return self.request(f"posts/{self.posts[0]}/comments", text, client)


def one_client(report: harness.Report, writes: Writes, site: http.Site) -> None:
    """Measure each write, one after another."""
    connection = http.Connection(site.sockets[0])

    def call(work: str) -> Callable[[], object]:
        return lambda: connection.ask(writes.next(work))

    times = harness.interleave(
        {"raw transaction": raw_transaction(), **{work: call(work) for work in WORKS}},
        rounds=report.options.rounds,
        seed=report.options.seed,
    )
    connection.close()
    report.table(times, floor="raw transaction", title="One request at a time:")
    floor = times["raw transaction"].p50
    for work, limit in WORKS.items():
        report.goal(f"{work} / raw transaction, p50", times[work].p50 / floor, at_most=limit)


def many_clients(report: harness.Report, writes: Writes, site: http.Site) -> None:
    """Measure comments a second of eight clients on one post, beside raw transactions."""
    sockets = itertools.cycle(site.sockets)
    connections = [http.Connection(next(sockets)) for _ in range(CLIENTS)]

    def comment(client: int) -> Callable[[], object]:
        return lambda: connections[client].ask(writes.comment(client))

    comments: list[Callable[[], object]] = [comment(client) for client in range(CLIENTS)]
    raw: list[Callable[[], object]] = [raw_transaction() for _ in range(CLIENTS)]
    rates: dict[str, list[float]] = {"comments": [], "raw transactions": []}
    for _ in range(report.options.turns):
        for name, works in (("comments", comments), ("raw transactions", raw)):
            rates[name].append(rate(works, report.options.milliseconds / 1000))
    for connection in connections:
        connection.close()
    medians = {name: statistics.median(found) for name, found in rates.items()}
    rows = [
        [name, *(f"{one:.0f}" for one in (min(found), medians[name], max(found)))]
        for name, found in rates.items()
    ]
    report.rows(rows, ["8 clients", "least/s", "median/s", "most/s"], title="Comments on one post:")
    report.goal(
        "comments on one post a second, 8 clients",
        medians["comments"],
        at_least=COMMENTS_A_SECOND,
    )


def rate(works: Sequence[Callable[[], object]], seconds: float) -> float:
    """Run each function in a thread without a pause; return the calls a second of all."""
    counts = [0] * len(works)
    began = time.perf_counter()
    end = began + seconds

    def run(number: int) -> None:
        while time.perf_counter() < end:
            works[number]()
            counts[number] += 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)


def main() -> int:
    """Measure."""
    options = harness.arguments(
        __doc__ or "", {"--rounds": 300, "--turns": 5, "--milliseconds": 3000}
    )
    harness.setup()

    from bench.support import feeds, people

    report = harness.Report("writes", options)
    ids = people.make_people(2 * options.rounds + 100)
    people.count_all()
    author = ids[CLIENTS]
    count = feeds.make_posts([author], options.rounds + 50, seed=options.seed)
    posts = [2 * people.FIRST_ID + number for number in range(count)]
    with http.site() as site:
        writes = Writes(ids, posts)
        one_client(report, writes, site)
        many_clients(report, writes, site)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
