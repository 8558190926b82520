"""Threads and cards with counts: order, full pages, blocks, tombstones, query counts."""

import random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from feeds import queries as feeds_queries
from interactions import actions, queries
from interactions.models import Comment, Like, Subject, SubjectType
from interactions.queries import decoration
from interactions.tests.helpers import oracle
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.db.compiled import UnionRead
from socialsite.core.errors import NotFound
from socialsite.core.positions import Page, Position
from socialsite.core.times import iso

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def words(page: Page) -> list[str]:
    return [card["content"] for card in page.items]


def ids(page: Page) -> list[int]:
    return [int(card["id"]) for card in page.items]


def walk(read, size: int) -> list[dict]:
    """Return all items of a list, page by page; every page but the last must be full."""
    found, cursor = [], None
    while True:
        page = read(cursor, size)
        found += page.items
        if page.next is None:
            return found
        assert len(page.items) == size
        cursor = Position.decode(page.next)


def test_counts_are_integers_that_include_unfolded_changes(reader, author, post) -> None:
    """A union of signed and unsigned columns would return decimals."""
    actions.like(reader, POST, post.pk)
    actions.like(author, POST, post.pk)
    actions.unlike(author, POST, post.pk)
    union = UnionRead()
    rows = union.add(decoration._counts_and_mine, [post.pk], reader.pk)
    changes = union.add(decoration._changes, [post.pk])
    union.run()
    assert changes
    assert {type(value) for row in rows + changes for value in row} == {int}
    card = queries.decorate(reader, [feeds_queries.post(reader, post.pk)])[0]
    assert (card["like_count"], card["liked"]) == (1, True)


def ban(user) -> None:
    user.banned_at = timezone.now()
    user.save()


# --- post cards ---------------------------------------------------------------------------------
def test_cards_get_their_counts_and_the_readers_own_likes(author, reader, make_post) -> None:
    loved, talked, quiet = (make_post(author).pk for _ in range(3))
    actions.like(reader, POST, loved)
    actions.like(author, POST, loved)
    actions.comment(author, talked, "one")
    actions.comment(author, talked, "two")
    for viewer, liked in ((reader, [True, False, False]), (None, [False] * 3)):
        cards = [feeds_queries.post(viewer, ident) for ident in (loved, talked, quiet)]
        found = queries.decorate(viewer, cards)
        assert found == cards
        assert [card["like_count"] for card in found] == [2, 0, 0]
        assert [card["comment_count"] for card in found] == [0, 2, 0]
        assert [card["liked"] for card in found] == liked


def test_a_liked_comment_does_not_make_a_post_of_the_same_number_liked(
    post, author, reader
) -> None:
    comment = actions.comment(author, post.pk, "hello")
    actions.like(reader, COMMENT, comment.pk)
    Like.objects.update(subj_id=post.pk)
    card = queries.decorate(reader, [feeds_queries.post(reader, post.pk)])[0]
    assert not card["liked"]


def test_the_post_inside_a_repost_is_decorated_too(author, reader, make_post) -> None:
    outer, inner = make_post(author).pk, make_post(author).pk
    actions.like(reader, POST, inner)
    card = feeds_queries.post(reader, outer)
    card["ref"] = feeds_queries.post(reader, inner)
    assert card["ref"] is not None
    queries.decorate(reader, [card])
    assert (card["liked"], card["ref"]["liked"]) == (False, True)
    assert (card["like_count"], card["ref"]["like_count"]) == (0, 1)


def test_decorating_costs_two_queries_whatever_the_number_and_none_again(
    author, reader, make_user, make_post, django_assert_num_queries
) -> None:
    cards = [feeds_queries.post(reader, make_post(author).pk) for _ in range(6)]
    for viewer, some in ((reader, cards[:1]), (make_user(), cards[1:])):
        for queries_made in (2, 0):
            with django_assert_num_queries(queries_made):
                queries.decorate(viewer, some)
    with django_assert_num_queries(0):
        queries.decorate(None, cards)
        assert queries.decorate(reader, []) == []


