"""Pins; open, closed and featured threads; reply counts and their costs."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from accounts import actions as accounts_actions
from interactions import actions, cache, queries
from interactions.models import Comment, Like, Subject, SubjectType
from interactions.queries import Sort
from interactions.tests.helpers import drift, pending_events
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import redis
from socialsite.core.errors import CommentsClosed, Forbidden, InvalidInput, NotFound
from socialsite.core.events import relay
from socialsite.core.positions import Position

COMMENT = SubjectType.COMMENT

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@pytest.fixture
def post(author, make_post) -> int:
    return make_post(author).pk


def words(page: Any) -> list[str]:
    return [card["content"] for card in page.items]


def walk(read: Any, size: int) -> list[Any]:
    """Return all items of a list page by page; each page but the last must be full."""
    found, cursor = [], None
    while True:
        page = read(cursor, size)
        found += page.items
        if page.next is None:
            return found
        assert len(page.items) == size
        cursor = Position.decode(page.next)


def listed(viewer: Any, post: int, sort: Sort = "new", size: int = 20) -> list[int]:
    read = lambda cursor, number: queries.comments(viewer, post, cursor, number, sort)  # noqa: E731
    return [int(card["id"]) for card in walk(read, size)]


# --- pins ---------------------------------------------------------------------------------------
def test_pinned_comments_stand_first_in_both_sorts_and_never_twice(author, reader, post) -> None:
    made = [actions.comment(reader, post, str(number)).pk for number in range(7)]
    for comment in (made[2], made[5]):
        actions.like(author, COMMENT, comment)
    actions.like(reader, COMMENT, made[1])
    actions.like(author, COMMENT, made[1])
    for comment in (made[0], made[4], made[1]):
        actions.pin(author, comment)
    for size in (1, 2, 3, 4, 7, 20):
        assert listed(reader, post, "new", size) == [made[n] for n in (4, 1, 0, 6, 5, 3, 2)]
        assert listed(None, post, "hot", size) == [made[n] for n in (1, 4, 0, 5, 2, 6, 3)]
    assert [card["pinned"] for card in queries.comments(None, post).items] == [True] * 3 + [
        False
    ] * 4
    actions.unpin(author, made[4])
    assert listed(reader, post, "new", 2) == [made[n] for n in (1, 0, 6, 5, 4, 3, 2)]
    assert pending_events().count("CommentPinned") == 3


def test_pinning_again_changes_nothing_and_deleting_unpins(author, reader, post) -> None:
    comment = actions.comment(reader, post, "hello").pk
    for _ in range(2):
        actions.pin(author, comment)
    assert Subject.objects.get().pins == [comment]
    assert Comment.objects.get().attrs == Comment.Attr.PINNED
    actions.comment(reader, post, "reply", comment)
    actions.delete_comment(reader, comment)
    assert Subject.objects.get().pins == []
    assert [card["pinned"] for card in queries.comments(reader, post).items] == [False]
    with pytest.raises(NotFound):
        actions.pin(author, comment)
    assert pending_events() == ["Commented", "CommentPinned", "Commented", "CommentDeleted"]


def test_only_the_author_of_the_post_pins_and_only_so_many(
    author, reader, other, post, monkeypatch
) -> None:
    monkeypatch.setattr(actions.pins, "PIN_MAX", 2)
    made = [actions.comment(reader, post, "hello").pk for _ in range(3)]
    for act in (actions.pin, actions.unpin):
        with pytest.raises(Forbidden):
            act(reader, made[0])
        with pytest.raises(NotFound):
            act(author, 5)
    relations_actions.block(reader, other)
    with pytest.raises(NotFound):
        actions.pin(other, made[0])
    for comment in made[:2]:
        actions.pin(author, comment)
    with pytest.raises(InvalidInput):
        actions.pin(author, made[2])
    actions.unpin(author, made[0])
    actions.pin(author, made[2])


def test_a_pinned_comment_shows_to_nobody_who_may_not_see_its_author(
    author, reader, other, post
) -> None:
    comment = actions.comment(other, post, "hello").pk
    actions.pin(author, comment)
    for block in ((reader, other), (other, reader)):
        relations_actions.block(*block)
        assert listed(reader, post) == []
        relations_actions.unblock(*block)
    accounts_actions.ban(other)
    for viewer in (reader, author, None):
        assert listed(viewer, post) == []


def test_the_bits_of_a_comment_are_set_beside_each_other(author, reader, post) -> None:
    comment = actions.comment(reader, post, "hello").pk
    own = actions.comment(author, post, "answer", comment).pk
    actions.like(author, COMMENT, comment)
    actions.pin(author, comment)
    assert Comment.objects.get(pk=comment).attrs == 7
    assert Comment.objects.get(pk=own).attrs == Comment.Attr.BY_AUTHOR
    actions.delete_comment(author, own)
    assert Comment.objects.get(pk=comment).attrs == 3
    actions.unlike(author, COMMENT, comment)
    actions.unpin(author, comment)
    assert Comment.objects.get(pk=comment).attrs == 0


# --- open, closed, featured ---------------------------------------------------------------------
def test_the_author_closes_and_opens_again(author, reader, other, post) -> None:
    assert queries.comment_status(None, post) == "open"
    for person in (author, author):
        assert actions.set_comment_status(person, post, "closed") == "closed"
    assert queries.comment_status(reader, post) == "closed"
    with pytest.raises(CommentsClosed):
        actions.comment(author, post, "hello")
    actions.set_comment_status(author, post, "open")
    actions.comment(reader, post, "hello")
    assert pending_events().count("Commented") == 1
    with pytest.raises(Forbidden):
        actions.set_comment_status(reader, post, "closed")
    for status in ("deleted", "", "Open"):
        with pytest.raises(InvalidInput):
            actions.set_comment_status(author, post, status)
    relations_actions.block(author, other)
    with pytest.raises(NotFound):
        actions.set_comment_status(other, post, "closed")
    with pytest.raises(NotFound):
        queries.comment_status(other, post)


def test_featured_shows_picked_comments_and_the_reader_s_own(author, reader, other, post) -> None:
    picked = actions.comment(other, post, "picked").pk
    mine = actions.comment(reader, post, "mine").pk
    theirs = actions.comment(other, post, "theirs").pk
    authors = actions.comment(author, post, "author's").pk
    below = actions.comment(other, post, "below", picked).pk
    own_below = actions.comment(reader, post, "own below", picked).pk
    answer = actions.comment(author, post, "answer", picked).pk
    hidden = actions.comment(author, post, "in a hidden thread", theirs).pk
    actions.pin(author, picked)
    actions.set_comment_status(author, post, "featured")
    shown = {author: [picked, authors, theirs, mine], reader: [picked, authors, mine]}
    shown |= {other: [picked, authors, theirs], None: [picked, authors]}
    in_thread = {author: 3, reader: 2, other: 2, None: 1}
    for viewer, ids in shown.items():
        for size in (1, 2, 20):
            assert listed(viewer, post, "new", size) == ids
            assert sorted(listed(viewer, post, "hot", size)) == sorted(ids)
        replies = walk(partial(queries.replies, viewer, picked), 1)
        assert len(replies) == in_thread[viewer]
        assert queries.comments(viewer, post).items[0]["reply_count"] == in_thread[viewer]
    for unseen in (theirs, below, hidden):
        acts: tuple[Callable[[], object], ...] = (
            partial(queries.replies, reader, unseen),
            partial(queries.comment, reader, unseen),
            partial(actions.like, reader, 2, unseen),
        )
        for act in acts:
            with pytest.raises(NotFound):
                act()
        with pytest.raises(NotFound):
            actions.comment(reader, post, "hello", unseen)
    assert queries.comment(reader, own_below)["content"] == "own below"
    assert queries.comment(None, answer)["content"] == "answer"
    fresh = actions.comment(other, post, "fresh").pk
    assert fresh in listed(other, post)
    assert fresh not in listed(reader, post)
    actions.pin(author, theirs)
    assert theirs in listed(reader, post)
    assert words(queries.replies(None, theirs)) == ["in a hidden thread"]
    actions.set_comment_status(author, post, "open")
    assert len(listed(None, post)) == 5
    assert drift() == []


def test_the_author_of_a_reply_below_an_unpicked_comment_sees_both(
    author, reader, other, post
) -> None:
    """Everybody sees their own replies and the answered comment, but no more of others."""
    root = actions.comment(other, post, "not picked").pk
    theirs = actions.comment(other, post, "by another", root).pk
    mine = actions.comment(reader, post, "my answer", theirs).pk
    plain = actions.comment(other, post, "nor this").pk
    actions.set_comment_status(author, post, "featured")
    for size in (1, 20):
        for sort in ("new", "hot"):
            assert listed(reader, post, sort, size) == [root]
            assert listed(None, post, sort, size) == []
    assert queries.comments(reader, post).items[0]["reply_count"] == 1
    assert words(queries.replies(reader, root)) == ["my answer"]
    card = queries.comment(reader, mine)
    assert (card["parent_id"], card["answers"]) == (str(root), None)
    for unseen in (theirs, plain):
        with pytest.raises(NotFound):
            queries.comment(reader, unseen)
    assert listed(other, post) == [plain, root]
    actions.delete_comment(other, root)
    assert words(queries.comments(reader, post)) == [""]  # its tombstone, because of the reply
    actions.delete_comment(reader, mine)
    assert listed(reader, post) == []
    actions.set_comment_status(author, post, "open")
    again = actions.comment(reader, post, "below what somebody blocked wrote", plain).pk
    actions.set_comment_status(author, post, "featured")
    assert listed(reader, post) == [plain]
    relations_actions.block(other, reader)
    assert listed(reader, post) == []
    with pytest.raises(NotFound):
        queries.comment(reader, again)


def test_a_blocked_persons_picked_comment_stays_hidden(author, reader, other, post) -> None:
    picked = actions.comment(other, post, "picked").pk
    actions.pin(author, picked)
    actions.set_comment_status(author, post, "featured")
    relations_actions.block(other, reader)
    assert listed(reader, post) == []
    assert listed(None, post) == [picked]


# --- counts of replies --------------------------------------------------------------------------
def test_reply_counts_are_the_readers_own_whoever_is_banned_or_blocked(
    author, reader, other, make_user, post
) -> None:
    banned, staff = make_user(), make_user()
    root = actions.comment(author, post, "root").pk
    reply = actions.comment(other, post, "reply", root).pk
    below = [actions.comment(p, post, "hello", reply).pk for p in (banned, other, author, banned)]

    def counts(viewer: Any) -> tuple[int, int]:
        page = queries.replies(viewer, root)
        answers = [card["reply_count"] for card in page.items if int(card["id"]) == reply]
        return queries.comments(viewer, post).items[0]["reply_count"], sum(answers)

    everybody = (5, 4)
    assert [counts(v) for v in (reader, None, author)] == [everybody] * 3
    relations_actions.block(reader, banned)
    assert (counts(reader), counts(None)) == ((3, 2), everybody)
    accounts_actions.ban(banned)
    assert [counts(v) for v in (reader, None)] == [(3, 2)] * 2
    relations_actions.block(author, reader)  # the post is hidden from the reader
    actions.delete_comment(author, below[0])
    assert [counts(v) for v in (other, None)] == [(3, 2)] * 2
    accounts_actions.unban(banned)
    assert [counts(v) for v in (staff, None)] == [(4, 3)] * 2


def test_counts_of_hidden_replies_are_cached_and_invalidated_in_time(
    author, other, post, django_assert_num_queries
) -> None:
    root = actions.comment(author, post, "root").pk
    actions.comment(other, post, "reply", root)
    accounts_actions.ban(other)
    cache.GONE.invalidate([root])
    page = queries.comments(None, post)
    assert page.items[0]["reply_count"] == 0
    with django_assert_num_queries(4):  # the post, the subject, places and rows
        assert queries.comments(None, post) == page
    batch = redis.Batch()
    asked = cache.GONE.ask(batch, [root])
    batch.run()
    assert asked.found
    while relay.relay():
        pass
    actions.comment(author, post, "reply", root)
    assert queries.comments(None, post).items[0]["reply_count"] == 1


def test_any_thread_counts_and_shows_replies_as_row_by_row(make_user, make_post) -> None:
    """Random blocks, bans, deletions; each reader's counts equal the replies found by paging."""
    dice = random.Random(5)
    people = [make_user() for _ in range(5)]
    post = make_post(people[0]).pk
    made: list[int] = []
    for _ in range(60):
        person = dice.choice(people)
        parent = dice.choice([None, *made])
        try:
            made.append(actions.comment(person, post, "hello", parent).pk)
            if dice.random() < 0.2:
                actions.delete_comment(people[0], dice.choice(made))
            if dice.random() < 0.1:
                actions.pin(people[0], dice.choice(made))
            if dice.random() < 0.1:
                relations_actions.block(*dice.sample(people[1:], 2))
        except NotFound:
            pass
    accounts_actions.ban(people[4])
    for status in ("open", "featured", "closed"):
        actions.set_comment_status(people[0], post, status)
        for viewer in (*people[:4], None):
            for _ in range(2):  # cold and warm
                for root in walk(partial(queries.comments, viewer, post), 3):
                    replies = walk(partial(queries.replies, viewer, int(root["id"])), 3)
                    assert root["reply_count"] == sum(not card["deleted"] for card in replies)
                    assert root["content"] or replies  # a tombstone needs a visible reply


