"""The recount: it finds exactly the wrong counts, fixes them, and ignores changes in progress."""

import io
import logging
import random
import threading
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.models import F

from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from interactions import actions, tasks
from interactions.actions import recount
from interactions.models import (
    Case,
    Comment,
    CountChange,
    CountCheck,
    ReportedKind,
    Subject,
    SubjectType,
    Tally,
)
from interactions.tests.helpers import drift
from relations.tests.helpers import at_once
from socialsite.core.events import relay
from socialsite.tests.browser.scraper import scrape
from socialsite.tests.support.polls import given

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT

pytestmark = [pytest.mark.django_db, pytest.mark.full]


@pytest.fixture
def post(people, make_post) -> int:
    """A post with some of everything, whose events were not handled yet."""
    author, one, two, three = people
    ident = make_post(author, poll=given("Tea", "Coffee")).pk
    actions.like(author, POST, make_post(author).pk)
    root = actions.comment(one, ident, "root").pk
    reply = actions.comment(two, ident, "reply", root).pk
    actions.comment(one, ident, "answer", reply)
    for person in people:
        actions.like(person, POST, ident)
        actions.vote(person, ident, [0])
        actions.like(person, COMMENT, root)
        actions.like(person, COMMENT, reply)
    for person in (one, two, three):
        feeds_actions.repost(person, ident)
        actions.bookmark(person, ident)
        actions.report(person, ReportedKind.POST, ident, "spam")
    actions.unlike(two, POST, ident)
    actions.unbookmark(two, ident)
    actions.fold_votes(ident)
    return ident


# Counter → the row that has it, and its true number there.
PLACES: dict[str, tuple[Any, dict[str, Any], str, int]] = {
    "likes": (Subject, {}, "like_count", 3),
    "comments": (Subject, {}, "comment_count", 3),
    "reposts": (Subject, {}, "repost_count", 3),
    "bookmarks": (Subject, {}, "bookmark_count", 2),
    "comment_likes": (Comment, {"root": None}, "like_count", 4),
    "replies": (Comment, {"root": None}, "reply_count", 2),
    "reports": (Case, {}, "open_count", 3),
    "votes": (Tally, {}, "people", 4),
}


def spoiled(name: str, post: int) -> tuple[Any, str]:
    """Return the row with a counter of the post, and the column."""
    model, which, column, _true = PLACES[name]
    ident = {Subject: "subj_id", Comment: "subject__subj_id", Case: "subject_id", Tally: "post_id"}[
        model
    ]
    return model.objects.filter(**which, **{ident: post}), column


def stored(rows: Any, column: str) -> int:
    return rows.values_list(column, flat=True).get()


def command(*arguments: str) -> tuple[str, int]:
    """Return the output of the command, and its exit code."""
    out = io.StringIO()
    try:
        call_command("recount_interactions", *arguments, stdout=out)
    except SystemExit as ended:
        return out.getvalue(), int(ended.code or 0)
    return out.getvalue(), 0


def test_counts_that_are_right_are_left_alone_folded_or_not(post) -> None:
    assert CountChange.objects.exists()
    rows = [list(model.objects.values()) for model in (Subject, Comment, Case, CountChange)]
    found = recount.run(fix=True)
    assert (found.rows, found.wrong, dict(found.drift)) == (7, 0, {})
    assert [list(m.objects.values()) for m in (Subject, Comment, Case, CountChange)] == rows


@pytest.mark.parametrize("name", PLACES)
def test_each_wrong_counter_is_found_reported_and_repaired(post, name, caplog, monkeypatch) -> None:
    assert set(PLACES) == set(recount.COUNTERS)
    monkeypatch.setattr(recount, "STEP", 2)
    rows, column = spoiled(name, post)
    for more in (40, -PLACES[name][3]):  # the second with folded likes
        before, off = stored(rows, column), abs(more)
        wrong = before + more
        rows.update(**{column: wrong})
        printed, code = command()
        assert "wrong 1\n" in printed
        assert f"\n{name:14}off by {off}\n" in printed
        assert (code, stored(rows, column)) == (1, wrong)
        with caplog.at_level(logging.WARNING):
            tasks.check_counts()
        assert f"{{'{name}': {more}}}" in caplog.text
        assert drift() == []
        figures = scrape()
        line = f'socialsite_interaction_count_drift{{counter="{name}"}} {float(off)}'
        assert line in figures
        assert command("--fix")[0].endswith(f"{'votes':14}off by 0\n")
    while relay.relay():
        pass
    assert drift() == []
    assert stored(rows, column) == PLACES[name][3]


