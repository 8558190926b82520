"""How MariaDB runs the counts of the staff home and of its nightly task: by indexes alone."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from feeds.models import Post
from interactions.models import Case, Report
from socialsite import tasks
from socialsite.core import db, ids
from socialsite.core.models import Event
from socialsite.staff_home.contents import TILES

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),  # ANALYZE TABLE commits
    pytest.mark.skipif(connection.vendor != "mysql", reason="reads MariaDB's plan"),
]

ROWS, DAY_MS = 4000, 86_400_000
INDEXES: dict[str, set[str]] = {
    "accounts_user": set(),  # named by Django, see `_names`
    "feeds_post": {"ix_newest"},
    "interactions_report": {"ix_report_time"},
    "interactions_case": {"ix_case_open"},
    "core_event": {"ix_outbox_due"},
}


@pytest.fixture
def big(me: User) -> None:
    """Rows of a hundred days in each table that is counted."""
    now, moment = db.now_ms(), timezone.now()
    steps = [number * 100 / ROWS for number in range(ROWS)]
    User.objects.bulk_create(
        User(
            username=f"big{number}",
            username_key=f"big{number}",
            created_at=moment - timedelta(days=days),
            last_seen=moment - timedelta(days=days),
        )
        for number, days in enumerate(steps)
    )
    Post.objects.bulk_create(
        Post(id=ids.new_id(), author=me, position=now - round(days * DAY_MS)) for days in steps
    )
    Case.objects.bulk_create(
        Case(kind=1, subject_id=number, owner=me, open_count=int(number < 100))
        for number in range(ROWS)
    )
    Report.objects.bulk_create(
        Report(
            case=case,
            reporter=me,
            reason="spam",
            created_at=now - round(days * DAY_MS),
            is_open=True if case.open_count else None,
        )
        for case, days in zip(Case.objects.order_by("pk"), steps, strict=True)
    )
    Event.objects.bulk_create(
        Event(aggregate_type="x", aggregate_id=one, type="X", payload={}, dead=one < 100)
        for one in range(ROWS)
    )
    with connection.cursor() as database:
        database.execute(f"ANALYZE TABLE {', '.join(INDEXES)}")
        database.fetchall()


def check(act: Callable[[], Any], least: int) -> None:
    """Check that each statement about a big table uses an index, and reads a part of the rows."""
    with CaptureQueriesContext(connection) as captured:
        act()
    asked = [
        (table, one["sql"])
        for one in captured.captured_queries
        for table in INDEXES
        if one["sql"].startswith("SELECT") and f"FROM `{table}`" in one["sql"]
    ]
    assert len(asked) >= least
    with connection.cursor() as database:
        for table, sql in asked:
            database.execute(f"EXPLAIN {sql}")
            columns = [column[0] for column in database.description]
            (plan,) = (dict(zip(columns, row, strict=True)) for row in database.fetchall())
            assert plan["key"] in _names(table), (sql, plan)
            assert plan["type"] in ("range", "ref"), (sql, plan)
            assert int(plan["rows"]) < ROWS / 4, (sql, plan)
            assert "filesort" not in (plan["Extra"] or ""), (sql, plan)


def _names(table: str) -> set[str]:
    """Return the indexes of a table that may be used; those of single columns by their columns."""
    if table != "accounts_user":
        return INDEXES[table]
    with connection.cursor() as database:
        found = connection.introspection.get_constraints(database, table)
    columns = (["last_seen"], ["created_at"])
    return {name for name, one in found.items() if one["columns"] in columns}


@pytest.mark.usefixtures("big")
def test_the_nightly_task_reads_the_rows_of_each_day_by_an_index() -> None:
    check(tasks.count_days, least=4 * 30)


@pytest.mark.usefixtures("big")
def test_tiles_read_what_they_count_by_an_index() -> None:
    check(lambda: [tile.show() for tile in TILES], least=3)
