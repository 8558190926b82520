"""The cost of a warm home feed, through all of the middleware: two round trips, no query.

In a process that does not know the posts yet it takes three round trips.
"""

import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import jsonschema
import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions, queries
from feeds.cache.timeline import Run, Timeline, entry_of
from feeds.cards import prefetch
from feeds.views.home import FEW_FOLLOWS
from interactions import actions as interactions_actions
from interactions.models import SubjectType
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.ids import MIN_ID
from socialsite.core.models import Media
from socialsite.core.positions import NEWEST, Position

pytestmark = [pytest.mark.django_db, pytest.mark.full, pytest.mark.embedded]

Make = Callable[..., Any]
FEED = "/api/v1/feed"
RUN = Run([entry_of(NEWEST)], ends=True, generation=0)


@pytest.fixture
def pushed(settings: LazySettings) -> LazySettings:
    settings.PUSH_ALL_MAX = 100
    return settings


@pytest.fixture
def me(make_user: Make, drain: Make, pushed: LazySettings) -> User:
    """A person whose feed has all that costs work: pulled and pushed posts, likes, blocks."""
    me, pushing, pulled, blocked, banned = (make_user() for _ in range(5))
    for author in (pushing, pulled, blocked, banned):
        relations_actions.follow(me, author)
        relations_actions.follow(make_user(), author)
    drain()
    picture = Media.objects.create(
        owner_id=me.pk, name="aa/a.jpg", thumb_name="aa/b.jpg", width=4, height=3, size=1
    )
    posts = [actions.publish(me, content="mine", images=[picture.pk])]
    for number in range(12):
        pushed.PUSH_ALL_MAX = pushed.PUSH_ACTIVE_MAX = 100
        posts.append(actions.publish(pushing, content=f"pushed {number}"))
        actions.publish(blocked, content="never seen")
        pushed.PUSH_ALL_MAX = pushed.PUSH_ACTIVE_MAX = 0
        posts.append(actions.publish(pulled, content=f"pulled {number}"))
        actions.publish(banned, content="nor this")
    drain()
    relations_actions.block(blocked, me)
    accounts_actions.ban(banned)
    for post in posts[::3]:
        interactions_actions.like(me, SubjectType.POST, post.pk)
        interactions_actions.comment(pushing, post.pk, "hm")
    drain()
    return me


@pytest.fixture
def mine(me: User, api_for: Make) -> APIClient:
    client = api_for(me)
    redis.call(lambda connection: connection.flushdb())  # including the fence of the session
    return client


@pytest.fixture
def browser(me: User) -> Client:
    client = Client()
    client.cookies["access"], client.cookies["refresh"] = accounts_actions.sign_in(me, "chrome")
    redis.call(lambda connection: connection.flushdb())
    return client


@pytest.mark.parametrize("size", [1, 20])
def test_a_warm_page_of_the_api_costs_at_most_three_round_trips_and_no_query(
    mine: APIClient, round_trips: list[int], django_assert_num_queries: Make, size: int
) -> None:
    first = mine.get(FEED, {"size": size})
    assert len(first.json()["items"]) == size
    prefetch.clear()
    for again in range(3):
        round_trips.clear()
        with django_assert_num_queries(0):
            answer = mine.get(FEED, {"size": size})
        assert answer.content == first.content, again
        assert len(round_trips) == (2 if again else 3)
    if size == 20:
        items = answer.json()["items"]
        assert {item["liked"] for item in items} == {True, False}
        assert {item["comment_count"] for item in items} == {0, 1}
        assert len({item["author"]["id"] for item in items}) == 2


def test_a_warm_further_page_costs_no_more(
    mine: APIClient, round_trips: list[int], django_assert_num_queries: Make
) -> None:
    cursor = mine.get(FEED, {"size": 5}).json()["next"]
    first = mine.get(FEED, {"size": 5, "cursor": cursor})
    prefetch.clear()
    for most in (3, 3, 2):
        round_trips.clear()
        with django_assert_num_queries(0):
            assert mine.get(FEED, {"size": 5, "cursor": cursor}).content == first.content
        assert len(round_trips) <= most
        mine.get(FEED, {"size": 5})


def test_a_cold_page_costs_a_bounded_number_of_queries_and_round_trips(
    mine: APIClient, me: User, round_trips: list[int]
) -> None:
    # The first request also writes the read mark and the time last seen.
    for most_queries, most_trips in ((10, 11), (8, 7)):
        redis.call(lambda connection: connection.flushdb())
        round_trips.clear()
        with CaptureQueriesContext(connection) as queries:
            assert len(mine.get(FEED, {"size": 20}).json()["items"]) == 20
        assert len(queries) <= most_queries
        assert len(round_trips) <= most_trips


def test_without_redis_a_page_costs_few_queries_and_reads_no_more_than_it_needs(
    mine: APIClient, dead_redis: Make
) -> None:
    expected = mine.get(FEED, {"size": 5}).content
    with dead_redis():
        for _ in range(2):
            with CaptureQueriesContext(connection) as captured:
                assert mine.get(FEED, {"size": 5}).content == expected
    # Session; reader, open fan-outs and inbox; pulled posts; posts, people, counts; the mark.
    assert len(captured) == 7
    parts = parts_of(captured)
    assert any("feeds_inboxentry" in part for part in parts)
    limits = [re.findall(r"LIMIT (\d+)", part) for part in parts if "feeds_fanout" not in part]
    assert max(int(limit) for found in limits for limit in found) <= 20


