"""Liked flags of comments: sound whatever their counts do, cheap, and never old."""

from typing import Any

import pytest

from accounts import actions as accounts_actions
from interactions import actions, cache, queries
from interactions.models import Comment, Counted, Like, Subject, SubjectType
from interactions.queries import Sort
from interactions.queries.likes import LikedComments
from interactions.tests.likes.likes_storm import Storm
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.cache import reads

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(author, make_post) -> int:
    return make_post(author).pk


@pytest.fixture
def comments(author, post) -> list[int]:
    return [actions.comment(author, post, str(number)).pk for number in range(6)]


def liked(viewer: Any, post: int, sort: Sort = "hot") -> set[int]:
    page = queries.comments(viewer, post, None, 20, sort)
    return {int(card["id"]) for card in page.items if card["liked"]}


def set_likes(comment: int, number: int) -> None:
    """Let a comment have so many likes by people who are of no interest here."""
    kept = Like.objects.filter(subj_type=COMMENT, subj_id=comment).count()
    actions.counts.change_count(Counted.LIKE, COMMENT, comment, number - kept)
    actions.fold_counts(COMMENT, comment)


def stored(reader: Any, post: int) -> dict[str, int]:
    thread = Subject.objects.get(subj_id=post).pk
    key = cache._liked(reader.pk, thread)
    found: Any = redis.call(lambda connection: connection.hgetall(key))
    return {name.decode(): int(value) for name, value in found.items()}


def test_a_comment_liked_at_80_is_still_liked_when_it_has_more_likes_than_the_threshold(
    reader, post, comments, monkeypatch
) -> None:
    """The example of T53: 80 likes when the cache was cut off at 100, more than 100 later."""
    monkeypatch.setattr(cache, "LIKED_MAX", 2)
    low, high, higher, never = comments[:4]
    for comment, number in ((low, 80), (high, 100), (higher, 120), (never, 150)):
        if comment != never:
            actions.like(reader, COMMENT, comment)
        set_likes(comment, number)
    assert liked(reader, post) == {low, high, higher}
    found = stored(reader, post)
    assert (found.pop("threshold_like"), found.pop("threshold_id")) == (100, high)
    assert set(found) == {str(high), str(higher)}
    Comment.objects.filter(pk=low).update(like_count=180)  # the likes of others touch nothing here
    assert stored(reader, post)
    assert liked(reader, post) == {low, high, higher}
    Comment.objects.filter(pk=high).update(like_count=3)
    assert liked(reader, post, "new") == {low, high, higher}


@pytest.mark.parametrize(
    ("count", "queries_cold", "queries_warm"), [(0, 1, 0), (2, 1, 0), (3, 2, 1)]
)
def test_flags_cost_no_query_when_all_likes_of_the_thread_are_cached(
    reader,
    post,
    comments,
    monkeypatch,
    django_assert_num_queries,
    count,
    queries_cold,
    queries_warm,
) -> None:
    monkeypatch.setattr(cache, "LIKED_MAX", 2)
    for comment in comments[:count]:
        actions.like(reader, COMMENT, comment)
    thread = Subject.objects.get(subj_id=post).pk
    for expected in (queries_cold, queries_warm):
        asked = LikedComments(reader.pk, thread, comments)
        with django_assert_num_queries(expected):
            reads.run(asked)
            assert asked.value == set(comments[:count])


def test_a_page_of_comments_reads_people_and_likes_once(
    reader, post, comments, round_trips
) -> None:
    actions.like(reader, COMMENT, comments[0])
    liked(reader, post)
    for viewer in (reader, None):
        round_trips.clear()
        liked(viewer, post)
        assert len(round_trips) == 1


def test_likes_of_another_thread_or_person_are_not_mixed_in(
    author, reader, post, comments, make_post
) -> None:
    other = make_post(author).pk
    elsewhere = actions.comment(author, other, "elsewhere").pk
    actions.like(reader, COMMENT, elsewhere)
    actions.like(reader, COMMENT, comments[1])
    actions.like(author, COMMENT, comments[2])
    for _ in range(2):
        assert liked(reader, post) == {comments[1]}
        assert liked(reader, other) == {elsewhere}
        assert liked(author, post) == {comments[2]}
        assert liked(None, post) == set()
    assert queries.replies(reader, comments[1]).items == []


def test_any_history_shows_everybody_their_likes(make_user, make_post, monkeypatch) -> None:
    monkeypatch.setattr(cache, "LIKED_MAX", 2)
    monkeypatch.setattr(cache, "MINE_MAX", 2)
    people = [make_user() for _ in range(3)]
    posts = [make_post(people[0]).pk for _ in range(4)]
    found = Storm(people, posts, seed=11).run(200)
    assert found.wrong == []
    assert found.drift == []
    assert found.looks > 20
    assert found.between > 10


# --- who likes it -------------------------------------------------------------------------------
def names(client: Any, path: str, size: int) -> list[str]:
    found, cursor = [], ""
    while True:
        page = client.get(f"/api/v1/{path}?size={size}&cursor={cursor}").json()
        found += [person["username"] for person in page["items"]]
        if page["next"] is None:
            return found
        assert len(page["items"]) == size
        cursor = page["next"]


@pytest.mark.parametrize("kind", [POST, COMMENT])
def test_likers_are_listed_newest_first_without_those_one_may_not_see(
    api, api_for, author, reader, make_user, post, comments, kind
) -> None:
    people = [make_user() for _ in range(9)]
    ident = post if kind == POST else comments[0]
    path = f"posts/{post}/likes" if kind == POST else f"comments/{ident}/likes"
    for person in people:
        actions.like(person, kind, ident)
    actions.unlike(people[4], kind, ident)
    relations_actions.block(reader, people[7])
    relations_actions.block(people[6], reader)
    relations_actions.follow(reader, people[0])
    accounts_actions.ban(people[1])
    seen = [people[n].username for n in (8, 7, 6, 5, 3, 2, 0)]
    mine = api_for(reader)
    for size in (1, 2, 5, 20):
        assert names(api, path, size) == seen
        assert names(mine, path, size) == [seen[n] for n in (0, 3, 4, 5, 6)]
    last = mine.get(f"/api/v1/{path}").json()["items"][-1]
    assert last["relation"] == "FOLLOWING"
    bare: Any = {"id": str(post), "ref": None}
    shown: dict[int, Any] = {POST: queries.decorate(reader, [bare])[0]}
    shown[COMMENT] = queries.comment(reader, comments[0])
    assert shown[kind]["like_count"] == 8  # everybody's
    assert api.get(f"/api/v1/{path}?cursor=x").status_code == 400
    assert api.get("/api/v1/posts/5/likes").status_code == 404
    assert api.get("/api/v1/comments/5/likes").status_code == 404
    if kind == COMMENT:
        actions.delete_comment(author, ident)
    else:
        relations_actions.block(author, reader)
    assert mine.get(f"/api/v1/{path}").status_code == 404


def test_a_page_of_likers_costs_three_queries_and_one_round_trip(
    author, reader, make_user, post, round_trips, django_assert_num_queries
) -> None:
    for _ in range(6):
        actions.like(make_user(), POST, post)
    queries.likers(reader, POST, post, None, 5)
    round_trips.clear()
    with django_assert_num_queries(3):
        assert len(queries.likers(reader, POST, post, None, 5).items) == 5
    assert len(round_trips) == 1
