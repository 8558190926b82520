"""Likes of a hot post, like flags of a page, long threads: `make bench ARGS="likes"`.

Eight processes like and unlike in turns, either all one post or each time one of a thousand posts;
for comparison also one post whose count is in a single locked row, as in earlier versions. Then a
warm page of like flags, and pages from the first to the last of threads with 100,000 comments.
Goals: the rate for one post is at least half of the spread rate, which is limited by Python, and
1.5 times the rate with a locked count; the flags of a page take one round trip and no query; the
last pages of a thread are as cheap as the first.
"""

import multiprocessing
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bench.support import harness

WRITERS = 8
SPREAD_MIN, LOCKED_MIN, FLAT_MAX = 0.5, 1.5, 1.5
SIZE = 20
BATCH = 5000


class Writers:
    """Processes that like and unlike for a number of seconds and count how often."""

    def __init__(self, people: Sequence[int], count: int) -> None:
        context = multiprocessing.get_context("fork")
        self._pipes = []
        for number in range(count):
            ours, theirs = context.Pipe()
            mine = people[number::count]
            process = context.Process(target=_write, args=(theirs, mine, number), daemon=True)
            process.start()
            self._pipes.append((process, ours))

    def run(self, posts: Sequence[int], seconds: float, *, locked: bool = False) -> float:
        """Return the likes and unlikes a second of all of them."""
        for _, pipe in self._pipes:
            pipe.send((list(posts), seconds, locked))
        return sum(pipe.recv() for _, pipe in self._pipes) / seconds

    def end(self) -> None:
        for process, pipe in self._pipes:
            pipe.send(None)
            process.join()


def _write(pipe: Any, people: Sequence[int], seed: int) -> None:
    from django.db import connection, transaction

    from accounts.models import User
    from interactions import actions as interactions_actions
    from interactions.models import SubjectType
    from socialsite.core.events import enqueue

    connection.connect()
    users = list(User.objects.filter(pk__in=people))
    dice = random.Random(seed)
    state: dict[tuple[int, int], bool] = {}
    with enqueue.paused():
        while (asked := pipe.recv()) is not None:
            posts, seconds, locked = asked
            done, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                user, post = dice.choice(users), dice.choice(posts)
                liked = state.get((user.pk, post), False)
                state[user.pk, post] = not liked
                act = partial(
                    interactions_actions.unlike if liked else interactions_actions.like,
                    user,
                    SubjectType.POST,
                    post,
                )
                if locked:
                    with transaction.atomic():
                        interactions_actions.subjects.locked_subject(post)
                        act()
                else:
                    act()
                done += 1
            pipe.send(done)


def hot_posts(report: harness.Report, options: Any, people: Sequence[int], author: Any) -> None:
    """Measure likes a second, turn by turn, and compare the counts with the rows afterwards."""
    from django.db import connection

    from feeds import actions as feeds_actions
    from interactions import actions as interactions_actions
    from interactions.models import CountChange, Like, Subject, SubjectType

    posts = [feeds_actions.publish(author, content="hello").pk for _ in range(options.posts + 2)]
    hot, old, *spread = posts
    for post in posts:  # the first like of a post makes its subject
        interactions_actions.subjects.ensure_subject(post)
    connection.close()
    writers = Writers(people, WRITERS)
    works: dict[str, Callable[[], float]] = {
        f"{len(spread)} posts": lambda: writers.run(spread, options.turn_ms / 1000),
        "one post": lambda: writers.run([hot], options.turn_ms / 1000),
        "one post, its count locked": lambda: writers.run(
            [old], options.turn_ms / 1000, locked=True
        ),
    }
    rates: dict[str, list[float]] = {name: [] for name in works}
    dice = random.Random(options.seed)
    names = list(works)
    for turn in range(-1, options.turns):
        dice.shuffle(names)
        for name in names:
            rate = works[name]()
            if turn >= 0:
                rates[name].append(rate)
    writers.end()
    _report_rates(report, rates, base=f"{len(spread)} posts")
    waiting = CountChange.objects.filter(subj_id=hot).count()
    report.say(f"\n- changes of the hot post that were not folded yet, no relay running: {waiting}")
    for post in posts:
        while interactions_actions.fold_counts(SubjectType.POST, post):
            pass
    wrong = sum(
        subject.like_count != Like.objects.filter(subj_type=1, subj_id=subject.subj_id).count()
        for subject in Subject.objects.filter(subj_id__in=posts)
    )
    report.goal("counts that are not their rows after the drain", wrong, exactly=0)


def _report_rates(report: harness.Report, rates: dict[str, list[float]], base: str) -> None:
    """Report likes a second of each kind of work, and their ratios to that of `base`."""
    ratios = {
        name: statistics.median(a / b for a, b in zip(found, rates[base], strict=True))
        for name, found in rates.items()
    }
    rows = [
        [
            name,
            f"{min(r):.0f}",
            f"{statistics.median(r):.0f}",
            f"{max(r):.0f}",
            f"{ratios[name]:.2f}",
        ]
        for name, r in rates.items()
    ]
    head = [f"likes/s of {WRITERS} writers", "least", "median", "most", "× spread"]
    report.rows(rows, head, title="Likes and unlikes a second")
    report.goal("likes/s on one post / spread over many", ratios["one post"], at_least=SPREAD_MIN)
    gain = ratios["one post"] / ratios["one post, its count locked"]
    report.goal("likes/s on one post / its count locked", gain, at_least=LOCKED_MIN)