# --- comments -----------------------------------------------------------------------------------
def test_comments_on_a_post_come_newest_first_and_without_replies(post, author, reader) -> None:
    first = actions.comment(author, post.pk, "first")
    actions.comment(reader, post.pk, "second")
    actions.comment(reader, post.pk, "a reply", first.pk)
    assert words(queries.comments(reader, post.pk)) == ["second", "first"]
    assert words(queries.comments(None, post.pk)) == ["second", "first"]


def test_a_comment_shows_all_that_the_design_names(post, author, reader) -> None:
    root = actions.comment(reader, post.pk, "root")
    reply = actions.comment(author, post.pk, "reply", root.pk)
    actions.like(author, COMMENT, root.pk)
    actions.like(reader, COMMENT, root.pk)
    card: dict[str, Any] = {**queries.comment(reader, root.pk)}
    created_at = card.pop("created_at")
    assert created_at == iso(Comment.objects.get(pk=root.pk).position)
    assert card == {
        "id": str(root.pk),
        "root_id": None,
        "parent_id": None,
        "author": {
            "id": str(reader.pk),
            "username": reader.username,
            "nickname": reader.nickname,
            "avatar": "",
            "bio": "",
        },
        "content": "root",
        "version": 1,
        "edited_at": None,
        "like_count": 2,
        "reply_count": 1,
        "liked": True,
        "pinned": False,
        "author_liked": True,
        "author_replied": True,
        "deleted": False,
        "mine": True,
        "answers": None,
    }
    other = queries.replies(author, root.pk).items[0]
    assert (other["root_id"], other["parent_id"]) == (str(root.pk), str(root.pk))
    assert (other["id"], other["mine"], other["liked"]) == (str(reply.pk), True, False)
    assert not queries.comments(None, post.pk).items[0]["mine"]
    answer = actions.comment(reader, post.pk, "answer", reply.pk)
    names = [card["answers"] for card in queries.replies(None, root.pk).items]
    assert names == [None, author.username]
    assert queries.comment(None, answer.pk)["answers"] == author.username
    actions.delete_comment(author, reply.pk)
    assert queries.comment(None, answer.pk)["answers"] is None


def test_hot_puts_the_most_liked_first_across_pages(post, make_user) -> None:
    people = [make_user() for _ in range(5)]
    dice = random.Random(3)
    for number in range(12):
        comment = actions.comment(people[0], post.pk, str(number))
        for person in dice.sample(people, dice.randrange(4)):
            actions.like(person, COMMENT, comment.pk)
    rows = Comment.objects.order_by("-like_count", "-id").values_list("pk", flat=True)
    for size in (1, 2, 5, 12, 50):
        found = walk(lambda cursor, n: queries.comments(None, post.pk, cursor, n, "hot"), size)
        assert [int(card["id"]) for card in found] == list(rows)


def test_a_post_without_comments_has_an_empty_page(post, reader) -> None:
    assert queries.comments(reader, post.pk) == Page([], None)
    actions.like(reader, POST, post.pk)
    assert queries.comments(reader, post.pk) == Page([], None)


def test_threads_of_a_post_one_may_not_see_are_not_there(post, author, reader) -> None:
    root = actions.comment(author, post.pk, "root")
    relations_actions.block(author, reader)
    for read in (
        lambda: queries.comments(reader, post.pk),
        lambda: queries.replies(reader, root.pk),
        lambda: queries.comment(reader, root.pk),
        lambda: queries.comments(reader, 5),
        lambda: queries.replies(reader, 5),
    ):
        with pytest.raises(NotFound):
            read()


def test_comments_across_a_block_are_hidden_from_both_sides(post, author, make_user) -> None:
    one, two, third = make_user(), make_user(), make_user()
    roots = {person: actions.comment(person, post.pk, person.username) for person in (one, two)}
    replies = {
        person: actions.comment(person, post.pk, f"re {person.username}", roots[one].pk)
        for person in (two, third)
    }
    relations_actions.block(one, two)
    everything = {roots[one].pk, roots[two].pk}
    for viewer in (None, author, third):
        assert set(ids(queries.comments(viewer, post.pk))) == everything
    assert ids(queries.comments(one, post.pk)) == [roots[one].pk]
    assert ids(queries.comments(two, post.pk)) == [roots[two].pk]
    # The thread of the one: the other's reply is hidden from them, also in the count.
    assert ids(queries.replies(one, roots[one].pk)) == [replies[third].pk]
    assert queries.comments(one, post.pk).items[0]["reply_count"] == 1
    assert queries.comment(third, roots[one].pk)["reply_count"] == 2
    # If the root is hidden, its thread is too.
    with pytest.raises(NotFound):
        queries.replies(two, roots[one].pk)
    with pytest.raises(NotFound):
        queries.comment(two, replies[third].pk)


