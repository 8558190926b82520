"""The tabs of a profile: posts and replies, media, likes."""

import io
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from PIL import Image

from accounts import actions as accounts_actions
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from interactions import actions, queries
from interactions.models import SubjectType
from relations import actions as relations_actions
from socialsite.core.media import pictures
from socialsite.core.positions import Position

pytestmark = pytest.mark.django_db


def all_of(read: Any, viewer: Any, person_id: int, size: int) -> list[Any]:
    """Return all items of a list, read page by page."""
    found, cursor = [], None
    while True:
        page = read(viewer, person_id, cursor, size)
        found += page.items
        if page.next is None:
            return found
        assert len(page.items) == size
        cursor = Position.decode(page.next)


def ids_of(entries: list[Any]) -> list[int]:
    return [int((one["post"] or one["comment"])["id"]) for one in entries]


@pytest.fixture
def author(make_user) -> Any:
    return make_user("alice1")


@pytest.fixture
def written(author, make_user, make_post) -> dict[str, Any]:
    """Posts and comments of the author in turn, oldest first, and the posts of another person."""
    other = make_user("bob1")
    theirs = make_post(other, "a question")
    private = make_post(other, "for followers", visibility="followers")
    mine = []
    relations_actions.follow(author, other)
    for number in range(4):
        mine.append(make_post(author, f"post {number}").pk)
        mine.append(actions.comment(author, theirs.pk, f"comment {number}").pk)
    mine.append(actions.comment(author, private.pk, "comment in private").pk)
    return {"other": other, "theirs": theirs, "private": private, "mine": mine}


@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_posts_and_replies_are_newest_first_page_by_page(size, author, written) -> None:
    mine = list(reversed(written["mine"]))
    assert ids_of(all_of(queries.posts_and_replies, author, author.pk, size)) == mine
    # A guest does not see the post that the newest comment belongs to.
    assert ids_of(all_of(queries.posts_and_replies, None, author.pk, size)) == mine[1:]


def test_entries_of_one_moment_are_neither_lost_nor_repeated(
    author, make_post, clock, make_user
) -> None:
    clock.now = 1_700_000_000_000
    theirs = make_post(make_user())
    made = [make_post(author).pk for _ in range(3)]
    made += [actions.comment(author, theirs.pk, "x").pk for _ in range(3)]
    found = ids_of(all_of(queries.posts_and_replies, None, author.pk, 2))
    assert found == sorted(made, reverse=True)


def test_a_reply_is_hidden_with_its_post_its_thread_or_by_a_block(
    author, written, make_user
) -> None:
    viewer, third = make_user(), make_user()
    root = actions.comment(third, written["theirs"].pk, "root").pk
    reply = actions.comment(author, written["theirs"].pk, "reply", root).pk

    def sees(ident: int) -> bool:
        return ident in ids_of(all_of(queries.posts_and_replies, viewer, author.pk, 20))

    first = written["mine"][1]
    assert (sees(reply), sees(first)) == (True, True)
    relations_actions.block(third, viewer)
    assert (sees(reply), sees(first)) == (False, True)
    relations_actions.block(viewer, written["other"])
    assert not sees(first)
    relations_actions.unblock(viewer, written["other"])
    actions.delete_comment(author, first)
    assert not sees(first)
    feeds_actions.delete(written["other"], written["theirs"].pk)
    assert ids_of(all_of(queries.posts_and_replies, viewer, author.pk, 20)) == [
        ident for ident in reversed(written["mine"]) if ident in written["mine"][:8:2]
    ]


def picture(author: Any) -> int:
    out = io.BytesIO()
    Image.new("RGB", (9, 9)).save(out, "PNG")
    return pictures.store_all(author.pk, [(io.BytesIO(out.getvalue()), "")])[0].pk


def test_media_are_posts_with_pictures_or_a_video(author, make_post, make_user) -> None:
    made = []
    for number in range(3):
        make_post(author, "only words")
        made.append(make_post(author, images=[picture(author)]).pk)
        video = {"kind": "video", "title": "t", "video_url": f"https://example.org/{number}"}
        made.append(make_post(author, **video).pk)
    other = make_post(make_user())
    feeds_actions.repost(author, other.pk)
    hidden = make_post(author, images=[picture(author)], visibility="followers").pk
    found = all_of(feeds_queries.media_posts, None, author.pk, 2)
    assert [int(card["id"]) for card in found] == list(reversed(made))
    own = all_of(feeds_queries.media_posts, author, author.pk, 20)
    assert int(own[0]["id"]) == hidden


