"""How MariaDB runs the reads of feeds: which index it uses, and how many rows it reads."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from feeds import queries
from feeds.home import pull
from feeds.models import AuthorHead, FanOut, InboxEdge, InboxEntry, Post, PostContent
from feeds.tests.home.follows import follow_all
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.positions import Position, before

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),  # ANALYZE TABLE commits
    pytest.mark.skipif(connection.vendor != "mysql", reason="reads MariaDB's plan"),
]

Make = Callable[..., Any]


def posts_by(*authors: int) -> None:
    """Create 4000 posts, at 1, 2, … ms, by these authors in turn."""
    Post.objects.bulk_create(
        Post(id=10**18 + number, author_id=authors[number % len(authors)], position=number)
        for number in range(1, 4001)
    )
    PostContent.objects.bulk_create(PostContent(post=post) for post in Post.objects.all())
    with connection.cursor() as database:
        database.execute("ANALYZE TABLE feeds_post, accounts_user, relations_relationship")
        database.fetchall()


def explain(sql: str) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the plan of a statement by table, and the total number of rows it reads."""
    with connection.cursor() as database:
        database.execute(f"EXPLAIN {sql}")
        columns = [column[0] for column in database.description]
        steps = [dict(zip(columns, row, strict=True)) for row in database.fetchall()]
        database.execute("FLUSH STATUS")
        database.execute(sql)
        database.fetchall()
        database.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return {step["table"]: step for step in steps}, sum(int(n) for _, n in database.fetchall())


@pytest.mark.parametrize("who", ["guest", "reader", "author"])
@pytest.mark.parametrize("cursor", [None, Position(2500, 10**18 + 2500)])
def test_a_profile_page_reads_its_rows_from_the_outbox_in_order(
    make_user: Make, who: str, cursor: Position | None
) -> None:
    author, reader = make_user(), make_user()
    relations_actions.follow(reader, author)
    relations_actions.block(reader, make_user())
    posts_by(author.pk, 1, 2, 3, 4)
    viewer = {"guest": None, "reader": reader, "author": author}[who]
    with CaptureQueriesContext(connection) as captured:
        assert len(queries.profile_posts(viewer, author.pk, cursor, 20).items) == 20
    plan, read = explain(captured[0]["sql"])
    assert plan["feeds_post"]["key"] == "ix_outbox", plan
    assert not any("filesort" in (step["Extra"] or "") for step in plan.values()), plan
    assert read < 100, plan


@pytest.mark.parametrize("cursor", [None, Position(2500, 10**18 + 2500)])
def test_a_pull_reads_few_rows_each_from_an_index(make_user: Make, cursor: Position | None) -> None:
    viewer, authors = make_user().pk, range(1, 401)
    follow_all(viewer, authors)
    posts_by(*authors)
    AuthorHead.objects.bulk_create(
        AuthorHead(author_id=author, last_position=3600 + (author - 1 or 400), post_count=10)
        for author in authors
    )
    newest = list(Post.objects.filter(before(cursor)).newest_first()[:21])
    read_by = {}
    for read in (pull.newest, pull.scan, pull.by_author, pull.at_once):
        with CaptureQueriesContext(connection) as captured:
            found = read(viewer, set(authors), cursor, 21)
        assert found == [Position(post.position, post.pk) for post in newest]
        read_by[read.__name__] = 0
        for sql in (query["sql"] for query in captured):
            plan, rows = explain(sql)
            read_by[read.__name__] += rows
            for table, step in plan.items():
                assert step["type"] != "ALL" or table.startswith("<"), (sql, plan)
            if "ix_newest" in sql:
                assert "filesort" not in (plan["feeds_post"]["Extra"] or ""), plan
                assert "Using index" in plan["feeds_post"]["Extra"], plan  # index only
    # The first rows of a scan.
    assert read_by["scan"] < 600, read_by
    assert read_by["newest"] < 600, read_by
    # A few for each author: the follow, the head, and below a place the newest post there.
    assert read_by["by_author"] < 400 * (3 if cursor is None else 8) + 300, read_by


@pytest.mark.parametrize("cursor", [None, Position(2500, 10**18 + 2500)])
def test_a_page_without_redis_reads_few_rows_each_from_an_index(
    make_user: Make, cursor: Position | None
) -> None:
    reader, authors = make_user(), [make_user().pk for _ in range(40)]
    posts_by(*authors)
    follow_all(reader.pk, authors)
    posts = list(Post.objects.all())
    for other in (reader.pk, 7):
        InboxEntry.objects.bulk_create(
            InboxEntry(user_id=other, author_id=p.author_id, publish_time=p.position, post=p)
            for p in posts
        )
    # A tenth of the authors were pulled once, and a hundredth of the posts have an open fan-out.
    AuthorHead.objects.bulk_create(
        AuthorHead(
            author_id=author, last_position=4000, last_pulled_position=5 * (author % 10 == 0)
        )
        for author in range(1, 2001)
    )
    FanOut.objects.bulk_create(
        FanOut(
            post=p, author_id=p.author_id, position=p.position, mode=0, state=2 * (p.pk % 100 > 0)
        )
        for p in posts
    )
    InboxEdge.objects.bulk_create(
        InboxEdge(viewer=reader, author_id=author, backfilled_from=0) for author in authors
    )
    with connection.cursor() as database:
        tables = ("inboxentry", "inboxedge", "inboxstate", "authorhead", "fanout")
        database.execute(f"ANALYZE TABLE {', '.join(f'feeds_{table}' for table in tables)}")
        database.fetchall()
    queries.home_feed(reader, cursor, 20)
    with redis.bypassed(), CaptureQueriesContext(connection) as captured:
        cards = queries.home_feed(reader, cursor, 20).items
    assert len(cards) == 20
    (together,) = (query["sql"] for query in captured if "feeds_fanout" in query["sql"])
    plan, read = explain(together)
    for table, step in plan.items():
        assert step["type"] != "ALL" or table.startswith("<"), (table, plan)
    assert plan["feeds_inboxentry"]["key"] == "PRIMARY", plan
    assert "filesort" not in (plan["feeds_inboxentry"]["Extra"] or ""), plan
    # Two for each follow, the open fan-outs, the pulled authors, and a page.
    assert read < 2 * 40 + 3 * 40 + 2 * 200 + 100, (read, plan)
