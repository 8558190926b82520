"""Edits of posts: versions, limits, the audience, pictures, the place in feeds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from accounts import actions as accounts_actions
from accounts.models import Role, User
from feeds import actions, cache, queries
from feeds.discovery import public_posts
from feeds.events import PostEdited
from feeds.models import InboxEntry, Post, PostImage, PostVersion
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.errors import Forbidden, InvalidInput, NotFound, StaleVersion
from socialsite.core.media import stored_files
from socialsite.core.models import Event, Media
from socialsite.core.positions import Position
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
POSTS = "/api/v1/posts"


@pytest.fixture
def make_picture(me: User, settings: LazySettings, tmp_path: Path) -> Make:
    """Return a function that stores a picture of mine, without decoding one."""
    settings.MEDIA_ROOT = tmp_path

    def make(name: str, alt: str = "") -> Media:
        for suffix in ("", "-s"):
            stored_files.write(f"{name * 2}/{name * 32}{suffix}.jpg", b"x")
        return Media.objects.create(
            owner_id=me.pk,
            name=f"{name * 2}/{name * 32}.jpg",
            thumb_name=f"{name * 2}/{name * 32}-s.jpg",
            width=4,
            height=3,
            size=1,
            alt=alt,
        )

    return make


def card_of(viewer: Any, post: Post) -> Any:
    return queries.post(viewer, post.pk)


# --- words and versions -------------------------------------------------------------------------
def test_an_edit_changes_the_words_and_the_version_for_every_reader_at_once(
    me: User, make_user: Make, make_post: Make, clock: Any
) -> None:
    reader = make_user()
    relations_actions.follow(reader, me)
    post = make_post(me, "first")
    before = queries.home_feed(reader, None, 5).items
    assert (before[0]["version"], before[0]["edited_at"]) == (1, None)
    clock.now += 60_000
    actions.edit(me, post.pk, 1, content="second")
    for page in (queries.home_feed(reader, None, 5), queries.profile_posts(None, me.pk, None, 5)):
        card = page.items[0]
        assert (card["content"], card["version"]) == ("second", 2)
        assert str(card["edited_at"]) > card["created_at"] == before[0]["created_at"]


def test_an_edit_of_another_version_changes_nothing(me: User, make_post: Make) -> None:
    post = make_post(me, "first")
    actions.edit(me, post.pk, 1, content="second")
    for version in (1, 3):
        with pytest.raises(StaleVersion):
            actions.edit(me, post.pk, version, content="third")
    assert card_of(me, post)["content"] == "second"


def test_an_edit_that_changes_nothing_keeps_the_version(me: User, make_post: Make) -> None:
    post = make_post(me, "same")
    actions.edit(me, post.pk, 1, content=" same\n", visibility="public")
    card = card_of(me, post)
    assert (card["version"], card["edited_at"]) == (1, None)
    assert not Event.objects.filter(type="PostEdited").exists()
    assert not PostVersion.objects.exists()


def test_only_the_author_edits_and_others_learn_no_more_than_they_see(
    me: User, make_user: Make, make_post: Make
) -> None:
    post, private = make_post(me), make_post(me, visibility="followers")
    stranger, staff = make_user(), make_user()
    accounts_actions.promote(staff, Role.MEMBER | Role.ADMIN)
    for other in (stranger, staff):
        with pytest.raises(Forbidden):
            actions.edit(other, post.pk, 1, content="mine now")
        with pytest.raises(NotFound):
            actions.edit(other, private.pk, 1, content="mine now")
    actions.delete(me, post.pk)
    with pytest.raises(NotFound):
        actions.edit(me, post.pk, 1, content="back again")


def test_the_limits_of_new_posts_apply(me: User, make_post: Make) -> None:
    micro = make_post(me)
    article = make_post(me, "text", kind="article", title="title")
    for post, values, field in (
        (micro, {"content": ""}, "content"),
        (micro, {"content": "x" * 2001}, "content"),
        (micro, {"visibility": "nobody"}, "visibility"),
        (article, {"title": ""}, "title"),
        (article, {"title": "x" * 121}, "title"),
        (article, {"content": "x" * 50_001}, "content"),
        (micro, {"images": [1]}, "images"),
        (micro, {"alts": {1: "x"}}, "alts"),
    ):
        with pytest.raises(InvalidInput) as caught:
            actions.edit(me, post.pk, 1, **values)
        assert list(caught.value.fields or {}) == [field]
    assert not PostVersion.objects.exists()


def test_the_words_of_a_quote_may_be_edited_but_not_a_repost_without_words(
    me: User, make_user: Make, make_post: Make
) -> None:
    source = make_post(make_user())
    plain, _ = actions.repost(me, source.pk)
    quote, _ = actions.repost(me, source.pk, "look")
    with pytest.raises(Forbidden):
        actions.edit(me, plain.pk, 1, content="look")
    for values in ({"content": ""}, {"title": "t"}, {"images": [1]}):
        with pytest.raises(InvalidInput):
            actions.edit(me, quote.pk, 1, **values)
    actions.edit(me, quote.pk, 1, content="look here")
    card = card_of(me, quote)
    assert (card["content"], card["version"], card["ref"]["id"]) == (
        "look here",
        2,
        str(source.pk),
    )


# --- the place ----------------------------------------------------------------------------------
def test_the_place_of_an_edited_post_stays(
    me: User, make_user: Make, make_post: Make, drain: Make
) -> None:
    reader = make_user()
    relations_actions.follow(reader, me)
    posts = [make_post(me, str(number)) for number in range(4)]
    drain()
    first = queries.home_feed(reader, None, 2)
    rows = list(InboxEntry.objects.values_list())
    for post in posts:
        actions.edit(me, post.pk, 1, content="edited")
    drain()
    assert list(InboxEntry.objects.values_list()) == rows
    assert queries.new_count(reader) == (4, False)
    rest = queries.home_feed(reader, Position.decode(first.next or ""), 2)
    found = [card["id"] for card in (*first.items, *rest.items)]
    assert found == [str(post.pk) for post in reversed(posts)]
    assert {card["content"] for card in rest.items} == {"edited"}


# --- the audience -------------------------------------------------------------------------------
def test_the_audience_becomes_narrower_at_once_and_never_wider(
    me: User, make_user: Make, make_post: Make
) -> None:
    follower, stranger = make_user(), make_user()
    relations_actions.follow(follower, me)
    post = make_post(me, "for all")
    quote, _ = actions.repost(follower, post.pk, "look")
    for reader in (follower, stranger, None):
        assert card_of(reader, post)
        assert card_of(reader, quote)["ref"]
    actions.edit(me, post.pk, 1, visibility="followers")
    assert card_of(follower, post)["version"] == 2
    assert card_of(follower, quote)["ref"]
    for reader in (stranger, None):
        with pytest.raises(NotFound):
            card_of(reader, post)
        assert (card_of(reader, quote)["ref"], card_of(reader, quote)["ref_gone"]) == (None, True)
        assert queries.profile_posts(reader, me.pk, None, 5).items == []
        shown = public_posts.recommended(reader, None, 5).items
        assert [card["id"] for card in shown] == [str(quote.pk)]
    with pytest.raises(InvalidInput) as caught:
        actions.edit(me, post.pk, 2, visibility="public")
    assert list(caught.value.fields or {}) == ["visibility"]


def test_a_repost_of_a_post_that_was_narrowed_meanwhile_is_refused(
    me: User, make_user: Make, make_post: Make
) -> None:
    follower = make_user()
    relations_actions.follow(follower, me)
    post = make_post(me)
    actions.edit(me, post.pk, 1, visibility="followers")
    with pytest.raises(Forbidden):
        actions.repost(follower, post.pk)
    own, _ = actions.repost(me, post.pk)
    assert own.visibility == "followers"


# --- pictures -----------------------------------------------------------------------------------
def test_pictures_are_removed_added_described_and_put_in_order(
    me: User, make_post: Make, make_picture: Make, drain: Make
) -> None:
    one, two, three = make_picture("a", "one"), make_picture("b", "two"), make_picture("c", "three")
    post = make_post(me, images=[one.pk, two.pk])
    drain()
    actions.edit(me, post.pk, 1, images=[three.pk, one.pk], alts={one.pk: " better\nwords"})
    images = card_of(me, post)["images"]
    assert [(image["id"], image["alt"]) for image in images] == [
        (str(three.pk), "three"),
        (str(one.pk), "better words"),
    ]
    drain()
    assert set(Media.objects.values_list("pk", flat=True)) == {one.pk, three.pk}
    shown = PostImage.objects.filter(post=post).values_list("media_id", flat=True)
    assert set(shown) == {one.pk, three.pk}
    assert not stored_files.path_of(two.name).exists()
    assert stored_files.is_public(three.name)


def test_a_removed_picture_that_another_post_shows_stays(
    me: User, make_post: Make, make_picture: Make, drain: Make
) -> None:
    picture = make_picture("a")
    one, two = (make_post(me, images=[picture.pk]) for _ in range(2))
    actions.edit(me, one.pk, 1, images=[])
    drain()
    assert stored_files.is_public(picture.name)
    actions.edit(me, two.pk, 1, visibility="followers")
    assert not stored_files.is_public(picture.name)


def test_pictures_of_a_narrowed_post_lose_their_public_links_with_the_edit(
    me: User, make_post: Make, make_picture: Make, drain: Make
) -> None:
    picture = make_picture("a")
    post = make_post(me, images=[picture.pk])
    drain()
    assert stored_files.is_public(picture.name)
    actions.edit(me, post.pk, 1, visibility="followers")
    assert not stored_files.is_public(picture.name)
    assert not stored_files.is_public(picture.thumb_name)


def test_a_post_needs_words_or_a_picture(me: User, make_post: Make, make_picture: Make) -> None:
    post = make_post(me, "", images=[make_picture("a").pk])
    with pytest.raises(InvalidInput):
        actions.edit(me, post.pk, 1, images=[])
    actions.edit(me, post.pk, 1, images=[], content="words")


# --- history ------------------------------------------------------------------------------------
def test_the_history_has_every_version_page_by_page(
    me: User, make_user: Make, make_post: Make
) -> None:
    post = make_post(me, "1")
    for number in range(1, 5):
        actions.edit(me, post.pk, number, content=str(number + 1))
    stranger, found, cursor = make_user(), [], None
    while True:
        page = queries.history(stranger, post.pk, cursor, 2)
        found += page.items
        if page.next is None:
            break
        cursor = Position.decode(page.next)
    assert [(one["version"], one["content"]) for one in found] == [
        (number, str(number)) for number in (5, 4, 3, 2, 1)
    ]
    times = [one["edited_at"] for one in found]
    later = [time for time in times if time is not None]
    assert times == [*sorted(later, reverse=True), None]
    assert times[0] == card_of(me, post)["edited_at"]


def test_the_history_is_shown_to_those_who_see_the_post_and_erased_with_it(
    me: User, make_user: Make, make_post: Make
) -> None:
    blocked, follower = make_user(), make_user()
    relations_actions.follow(follower, me)
    relations_actions.block(me, blocked)
    post = make_post(me, "first")
    actions.edit(me, post.pk, 1, content="second", visibility="followers")
    assert len(queries.history(follower, post.pk, None, 5).items) == 2
    for reader in (blocked, make_user(), None):
        with pytest.raises(NotFound):
            queries.history(reader, post.pk, None, 5)
    actions.delete(me, post.pk)
    assert not PostVersion.objects.exists()
    for reader in (me, follower):
        with pytest.raises(NotFound):
            queries.history(reader, post.pk, None, 5)


# --- caches -------------------------------------------------------------------------------------
def test_the_event_repeats_the_invalidation_of_a_process_that_died(
    me: User, make_post: Make, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = make_post(me, "first")
    assert card_of(None, post)["content"] == "first"
    with monkeypatch.context() as patch:
        patch.setattr(cache, "edited", lambda post_id: None)
        actions.edit(me, post.pk, 1, content="second")
    assert card_of(None, post)["content"] == "first"
    drain()
    assert card_of(None, post)["content"] == "second"


def test_a_card_that_an_older_version_of_the_site_cached_is_not_used(
    me: User, make_post: Make
) -> None:
    post = make_post(me)
    redis.call(lambda connection: connection.set(f"post:{post.pk}", b'={"card": {}}'))
    assert card_of(None, post)["version"] == 1


def test_a_stored_event_can_be_read_again() -> None:
    event = PostEdited(1, 2, version=3, narrowed=True)
    assert PostEdited.from_payload(event.payload()) == event


# --- the API ------------------------------------------------------------------------------------
def test_the_api_edits_a_post_and_lists_its_versions(
    me: User, api: Any, api_for: Make, make_post: Make
) -> None:
    post, client = make_post(me, "first", kind="article", title="Title"), api_for(me)
    address = f"{POSTS}/{post.pk}"
    answer = client.patch(address, {"version": 1, "content": "second"}, format="json")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["title"], body["content"], body["version"]) == ("Title", "second", 2)
    assert body == client.get(address).json()
    assert body["edited_at"].endswith("Z")
    stale = client.patch(address, {"version": 1, "content": "third"}, format="json")
    assert (stale.status_code, stale.json()["code"]) == (409, 29)
    wider = client.patch(address, {"version": 2, "visibility": "friends"}, format="json")
    assert (wider.status_code, wider.json()["code"]) == (400, 13)
    assert list(wider.json()["fields"]) == ["visibility"]
    page = api.get(f"{address}/history?size=1").json()
    words = {"title": "Title", "note": "", "content": "second"}
    assert page["items"] == [{"version": 2, **words, "edited_at": body["edited_at"]}]
    rest = api.get(f"{address}/history?cursor={page['next']}").json()
    assert [one["version"] for one in rest["items"]] == [1]
    assert rest["next"] is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"version": 0},
        {"version": 2**31},
        {"version": "x"},
        {"version": 1, "content": None},
        {"version": 1, "images": {}},
        {"version": 1, "images": list(range(10))},
        {"version": 1, "alts": []},
        {"version": 1, "alts": {"x": "y"}},
        {"version": 1, "alts": {str(n): "" for n in range(10)}},
        {"version": 1, "visibility": "narrower"},
    ],
)
def test_the_api_refuses_malformed_edits(
    me: User, api_for: Make, make_post: Make, body: dict[str, Any]
) -> None:
    address = f"{POSTS}/{make_post(me).pk}"
    answer = api_for(me).patch(address, body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, 13)


def test_edits_use_a_budget_of_their_own(
    me: User, api_for: Make, make_post: Make, settings: LazySettings
) -> None:
    settings.BUDGETS = {**settings.BUDGETS, budgets.EDIT.name: Rate(2, 1)}
    address, client = f"{POSTS}/{make_post(me).pk}", api_for(me)
    codes = [
        client.patch(address, {"version": version, "content": str(version)}, format="json")
        for version in (1, 2, 3)
    ]
    assert [answer.status_code for answer in codes] == [200, 200, 429]