def test_a_page_of_media_costs_a_bounded_number_of_queries(author, make_post) -> None:
    make_post(author, images=[picture(author)])
    counts = []
    for _ in range(2):
        for number in range(25):
            make_post(author, f"words {number}")
        with CaptureQueriesContext(connection) as captured:
            assert len(feeds_queries.media_posts(None, author.pk, None, 20).items) == 1
        counts.append(len(captured))
    assert counts[1] <= counts[0] + 3, counts


def test_likes_are_shown_to_others_only_on_request(author, make_user, make_post, api_for, api):
    other = make_user()
    posts = [make_post(other, f"liked {number}") for number in range(3)]
    for post in posts:
        actions.like(author, SubjectType.POST, post.pk)
    comment = actions.comment(other, posts[0].pk, "a comment")
    actions.like(author, SubjectType.COMMENT, comment.pk)
    address, mine = f"/api/v1/users/{author.pk}/likes", api_for(author)
    assert api.get(address).status_code == 404
    ids = [str(post.pk) for post in reversed(posts)]
    assert [item["id"] for item in mine.get(address).json()["items"]] == ids
    browser = Client()
    browser.post("/login", {"username": "alice1", "password": "right.pass1"})
    assert "liked 2" in browser.get("/@alice1?tab=likes").content.decode()
    guest = Client().get("/@alice1?tab=likes").content.decode()
    assert ("liked 2" in guest, "tab-likes" in guest) == (False, False)
    accounts_actions.edit_profile(author, likes_shown=True)
    first = api.get(f"{address}?size=2").json()
    second = api.get(f"{address}?size=2&cursor={first['next']}").json()
    assert [item["id"] for item in first["items"] + second["items"]] == ids
    assert second["next"] is None
    assert "liked 2" in Client().get("/@alice1?tab=likes").content.decode()
    relations_actions.block(other, author)
    assert "liked 2" not in browser.get("/@alice1?tab=likes").content.decode()


def test_the_tabs_continue_in_their_own_order(author, make_user, make_post) -> None:
    theirs = make_post(make_user("bob1"), "a question")
    for number in range(22):
        actions.comment(author, theirs.pk, f"answer {number}.")
    browser = Client()
    page = browser.get("/@alice1?tab=replies").content.decode()
    assert ("answer 21." in page, "answer 1." in page, "Replied to @bob1" in page) == (
        *(True, False, True),
    )
    start = page.index('href="?tab=replies&amp;cursor=') + len('href="')
    address = page[start : page.index('"', start)].replace("&amp;", "&")
    more = browser.get(f"/@alice1{address}", headers={"HX-Request": "true"}).content.decode()
    assert ("<html" in more, "answer 1." in more) == (False, True)


@pytest.mark.parametrize(
    ("tab", "mine", "theirs"),
    [
        ("posts", "You have not posted yet", "No posts yet"),
        ("replies", "You have not posted yet", "No posts yet"),
        ("media", "Posts of yours with pictures", "Posts of this person with pictures"),
        ("likes", "Posts that you like", "Posts that this person likes"),
    ],
)
def test_an_empty_tab_says_so(tab, mine, theirs, author, make_user) -> None:
    accounts_actions.edit_profile(author, likes_shown=True)
    browser = Client()
    browser.post("/login", {"username": "alice1", "password": "right.pass1"})
    assert mine in browser.get(f"/@alice1?tab={tab}").content.decode()
    assert theirs in Client().get(f"/@alice1?tab={tab}").content.decode()


def test_the_api_pages_posts_and_comments_and_media(author, written, api, make_post) -> None:
    base = f"/api/v1/users/{author.pk}"
    page = api.get(f"{base}/replies?size=2").json()
    comment = page["items"][0]["comment"]
    assert page["items"][0]["post"] is None
    assert (comment["content"], comment["post"]["preview"]) == ("comment 3", "a question")
    assert comment["post"]["author"]["username"] == "bob1"
    assert page["items"][1]["post"]["content"] == "post 3"
    shown = make_post(author, images=[picture(author)])
    media = api.get(f"{base}/posts?kind=media").json()["items"]
    assert [item["id"] for item in media] == [str(shown.pk)]
    assert api.get(f"{base}/posts?kind=x").json()["code"] == 13
