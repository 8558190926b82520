"""Audiences of posts: who sees each of them where, at once; only narrower afterwards."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions, queries
from feeds.audit.explain import explain
from feeds.delivery.fanout import sweep
from feeds.delivery.inbox import sync
from feeds.models import AuthorHead, InboxEntry, Post, PostAudience, PostTag, Visibility
from feeds.tests.exactness.oracle import assert_whole
from relations import actions as relations_actions
from socialsite.core.errors import Forbidden, InvalidInput
from socialsite.core.events import relay
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
EVERY = tuple(Visibility.values)
# The viewers who see a post of each audience, besides its author.
SEEN_BY = {
    "public": {"guest", "stranger", "follower", "named", "named follower"},
    "quiet": {"guest", "stranger", "follower", "named", "named follower"},
    "followers": {"follower", "named follower"},
    "mentioned": {"named", "named follower"},
    "self": set(),
}


def drain() -> None:
    while relay.relay() + sweep.run():
        pass


class World:
    """An author, and a viewer for each relation to a post that names three of them."""

    def __init__(self, make_user: Make) -> None:
        self.author: User = make_user()
        names = ("stranger", "follower", "named", "named follower", "named and blocked")
        self.people: dict[str, User] = {name: make_user() for name in names}
        for name in ("follower", "named follower"):
            relations_actions.follow(self.people[name], self.author)
        relations_actions.block(self.author, self.people["named and blocked"])
        named = [one for name, one in self.people.items() if "named" in name]
        self.names = " ".join(f"@{one.username}" for one in named)

    def publish(self, visibility: str, words: str = "hidden #secret") -> Post:
        return actions.publish(self.author, content=f"{words} {self.names}", visibility=visibility)

    def viewers(self) -> dict[str, User | None]:
        return {"guest": None, **self.people}


@pytest.fixture
def world(make_user: Make) -> World:
    return World(make_user)


def sees(viewer: User | None, post: Post, api_for: Make) -> set[str]:
    """Return the places where a viewer finds a post, by API."""
    client: APIClient = api_for(viewer) if viewer else APIClient()
    ident = str(post.pk)
    found = set()
    answer = client.get(f"{V1}posts/{ident}")
    if answer.status_code == 200:
        found.add("post")
    else:
        assert_error(answer, 404, "NOT_FOUND")
    lists = {
        "profile": f"users/{post.author_id}/posts",
        "home": "feed",
        "recommended": "feed/recommended",
        "tag": "tags/secret/posts",
        "search": "search/posts?q=hidden&sort=new",
    }
    for place, address in lists.items():
        answer = client.get(V1 + address)
        if answer.status_code == 200 and ident in [item["id"] for item in answer.json()["items"]]:
            found.add(place)
    return found


@pytest.mark.parametrize("delivered", [False, True])
@pytest.mark.parametrize("visibility", EVERY)
def test_each_audience_sees_a_post_where_it_belongs(
    visibility: str, delivered: bool, world: World, api_for: Make
) -> None:
    post = world.publish(visibility)
    if delivered:
        drain()
    for name, viewer in world.viewers().items():
        wanted: set[str] = set()
        if name in SEEN_BY[visibility]:
            wanted = {"post", "profile"}
            wanted |= {"home"} if "follower" in name else set()
            wanted |= {"recommended"} if visibility == "public" else set()
            wanted |= {"tag"} if visibility != "quiet" else set()
            # The index of the search is written by the event.
            wanted |= {"search"} if visibility != "quiet" and delivered else set()
        assert sees(viewer, post, api_for) == wanted, (name, visibility)
    own = sees(world.author, post, api_for)
    assert {"post", "profile", "home"} <= own


@pytest.mark.parametrize("visibility", ["mentioned", "self"])
def test_a_post_for_few_people_is_in_their_inboxes_only(visibility: str, world: World) -> None:
    post = world.publish(visibility)
    drain()
    rows = set(InboxEntry.objects.filter(post_id=post.pk).values_list("user_id", flat=True))
    named = world.people["named follower"].pk
    assert rows == ({named} if visibility == "mentioned" else set())


def test_an_author_of_many_followers_pushes_a_post_for_few(world: World, settings: Any) -> None:
    settings.PUSH_ALL_MAX = settings.PUSH_ACTIVE_MAX = 0
    post = world.publish("mentioned")
    drain()
    assert InboxEntry.objects.filter(post_id=post.pk).count() == 1
    assert AuthorHead.objects.get(pk=world.author.pk).last_pulled_position == 0
    assert_whole(world.people["named follower"])
    assert_whole(world.people["follower"])


def test_a_follow_brings_posts_for_the_named_follower_and_no_others(world: World) -> None:
    posts = [world.publish(visibility) for visibility in EVERY]
    drain()
    for name in ("named", "stranger"):
        person = world.people[name]
        relations_actions.follow(person, world.author)
        assert_whole(person)
        drain()
        assert_whole(person)
        rows = set(InboxEntry.objects.filter(user_id=person.pk).values_list("post_id", flat=True))
        hidden = {"self"} if name == "named" else {"self", "mentioned"}
        assert rows == {post.pk for post in posts if post.visibility not in hidden}
        assert sync.missing(person.pk, 10) == []


@pytest.mark.parametrize("after", EVERY)
@pytest.mark.parametrize("before", EVERY)
def test_an_audience_only_becomes_narrower_and_at_once(
    before: str, after: str, world: World, api_for: Make
) -> None:
    post = world.publish(before)
    drain()
    for viewer in world.viewers().values():
        sees(viewer, post, api_for)  # caches are warm
    if EVERY.index(after) < EVERY.index(before):
        with pytest.raises(InvalidInput):
            actions.edit(world.author, post.pk, 1, visibility=after)
        return
    actions.edit(world.author, post.pk, 1, visibility=after)
    for name, viewer in world.viewers().items():
        seen = name in SEEN_BY[before] & SEEN_BY[after]
        found = sees(viewer, post, api_for)
        assert ("post" in found, "profile" in found) == (seen, seen), name
        assert "home" not in found or seen
        if after == "quiet":
            assert not found & {"recommended", "tag", "search"}
        if viewer:
            assert_whole(viewer)


def test_a_narrowed_post_of_followers_is_for_the_named_followers(world: World) -> None:
    post = world.publish("followers")
    actions.edit(world.author, post.pk, 1, visibility="mentioned")
    rows = PostAudience.objects.filter(post_id=post.pk).values_list("user_id", flat=True)
    assert set(rows) == {world.people["named follower"].pk}


def test_an_edit_adds_nobody_to_the_people_of_a_post(world: World, api_for: Make) -> None:
    post = world.publish("mentioned")
    stranger = world.people["stranger"]
    actions.edit(world.author, post.pk, 1, content=f"now @{stranger.username} too")
    assert sees(stranger, post, api_for) == set()
    # Nor does it take away those who have read it.
    assert "post" in sees(world.people["named"], post, api_for)


@pytest.mark.parametrize("words", ["nobody", "@nobody123", "{author}", "a@{named}.example"])
def test_a_post_for_named_people_names_somebody(words: str, world: World, api_for: Make) -> None:
    names = {"author": f"@{world.author.username}", "named": world.people["named"].username}
    values = {"content": words.format(**names), "visibility": "mentioned"}
    answer = api_for(world.author).post(V1 + "posts", values, format="json")
    assert_error(answer, 400, "INVALID_INPUT", "visibility")
    assert not Post.objects.exists()


def test_an_unknown_audience_is_refused(world: World, api_for: Make) -> None:
    values = {"content": "words", "visibility": "friends"}
    answer = api_for(world.author).post(V1 + "posts", values, format="json")
    assert_error(answer, 400, "INVALID_INPUT", "visibility")
    assert "quiet" in str(answer.json()["fields"]["visibility"])


def test_a_ban_or_a_block_hides_a_post_from_named_people(world: World, api_for: Make) -> None:
    post, named = world.publish("mentioned"), world.people["named"]
    assert "post" in sees(named, post, api_for)
    relations_actions.block(named, world.author)
    assert sees(named, post, api_for) == set()
    relations_actions.unblock(named, world.author)
    assert "post" in sees(named, post, api_for)
    accounts_actions.ban(world.author)
    assert sees(named, post, api_for) == set()


def test_reposts_have_the_audience_of_their_post(world: World, api_for: Make) -> None:
    quiet, few = world.publish("quiet"), world.publish("mentioned")
    made, _ = actions.repost(world.people["stranger"], quiet.pk)
    assert made.visibility == "quiet"
    with pytest.raises(Forbidden):
        actions.repost(world.people["named"], few.pk)
    own, _ = actions.repost(world.author, few.pk, "again")
    assert own.visibility == "mentioned"
    assert "post" in sees(world.people["named"], own, api_for)
    assert sees(world.people["follower"], own, api_for) == set()


def test_the_count_of_a_profile_tells_nothing_of_posts_for_few(world: World, api_for: Make) -> None:
    def count() -> int:
        answer = api_for(world.people["stranger"]).get(f"{V1}users/{world.author.pk}")
        return int(answer.json()["counts"]["posts"])

    posts = {visibility: world.publish(visibility) for visibility in EVERY}
    assert count() == 3
    actions.edit(world.author, posts["quiet"].pk, 1, visibility="self")
    assert count() == 2
    actions.edit(world.author, posts["mentioned"].pk, 1, visibility="self")
    actions.delete(world.author, posts["self"].pk)
    assert count() == 2
    actions.delete(world.author, posts["public"].pk)
    assert count() == 1
    head = AuthorHead.objects.get(pk=world.author.pk)
    assert (head.post_count, head.named_count) == (3, 2)


def test_a_deleted_post_keeps_no_audience_and_a_quiet_one_no_tags(world: World) -> None:
    post = world.publish("mentioned")
    actions.delete(world.author, post.pk)
    assert not PostAudience.objects.exists()
    public = world.publish("public")
    assert PostTag.objects.filter(post_id=public.pk).exists()
    actions.edit(world.author, public.pk, 1, visibility="quiet")
    assert not PostTag.objects.filter(post_id=public.pk).exists()


@pytest.mark.parametrize(
    ("visibility", "people"),
    [("public", None), ("quiet", None), ("followers", 2), ("mentioned", 2), ("self", 0)],
)
def test_authors_alone_learn_how_many_people_see_their_post(
    visibility: str, people: int | None, world: World, api_for: Make
) -> None:
    post = world.publish(visibility)
    drain()
    address = f"{V1}posts/{post.pk}/audience"
    assert api_for(world.author).get(address).json() == {
        "visibility": visibility,
        "people": people,
    }
    seen = "follower" in SEEN_BY[visibility]
    answer = api_for(world.people["follower"]).get(address)
    assert_error(answer, *((403, "FORBIDDEN") if seen else (404, "NOT_FOUND")))
    assert_error(APIClient().get(address), 401, "NOT_AUTHENTICATED")


@pytest.mark.parametrize(
    ("visibility", "code"), [("mentioned", "named_only"), ("self", "author_only")]
)
def test_the_explanation_names_the_audience(visibility: str, code: str, world: World) -> None:
    post = world.publish(visibility)
    found = explain(world.people["follower"].pk, post.pk)
    assert (found.shown, found.codes) == (False, [code])


def test_new_posts_that_a_reader_may_not_see_are_not_counted(world: World) -> None:
    follower = world.people["follower"]
    for visibility in EVERY:
        world.publish(visibility)
    assert queries.new_count(follower) == (3, False)


# --- pages --------------------------------------------------------------------------------------
def chosen(page: str) -> str:
    select = page.partition('name="visibility"')[2].partition("</select>")[0]
    return select.partition('" selected')[0].rpartition('"')[2]


def test_the_composer_remembers_the_last_audience(world: World) -> None:
    browser: Client = browser_of(world.author)
    assert chosen(browser.get("/").text) == "public"
    answer = browser.post("/posts", {"content": "for me", "visibility": "self"})
    assert answer.status_code == 303
    assert Post.objects.get().visibility == "self"
    assert chosen(browser.get("/").text) == "self"
    browser.cookies["audience"] = "<nonsense>"
    assert chosen(browser.get("/").text) == "public"


def test_the_edit_page_offers_narrower_audiences_only(world: World) -> None:
    browser, post = browser_of(world.author), world.publish("followers")
    page = browser.get(f"/posts/{post.pk}/edit").text
    values = [f'value="{value}"' in page for value in EVERY]
    assert values == [False, False, True, True, True]


def test_the_page_of_an_audience_lists_the_named_people(world: World) -> None:
    browser, post = browser_of(world.author), world.publish("mentioned")
    page = browser.get(f"/posts/{post.pk}/audience").text
    for name, person in world.people.items():
        assert (f"/@{person.username}" in page) == (name in SEEN_BY["mentioned"])
    assert "2 people" in page
    assert f"/posts/{post.pk}/audience" in browser.get(f"/posts/{post.pk}/menu").text


def test_search_engines_do_not_list_a_quiet_post(world: World) -> None:
    quiet, public = world.publish("quiet"), world.publish("public")
    assert 'content="noindex"' in Client().get(f"/posts/{quiet.pk}").text
    assert 'content="noindex"' not in Client().get(f"/posts/{public.pk}").text
    sitemap = Client().get("/sitemap.xml").text
    assert (str(quiet.pk) in sitemap, str(public.pk) in sitemap) == (False, True)
