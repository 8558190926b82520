"""Search: results are exactly the visible posts that match, at once after every restriction."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions as feeds_actions
from feeds.discovery.search import indexing, language
from feeds.discovery.search.cursors import Cursor
from feeds.models import PostTerm, SearchedPost
from feeds.tests.discovery.search.results import pages, results, scan
from relations import actions as relations_actions
from socialsite.core.errors import InvalidInput
from socialsite.core.positions import Position
from socialsite.tests.support.answers import assert_error

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
Make = Callable[..., Any]
V1 = "/api/v1/"


@pytest.fixture
def write(me: User, drain: Callable[[], None]) -> Callable[..., list[str]]:
    """Return a function that publishes texts and delivers the events; ids, the newest first."""

    def make(*texts: str, by: User | None = None, **values: Any) -> list[str]:
        made = [feeds_actions.publish(by or me, content=one, **values).pk for one in texts]
        drain()
        return [str(ident) for ident in reversed(made)]

    return make


# --- the language -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("tea", [0, 1, 2, 5]),
        ("TEA", [0, 1, 2, 5]),
        ("\uff34\uff25\uff21", [0, 1, 2, 5]),
        ("teas", [0, 1, 2, 5]),
        ("te", []),
        ("green tea", [0, 1]),
        ('"green tea"', [0]),
        ("\u201cgreen tea\u201d", [0]),
        ("\u300cgreen tea\u300d", [0]),
        ('"green tea', [0]),
        ("tea -green", [2, 5]),
        ('tea -"green tea"', [1, 2, 5]),
        ("tea \uff0dgreen", [2, 5]),
        ("春", [3, 4]),
        ("春天", [3, 4]),
        ("天来", [3]),
        ("春天来了", [3]),
        ("春天\u3000花", [3]),
        ("喝茶", [4]),
        ('"春天 喝茶"', []),
        ("#leaf", [2]),
        ("leaf", [2]),
        ("#\uff2c\uff45\uff41\uff46 tea", [2]),
        ("tea -#leaf", [0, 1, 5]),
        ("cafe", [5]),
        ("café", [5]),
        ("don't", [5]),
        ("tea don", [5]),
        ("nothing", []),
    ],
)
def test_words_phrases_tags_and_exclusions(write: Make, question: str, found: list[int]) -> None:
    made = write(
        "Green tea in the morning",
        "Tea that is green",
        "Tea #leaf",
        "春天来了,花都开了。",
        "在春天里我喝茶",
        "Teas in a CAFE\u0301; don't!",
    )[::-1]
    wanted = [made[number] for number in reversed(found)]
    for sort in ("new", "top"):
        assert sorted(results(None, question, sort)) == sorted(wanted)
    assert results(None, question) == wanted == scan(None, question)


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("\u0433\u0430\u0438\u0306 #\u0433\u0430\u0438\u0306", ["ГАЙ", "#гай"]),
        ("한글 #한글", ["\u1112\u1161\u11ab\u1100\u1173\u11af", "#\u1112\u1161\u11ab글"]),
        (
            "\uff76\uff9e\uff72\uff84\uff9e #ガイド",
            ["ガイド", "カ\u3099", "#\uff76\uff9e\uff72\uff84\uff9e"],
        ),
        ("Movies, sizes and caches", ["movie", "size", '"sizes and cache"']),
    ],
)
def test_equal_texts_find_each_other(write: Make, text: str, questions: list[str]) -> None:
    made = write(text)
    for question in questions:
        assert results(None, question) == made == scan(None, question)


def test_the_options_of_a_poll_are_words_of_its_post(write: Make) -> None:
    poll = {"options": ["Oolong tea", "黑咖啡"], "multiple": False, "ends_at": None, "lasts": 3600}
    asked = write("What do you drink?", poll=poll)[0]
    for question in ("oolong", "咖啡", '"oolong tea" drink'):
        for sort in ("new", "top"):
            assert results(None, question, sort) == [asked]
        assert scan(None, question) == [asked]
    # A phrase never goes from an option, or the text, to the next.
    for question in ('"tea 黑"', '"drink oolong"', "drink -oolong"):
        assert results(None, question) == scan(None, question) == []


def test_filters_by_author_day_and_picture(write: Make, me: User, make_user: Make) -> None:
    ann = make_user("annabel")
    day = [int(datetime(2026, 1, one, tzinfo=UTC).timestamp() * 1000) for one in (9, 10, 11)]
    first, second, third = (write("tea", by=ann, at_ms=one)[0] for one in day)
    mine = write("tea")[0]
    assert results(None, "from:Annabel tea") == [third, second, first]
    assert results(None, "from:\uff20\uff21nnabel tea") == [third, second, first]
    assert results(None, "from\uff1a@annabel") == [third, second, first]
    assert results(None, "tea -from:annabel") == [mine]
    assert results(None, "from:nobody99 tea") == results(None, f"from:annabel from:{me}") == []
    assert results(None, "tea before:2026-01-10") == [first]
    assert results(None, "tea after:2026-01-10") == [mine, third, second]
    assert results(None, "tea after:2026-1-10 before:2026-01-11", "top") == [second]
    assert results(None, "has:image") == results(None, "tea has:image") == []
    assert results(None, "tea -has:image from:annabel before:2026-01-10") == [first]


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "!!!", "-tea", "before:2026-01-01", "tea before:yesterday", "from:"),
        *("tea after:2026-02-30", "has:cheese", "x" * 201, "a " * 13, "after:9999999-01-01 x"),
        "-before:2026-01-01",
    ],
)
def test_a_wrong_question_says_so(api: APIClient, text: str) -> None:
    answer = api.get(V1 + "search/posts", {"q": text})
    assert_error(answer, 400, "INVALID_INPUT", "q")
    with pytest.raises(InvalidInput):
        language.parse(text)


def test_bad_sorts_and_cursors_are_refused(api: APIClient) -> None:
    new = Position(5, 5).encode()
    for query, field in (
        ("sort=best", "sort"),
        ("cursor=x", "cursor"),
        (f"cursor={new}", "cursor"),
        ("sort=new&cursor=x", "cursor"),
        ("size=21", "size"),
    ):
        answer = api.get(f"{V1}search/posts?q=tea&{query}")
        assert answer.status_code == 400
        assert list(answer.json()["fields"]) == [field]
    for bad in ("AgAAAA", "_" * 50, "\u00e9"):
        with pytest.raises(InvalidInput):
            Cursor.decode(bad)


# --- order and pages ----------------------------------------------------------------------------
def test_results_by_relevance_prefer_titles_and_repeated_words(write: Make, me: User) -> None:
    long = write("a long story about many things and one cup of tea " + "word " * 60)[0]
    twice = write("tea and tea")[0]
    titled = write("nothing else", kind="article", title="Tea")[0]
    once = write("some tea and some cake")[0]
    assert results(None, "tea") == [once, titled, twice, long]
    assert results(None, "tea", "top") == [titled, twice, once, long]


def test_pages_by_relevance_have_each_post_once_across_windows(
    write: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feeds.discovery.search.queries.WINDOW", 4)
    texts = ["tea " * (number % 3 + 1) + "leaf " * (number % 2) for number in range(11)]
    made = write(*texts)
    for size in (1, 2, 3, 20):
        found = results(None, "tea", "top", size)
        assert sorted(found) == sorted(made)
        assert found == results(None, "tea", "top", 5)
        both = results(None, "tea leaf", "top", size)
        assert sorted(both) == sorted(scan(None, "tea leaf"))
    assert set(results(None, "tea", "top")[:4]) == set(made[:4])


def test_new_posts_do_not_move_the_pages_of_a_reader(write: Make) -> None:
    from feeds.discovery.search import paging

    made = write(*["tea " * (number % 4 + 1) for number in range(7)])
    question = language.parse("tea")
    for sort in ("top", "new"):
        page = paging.page(None, question, sort, "", 3)
        seen = [card["id"] for card in page.items]
        write("tea tea tea tea tea")
        while page.next is not None:
            page = paging.page(None, question, sort, page.next, 3)
            seen += [card["id"] for card in page.items]
        assert sorted(seen) == sorted(made)
        made = results(None, "tea")


def test_pages_are_full_whatever_is_hidden(write: Make, me: User, make_user: Make) -> None:
    other, reader = make_user(), make_user()
    shown = write(*["tea"] * 5)
    write(*["tea"] * 70, by=other)
    relations_actions.block(other, reader)
    for sort in ("new", "top"):
        assert pages(reader, "tea", sort, 3) == [shown[:3], shown[3:]]


# --- only what the reader may see, at once ------------------------------------------------------
def test_who_may_find_a_post(write: Make, me: User, make_user: Make) -> None:
    fan, other, blocked = make_user(), make_user(), make_user()
    relations_actions.follow(fan, me)
    relations_actions.block(me, blocked)
    public, secret = write("tea")[0], write("tea for friends", visibility="followers")[0]
    for reader, found in (
        (None, [public]),
        (other, [public]),
        (blocked, []),
        (fan, [secret, public]),
        (me, [secret, public]),
    ):
        for sort in ("new", "top"):
            assert sorted(results(reader, "tea", sort)) == sorted(found)
        assert results(reader, f"from:{me.username}") == found


@pytest.mark.parametrize("act", ["delete", "ban", "block", "edit", "narrow", "unfollow"])
def test_a_post_is_gone_at_once_before_the_index_knows(
    write: Make, me: User, make_user: Make, act: str
) -> None:
    reader = make_user()
    relations_actions.follow(reader, me)
    for_fans = act == "unfollow"
    post = int(write("secret tea", visibility="followers" if for_fans else "public")[0])
    assert results(reader, "secret") == [str(post)]
    viewer: User | None = reader
    if act == "delete":
        feeds_actions.delete(me, post)
    elif act == "ban":
        accounts_actions.ban(me)
    elif act == "block":
        relations_actions.block(me, reader)
    elif act == "edit":
        feeds_actions.edit(me, post, 1, content="green tea")
    elif act == "narrow":
        feeds_actions.edit(me, post, 1, visibility="followers")
        viewer = None
    else:
        relations_actions.unfollow(reader, me)
    for question in ("secret", '"secret tea"', "secret -leaf"):
        for sort in ("new", "top"):
            assert pages(viewer, question, sort) == [[]]


def test_the_index_follows_edits_and_deletions(write: Make, me: User, drain: Make) -> None:
    post = write("old words")[0]
    feeds_actions.edit(me, int(post), 1, content="new words #tag")
    drain()
    assert results(None, "new") == results(None, "#tag") == [post]
    assert results(None, "old") == []
    feeds_actions.delete(me, int(post))
    drain()
    assert not SearchedPost.objects.exists()
    assert not PostTerm.objects.exists()


def test_reposts_are_found_by_their_own_words_and_drafts_never(
    write: Make, me: User, make_user: Make, drain: Make
) -> None:
    from feeds.drafts import actions as drafts

    other = make_user()
    post = write("green tea")[0]
    feeds_actions.repost(other, int(post))
    quote = feeds_actions.repost(other, int(post), "what a tea")[0].pk
    drafts.create(me, {"content": "tea"})
    drain()
    assert results(me, "tea") == [str(quote), post]
    assert results(me, f"from:{other.username}") == [str(quote)]


def test_events_that_come_twice_or_late_do_no_harm(write: Make, me: User, drain: Make) -> None:
    post = int(write("one two")[0])
    before = sorted(PostTerm.objects.values_list("term", "position", "object_id", "weight"))
    assert not indexing.refresh(post)
    assert indexing.is_right(post)
    after = sorted(PostTerm.objects.values_list("term", "position", "object_id", "weight"))
    assert after == before


# --- the definition -----------------------------------------------------------------------------
WORDS = [
    "tea",
    "teas",
    "green",
    "Green",
    "茶",
    "绿茶",
    "绿茶好喝",
    "#tea",
    "#茶",
    "caf\u00e9",
    "a-b",
]
PARTS = [
    *WORDS,
    '"green tea"',
    "\u201c绿茶\u201d",
    "-tea",
    "-茶",
    "from:ann1",
    "-#tea",
    "-has:image",
]
TEXTS = st.lists(st.sampled_from([*WORDS, ",", "。", "\n"]), min_size=1, max_size=6)
JOINED = st.tuples(TEXTS, st.sampled_from([" ", ""])).map(lambda one: one[1].join(one[0]))
POSTS = st.lists(
    st.tuples(JOINED, st.sampled_from(["ann1", "bob1"]), st.booleans()), min_size=1, max_size=8
)
QUESTIONS = st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), max_size=6)


# The posts of all examples stay: each adds to what the next one searches.
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(posts=POSTS, asked=QUESTIONS)
def test_results_are_the_visible_posts_that_match(
    posts: list[tuple[str, str, bool]], asked: list[list[str]], crowd: dict[str, User], drain: Make
) -> None:
    for text, author, is_secret in posts:
        visibility = "followers" if is_secret else "public"
        try:
            feeds_actions.publish(crowd[author], content=text, visibility=visibility)
        except InvalidInput:
            continue
    drain()
    for parts in asked:
        try:
            language.parse(" ".join(parts))
        except InvalidInput:
            continue
        for viewer in (None, *crowd.values()):
            wanted = scan(viewer, " ".join(parts))
            assert results(viewer, " ".join(parts), "new", 2) == wanted
            assert sorted(results(viewer, " ".join(parts), "top", 2)) == sorted(wanted)


@pytest.fixture
def crowd(make_user: Make) -> dict[str, User]:
    """Two authors, a follower of one, and somebody whom the other blocks."""
    people = {name: make_user(name) for name in ("ann1", "bob1", "fan1", "out1")}
    relations_actions.follow(people["fan1"], people["ann1"])
    relations_actions.block(people["bob1"], people["out1"])
    return people
