"""A page shows each post once: the exact feed, without what an earlier place of the page shows."""

import random
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions, queries
from feeds.cards import prefetch, repost_grouping
from feeds.models import Kind, Post
from feeds.tests.exactness.oracle import all_pages, oracle_pages
from feeds.visibility import visible_to
from interactions import actions as interactions_actions
from interactions.models import SubjectType
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.http.page_sizes import PAGE_SIZE

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

FEED = "/api/v1/feed"


def shown_in_place_of(ident: str, viewer: User) -> str:
    """Return the id of the post that a post shows, as the tables have it."""
    post = Post.objects.select_related("content_row").get(pk=int(ident))
    is_plain = post.kind == Kind.REPOST and not post.content_row.content
    if is_plain and visible_to(viewer.pk).filter(pk=post.ref_post_id or 0).exists():
        return str(post.ref_post_id)
    return ident


def articles(page: bytes) -> list[Any]:
    return html.fromstring(page.decode()).xpath("//article[@data-post-id]")


def ids_on(page: bytes) -> list[str]:
    return [one.get("data-post-id") for one in articles(page)]


def words(element: Any) -> str:
    return " ".join(element.text_content().split())


@pytest.fixture
def reader(make_user: Any) -> User:
    return make_user("reader1")


@pytest.fixture
def friends(reader: User, make_user: Any) -> list[User]:
    found = [make_user(f"friend{number}", nickname=f"Friend{number}") for number in range(1, 5)]
    for friend in found:
        relations_actions.follow(reader, friend)
    return found


def write_much(reader: User, friends: list[User], stranger: User, make_post: Any) -> None:
    """Write posts, reposts with and without words, also of hidden and of deleted posts."""
    chance = random.Random(7)
    posts: list[Post] = []
    for _ in range(70):
        author = chance.choice([reader, *friends])
        if posts and chance.random() < 0.6:
            source = chance.choice(posts[-6:])
            actions.repost(author, source.pk, "look" if chance.random() < 0.2 else "")
        else:
            posts.append(make_post(chance.choice([author, stranger])))
    for post in chance.sample(posts, 4):
        actions.delete(User.objects.get(pk=post.author_id), post.pk)


def test_pages_are_the_oracle_s_without_repeated_originals_and_the_api_marks_these(
    reader: User, friends: list[User], make_user: Any, make_post: Any, api_for: Any
) -> None:
    write_much(reader, friends, make_user(), make_post)
    exact = all_pages(queries.oracle_feed, reader, PAGE_SIZE)
    assert len(exact) >= 3
    api, browser = api_for(reader), Client()
    # Of another kind than the program, which stays signed in.
    browser.cookies["access"] = accounts_actions.sign_in(reader, "chrome").access
    cursor, repeated = None, 0
    for expected in exact:
        query: dict[str, Any] = {"cursor": cursor} if cursor else {}
        shown = [shown_in_place_of(ident, reader) for ident in expected]
        page = browser.get("/", query).content
        assert ids_on(page) == list(dict.fromkeys(shown))
        answer = api.get(FEED, {**query, "size": PAGE_SIZE}).json()
        assert [item["id"] for item in answer["items"]] == expected
        again = [ident in shown[:place] for place, ident in enumerate(shown)]
        assert [item["repeats"] for item in answer["items"]] == again
        repeated += sum(again)
        cursor = answer["next"]
        assert (f"cursor={cursor}" in page.decode()) is (cursor is not None)
    assert cursor is None
    assert repeated > 5
    assert oracle_pages(reader, PAGE_SIZE)  # the exact feed still has every repost


CARDS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from("abcdef"),
            "kind": st.sampled_from([Kind.MICRO.value, Kind.REPOST.value]),
            "ref": st.none() | st.fixed_dictionaries({"id": st.sampled_from("abcdef")}),
            "content": st.sampled_from(["", "words"]),
            "author": st.sampled_from(["ann", "bob"]),
            "mine": st.booleans(),
        }
    ),
    unique_by=lambda card: str(card["id"]),
)


@given(CARDS)
def test_any_page_shows_each_post_once_with_all_who_reposted_it(cards: list[Any]) -> None:
    def is_plain(card: Any) -> bool:
        return card["kind"] == Kind.REPOST and card["ref"] is not None and not card["content"]

    ids = [card["ref"]["id"] if is_plain(card) else card["id"] for card in cards]
    for place, found in enumerate(repost_grouping.once(cards)):
        assert (found is None) is (ids[place] in ids[:place])
        if found is not None:
            alike = [card for card, ident in zip(cards, ids, strict=True) if ident == ids[place]]
            reposts = [card for card in alike if is_plain(card)]
            assert found.post["id"] == ids[place]
            assert found.reposters == [card["author"] for card in reposts if not card["mine"]]
            assert found.is_own is any(card["mine"] for card in reposts)


