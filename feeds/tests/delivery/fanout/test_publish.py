"""Publishing: valid posts, their tier, and their position."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.conf import LazySettings
from PIL import Image

from accounts.models import User
from feeds import actions, queries, tiers
from feeds.discovery import public_posts
from feeds.models import AuthorHead, FanOut, InboxEntry, Mode, Post, PostContent
from feeds.tests.exactness.oracle import assert_exact
from feeds.tests.pictures import make_numbered_picture
from relations import actions as relations_actions
from socialsite.core import db
from socialsite.core.errors import InvalidInput
from socialsite.core.media import pictures as media_pictures
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
HTTPS = "https://video.example/watch?v=1"


def words_of(post: Post) -> PostContent:
    return PostContent.objects.get(pk=post.pk)


# --- validation ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "values",
    [
        {"content": "x" * 2000},
        {"content": "界" * 2000},
        {"content": "\U0001f600" * 2000},
        {"content": " " * 9 + "x" * 2000 + "\r\n" * 9},
        {"kind": "article", "title": "t" * 120, "content": "x" * 50_000},
        {"kind": "video", "video_url": HTTPS},
        {"kind": "video", "video_url": f" {HTTPS} ", "title": "t" * 120, "content": "x" * 2000},
        {"kind": "video", "video_url": "https://v.example/" + "a" * (500 - 18)},
        {"kind": "video", "video_url": "https://xn--e1afmkfd.xn--p1ai:8443/a?b=c@d#e"},
        {"content": "x", "visibility": "followers"},
        {"kind": "article", "title": "t", "content": "x", "visibility": "followers"},
    ],
)
def test_a_post_at_the_limits_of_its_kind_is_published(
    author: User, values: dict[str, Any]
) -> None:
    post = actions.publish(author, **values)
    card = queries.post(author, post.pk)
    assert card["kind"] == values.get("kind", "micro")
    assert card["visibility"] == values.get("visibility", "public")
    for field in ("title", "content", "video_url"):
        assert card[field] == values.get(field, "").strip()


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({"content"}, {"content": ""}),
        ({"content"}, {"content": " \r\n\t\x00\x07 "}),
        ({"content"}, {"content": "x" * 2001}),
        ({"title"}, {"content": "x", "title": "t" * 121}),
        ({"title"}, {"kind": "article", "content": "x"}),
        ({"content"}, {"kind": "article", "title": "t"}),
        ({"title", "content"}, {"kind": "article"}),
        ({"title"}, {"kind": "article", "title": "t" * 121, "content": "x"}),
        ({"content"}, {"kind": "article", "title": "t", "content": "x" * 50_001}),
        ({"content"}, {"kind": "video", "video_url": HTTPS, "content": "x" * 2001}),
        ({"video_url"}, {"kind": "video"}),
        ({"video_url"}, {"content": "x", "video_url": HTTPS}),
        ({"video_url"}, {"kind": "article", "title": "t", "content": "x", "video_url": HTTPS}),
        ({"kind"}, {"kind": "repost", "content": "x"}),
        ({"kind"}, {"kind": "", "content": "x"}),
        ({"kind"}, {"kind": "MICRO", "content": "x"}),
        ({"visibility"}, {"content": "x", "visibility": "friends"}),
        ({"visibility"}, {"content": "x", "visibility": ""}),
        ({"kind", "visibility"}, {"kind": "poll", "content": "x", "visibility": "nobody"}),
    ],
)
def test_a_refusal_by_limits_names_its_fields_and_stores_nothing(
    author: User, fields: set[str], values: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        actions.publish(author, **values)
    assert set(caught.value.fields or {}) == fields
    for table in (Post, PostContent, FanOut, AuthorHead):
        assert not table._default_manager.exists()
    assert not Event.objects.filter(aggregate_type="post").exists()


@pytest.mark.parametrize(
    "address",
    [
        "http://video.example/a",
        "HTTPS://video.example/a",
        "//video.example/a",
        "video.example/a",
        "javascript:alert(1)//https://video.example",
        "https://",
        "https://./a",
        "https://localhost/a",
        "https:///video.example",
        'https://video.example/"onclick=x',
        "https://video.example/<b>",
        "https://video.example/\x00",
        "https://v.example/" + "a" * (501 - 18),
        "https://javascript:alert(1)@a.example",
        "https://user@video.example/a",
        "https://@video.example/a",
        "https://video.example%40other.example/a",
        "https://video.example:0/a",
        "https://video.example:65536/a",
        "https://video.example:/a",
        "https://video.example:port/a",
        "https://127.0.0.1/a",
        "https://1.2.3.45/a",
        "https://0x7f.10/a",
        "https://2130706433/a",
        "https://[::1]/a",
        "https://[video.example/a",
        "https://video_site.example/a",
        "https://-video.example/a",
        "https://video..example/a",
        "https://v%69deo.example/a",
        "https://" + "a." * 130 + "example/",
    ],
)
def test_a_video_is_at_an_https_address(author: User, address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        actions.publish(author, kind="video", video_url=address)
    assert set(caught.value.fields or {}) == {"video_url"}


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (" https://video.example/a b ", "https://video.example/a%20b"),
        ("https://vidéo.example/日本?é", "https://xn--vido-dpa.example/%E6%97%A5%E6%9C%AC?%C3%A9"),
    ],
)
def test_the_address_of_a_video_is_kept_in_ascii(author: User, typed: str, kept: str) -> None:
    post = actions.publish(author, kind="video", video_url=typed)
    assert PostContent.objects.get(pk=post.pk).video_url == kept


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("a\r\nb", "a\nb"),
        ("a\n\n\tb", "a\n\n\tb"),
        ("\r\n a \r\n", "a"),
        ("a\x00b\x07c\x1bd\x7fe\x84f", "abcdef"),
        ("a\rb\x0bc\x0cd\x85e\u2028f", "a\nb\nc\nd\ne\nf"),
        ("a\ud800b", "ab"),
        ("\u05d0\u200f\u200d", "\u05d0\u200f\u200d"),
    ],
)
def test_control_characters_go_and_line_breaks_are_line_feeds(
    author: User, typed: str, kept: str
) -> None:
    post = actions.publish(author, kind="article", title=f"t{typed}", content=typed)
    assert words_of(post).content == kept
    assert not set(words_of(post).title) & set("\r\n\x00\x07\x1b\x7f\x84\x85\ud800")


def test_a_text_that_nobody_can_see_is_none(author: User) -> None:
    with pytest.raises(InvalidInput):
        actions.publish(author, content="\u200b \u2060\u3164\u2800\u115f\ufe0f\u034f")
    source = actions.publish(author, content="hello").pk
    reposts = [actions.repost(author, source, text)[0] for text in ("\u200b", "")]
    assert reposts[0] == reposts[1]


def test_the_length_is_that_of_the_stored_text(author: User) -> None:
    """A browser counts a line break as one character but sends two."""
    lines = "x\r\n" * 999 + "yz"
    assert len(words_of(actions.publish(author, content=lines)).content) == 2000
    with pytest.raises(InvalidInput):
        actions.publish(author, content=lines + "a")


# --- pictures -----------------------------------------------------------------------------------
def test_nine_pictures_come_in_the_order_given(author: User) -> None:
    pictures = [make_numbered_picture(author, number) for number in range(9)]
    post = actions.publish(author, images=[picture.pk for picture in pictures[::-1]])
    images = queries.post(author, post.pk)["images"]
    assert [image["id"] for image in images] == [str(picture.pk) for picture in pictures[::-1]]
    assert images[0] == {
        "id": str(pictures[8].pk),
        "url": media_pictures.url_of("aa/8.jpg"),
        "thumb": media_pictures.url_of("aa/8-s.jpg"),
        "width": 640,
        "height": 480,
        "alt": "picture 8",
        "placeholder": "",
    }


def test_a_tenth_picture_is_refused(author: User) -> None:
    pictures = [make_numbered_picture(author, number).pk for number in range(10)]
    with pytest.raises(InvalidInput) as caught:
        actions.publish(author, content="x", images=pictures)
    assert set(caught.value.fields or {}) == {"images"}


def test_pictures_of_others_are_refused_as_if_there_were_none(
    author: User, make_user: Make
) -> None:
    mine, theirs = make_numbered_picture(author, 1), make_numbered_picture(make_user(), 2)
    answers = []
    for wrong in (theirs.pk, 12345):
        with pytest.raises(InvalidInput) as caught:
            actions.publish(author, content="x", images=[mine.pk, wrong])
        answers.append(caught.value.fields)
    assert answers[0] == answers[1]
    assert set(answers[0] or {}) == {"images"}
    assert not Post.objects.exists()


def test_an_uploaded_picture_is_shown_with_its_size(
    author: User, settings: LazySettings, tmp_path: Any
) -> None:
    settings.MEDIA_ROOT = tmp_path
    file = BytesIO()
    Image.new("RGB", (30, 20), "red").save(file, "PNG")
    file.seek(0)
    (picture,) = media_pictures.store_all(author.pk, [(file, "a red field")])
    card = queries.post(None, actions.publish(author, images=[picture.pk]).pk)
    image = card["images"][0]
    assert (image["width"], image["height"], image["alt"]) == (30, 20, "a red field")
    assert (tmp_path / picture.name).is_file()


# --- visibility ---------------------------------------------------------------------------------
def test_a_post_for_followers_is_in_feeds_of_followers_only(
    author: User, make_user: Make, drain: Make
) -> None:
    follower, stranger = make_user(), make_user()
    relations_actions.follow(follower, author)
    drain()
    post = actions.publish(author, content="for you", visibility="followers")
    for _ in ("before the delivery", "after it"):
        assert [c["id"] for c in queries.home_feed(follower, None, 10).items] == [str(post.pk)]
        assert public_posts.recommended(stranger, None, 10).items == []
        assert queries.profile_posts(None, author.pk, None, 10).items == []
        drain()
    relations_actions.unfollow(follower, author)
    assert queries.profile_posts(follower, author.pk, None, 10).items == []


# --- the tier -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # followers: 0, at 80, above 80, at 100, above 100, at 800, above 800, at 1000, above 1000
        (Mode.ALL, "AAAACCCCN"),
        (Mode.ACTIVE, "AACCCCCCN"),
        (Mode.NONE, "AACCCCNNN"),
    ],
)
def test_an_author_goes_up_above_a_threshold_and_down_at_four_fifths_of_it(
    before: Mode, expected: str, settings: LazySettings
) -> None:
    settings.PUSH_ALL_MAX, settings.PUSH_ACTIVE_MAX = 100, 1000
    followers = (0, 80, 81, 100, 101, 800, 801, 1000, 1001)
    letters = {Mode.ALL: "A", Mode.ACTIVE: "C", Mode.NONE: "N"}
    assert "".join(letters[tiers.mode_for(n, before)] for n in followers) == expected


def test_the_tier_is_frozen_on_each_post_and_the_feed_is_exact_across_the_edge(
    author: User, make_user: Make, drain: Make, settings: LazySettings
) -> None:
    settings.PUSH_ALL_MAX, settings.PUSH_ACTIVE_MAX = 5, 7
    fans = [make_user() for _ in range(8)]
    posts = []
    for fan in fans:
        relations_actions.follow(fan, author)
        drain()
        posts.append(actions.publish(author, content="going up"))
    for fan in fans[:0:-1]:
        relations_actions.unfollow(fan, author)
        drain()
        posts.append(actions.publish(author, content="going down"))
    drain()
    # 1 to 5 followers, 6 and 7, 8; then 7 and 6 (above 5.6), and from 5 (above 4) on again.
    modes = [Post.objects.get(pk=post.pk).mode for post in posts]
    assert modes == [0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 1, 0, 0, 0, 0]
    assert not FanOut.objects.filter(post__mode=Mode.NONE).exists()
    assert_exact(fans[0])
    assert len(queries.home_feed(fans[0], None, 20).items) == 15


# --- the position -------------------------------------------------------------------------------
def test_positions_of_an_author_never_go_back_with_the_clock(
    author: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = db.now_ms()
    found = []
    for now in (start, start - 5000, start, start + 1, start - 1):
        monkeypatch.setattr(db, "now_ms", lambda now=now: now)
        found.append(actions.publish(author, content="x"))
    assert [post.position - start for post in found] == [0, 0, 0, 1, 1]
    newest_first = queries.profile_posts(None, author.pk, None, 10).items
    assert [card["id"] for card in newest_first] == [str(post.pk) for post in found[::-1]]
    assert AuthorHead.objects.get(pk=author.pk).last_position == start + 1


def test_two_authors_do_not_push_each_other_forward(
    author: User, make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = db.now_ms()
    monkeypatch.setattr(db, "now_ms", lambda: start + 60_000)
    actions.publish(author, content="ahead")
    monkeypatch.setattr(db, "now_ms", lambda: start)
    assert actions.publish(make_user(), content="now").position == start


def test_a_post_in_the_past_takes_its_place_in_every_feed(
    author: User, make_user: Make, drain: Make, settings: LazySettings
) -> None:
    settings.BACKFILL_MAX = 2
    early, late = make_user(), make_user()
    relations_actions.follow(early, author)
    drain()
    now = db.now_ms()
    offsets = [0, 5000, 1000, 9000, 3000, 5000]
    posts = [actions.publish(author, content="x", at_ms=now - offset) for offset in offsets]
    assert [post.position for post in posts] == [now - offset for offset in offsets]
    expected = [str(p.pk) for p in sorted(posts, key=lambda p: (p.position, p.pk), reverse=True)]
    relations_actions.follow(late, author)
    for _ in ("before the delivery", "after it"):
        for reader in (early, late, author):
            assert [c["id"] for c in queries.home_feed(reader, None, 10).items] == expected
            assert_exact(reader, 2)
        drain()
    head = AuthorHead.objects.get(pk=author.pk)
    assert (head.last_position, head.post_count) == (now, 6)
    # A post below a finished backfill, without a row in the late reader's inbox.
    old = actions.publish(author, content="x", at_ms=1)
    for _ in ("before the delivery", "after it"):
        for reader in (early, late):
            assert [c["id"] for c in queries.home_feed(reader, None, 10).items][-1] == str(old.pk)
            assert_exact(reader, 2)
        drain()
    assert InboxEntry.objects.filter(user_id=early.pk).count() == 7


def test_a_post_in_the_past_that_is_not_pushed_is_pulled(
    author: User, make_user: Make, drain: Make, settings: LazySettings
) -> None:
    settings.PUSH_ALL_MAX = settings.PUSH_ACTIVE_MAX = 0
    reader = make_user()
    relations_actions.follow(reader, author)
    drain()
    now = db.now_ms()
    newer = actions.publish(author, content="x")
    older = actions.publish(author, content="x", at_ms=now - 5000)
    assert AuthorHead.objects.get(pk=author.pk).last_pulled_position == newer.position
    feed = queries.home_feed(reader, None, 10).items
    assert [c["id"] for c in feed] == [str(newer.pk), str(older.pk)]


def test_nothing_is_published_in_the_future(author: User) -> None:
    with pytest.raises(ValueError, match="future"):
        actions.publish(author, content="x", at_ms=db.now_ms() + 60_000)
    assert not Post.objects.exists()
    assert not AuthorHead.objects.exists()