def test_comments_of_closed_accounts_are_hidden_from_everybody(post, author, make_user) -> None:
    banned, gone, fine = make_user(), make_user(), make_user()
    root = actions.comment(fine, post.pk, "fine")
    for person in (banned, gone):
        actions.comment(person, post.pk, "hidden")
        actions.comment(person, post.pk, "hidden", root.pk)
    ban(banned)
    gone.deleted_at = timezone.now()
    gone.save()
    for viewer in (None, author, fine):
        page = queries.comments(viewer, post.pk)
        assert words(page) == ["fine"]
        assert page.items[0]["reply_count"] == 0
        assert queries.replies(viewer, root.pk).items == []


# --- tombstones ---------------------------------------------------------------------------------
def test_a_tombstone_stays_while_it_has_live_replies(post, author, reader) -> None:
    actions.comment(reader, post.pk, "a live one of the same person")
    root = actions.comment(reader, post.pk, "secret words")
    reply = actions.comment(author, post.pk, "reply", root.pk)
    actions.like(author, COMMENT, root.pk)
    actions.delete_comment(reader, root.pk)
    for viewer in (None, author, reader):
        tomb = queries.comments(viewer, post.pk).items[0]
        assert (tomb["deleted"], tomb["author"], tomb["content"]) == (True, None, "")
        assert (tomb["like_count"], tomb["liked"], tomb["mine"]) == (0, False, False)
        assert not tomb["author_liked"]
        assert tomb["reply_count"] == 1
        assert words(queries.replies(viewer, root.pk)) == ["reply"]
    actions.delete_comment(author, reply.pk)
    assert words(queries.comments(author, post.pk)) == ["a live one of the same person"]
    with pytest.raises(NotFound):
        queries.replies(author, root.pk)


def test_a_deleted_reply_stays_while_it_is_answered(post, author, reader) -> None:
    root = actions.comment(author, post.pk, "root")
    reply = actions.comment(reader, post.pk, "reply", root.pk)
    answer = actions.comment(author, post.pk, "answer", reply.pk)
    actions.delete_comment(reader, reply.pk)
    page = queries.replies(reader, root.pk)
    assert [(card["deleted"], card["reply_count"]) for card in page.items] == [
        (True, 1),
        (False, 0),
    ]
    assert ids(queries.replies(reader, reply.pk)) == [answer.pk]
    actions.delete_comment(author, answer.pk)
    assert queries.replies(reader, root.pk).items == []


def test_the_tombstone_of_a_closed_account_keeps_the_answers_of_others(
    post, author, reader, make_user
) -> None:
    """While the account can be taken back the thread is hidden; erased, it is a tombstone."""
    root = actions.comment(reader, post.pk, "secret words")
    inner = actions.comment(reader, post.pk, "more of them", root.pk)
    answer = actions.comment(author, post.pk, "reply", inner.pk)
    User.objects.filter(pk=reader.pk).update(deleted_at=timezone.now())
    assert queries.comments(author, post.pk).items == []
    for comment in (root, inner):
        actions.delete_comment(reader, comment.pk)
    for viewer in (None, author):
        (tomb,) = queries.comments(viewer, post.pk).items
        assert (tomb["deleted"], tomb["author"], tomb["content"]) == (True, None, "")
        assert words(queries.replies(viewer, root.pk)) == ["", "reply"]
    actions.delete_comment(author, answer.pk)
    assert queries.comments(make_user(), post.pk).items == []


