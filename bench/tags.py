"""Tags at a million posts: `make bench ARGS="tags"`.

Posts of the last 30 days have one or two of 20,000 tags, which are as frequent as words (Zipf). One
tag more is on `--busy` posts of the last week. Floors: the newest posts of an author for a page of
posts, of always the same one if the page is always the same, so that both are cached or neither;
`SELECT 1` for counts; a post without tags for one with three.
"""

import itertools
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bench.support import harness

SIZE, BATCH, INSERTED = 10, 5000, 20_000
DAY_MS = 86_400_000
DAYS, WEEK = 30, 7
TAGS, SKEW = 20_000, 1.05
FIRST_TAG = 7 * 10**18
BUSY = "busy"


def fill(options: Any, authors: Sequence[int], dice: random.Random) -> None:
    """Insert posts with their words and tags."""
    from bench.support import people
    from bench.support.rows import insert
    from feeds.models import AuthorHead, Post, PostContent, Tag

    now = int(time.time() * 1000)
    step = DAYS * DAY_MS / options.posts
    of_week = round(options.posts * WEEK / DAYS)
    share = options.busy / of_week
    names = [BUSY, *(f"tag{number}" for number in range(TAGS))]
    Tag.objects.bulk_create(
        (Tag(id=FIRST_TAG + number, name=name) for number, name in enumerate(names)),
        batch_size=BATCH,
    )
    weights = list(itertools.accumulate(1 / (number + 2.7) ** SKEW for number in range(TAGS)))
    rows: list[str] = []
    for first in range(0, options.posts, BATCH):
        posts, contents = [], []
        for number in range(first, min(first + BATCH, options.posts)):
            ident, author = 2 * people.FIRST_ID + number, dice.choice(authors)
            position = now - int((options.posts - number) * step)
            chosen = {1 + one for one in dice.choices(range(TAGS), cum_weights=weights, k=2)}
            if number >= options.posts - of_week and dice.random() < share:
                chosen.add(0)
            words = " ".join(f"#{names[one]}" for one in sorted(chosen))
            posts.append((ident, author, position))
            contents.append((ident, f"A cup of tea. {words}"))
            rows += [f"({FIRST_TAG + one},{position},{ident},{author},1)" for one in chosen]
        insert(Post(), ("id", "author_id", "position"), posts)
        insert(PostContent(), ("post_id", "content"), contents)
        if len(rows) >= INSERTED:
            _insert(rows)
    _insert(rows)
    AuthorHead.objects.bulk_create(AuthorHead(author_id=author) for author in authors)
    people.execute("ANALYZE TABLE feeds_posttag, feeds_tag, feeds_post, feeds_postcontent")


def _insert(rows: list[str]) -> None:
    from bench.support import people

    if rows:
        columns = "(tag_id, position, post_id, author_id, is_public)"
        people.execute(f"INSERT INTO feeds_posttag {columns} VALUES {','.join(rows)}")  # noqa: S608
        rows.clear()


def follow(reader: Any, count: int) -> None:
    """Let a reader follow the busy tag and the most frequent others."""
    from feeds.models import TagFollow

    TagFollow.objects.bulk_create(
        TagFollow(user_id=reader.pk, tag_id=FIRST_TAG + number) for number in range(count)
    )