def parts_of(captured: CaptureQueriesContext) -> list[str]:
    return [part for query in captured for part in query["sql"].split("UNION ALL")]


def test_a_list_leased_by_another_reader_is_read_no_further_than_needed(mine: APIClient) -> None:
    expected = mine.get(FEED, {"size": 5}).content
    redis.call(lambda connection: connection.flushdb())
    with (
        mock.patch.object(Timeline, "leased", return_value=[]),
        CaptureQueriesContext(connection) as captured,
    ):
        assert mine.get(FEED, {"size": 5}).content == expected
    for table in ("feeds_inboxentry", "ix_outbox"):
        parts = [part for part in parts_of(captured) if table in part]
        assert parts, table
        assert "LIMIT 401" not in "".join(parts)


def test_a_warm_home_page_costs_no_query(
    browser: Client,
    me: User,
    make_user: Make,
    round_trips: list[int],
    django_assert_num_queries: Make,
) -> None:
    for _ in range(FEW_FOLLOWS):
        relations_actions.follow(me, make_user())
    first = browser.get("/")
    assert first.content.count(b'data-testid="post"') == 20
    assert me.username.encode() in first.content
    round_trips.clear()
    with django_assert_num_queries(0):
        again = browser.get("/")
    assert again.content.count(b'data-testid="post"') == 20
    assert len(round_trips) == 2  # the sign-in is checked in the first of them


def test_a_home_page_with_suggestions_costs_queries_for_these_only(
    browser: Client, me: User, make_user: Make, django_assert_max_num_queries: Make
) -> None:
    friend, other = make_user(), make_user(username="suggested1")
    relations_actions.follow(me, friend)
    relations_actions.follow(friend, other)
    browser.get("/")
    with django_assert_max_num_queries(14):
        again = browser.get("/")
    assert b"@suggested1" in again.content


def test_a_home_page_with_a_dead_token_shows_nothing_of_its_person(
    browser: Client, me: User, settings: LazySettings
) -> None:
    assert browser.get("/").content.count(b'data-testid="post"') == 20
    accounts_actions.force_offline(me)
    again = browser.get("/")
    assert me.username.encode() not in again.content
    assert b"data-me" not in again.content


def test_the_response_matches_the_document(mine: APIClient, rf: Any) -> None:
    document = SchemaGenerator().get_schema(request=None, public=True)
    responses = document["paths"]["/api/v1/feed"]["get"]["responses"]
    for path, status in ((FEED, "200"), (f"{FEED}?size=x", "400")):
        schema = responses[status]["content"]["application/json"]["schema"]
        answer = mine.get(path)
        assert str(answer.status_code) == status
        assert answer.headers["Content-Type"] == "application/json"
        named = {"components": document["components"]}
        strict = jsonschema.Draft202012Validator({**schema, **named})
        strict.validate(answer.json())
        with pytest.raises(jsonschema.ValidationError):
            strict.validate({})


def test_a_reader_without_access_gets_the_usual_error(
    api: APIClient, me: User, api_for: Make
) -> None:
    other = "/api/v1/feed/new-count"
    banned = api_for(me)
    accounts_actions.ban(me)
    wrong = APIClient()
    wrong.credentials(HTTP_AUTHORIZATION="Bearer x")
    for client in (api, banned, wrong):
        here, there = client.get(FEED), client.get(other)
        assert here.status_code == there.status_code == 401
        assert here.json() == there.json()
        assert here.headers["WWW-Authenticate"] == there.headers["WWW-Authenticate"]


def test_other_methods_are_refused_as_everywhere(mine: APIClient, api: APIClient) -> None:
    for client, status in ((mine, 405), (api, 401)):
        here, there = client.delete(FEED), client.delete("/api/v1/feed/new-count")
        assert here.status_code == there.status_code == status
        assert here.json() == there.json()
    assert mine.head(FEED).status_code == 200


def test_a_wrong_guess_costs_a_round_trip_and_no_post(
    mine: APIClient, me: User, make_user: Make, round_trips: list[int], drain: Make
) -> None:
    mine.get(FEED)
    stranger = make_user()
    for post_id in list(prefetch._writers):
        prefetch.record_author(post_id, stranger.pk)
    for author in list(prefetch._newest):
        prefetch.record_newest(author, RUN)
    expected = [card["id"] for card in queries.oracle_feed(me, None, 10).items]
    assert [item["id"] for item in mine.get(FEED).json()["items"]] == expected


def test_a_process_drops_guesses_before_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "POSTS_MAX", 2)
    monkeypatch.setattr(prefetch, "AUTHORS_MAX", 2)
    for number in range(1, 6):
        prefetch.record_author(number, number)
        prefetch.record_newest(number, RUN)
    assert prefetch.writers(range(9)) == {5}
    assert [bool(prefetch.newest(number, 0, 9)) for number in range(6)] == [False] * 5 + [True]


def test_no_more_posts_of_an_author_are_cached_than_a_page_reads() -> None:
    entries = [entry_of(Position(number, MIN_ID + number)) for number in range(401, 0, -1)]
    prefetch.record_newest(1, Run(entries, ends=False, generation=0))
    known = prefetch.newest(1, 0, 401)
    assert [place.ts_ms for place in known] == list(range(401, 401 - prefetch.NEWEST_MAX, -1))
    prefetch.clear()
