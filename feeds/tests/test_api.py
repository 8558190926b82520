"""The API of feeds: posts, the home feed, the new count, recommended, one author's posts."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import Role, User
from feeds import actions
from feeds.api.serializers import (
    AuthorSerializer,
    ImageSerializer,
    NewCountSerializer,
    PostPageSerializer,
    PostSerializer,
)
from feeds.models import InboxState, Post, RecommendedAuthor
from feeds.tests.pictures import make_picture
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.requests.idempotency import REPLAYED
from socialsite.tests.support.answers import V1, assert_error, ids, walk

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


def names(posts: list[Post]) -> list[str]:
    """Return the ids in the API's form, the last post first."""
    return [str(post.pk) for post in posts[::-1]]


# --- shapes -------------------------------------------------------------------------------------
def test_answers_have_just_the_fields_that_the_document_promises(mine: APIClient, me: User) -> None:
    picture = make_picture(me)
    made = mine.post(
        V1 + "posts", {"content": "x", "images": [str(picture.pk)]}, format="json"
    ).json()
    page = mine.get(V1 + "feed").json()
    assert set(page) == set(PostPageSerializer().fields)
    one = mine.get(f"{V1}posts/{made['id']}").json()
    assert made == one == page["items"][0]
    assert set(one) == set(PostSerializer().fields)
    assert set(one["author"]) == set(AuthorSerializer().fields)
    assert set(one["images"][0]) == set(ImageSerializer().fields)
    assert set(mine.get(V1 + "feed/new-count").json()) == set(NewCountSerializer().fields)
    kinds = {name: type(value) for name, value in one.items()}
    assert kinds == {
        **dict.fromkeys(("id", "kind", "title", "note", "content", "video_url"), str),
        "visibility": str,
        "sensitive": bool,
        **dict.fromkeys(("like_count", "comment_count", "repost_count", "bookmark_count"), int),
        "created_at": str,
        "version": int,
        "edited_at": type(None),
        "author": dict,
        "images": list,
        "tags": list,
        "liked": bool,
        "bookmarked": bool,
        "reposted": bool,
        "poll": type(None),
        "link": type(None),
        "video": type(None),
        "ref": type(None),
        "ref_gone": bool,
        "repeats": bool,
    }


# --- POST posts ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "body",
    [
        {"content": "hello"},
        {"kind": "micro", "content": "hello", "visibility": "followers"},
        {"kind": "article", "title": "A title", "content": "x" * 50_000},
        {"kind": "video", "title": "A film", "content": "see", "video_url": "https://v.example/1"},
    ],
)
def test_each_kind_is_published_and_answered_whole(
    mine: APIClient, me: User, body: dict[str, str]
) -> None:
    answer = mine.post(V1 + "posts", body, format="json")
    assert answer.status_code == 201
    found = answer.json()
    assert {name: found[name] for name in body} == body
    assert found["kind"] == body.get("kind", "micro")
    assert found["author"]["id"] == str(me.pk)
    assert (found["like_count"], found["comment_count"], found["liked"]) == (0, 0, False)
    assert ids(mine.get(V1 + "feed")) == [found["id"]]
    assert mine.get(V1 + "posts/" + found["id"]).json() == found


def test_a_published_picture_is_answered_as_it_is_read(mine: APIClient, me: User) -> None:
    body = {"content": "see", "images": [str(make_picture(me).pk)]}
    found = mine.post(V1 + "posts", body, format="json").json()
    assert found["images"]
    assert mine.get(V1 + "posts/" + found["id"]).json() == found


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["content"]),
        ({"content": "x" * 2001}, ["content"]),
        ({"kind": "article", "title": "t", "content": "x" * 50_001}, ["content"]),
        ({"kind": "article", "content": "x", "title": "t" * 121}, ["title"]),
        ({"kind": "video", "video_url": "http://v.example/"}, ["video_url"]),
        ({"kind": "poll", "content": "x"}, ["kind"]),
        ({"kind": "repost", "content": "x"}, ["kind"]),
        ({"content": "x", "visibility": "all"}, ["visibility"]),
        ({"content": "x", "images": list(range(10))}, ["images"]),
        ({"content": "x", "images": ["x"]}, ["images"]),
        ({"content": "x", "images": [2**63]}, ["images"]),
        ({"content": "x", "images": [17]}, ["images"]),
        ({"content": "x", "images": 17}, ["images"]),
        ({"content": ["x"]}, ["content"]),
        ({"content": None}, ["content"]),
    ],
)
def test_errors_name_their_field(mine: APIClient, body: dict[str, Any], fields: list[str]) -> None:
    answer = mine.post(V1 + "posts", body, format="json")
    assert_error(answer, 400, "INVALID_INPUT", *fields)
    assert not Post.objects.exists()


