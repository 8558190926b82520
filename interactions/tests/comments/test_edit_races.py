"""Edits at the same moment as other edits, deletions, likes, reposts, comments and blocks."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.models import Post, PostVersion
from interactions import actions, queries
from interactions.models import SubjectType
from interactions.tests.helpers import drift
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core.errors import AppError, NotFound, StaleVersion
from socialsite.core.events import enqueue

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers"),
]

Make = Callable[..., Any]
ROUNDS, EDITS = 8, 4


@pytest.fixture(autouse=True)
def _no_broker() -> Any:
    with enqueue.paused():
        yield


def quietly(work: Callable[[], Any]) -> Callable[[], Any]:
    """Return the same call for a thread, in which nothing is sent to the broker."""

    def run() -> Any:
        with enqueue.paused():
            return work()

    return run


def raced(*works: Callable[[], Any]) -> list[Any]:
    """Run calls at once; return their results, and only errors of the site."""
    found = at_once([quietly(work) for work in works])
    strange = [one for one in found if isinstance(one, Exception) and not isinstance(one, AppError)]
    assert strange == []
    return found


def test_of_edits_of_one_version_exactly_one_wins(make_user: Make, make_post: Make) -> None:
    me = make_user()
    post = make_post(me, "0")
    comment = actions.comment(me, post.pk, "0")
    for version in range(1, ROUNDS + 1):

        def edit_post(number: int, version: int = version) -> None:
            feeds_actions.edit(me, post.pk, version, content=f"{version} {number}")

        def edit_comment(number: int, version: int = version) -> None:
            actions.edit_comment(me, comment.pk, f"{version} {number}", version)

        for edit in (edit_post, edit_comment):
            found = raced(
                *(lambda number=number, edit=edit: edit(number) for number in range(EDITS))
            )
            assert [type(one) for one in found].count(StaleVersion) == EDITS - 1
            words = f"{version} {found.index(None)}"
            card: Any = (
                feeds_queries.post(None, post.pk)
                if edit is edit_post
                else queries.comment(None, comment.pk)
            )
            assert (card["content"], card["version"]) == (words, version + 1)
    versions = PostVersion.objects.order_by("version").values_list("version", flat=True)
    assert list(versions) == list(range(1, ROUNDS + 1))


def test_an_edit_during_a_deletion_leaves_a_deleted_post_without_a_history(
    make_user: Make, make_post: Make
) -> None:
    me = make_user()
    for _ in range(ROUNDS):
        post = make_post(me)
        feeds_actions.edit(me, post.pk, 1, content="second")
        edited, _deleted = raced(
            partial(feeds_actions.edit, me, post.pk, 2, content="third"),
            partial(feeds_actions.delete, me, post.pk),
        )
        assert isinstance(edited, Post | NotFound)
        with pytest.raises(NotFound):
            feeds_queries.post(me, post.pk)
    assert not PostVersion.objects.exists()


def test_an_edit_of_a_comment_during_its_deletion_leaves_it_deleted(
    make_user: Make, make_post: Make
) -> None:
    me, author = make_user(), make_user()
    post = make_post(author)
    for _ in range(ROUNDS):
        comment = actions.comment(me, post.pk, "first")
        raced(
            partial(actions.edit_comment, me, comment.pk, "second", 1),
            partial(actions.delete_comment, author, comment.pk),
        )
        with pytest.raises(NotFound):
            queries.comment(me, comment.pk)
    assert drift() == []


def test_a_post_that_is_narrowed_while_others_act_on_it_stays_in_a_legal_state(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    me, fan, other, blocked = (make_user() for _ in range(4))
    relations_actions.follow(fan, me)
    for _ in range(ROUNDS):
        post = make_post(me, "for all")
        made = raced(
            partial(feeds_actions.edit, me, post.pk, 1, visibility="followers"),
            partial(feeds_actions.repost, other, post.pk, "look"),
            partial(actions.like, other, SubjectType.POST, post.pk),
            partial(actions.comment, fan, post.pk, "hm"),
            partial(relations_actions.block, me, blocked),
        )
        relations_actions.unblock(me, blocked)
        assert isinstance(made[0], Post)
        assert feeds_queries.post(fan, post.pk)["visibility"] == "followers"
        for reader in (other, blocked, None):
            with pytest.raises(NotFound):
                feeds_queries.post(reader, post.pk)
            if isinstance(made[1], tuple):
                shown = feeds_queries.post(reader, made[1][0].pk)
                assert (shown["ref"], shown["ref_gone"]) == (None, True)
    drain()
    assert drift() == []