def test_a_tombstone_with_only_hidden_replies_is_hidden(post, author, make_user) -> None:
    one, two = make_user(), make_user()
    root = actions.comment(one, post.pk, "root")
    actions.comment(two, post.pk, "reply", root.pk)
    actions.delete_comment(one, root.pk)
    relations_actions.block(two, one)
    assert queries.comments(one, post.pk).items == []
    assert len(queries.comments(author, post.pk).items) == 1
    ban(two)
    assert queries.comments(author, post.pk).items == []


# --- pages --------------------------------------------------------------------------------------
def test_replies_come_oldest_first_across_pages(post, author) -> None:
    root = actions.comment(author, post.pk, "root")
    made = [actions.comment(author, post.pk, str(n), root.pk).pk for n in range(7)]
    for size in (1, 2, 3, 7, 20):
        found = walk(lambda cursor, n: queries.replies(author, root.pk, cursor, n), size)
        assert [int(card["id"]) for card in found] == made


def test_comments_of_one_millisecond_are_neither_lost_nor_repeated(post, author) -> None:
    for number in range(9):
        actions.comment(author, post.pk, str(number))
    Comment.objects.update(position=1_700_000_000_000)
    made = list(Comment.objects.order_by("-id").values_list("pk", flat=True))
    for size in (1, 2, 4):
        found = walk(lambda cursor, n: queries.comments(author, post.pk, cursor, n), size)
        assert [int(card["id"]) for card in found] == made


@pytest.mark.full
def test_every_page_of_a_random_thread_equals_the_oracle(make_user, make_post) -> None:
    dice = random.Random(11)
    people = [make_user() for _ in range(6)]
    post = make_post(people[0]).pk
    for _ in range(120):
        live = list(Comment.objects.filter(deleted=False).values_list("pk", flat=True))
        parent = dice.choice(live) if live and dice.random() < 0.6 else None
        actions.comment(dice.choice(people), post, "hello", parent)
    for comment in dice.sample(list(Comment.objects.all()), 45):
        actions.delete_comment(next(p for p in people if p.pk == comment.author_id), comment.pk)
    Comment.objects.filter(pk__in=live[::3]).update(position=live[0] >> 22)
    relations_actions.block(people[1], people[2])
    relations_actions.block(people[3], people[1])
    ban(people[5])
    subject = Subject.objects.get().pk
    tombstones = 0
    for viewer in (None, *people[:5]):
        roots = oracle(viewer, subject)
        for size in (3, 7, 100):
            found = walk(lambda cursor, n: queries.comments(viewer, post, cursor, n), size)  # noqa: B023
            assert [(int(card["id"]), card["reply_count"]) for card in found] == [
                (row.pk, row.reply_count) for row in roots
            ]
        tombstones += sum(row.deleted for row in roots)
        for root in roots:
            expected = [(row.pk, row.reply_count) for row in oracle(viewer, subject, root.pk)]
            found = walk(lambda cursor, n: queries.replies(viewer, root.pk, cursor, n), 4)  # noqa: B023
            assert [(int(card["id"]), card["reply_count"]) for card in found] == expected[::-1]
    assert tombstones


def test_pages_cost_the_same_number_of_queries_whatever_their_size(
    post, author, reader, make_user
) -> None:
    blocked = make_user()
    relations_actions.block(reader, blocked)

    def fill(number: int) -> int:
        for n in range(number):
            person = blocked if n % 3 == 0 else make_user()
            root = actions.comment(person, post.pk, "root").pk
            for _ in range(2):
                actions.comment(make_user(), post.pk, "reply", root)
        return root

    def cost(read) -> int:
        redis.call(lambda connection: connection.flushdb())
        with CaptureQueriesContext(
            connection,
        ) as found:
            assert read().items
        return len(found)

    def costs(root: int) -> list[int]:
        return [
            cost(lambda: queries.comments(reader, post.pk, None, 50)),
            cost(lambda: queries.comments(reader, post.pk, None, 50, "hot")),
            cost(lambda: queries.comments(None, post.pk, None, 50)),
            cost(lambda: queries.replies(reader, root, None, 50)),
        ]

    few = costs(fill(3))
    many = costs(fill(12))
    assert many == few
    assert max(few) <= 8