@pytest.mark.parametrize("body", ["[]", '"x"', "5", "null", "{", ""])
def test_a_body_that_is_no_object_is_refused(mine: APIClient, body: str) -> None:
    answer = mine.post(V1 + "posts", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, 13)


def test_the_time_of_a_post_is_not_the_senders_to_choose(mine: APIClient, me: User) -> None:
    answer = mine.post(V1 + "posts", {"content": "x", "at_ms": 5, "author": 7}, format="json")
    post = Post.objects.get(pk=answer.json()["id"])
    assert post.author_id == me.pk
    assert post.position > 10**12


def test_a_repeated_key_gets_the_first_answer_and_publishes_once(mine: APIClient) -> None:
    key = {"Idempotency-Key": "k1"}
    first = mine.post(V1 + "posts", {"content": "once"}, format="json", headers=key)
    again = mine.post(V1 + "posts", {"content": "once"}, format="json", headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")
    other = mine.post(V1 + "posts", {"content": "other"}, format="json", headers=key)
    assert_error(other, 409, "IDEMPOTENCY_CONFLICT")
    assert Post.objects.count() == 1


def test_a_key_belongs_to_one_person_and_a_refusal_does_not_use_it_up(
    mine: APIClient, author: User, api_for: Make
) -> None:
    key = {"Idempotency-Key": "k1"}
    assert mine.post(V1 + "posts", {}, format="json", headers=key).status_code == 400
    body = {"content": "x"}
    found = [
        client.post(V1 + "posts", body, format="json", headers=key)
        for client in (mine, api_for(author))
    ]
    assert [answer.status_code for answer in found] == [201, 201]
    assert found[0].json()["id"] != found[1].json()["id"]


# --- permissions --------------------------------------------------------------------------------
def test_guests_read_only_public_content(api: APIClient, author: User) -> None:
    post = actions.publish(author, content="x")
    for path in (f"posts/{post.pk}", "feed/recommended", f"users/{author.pk}/posts"):
        assert api.get(V1 + path).status_code == 200
    for path in ("feed", "feed/new-count"):
        assert_error(api.get(V1 + path), 401, "NOT_AUTHENTICATED")
    assert_error(api.post(V1 + "posts", {"content": "x"}, format="json"), 401, "NOT_AUTHENTICATED")
    assert_error(api.delete(f"{V1}posts/{post.pk}"), 401, "NOT_AUTHENTICATED")
    assert Post.objects.filter(is_deleted=False).count() == 1


@pytest.mark.parametrize("ident", ["x", "-1", "1.0", "９", "9" * 19, "9" * 40])
def test_an_invalid_id_is_an_error_and_not_a_crash(mine: APIClient, ident: str) -> None:
    for answer in (
        mine.get(f"{V1}posts/{ident}"),
        mine.delete(f"{V1}posts/{ident}"),
        mine.get(f"{V1}users/{ident}/posts"),
    ):
        assert_error(answer, 400, "INVALID_INPUT", "id")


# --- GET, DELETE posts/{id} ---------------------------------------------------------------------
def test_one_post_is_found_by_its_permitted_readers(
    api: APIClient, mine: APIClient, me: User, author: User, api_for: Make
) -> None:
    public = actions.publish(author, content="x")
    private = actions.publish(author, content="x", visibility="followers")
    theirs = api_for(author)

    def seen(client: APIClient) -> list[int]:
        return [client.get(f"{V1}posts/{post.pk}").status_code for post in (public, private)]

    assert (seen(api), seen(mine), seen(theirs)) == ([200, 404], [200, 404], [200, 200])
    relations_actions.follow(me, author)
    assert seen(mine) == [200, 200]
    relations_actions.block(author, me)
    assert (seen(mine), seen(api)) == ([404, 404], [200, 404])
    relations_actions.unblock(author, me)
    relations_actions.block(me, author)
    assert (seen(mine), seen(theirs)) == ([404, 404], [200, 200])
    accounts_actions.ban(author)
    assert seen(api) == [404, 404]
    nothing = mine.get(f"{V1}posts/{10**18}")
    hidden = mine.get(f"{V1}posts/{public.pk}")
    assert nothing.json() == hidden.json()


def test_a_person_deletes_their_own_post_and_nobody_elses(
    mine: APIClient, me: User, author: User
) -> None:
    own, other = actions.publish(me, content="x"), actions.publish(author, content="x")
    answer = mine.delete(f"{V1}posts/{own.pk}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert mine.get(f"{V1}posts/{own.pk}").status_code == 404
    assert mine.delete(f"{V1}posts/{own.pk}").status_code == 204
    assert_error(mine.delete(f"{V1}posts/{other.pk}"), 403, "FORBIDDEN")
    assert_error(mine.delete(f"{V1}posts/{10**18}"), 404, "NOT_FOUND")
    assert mine.get(f"{V1}posts/{other.pk}").status_code == 200


def test_staff_delete_content_of_others(me: User, author: User, api_for: Make) -> None:
    posts = [actions.publish(author, content="x", visibility=v) for v in ("public", "followers")]
    accounts_actions.promote(me, Role.MEMBER | Role.MODERATOR)
    client = api_for(User.objects.get(pk=me.pk))
    for post in posts:
        assert client.delete(f"{V1}posts/{post.pk}").status_code == 204
    assert not Post.objects.filter(is_removed=False).exists()


# --- GET feed -----------------------------------------------------------------------------------
def test_the_feed_is_paged_by_size_and_cursor(
    mine: APIClient, me: User, author: User, make_post: Make
) -> None:
    relations_actions.follow(me, author)
    posts = [make_post(author if number % 3 else me) for number in range(23)]
    expected = names(posts)
    assert walk(mine, "feed") == [expected[:10], expected[10:20], expected[20:]]
    assert walk(mine, "feed", size=20) == [expected[:20], expected[20:]]
    assert walk(mine, "feed", size=1) == [[ident] for ident in expected]
    assert ids(mine.get(V1 + "feed", {"size": "", "cursor": ""})) == expected[:10]


def test_a_cursor_is_stable_while_posts_come_and_go(
    mine: APIClient, me: User, author: User, make_post: Make
) -> None:
    relations_actions.follow(me, author)
    posts = [make_post(author) for _ in range(6)]
    first = mine.get(V1 + "feed", {"size": 2})
    assert ids(first) == names(posts[4:])
    make_post(author)
    actions.delete(author, posts[4].pk)  # the post of the cursor
    actions.delete(author, posts[3].pk)
    rest = mine.get(V1 + "feed", {"cursor": first.json()["next"]})
    assert (ids(rest), rest.json()["next"]) == (names(posts[:3]), None)


def test_max_time_returns_older_items(mine: APIClient, me: User) -> None:
    posts = [actions.publish(me, content="x", at_ms=10**12 + n) for n in range(4)]
    assert ids(mine.get(V1 + "feed", {"max_time": 10**12 + 2})) == names(posts[:2])
    assert ids(mine.get(V1 + "feed", {"max_time": 10**12})) == []
    assert ids(mine.get(V1 + "feed", {"max_time": 2**53 - 1})) == names(posts)
    cursor = mine.get(V1 + "feed", {"size": 1}).json()["next"]
    answer = mine.get(V1 + "feed", {"cursor": cursor, "max_time": 1})
    assert ids(answer) == names(posts[:3])


@pytest.mark.parametrize("path", ["feed", "feed/recommended", "users/{me}/posts"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", "0"),
        ("size", "21"),
        ("size", "-1"),
        ("size", "x"),
        ("size", "9" * 30),
        ("cursor", "x"),
        ("cursor", "AQ"),
        ("cursor", "é"),
        ("cursor", "A" * 500),
        ("max_time", "-1"),
        ("max_time", "now"),
        ("max_time", str(2**53)),
    ],
)
def test_paging_refuses_invalid_parameters(
    mine: APIClient, me: User, path: str, field: str, value: str
) -> None:
    answer = mine.get(V1 + path.format(me=me.pk), {field: value})
    assert_error(answer, 400, "INVALID_INPUT", field)


def test_an_empty_feed_is_empty_without_recommendations(
    mine: APIClient, author: User, make_post: Make
) -> None:
    make_post(author)
    assert mine.get(V1 + "feed").json() == {"items": [], "next": None}


# --- GET feed/new-count -------------------------------------------------------------------------
def test_only_reading_the_first_page_resets_the_count(
    mine: APIClient, me: User, author: User, make_post: Make
) -> None:
    def count() -> Any:
        return mine.get(V1 + "feed/new-count").json()

    relations_actions.follow(me, author)
    assert count() == {"count": 0, "more": False}
    posts = [make_post(author) for _ in range(3)]
    make_post(me)
    assert count() == count() == {"count": 3, "more": False}
    mine.get(V1 + "feed", {"max_time": posts[-1].position + 60_000})
    mine.get(V1 + "feed/recommended")
    mine.get(f"{V1}users/{author.pk}/posts")
    assert count()["count"] == 3
    first = mine.get(V1 + "feed", {"size": 1}).json()
    assert count()["count"] == 0
    make_post(author)
    assert count()["count"] == 1
    mine.get(V1 + "feed", {"cursor": first["next"]})
    assert count()["count"] == 1
    mine.get(V1 + "feed")
    assert count()["count"] == 0


# --- GET feed/recommended -----------------------------------------------------------------------
def test_recommended_is_of_everybody_until_somebody_is_picked(
    api: APIClient, mine: APIClient, me: User, author: User, make_user: Make, make_post: Make
) -> None:
    picked = make_user()
    posts = [make_post(person) for person in (author, picked, me, picked)]
    make_post(picked, visibility="followers")
    for client in (api, mine):
        assert walk(client, "feed/recommended", size=3) == [names(posts)[:3], names(posts)[3:]]
    RecommendedAuthor.objects.create(author=picked)
    for client in (api, mine):
        assert ids(client.get(V1 + "feed/recommended")) == names([posts[1], posts[3]])
    relations_actions.block(picked, me)
    assert ids(mine.get(V1 + "feed/recommended")) == []
    assert len(ids(api.get(V1 + "feed/recommended"))) == 2
    assert not InboxState.objects.filter(read_ts__gt=0).exists()


# --- GET users/{id}/posts -----------------------------------------------------------------------
def test_posts_of_one_person_are_theirs_alone_in_order(
    api: APIClient, mine: APIClient, me: User, author: User, make_post: Make
) -> None:
    path = f"users/{author.pk}/posts"
    posts = [make_post(author) for _ in range(5)]
    make_post(me)
    private = make_post(author, visibility="followers")
    actions.delete(author, posts.pop(1).pk)
    assert walk(api, path, size=3) == [names(posts)[:3], names(posts)[3:]]
    assert ids(mine.get(V1 + path)) == names(posts)
    relations_actions.follow(me, author)
    assert ids(mine.get(V1 + path)) == names([*posts, private])


def test_posts_of_a_person_behind_a_block_are_not_found_as_if_there_were_none(
    api: APIClient, mine: APIClient, me: User, author: User, make_post: Make
) -> None:
    make_post(author)
    path = f"{V1}users/{author.pk}/posts"
    nobody = mine.get(f"{V1}users/{10**18}/posts")
    assert_error(nobody, 404, "USER_NOT_FOUND")
    for one, other in ((me, author), (author, me)):
        relations_actions.block(one, other)
        answer = mine.get(path)
        assert (answer.status_code, answer.json()) == (404, nobody.json())
        assert api.get(path).status_code == 200
        relations_actions.unblock(one, other)
    assert mine.get(path).status_code == 200
    accounts_actions.ban(author)
    assert mine.get(path).json() == api.get(path).json() == nobody.json()


# --- cost ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["feed", "feed/recommended", "users/{star}/posts"])
def test_twenty_posts_cost_as_many_queries_as_five(
    mine: APIClient, me: User, make_user: Make, make_post: Make, drain: Make, path: str
) -> None:
    authors = [make_user() for _ in range(5)]
    for author in authors:
        relations_actions.follow(me, author)
    for number in range(25):
        author = authors[0 if "star" in path else number % 5]
        make_post(author, images=[make_picture(author, str(number)).pk] if number % 2 else [])
    drain()
    address = V1 + path.format(star=authors[0].pk)
    mine.get(address)  # settles the occasional writes: read mark, time last seen

    def cost(size: int) -> int:
        redis.call(lambda connection: connection.flushdb())
        with CaptureQueriesContext(connection) as captured:
            assert len(ids(mine.get(address, {"size": size}))) == size
        return len(captured)

    assert cost(5) == cost(20) <= 26