def test_a_repost_shows_the_original_its_counters_and_its_buttons(
    reader: User, friends: list[User], make_user: Any, make_post: Any
) -> None:
    ann, bob, cy, _ = friends
    post = make_post(make_user("writer1", nickname="Writer"), content="the original words")
    for person in (cy, bob, ann):
        actions.repost(person, post.pk, "")
    interactions_actions.like(reader, SubjectType.POST, post.pk)
    interactions_actions.comment(bob, post.pk, "hm")
    [card] = articles(browser_of(reader).get("/").content)
    assert card.get("data-post-id") == str(post.pk)
    [line] = card.xpath(".//*[@data-testid='reposted-by']")
    [summary] = line.xpath("./summary")
    assert words(summary) == "Reposted by Friend1 and 2 more"
    names = [(words(link), link.get("href")) for link in line.xpath("./ul/li/a")]
    assert names == [(person.nickname, f"/@{person.username}") for person in (ann, bob, cy)]
    assert card.xpath(".//a[@class='post-author']/@href") == ["/@writer1"]
    like = card.get_element_by_id(f"like-{post.pk}")
    assert (like.get("aria-pressed"), like.get("aria-label")) == ("true", "Like, 1 like")
    named = {name for name in card.xpath(".//@aria-label") if "," in name}
    assert named == {"Like, 1 like", "Comments, 1 comment", "Repost, 3 reposts"}
    addresses = set(re.findall(r"/posts/(\d+)", html.tostring(card).decode()))
    assert addresses == {str(post.pk)}


def test_a_repost_with_words_keeps_its_own_counters_and_shows_face_and_time(
    reader: User, friends: list[User], make_post: Any
) -> None:
    ann, bob, *_ = friends
    post = make_post(bob, content="the original words")
    quote, _ = actions.repost(ann, post.pk, "my words")
    interactions_actions.like(reader, SubjectType.POST, quote.pk)
    cards = articles(browser_of(reader).get("/").content)
    assert [card.get("data-post-id") for card in cards] == [str(quote.pk), str(post.pk)]
    for name, expected in (("like", ["1", ""]), ("repost", ["", "1"])):
        counter = f"string(.//*[@data-testid='{name}']/span)"
        assert [card.xpath(counter) for card in cards] == expected
    # Each has a button of its own, also for what they repost alike.
    answer = browser_of(reader).post(f"/posts/{quote.pk}/repost", headers={"hx-request": "true"})
    assert f'id="repost-{quote.pk}"' in answer.content.decode()
    assert queries.reposts_without_words(reader.pk).get().ref_post_id == post.pk
    [shown] = cards[0].xpath(".//a[@class='quote']")
    assert shown.xpath(".//*[contains(@class, 'avatar')]")
    assert len(shown.xpath(".//time/@datetime")) == 1
    assert not cards[0].xpath(".//*[@data-testid='reposted-by']")


def test_one_s_own_repost_says_so_and_can_be_undone_there(
    reader: User, friends: list[User], make_post: Any
) -> None:
    post = make_post(friends[0])
    actions.repost(friends[1], post.pk, "")
    actions.repost(reader, post.pk, "")
    browser = browser_of(reader)
    [card] = articles(browser.get("/").content)
    assert words(card.get_element_by_id(f"own-repost-{post.pk}")) == "You reposted this Undo"
    [line] = card.xpath(".//*[@data-testid='reposted-by']")
    assert words(line) == "Reposted by Friend2"
    assert line.xpath(".//a/@href") == [f"/@{friends[1].username}"]
    address = card.xpath(".//button[@class='post-undo']/@formaction")[0]
    answer = browser.post(address, headers={"hx-request": "true"}).content.decode()
    assert f'id="own-repost-{post.pk}" hx-swap-oob="delete"' in answer
    assert queries.reposts_without_words(reader.pk).count() == 0
    [card] = articles(browser.get("/").content)
    assert not card.xpath(".//*[@data-testid='own-repost']")


def test_the_page_of_a_repost_leads_to_the_original_unless_it_has_comments(
    reader: User, friends: list[User], make_post: Any
) -> None:
    post = make_post(friends[0])
    repost, _ = actions.repost(friends[1], post.pk, "")
    browser = browser_of(reader)
    answer = browser.get(f"/posts/{repost.pk}")
    assert (answer.status_code, answer["Location"]) == (302, f"/posts/{post.pk}")
    interactions_actions.comment(friends[2], repost.pk, "of the repost")
    page = browser.get(f"/posts/{repost.pk}").content
    assert ids_on(page) == [str(post.pk)]
    assert b"of the repost" in page


def test_a_repost_of_a_hidden_post_says_that_it_is_gone(
    reader: User, friends: list[User], make_user: Any, make_post: Any
) -> None:
    author = make_user()
    post = make_post(author)
    repost, _ = actions.repost(friends[1], post.pk, "")
    relations_actions.block(author, reader)
    [card] = articles(browser_of(reader).get("/").content)
    assert card.get("data-post-id") == str(repost.pk)
    assert "no longer available" in words(card)


@pytest.mark.full
def test_a_warm_page_of_reposts_costs_no_query_and_no_more_round_trips(
    reader: User,
    friends: list[User],
    make_user: Any,
    make_post: Any,
    round_trips: list[int],
    drain: Any,
) -> None:
    relations_actions.follow(reader, make_user())  # the fifth: Home suggests nobody
    for number in range(12):
        post = make_post(make_user())
        for friend in friends[: number % 3 + 1]:
            actions.repost(friend, post.pk, "")
        if number % 2:
            interactions_actions.like(reader, SubjectType.POST, post.pk)
    drain()
    browser = browser_of(reader)
    redis.call(lambda connection: connection.flushdb())
    prefetch.clear()
    first = browser.get("/").content
    round_trips.clear()
    with CaptureQueriesContext(connection) as captured:
        again = browser.get("/").content
    assert len(captured) == 0
    # As a page without reposts, and one more for originals, which are known after their reposts.
    assert len(round_trips) <= 4
    assert ids_on(again) == ids_on(first)
    assert len(ids_on(again)) > 5
    liked = [card.xpath(".//@aria-pressed")[0] for card in articles(again)]
    assert set(liked) == {"true", "false"}
