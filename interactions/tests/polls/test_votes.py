"""Votes: one for each person, counted exactly, and seen by those who may see them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.models import Post
from interactions import actions, cache, queries
from interactions.actions import recount, votes
from interactions.models import Tally, Vote
from interactions.tests.polls.counts_and_ends import close, read
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import redis
from socialsite.core.errors import AlreadyVoted, AppError, NotFound, PollClosed
from socialsite.tests.support.answers import assert_error
from socialsite.tests.support.polls import given

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
FULL = pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")


@pytest.fixture
def post(author: User) -> Post:
    return feeds_actions.publish(author, content="Which?", poll=given("Tea", "Coffee", "Water"))


@pytest.fixture
def several(author: User) -> Post:
    poll = given("Tea", "Coffee", "Water", multiple=True)
    return feeds_actions.publish(author, content="Which?", poll=poll)


# --- the vote -----------------------------------------------------------------------------------
def test_a_vote_is_answered_with_the_results(reader: User, post: Post, api_for: Make) -> None:
    mine = api_for(reader)
    path = f"/api/v1/posts/{post.pk}/vote"
    before = mine.get(f"/api/v1/posts/{post.pk}").json()["poll"]
    assert [option["votes"] for option in before["options"]] == [None] * 3
    for _ in range(2):
        answer = mine.put(path, {"choices": [1]}, format="json")
        assert answer.status_code == 200
        assert answer.json() == {
            **before,
            "options": [
                {"text": "Tea", "votes": 0},
                {"text": "Coffee", "votes": 1},
                {"text": "Water", "votes": 0},
            ],
            "votes": 1,
            "voted": [1],
        }
    assert mine.get(f"/api/v1/posts/{post.pk}").json()["poll"] == answer.json()
    assert_error(mine.put(path, {"choices": [2]}, format="json"), 409, "ALREADY_VOTED")
    assert Vote.objects.count() == 1


@pytest.mark.parametrize(
    "choices", [[], [3], [-1], [8], [0, 1], ["x"], [0] * 9, "0", None, [None], [True, 1.5]]
)
def test_wrong_choices_are_refused(reader: User, post: Post, api_for: Make, choices: Any) -> None:
    path = f"/api/v1/posts/{post.pk}/vote"
    answer = api_for(reader).put(path, {"choices": choices}, format="json")
    assert_error(answer, 400, "INVALID_INPUT", "choices")
    assert not Vote.objects.exists()


def test_several_choices_count_one_person(
    reader: User, author: User, make_user: Make, several: Post
) -> None:
    actions.vote(reader, several.pk, [0, 2, 0])
    actions.vote(make_user(), several.pk, [2])
    assert read(author, several) == (2, [1, 0, 2], [])
    assert read(reader, several) == (2, [1, 0, 2], [0, 2])
    actions.vote(reader, several.pk, [2, 0])
    with pytest.raises(AlreadyVoted):
        actions.vote(reader, several.pk, [2])
    assert read(None, several) == (2, [None] * 3, [])


def test_a_vote_needs_what_a_like_needs(reader: User, author: User, post: Post) -> None:
    hidden = feeds_actions.publish(author, visibility="followers", poll=given())
    plain = feeds_actions.publish(author, content="no poll")
    repost, _new = feeds_actions.repost(author, post.pk)
    for ident in (hidden.pk, plain.pk, repost.pk, 7):
        with pytest.raises(NotFound):
            actions.vote(reader, ident, [0])
    relations_actions.follow(reader, author)
    actions.vote(reader, hidden.pk, [0])
    relations_actions.block(author, reader)
    with pytest.raises(NotFound):
        actions.vote(reader, post.pk, [0])
    relations_actions.unblock(author, reader)
    feeds_actions.delete(author, post.pk)
    with pytest.raises(NotFound):
        actions.vote(reader, post.pk, [0])


def test_after_the_end_everybody_sees_the_results_and_nobody_votes(
    reader: User, author: User, make_user: Make, post: Post
) -> None:
    actions.vote(reader, post.pk, [0])
    assert read(make_user(), post) == (1, [None] * 3, [])
    close(post)
    for viewer in (None, make_user(), author):
        assert read(viewer, post) == (1, [1, 0, 0], [])
    assert read(reader, post) == (1, [1, 0, 0], [0])
    with pytest.raises(PollClosed):
        actions.vote(author, post.pk, [0])
    actions.vote(reader, post.pk, [0])  # the same again


def test_the_error_of_a_closed_poll_has_its_code(reader: User, post: Post, api_for: Make) -> None:
    close(post)
    path = f"/api/v1/posts/{post.pk}/vote"
    assert_error(api_for(reader).put(path, {"choices": [0]}, format="json"), 403, "POLL_CLOSED")


def test_votes_of_banned_people_stay_as_their_likes_do(
    reader: User, author: User, post: Post
) -> None:
    actions.vote(reader, post.pk, [0])
    accounts_actions.ban(reader)
    assert read(author, post) == (1, [1, 0, 0], [])


def test_a_quoted_and_a_reposted_poll_have_the_votes_of_the_original(
    reader: User, make_user: Make, post: Post, api_for: Make
) -> None:
    other = make_user()
    plain, _new = feeds_actions.repost(other, post.pk)
    quote, _new = feeds_actions.repost(other, post.pk, "look")
    actions.vote(reader, post.pk, [1])
    for ident in (plain.pk, quote.pk):
        found = api_for(reader).get(f"/api/v1/posts/{ident}").json()
        assert found["poll"] is None
        assert found["ref"]["poll"]["voted"] == [1]
        assert found["ref"]["poll"]["votes"] == 1


# --- counts -------------------------------------------------------------------------------------
def test_counts_are_exact_before_and_after_folding(
    author: User, make_user: Make, several: Post, drain: Make
) -> None:
    people = [make_user() for _ in range(5)]
    for number, person in enumerate(people):
        actions.vote(person, several.pk, [0, number % 3])
        assert read(author, several)[0] == number + 1
        if number == 2:
            drain()
            assert not Vote.objects.filter(waiting__isnull=False).exists()
    assert read(author, several) == (5, [5, 2, 1], [])
    assert Vote.objects.filter(waiting=several.pk).count() == 2
    votes.fold_votes(several.pk)
    votes.fold_votes(several.pk)
    redis.call(lambda connection: connection.flushdb())
    assert read(author, several) == (5, [5, 2, 1], [])
    assert Tally.objects.get().people == 5


def test_many_waiting_votes_are_folded_by_a_voter(
    author: User, make_user: Make, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(votes, "FOLD_AT", 3)
    for _ in range(4):
        actions.vote(make_user(), post.pk, [2])
    assert Vote.objects.filter(waiting=post.pk).count() == 1
    assert read(author, post) == (4, [0, 0, 4], [])


def test_without_redis_votes_and_results_are_the_same(
    reader: User, author: User, post: Post, dead_redis: Make
) -> None:
    with dead_redis():
        actions.vote(reader, post.pk, [1])
        assert read(reader, post) == (1, [0, 1, 0], [1])
        assert read(author, post) == (1, [0, 1, 0], [])
        assert read(None, post) == (1, [None] * 3, [])
    redis.call(lambda connection: connection.flushdb())
    assert read(reader, post) == (1, [0, 1, 0], [1])


def test_the_choice_of_an_old_poll_is_read_from_the_table(
    reader: User, author: User, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MINE_MAX", 1)
    actions.vote(reader, post.pk, [1])
    for _ in range(2):
        actions.vote(reader, feeds_actions.publish(author, poll=given()).pk, [0])
    for _ in range(2):
        assert read(reader, post) == (1, [0, 1, 0], [1])


def test_a_like_and_a_vote_of_one_post_are_told_apart(reader: User, post: Post) -> None:
    def state() -> tuple[bool, bool, list[int]]:
        card = queries.decorate(reader, [feeds_queries.post(reader, post.pk)])[0]
        return card["liked"], card["bookmarked"], card["poll"]["voted"] if card["poll"] else []

    assert [state(), state()] == [(False, False, [])] * 2
    actions.vote(reader, post.pk, [1])
    assert [state(), state()] == [(False, False, [1])] * 2
    actions.like(reader, 1, post.pk)
    actions.bookmark(reader, post.pk)
    assert [state(), state()] == [(True, True, [1])] * 2
    actions.unlike(reader, 1, post.pk)
    assert [state(), state()] == [(False, True, [1])] * 2


def test_a_page_of_polls_costs_what_a_page_of_posts_costs(
    reader: User, author: User, round_trips: list[int], django_assert_num_queries: Make
) -> None:
    posts = [feeds_actions.publish(author, content="x", poll=given()) for _ in range(5)]
    plain = [feeds_actions.publish(author, content="x") for _ in range(5)]
    for one in posts[::2]:
        actions.vote(reader, one.pk, [0])
    costs = []
    for page in (plain, posts):
        ids = [one.pk for one in page]
        redis.call(lambda connection: connection.flushdb())
        made = []
        for _ in range(2):
            round_trips.clear()
            cards = list(feeds_queries.visible_cards(reader, ids).values())
            queries.decorate(reader, cards)
            made.append(len(round_trips))
        with django_assert_num_queries(0):
            queries.decorate(reader, list(feeds_queries.visible_cards(reader, ids).values()))
        costs.append(made)
    assert costs[0] == costs[1]
    assert [card["poll"]["votes"] for card in cards if card["poll"]] == [1, 0, 1, 0, 1]


@pytest.mark.full
def test_the_recount_finds_and_repairs_wrong_votes(
    author: User, make_user: Make, several: Post, post: Post
) -> None:
    for number in range(3):
        actions.vote(make_user(), several.pk, [0, number])
    votes.fold_votes(several.pk)
    actions.vote(make_user(), several.pk, [2])
    actions.vote(make_user(), post.pk, [1])
    assert recount.run().wrong == 0
    Tally.objects.update(people=7, option_1=0)
    found = recount.run(fix=True)
    assert (found.wrong, found.drift["votes"]) == (1, 5)
    assert recount.run().wrong == 0
    assert read(author, several) == (4, [3, 1, 2], [])
    Tally.objects.all().delete()
    assert recount.run(fix=True).drift["votes"] == 8
    assert recount.run().wrong == 0
    assert read(author, several) == (4, [3, 1, 2], [])


# --- at once ------------------------------------------------------------------------------------
@FULL
@pytest.mark.django_db(transaction=True)
def test_of_different_choices_at_once_exactly_one_counts(
    reader: User, author: User, several: Post
) -> None:
    def vote(choice: int) -> str:
        try:
            actions.vote(reader, several.pk, [choice % 3])
        except AppError as error:
            return error.name
        return str(choice % 3)

    for _ in range(5):
        Vote.objects.all().delete()
        Tally.objects.all().delete()
        redis.call(lambda connection: connection.flushdb())
        answers = at_once([partial(vote, number) for number in range(6)])
        (row,) = Vote.objects.all()
        won = row.choices.bit_length() - 1
        assert sorted(answers) == sorted([str(won)] * 2 + ["ALREADY_VOTED"] * 4)
        assert read(author, several)[0] == 1


@FULL
@pytest.mark.django_db(transaction=True)
def test_many_people_and_folds_at_once_lose_no_vote(
    author: User, make_user: Make, several: Post
) -> None:
    people = [make_user() for _ in range(16)]

    def work(part: list[User]) -> None:
        for number, person in enumerate(part):
            actions.vote(person, several.pk, [0, number % 3])
            votes.fold_votes(several.pk, wait=number % 2 == 0)

    assert at_once([partial(work, people[n::4]) for n in range(4)]) == [None] * 4
    assert read(author, several) == (16, [16, 4, 4], [])
    votes.fold_votes(several.pk)
    redis.call(lambda connection: connection.flushdb())
    assert read(author, several) == (16, [16, 4, 4], [])
    assert recount.run().wrong == 0


def test_the_api_asks_for_a_session(api: APIClient, post: Post) -> None:
    answer = api.put(f"/api/v1/posts/{post.pk}/vote", {"choices": [0]}, format="json")
    assert_error(answer, 401, "NOT_AUTHENTICATED")