def works_of(
    reader: Any, author: Any, authors: Sequence[int], dice: random.Random, busy: int
) -> dict[str, Any]:
    """Return what is measured, by name."""
    from feeds import actions, queries
    from feeds.discovery.tags import queries as tag_queries
    from feeds.models import PostTag, Tag
    from socialsite.core.positions import Position

    def place(tag: int, depth: int) -> Position:
        rows = PostTag.objects.filter(tag_id=FIRST_TAG + tag).order_by("-position", "-post_id")
        return Position(*rows.values_list("position", "post_id")[depth])

    def page(low: int, high: int, cursor: Position | None = None) -> Any:
        tag = Tag(pk=FIRST_TAG + dice.randrange(low, high), name="")
        return tag_queries.posts(reader, tag, cursor, SIZE)

    def counts(name: str) -> Any:
        return tag_queries.one(reader, tag_queries.named(name))

    def publish(words: str) -> Any:
        return actions.publish(author, content=f"A cup of tea. {words}")

    numbers = itertools.count()
    deep, mid = place(0, busy // 2), int(time.time() * 1000) - 15 * DAY_MS
    followed = partial(tag_queries.posts_of_followed, reader)
    return {
        "SELECT 1": harness.database_ping,
        "posts of one author": lambda: queries.profile_posts(reader, author.pk, None, SIZE),
        "posts of any author": lambda: queries.profile_posts(
            reader, dice.choice(authors), None, SIZE
        ),
        "busy tag": lambda: page(0, 1),
        "busy tag, deep": lambda: page(0, 1, deep),
        "usual tag": lambda: page(1000, 2000),
        "rare tag": lambda: page(15_000, 20_000),
        "usual tag, deep": lambda: page(1, 100, Position(mid, 0)),
        "counts of the busy tag": lambda: counts(BUSY),
        "counts of a usual tag": lambda: counts(f"tag{dice.randrange(1000, 2000)}"),
        "five tags of Discover": lambda: tag_queries.trending(reader, 5),
        "page of tags in use": lambda: tag_queries.trending(reader, SIZE),
        "tags that begin alike": lambda: tag_queries.matching(
            reader, f"tag{dice.randrange(1, 20)}", 20
        ),
        "followed tags": lambda: followed(None, SIZE),
        "followed tags, deep": lambda: followed(Position(mid, 0), SIZE),
        "publish without tags": lambda: publish(f"{next(numbers)}"),
        "publish with three tags": lambda: publish(f"{next(numbers)} #busy #tag5 #tag50"),
        "publish with three new tags": lambda: publish(
            " ".join(f"#new{number}" for number in itertools.islice(numbers, 3))
        ),
    }


def main() -> int:
    """Run all measurements."""
    options = harness.arguments(
        "Pages and counts of tags.",
        {
            "--posts": 1_000_000,
            "--authors": 5000,
            "--busy": 100_000,
            "--followed": 50,
            "--rounds": 100,
        },
    )
    harness.setup()
    from accounts.models import User
    from bench.support import people
    from feeds.discovery.tags import ranking

    people.be_patient()
    report = harness.Report("tags", options)
    dice = random.Random(options.seed)
    ids = people.make_people(options.authors)
    reader, author = User.objects.filter(pk__in=ids[:2]).order_by("pk")
    begun = time.monotonic()
    fill(options, ids, dice)
    follow(reader, options.followed)
    report.say(f"\n- filled in {time.monotonic() - begun:.0f} s")
    begun = time.monotonic()
    ranking.rank()
    report.say(f"- ranked in {time.monotonic() - begun:.1f} s, every five minutes by a worker")
    measure(report, works_of(reader, author, ids, dice, options.busy))
    return report.finish()


def measure(report: harness.Report, works: dict[str, Callable[[], Any]]) -> None:
    """Measure all works, and compare them with their floors."""
    times = harness.interleave(works, rounds=report.options.rounds, seed=report.options.seed)
    report.table(times, floor="SELECT 1", title=f"Tags, pages of {SIZE} posts")
    usual = "counts of a usual tag"
    for name, floor, at_most in (
        ("busy tag", "posts of one author", 1.5),
        ("busy tag, deep", "busy tag", 1.5),
        ("usual tag", "posts of any author", 1.5),
        ("rare tag", "posts of any author", 1.5),
        ("followed tags", "SELECT 1", 30),
        ("followed tags, deep", "followed tags", 1.5),
        ("counts of the busy tag", usual, 1.1),
        ("five tags of Discover", "SELECT 1", 30),
        ("page of tags in use", "SELECT 1", 30),
        ("tags that begin alike", "page of tags in use", 12),
        ("publish with three tags", "publish without tags", 1.5),
    ):
        report.goal(f"{name} / {floor}", times[name].over(times[floor]), at_most=at_most)


if __name__ == "__main__":
    raise SystemExit(main())