def flags(report: harness.Report, options: Any, reader: Any, author: Any) -> None:
    """Measure the cost of like flags for a warm page of 20 posts, also with a truncated cache."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from feeds import actions as feeds_actions
    from interactions import actions as interactions_actions
    from interactions import cache
    from interactions import queries as interactions_queries
    from interactions.models import SubjectType
    from socialsite.core import redis

    posts = [feeds_actions.publish(author, content="hello").pk for _ in range(60)]
    for post in posts[::2]:
        interactions_actions.like(reader, SubjectType.POST, post)
    cache.MINE_MAX = 15  # the newest 30 posts are above the threshold
    cards: Any = [{"id": str(post), "ref": None} for post in posts[-SIZE:]]
    interactions_queries.decorate(reader, cards)
    trips, call = [], redis.call

    def counted(function: Any) -> Any:
        trips.append(1)
        return call(function)

    redis.call = counted
    with CaptureQueriesContext(connection) as found:
        interactions_queries.decorate(reader, cards)
    redis.call = call
    report.goal("round trips of a page's liked flags", len(trips), exactly=1)
    report.goal("queries of a page above the threshold", len(found), exactly=0)
    times = harness.interleave(
        {
            "SELECT 1": harness.database_ping,
            "flags": lambda: interactions_queries.decorate(reader, cards),
        },
        rounds=options.rounds,
        seed=options.seed,
    )
    report.table(times, floor="SELECT 1", title=f"Counts and liked flags of {SIZE} posts")


def threads(report: harness.Report, options: Any, people: Sequence[int], reader: Any) -> None:
    """Measure pages of two long threads, of roots and of replies below one root."""
    from accounts.models import User
    from feeds import actions as feeds_actions
    from interactions import actions as interactions_actions
    from interactions import queries as interactions_queries
    from interactions.models import Comment
    from interactions.queries.threads import Sort
    from relations import actions as relations_actions
    from socialsite.core.positions import Position

    author = User.objects.get(pk=people[0])
    wide, deep = (feeds_actions.publish(author, content="hello").pk for _ in range(2))
    root = interactions_actions.comment(author, deep, "root")
    _fill(options, people[1:], wide, None)
    _fill(options, people[1:], deep, root.pk)
    blocked = list(User.objects.filter(pk__in=people[1:400:20]))
    for person in blocked:
        relations_actions.block(reader, person)

    def at(order: Sequence[str], share: float, **below: Any) -> Position | None:
        rows = Comment.objects.filter(**below).order_by(*order)
        place = min(int(options.comments * share), options.comments - SIZE - 1)
        key = "like_count" if "like_count" in order[0] else "position"
        return None if not share else Position(*rows.values_list(key, "id")[place])

    works: dict[str, Any] = {"SELECT 1": harness.database_ping}
    roots = {"subject__subj_id": wide, "root": None}
    orders: dict[Sort, tuple[str, str]] = {
        "new": ("-position", "-id"),
        "hot": ("-like_count", "-id"),
    }
    for where, share in (("first", 0.0), ("middle", 0.5), ("last", 1.0)):
        for sort, order in orders.items():
            place = at(order, share, **roots)
            works[f"{sort}, {where}"] = partial(
                interactions_queries.comments, reader, wide, place, SIZE, sort
            )
        place = at(("position", "id"), share, root=root.pk)
        works[f"replies, {where}"] = partial(
            interactions_queries.replies, reader, root.pk, place, SIZE
        )
    works["the root of the replies"] = partial(
        interactions_queries.comments, reader, deep, None, SIZE
    )
    times = harness.interleave(works, rounds=options.rounds, seed=options.seed)
    title = (
        f"Pages of {SIZE} of threads of {options.comments} comments, {len(blocked)} blocked people"
    )
    report.table(times, floor="SELECT 1", title=title)
    for kind in ("new", "hot", "replies"):
        for where in ("middle", "last"):
            ratio = times[f"{kind}, {where}"].over(times[f"{kind}, first"])
            report.goal(f"{where} page / first, {kind}", ratio, at_most=FLAT_MAX)


def _fill(options: Any, people: Sequence[int], post: int, root: int | None) -> None:
    """Add this many comments to a post, or replies to a root, as the actions would do."""
    from interactions import actions as interactions_actions
    from interactions.models import Comment, CommentContent, Subject

    interactions_actions.subjects.ensure_subject(post)
    subject = Subject.objects.get(subj_id=post)
    dice = random.Random(options.seed)
    start = int(time.time() * 1000) - options.comments * 1000
    for first in range(0, options.comments, BATCH):
        rows = [
            Comment(
                subject=subject,
                author_id=dice.choice(people),
                root_id=root,
                parent_id=root,
                position=start + number * 1000,
                like_count=max(0, int(dice.paretovariate(1)) - 1),
            )
            for number in range(first, min(first + BATCH, options.comments))
        ]
        Comment.objects.bulk_create(rows)
        CommentContent.objects.bulk_create(
            CommentContent(comment=row, content=f"comment {row.position}") for row in rows
        )
    Subject.objects.filter(pk=subject.pk).update(comment_count=options.comments)
    if root is not None:
        Comment.objects.filter(pk=root).update(reply_count=options.comments)


def main() -> int:
    """Run all measurements."""
    options = harness.arguments(
        "Likes of a hot post, liked flags, long threads.",
        {
            "--people": 2000,
            "--posts": 1000,
            "--comments": 100_000,
            "--turns": 7,
            "--turn-ms": 1500,
            "--rounds": 150,
        },
    )
    harness.setup()
    from accounts.models import User
    from bench.support import people as crowd

    crowd.be_patient()
    report = harness.Report("likes", options)
    people = crowd.make_people(options.people)
    author, reader = User.objects.filter(pk__in=people[:2]).order_by("pk")
    hot_posts(report, options, people[2:], author)
    flags(report, options, reader, author)
    threads(report, options, [people[0], *people[2:]], reader)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