# --- costs --------------------------------------------------------------------------------------
def test_a_warm_page_costs_few_queries_and_one_round_trip(
    author, reader, other, post, round_trips, django_assert_max_num_queries
) -> None:
    made = [actions.comment(other, post, str(number)).pk for number in range(8)]
    for comment in made:
        actions.comment(author, post, "answer", comment)
    actions.pin(author, made[3])
    for sort in ("new", "hot"):
        queries.comments(reader, post, None, 5, sort)
        round_trips.clear()
        with django_assert_max_num_queries(6):  # post, subject, pinned, places, rows, blocked
            queries.comments(reader, post, None, 5, sort)
        assert len(round_trips) == 1


# --- API ----------------------------------------------------------------------------------------
def test_pins_and_settings_by_api(api, api_for, author, reader, post) -> None:
    comment = actions.comment(reader, post, "hello").pk
    pin, settings = f"/api/v1/comments/{comment}/pin", f"/api/v1/posts/{post}/comment-settings"
    mine, theirs = api_for(author), api_for(reader)
    assert mine.put(pin).json() == {"pinned": True}
    assert mine.delete(pin).json() == {"pinned": False}
    assert mine.patch(settings, {"status": "closed"}, format="json").json() == {"status": "closed"}
    for client in (mine, theirs, api):
        assert client.get(settings).json() == {"status": "closed"}
    answer = theirs.post(f"/api/v1/posts/{post}/comments", {"content": "hello"}, format="json")
    assert (answer.status_code, answer.json()["error"]) == (403, "COMMENTS_CLOSED")
    assert [client.put(pin).status_code for client in (theirs, api)] == [403, 401]
    body = {"status": "open"}
    codes = [client.patch(settings, body, format="json").status_code for client in (theirs, api)]
    assert codes == [403, 401]
    for wrong in ({}, {"status": "deleted"}, {"status": 1}, {"status": None}):
        assert mine.patch(settings, wrong, format="json").status_code == 400
    assert mine.put("/api/v1/comments/5/pin").status_code == 404
    assert mine.patch("/api/v1/posts/5/comment-settings", body, format="json").status_code == 404
    relations_actions.block(author, reader)
    assert theirs.get(settings).status_code == 404


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
def test_pins_likes_answers_and_deletions_at_once_lose_no_bit(make_user, make_post) -> None:
    author, *people = [make_user() for _ in range(4)]
    post = make_post(author).pk
    made = [actions.comment(people[0], post, "hello").pk for _ in range(3)]

    def author_acts(number: int) -> None:
        dice = random.Random(number)
        for _ in range(15):
            acts: list[Any] = [actions.pin, actions.unpin, actions.like, actions.unlike, "answer"]
            act = dice.choice(acts)
            comment = dice.choice(made)
            if act == "answer":
                actions.comment(author, post, "answer", comment)
            elif act in (actions.pin, actions.unpin):
                act(author, comment)
            else:
                act(author, COMMENT, comment)

    works = [partial(author_acts, number) for number in range(4)]
    assert [r for r in at_once(works) if isinstance(r, Exception)] == []
    subject = Subject.objects.get(subj_id=post)
    for comment in Comment.objects.filter(pk__in=made):
        attr = Comment.Attr
        assert bool(comment.attrs & attr.PINNED) == (comment.pk in subject.pins)
        liked = Like.objects.filter(subj_type=COMMENT, subj_id=comment.pk, user=author).exists()
        assert bool(comment.attrs & attr.AUTHOR_LIKED) == liked
        answered = Comment.objects.filter(parent=comment, author=author).exists()
        assert bool(comment.attrs & attr.AUTHOR_REPLIED) == answered
    assert drift() == []


def test_a_reply_to_somebody_hidden_does_not_name_them(author, reader, other, post) -> None:
    root = actions.comment(author, post, "root").pk
    hidden = actions.comment(other, post, "of somebody", root).pk
    answer = actions.comment(author, post, "an answer", hidden).pk
    parents = {card["id"]: card["parent_id"] for card in queries.replies(reader, root).items}
    assert parents[str(answer)] == str(hidden)
    relations_actions.block(other, reader)
    (card,) = queries.replies(reader, root).items
    assert (card["id"], card["parent_id"], card["answers"]) == (str(answer), str(root), None)