def test_reasons_and_counts_of_a_missing_row_are_repaired(post, people) -> None:
    feeds_actions.delete(people[1], feeds_queries.reposts().filter(author_id=people[1].pk).get().pk)
    while relay.relay():
        pass
    Case.objects.update(reasons={"abuse": 1, "spam": 2})
    Subject.objects.get(comment_count=0).delete()  # the subject of a post with nothing but a like
    for _ in range(2):
        found = recount.run()
        assert (found.wrong, dict(found.drift)) == (2, {"reports": 1, "likes": 1})
    assert Subject.objects.count() == 1
    assert recount.run(fix=True).wrong == 2
    assert Case.objects.get().reasons == {"spam": 3}
    assert (recount.run().wrong, drift(), Subject.objects.count()) == (0, [], 2)


def test_a_count_that_would_fall_below_zero_is_repaired_from_the_rows(post, people) -> None:
    """A fold stops at 0, so the difference changes after it was found."""
    rows, _ = spoiled("likes", post)
    while relay.relay():
        pass
    rows.update(like_count=0)
    wrong = recount._compare_subjects(rows)
    for person in people[:3]:
        actions.unlike(person, POST, post)
    actions.fold_counts(POST, post)
    assert wrong == {rows.get().pk: {"likes": -3}}
    found = recount.Found()
    recount._judge(recount.SUBJECTS, wrong, found, fix=True)
    assert drift() == []


def test_a_count_is_repaired_while_people_go_on(post, make_user, monkeypatch) -> None:
    """With each fold of the fix somebody else likes the post."""
    rows, _ = spoiled("likes", post)
    rows.update(like_count=7)
    fold = actions.fold_counts
    folds: list[int] = []

    def fold_while_others_like(subj_type: int, subj_id: int) -> int:
        assert len(folds) < 20, "never done"
        folds.append(fold(subj_type, subj_id))
        actions.like(make_user(), POST, post)
        return folds[-1]

    monkeypatch.setattr(actions, "fold_counts", fold_while_others_like)
    recount.run(fix=True)
    assert folds == [12]
    assert drift() == []


def test_the_check_is_on_the_schedule_and_only_the_newest_are_stored(monkeypatch) -> None:
    entry = settings.CELERY_BEAT_SCHEDULE["check-interaction-counts"]
    assert entry["task"] == tasks.check_counts.name
    monkeypatch.setattr(recount, "KEPT_CHECKS", 2)
    for _ in range(4):
        recount.run()
    assert CountCheck.objects.count() == 2


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs real transactions")
def test_repairing_while_people_write_is_never_wrong(post, people, monkeypatch) -> None:
    """Correct counts are never changed; after the fix wrong ones agree, too."""
    monkeypatch.setattr(recount, "STEP", 3)
    root = Comment.objects.filter(subject__subj_id=post, root=None).get()
    Subject.objects.update(
        **{f"{name}_count": F(f"{name}_count") + 90 for name in ("like", "comment", "repost")}
    )
    Subject.objects.update(bookmark_count=50)
    Comment.objects.update(like_count=70, reply_count=60)
    Case.objects.update(open_count=30)
    over = threading.Event()
    wrong: list[Any] = []

    def write(number: int) -> None:
        dice, person = random.Random(number), people[number]
        for _ in range(25):
            match dice.randrange(6):
                case 0:
                    act = dice.choice([actions.like, actions.unlike])
                    act(person, *dice.choice([(POST, post), (COMMENT, root.pk)]))
                case 1:
                    actions.comment(person, post, "hello", root.pk)
                case 2:
                    mine = Comment.objects.filter(author=person, root=root, deleted=False)
                    for comment in mine[:1]:
                        actions.delete_comment(person, comment.pk)
                case 3:
                    dice.choice([actions.bookmark, actions.unbookmark])(person, post)
                case 4:
                    made = feeds_actions.repost(person, post)[0]
                    feeds_actions.delete(person, made.pk)
                case 5:
                    actions.fold_counts(POST, post)

    def repair() -> None:
        recount.run(fix=True)
        while not over.is_set():
            wrong.extend(recount.run(fix=True).drift.items())
        assert drift() == []

    def write_all() -> None:
        try:
            results = at_once([partial(write, number) for number in (1, 2, 3)])
            wrong.extend(result for result in results if result is not None)
        finally:
            over.set()

    assert at_once([repair, write_all]) == [None, None]
    assert wrong == []
