"""Previews of links: what pages say about themselves, who sees it, and what hostile pages do."""

import gzip
import io
import os
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import blurhash
import pytest
from django.conf import LazySettings
from PIL import Image
from rest_framework.test import APIClient

from accounts.models import User
from accounts.tests.browsers import browser_of, text_of
from feeds import actions
from feeds.content.previews import actions as previews
from feeds.content.previews import pages, runner
from feeds.content.previews.addresses import address_of, host_of, is_here
from feeds.models import FoundPreview, PostContent, PostImage, WantedPreview
from feeds.tests.content.sites import HTML, Site
from feeds.tests.pictures import make_picture
from relations import actions as relations_actions
from socialsite.core.models import Media
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate
from socialsite.pages.picture_placeholders import placeholder

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("media_root", "previews_on"),
]
Make = Callable[..., Any]
V1 = "/api/v1/"
CARD = 'data-testid="link-card"'


def picture(width: int = 1200, height: int = 630) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, "PNG")
    return out.getvalue()


def work() -> None:
    while previews.work_off():
        pass


def link_of(post_id: int) -> Any:
    return PostContent.objects.get(pk=post_id).link


GOOD = (
    '<meta property="og:title" content="A &amp; B"><meta property="og:description"'
    ' content="Some\n text."><meta property="og:image" content="/a.png"><title>Other</title>'
)


def test_a_post_shows_title_text_and_picture_of_its_link(
    site: Site, me: User, api_for: Make, drain: Callable[[], None]
) -> None:
    url = site.page("/one", GOOD)
    site.page("/a.png", picture(), "image/png")
    api = api_for(me)
    post = api.post(V1 + "posts", {"content": f"See {url} and {url}2"}, format="json").json()
    assert post["link"] is None
    drain()
    work()
    shown = api.get(f"{V1}posts/{post['id']}").json()["link"]
    assert shown == {**shown, "url": url, "title": "A & B", "text": "Some text."}
    assert api.get(V1 + "feed").json()["items"][0]["link"] == shown
    item = Media.objects.get()
    assert shown["image"].endswith(item.name)
    assert shown["placeholder"] == item.placeholder
    assert blurhash.components(item.placeholder) == (4, 3)
    assert (item.owner_id, item.width, item.height) == (me.pk, 800, 420)
    assert site.asked == ["/one", "/a.png"]
    assert not WantedPreview.objects.exists()
    page = browser_of(me).get(f"/posts/{post['id']}").content.decode()
    assert f'data-testid="link-card"><img{placeholder(item.placeholder)} src=' in page
    assert "A &amp; B" in page
    assert 'rel="nofollow ugc noopener"' in page


def test_posts_with_pictures_quotes_and_articles_have_one(
    site: Site, me: User, make_user: Make, make_post: Make, api_for: Make
) -> None:
    url = site.page("/one", GOOD)
    site.page("/a.png", picture(), "image/png")
    pictured = actions.publish(me, content=f"see {url}", images=[make_picture(me).pk])
    quote, _ = actions.repost(me, make_post(make_user()).pk, f"also {url}")
    article = actions.publish(me, kind="article", title="T", content=f"[a **link**]({url})")
    work()
    reader, api = browser_of(me), api_for(me)
    for post in (pictured, quote, article):
        assert api.get(f"{V1}posts/{post.pk}").json()["link"]["title"] == "A & B"
        assert CARD in text_of(reader.get(f"/posts/{post.pk}"))
    # In lists an article is its beginning.
    assert text_of(reader.get("/")).count(CARD) == 2
    # The pictures of the post are enough.
    assert link_of(pictured.pk)["image"]
    page = text_of(reader.get(f"/posts/{pictured.pk}"))
    assert page[page.index(CARD) :].partition("</a>")[0].count("<img") == 0
    page = text_of(reader.get(f"/posts/{quote.pk}"))
    assert page[page.index(CARD) :].partition("</a>")[0].count("<img") == 1
    # An edit that keeps the address keeps the card; one that takes it away ends it.
    actions.edit(me, article.pk, 1, content=f"[the link]({url}), still")
    assert link_of(article.pk)["title"] == "A & B"
    actions.edit(me, article.pk, 2, content="no link")
    assert link_of(article.pk) is None


def test_many_posts_with_one_link_read_it_once(site: Site, me: User) -> None:
    url = site.page("/one", GOOD)
    site.page("/a.png", picture(), "image/png")
    posts = [actions.publish(me, content=url) for _ in range(3)]
    work()
    assert [link_of(post.pk)["title"] for post in posts] == ["A & B"] * 3
    assert site.asked == ["/one", "/a.png"]
    # Each post has a picture of its own: it ends with the post.
    assert Media.objects.count() == PostImage.objects.count() == 3
    FoundPreview.objects.update(found_at=1)
    previews.purge()
    assert not FoundPreview.objects.exists()


def test_who_sees_the_picture_is_who_sees_the_post(
    site: Site, me: User, make_user: Make, drain: Callable[[], None]
) -> None:
    url = site.page("/one", GOOD)
    site.page("/a.png", picture(), "image/png")
    other, fan = make_user(), make_user()
    relations_actions.follow(fan, me)
    post = actions.publish(me, content=url)
    work()
    drain()
    address = f"/media/{Media.objects.get().name}"
    readers = {"other": browser_of(other), "fan": browser_of(fan)}

    def sees() -> dict[str, int]:
        return {name: reader.get(address).status_code for name, reader in readers.items()}

    assert sees() == {"other": 200, "fan": 200}
    actions.edit(me, post.pk, 1, visibility="followers")
    drain()
    assert sees() == {"other": 404, "fan": 200}
    relations_actions.block(me, fan)
    assert sees() == {"other": 404, "fan": 404}
    actions.delete(me, post.pk)
    drain()
    assert not Media.objects.exists()


def test_an_edit_of_the_address_ends_the_preview(
    site: Site, me: User, drain: Callable[[], None]
) -> None:
    first = site.page("/one", GOOD)
    site.page("/a.png", picture(), "image/png")
    second = site.page("/two", "<title>Two</title>")
    post = actions.publish(me, content=first)
    work()
    actions.edit(me, post.pk, 1, content=f"still {first}")
    assert link_of(post.pk)["title"] == "A & B"
    assert not WantedPreview.objects.exists()
    actions.edit(me, post.pk, 2, content=second)
    assert link_of(post.pk) is None
    drain()
    assert not Media.objects.exists()
    work()
    assert link_of(post.pk) == {"url": second, "title": "Two", "text": "", "image": None}
    actions.edit(me, post.pk, 3, content="none")
    work()
    assert link_of(post.pk) is None


def test_a_page_that_comes_too_late_changes_nothing(
    site: Site, me: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = site.page("/one", GOOD)
    site.page("/a.png", picture(), "image/png")
    post = actions.publish(me, content=url)
    real = pages.read

    def slow(address: str) -> pages.Page | None:
        found = real(address)
        actions.edit(me, post.pk, 1, content="changed")
        return found

    monkeypatch.setattr(pages, "read", slow)
    work()
    assert link_of(post.pk) is None
    gone = actions.publish(me, content=url)
    actions.delete(me, gone.pk)
    work()
    assert not Media.objects.exists()
    assert not WantedPreview.objects.exists()


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<meta name='twitter:title' content='T'><title>x</title>", "T"),
        ("<title> one\n\n line </title>", "one line"),
        ("<title>" + "a" * 5000 + "</title>", "a" * 199 + "…"),
        ("<meta charset=gbk><title>你好</title>".encode("gbk"), "你好"),
        ("<title>你好</title>".encode("big5"), "你好"),
        (b"\xef\xbb\xbf<title>\xe4\xbd\xa0</title>", "你"),
        (b"<title>\xff\xfe\x00z</title>", None),
        ("<title>&lt;script&gt;</title>", "<script>"),
        ("<meta property=og:title>" * 1500 + "<title>T</title>", "T"),
        ("<title></title>", None),
        ("", None),
        ("<META CONTENT=T NAME=og:title >", "T"),
        ('<meta name="og:title" content="a > b &amp; &#x41;">', "a > b & A"),
        ("<metadata name=og:title content=x><title lang=en>T</title>", "T"),
    ],
)
def test_titles_of_pages(site: Site, html: str | bytes, title: str | None) -> None:
    kind = (
        "text/html; charset=big5" if html == "<title>你好</title>".encode("big5") else "text/html"
    )
    found = pages.read(site.page("/x", html, kind))
    if title is None:
        assert found is None or "z" in found.title
    else:
        assert found is not None
        assert found.title == title


def test_answers_that_show_nothing(site: Site, me: User) -> None:
    page = "<title>T</title>"
    assert pages.read(site.page("/text", page, "text/plain")) is None
    assert pages.read(site.page("/zip", page, HTML, **{"Content-Encoding": "gzip"})) is None
    packed = gzip.compress(page.encode())
    assert pages.read(site.page("/br", packed, HTML, **{"Content-Encoding": "br"})) is None
    for number, coding in enumerate(("gzip, gzip, gzip", "gzip, br", "gzip, gzip")):
        site.page(f"/{number}", packed, HTML, **{"Content-Encoding": coding})
        assert pages.read(f"{site.root}/{number}") is None
    assert pages.read(site.root + "/missing") is None
    site.answers["/here"] = (302, {"Location": "http://127.0.0.1/"}, b"")
    with pytest.raises(pages.Later):
        pages.read(site.root + "/here")
    site.answers["/round"] = (302, {"Location": "/round"}, b"")
    with pytest.raises(pages.Later):
        pages.read(site.root + "/round")
    assert site.asked.count("/round") == 4
    site.answers["/busy"] = (503, {}, b"")
    with pytest.raises(pages.Later):
        pages.read(site.root + "/busy")
    assert pages.read("http://10.0.0.1/") is None
    assert pages.read("https://169.254.169.254/latest") is None
    assert pages.read("http://[::ffff:10.0.0.1]/") is None


@pytest.mark.parametrize(
    "image", [b"no picture", picture(100, 100), picture(1200, 630)[:900], b"", b"<svg/>"]
)
def test_a_bad_picture_leaves_the_words(site: Site, image: bytes) -> None:
    site.page("/a.png", image, "image/png")
    assert pages.read(site.page("/one", GOOD)) == pages.Page("A & B", "Some text.", b"")


def test_a_long_page_is_read_to_its_limit(site: Site) -> None:
    page = "<title>T</title>" + "x" * 3_000_000
    found = pages.read(site.page("/long", page))
    assert found == pages.Page("T", "", b"")
    for size, is_shown in ((pages.PICTURE_BYTES, False), (pages.PICTURE_BYTES - 9000, True)):
        site.page("/a.png", picture() + b"0" * size, "image/png")
        shown = pages.read(site.page("/one", GOOD))
        assert shown is not None
        assert (shown.title, bool(shown.picture)) == ("A & B", is_shown)


def test_pages_may_be_compressed(site: Site) -> None:
    page = GOOD.replace('<meta property="og:image" content="/a.png">', "").encode()
    raw = zlib.compressobj(wbits=-15)
    half = len(page) // 2
    bodies = {
        "gzip": gzip.compress(page),
        "x-gzip": gzip.compress(page[:half]) + gzip.compress(page[half:]) + bytes(100),
        "deflate": zlib.compress(page),
        "Deflate": raw.compress(page) + raw.flush(),
        "deflate, gzip": gzip.compress(zlib.compress(page)),
        "identity": page,
        # The connection ended early: the beginning is enough.
        "gzip ": gzip.compress(page + os.urandom(5000))[:-3000],
    }
    for number, (coding, body) in enumerate(bodies.items()):
        site.page(f"/{number}", body, HTML, **{"Content-Encoding": coding})
        found = pages.read(f"{site.root}/{number}")
        assert found is not None, coding
        assert (found.title, found.text) == ("A & B", "Some text."), coding
    assert {asked["accept-encoding"] for asked in site.headers} == {"gzip, deflate"}


@pytest.mark.parametrize("times", [1, 2])
def test_a_compressed_bomb_is_unpacked_to_the_limit_only(site: Site, times: int) -> None:
    body = GOOD.encode() + b" " * 200_000_000
    for _ in range(times):
        body = gzip.compress(body)
    site.page("/bomb", body, HTML, **{"Content-Encoding": ", ".join(["gzip"] * times)})
    tracemalloc.start()
    found = pages.read(site.root + "/bomb")
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert found.title == "A & B"
    assert peak < 20_000_000


def test_a_picture_may_be_compressed_and_is_no_bomb(site: Site) -> None:
    url = site.page("/one", GOOD)
    packed = {"Content-Encoding": "gzip"}
    for size, is_shown in ((0, True), (200_000_000, False)):
        body = gzip.compress(picture() + bytes(size))
        site.page("/a.png", body, "image/png", **packed)
        shown = pages.read(url)
        assert shown is not None
        assert bool(shown.picture) == is_shown


def test_which_posts_have_a_preview(settings: LazySettings) -> None:
    settings.SITE_URL = "https://social.example"

    def found(content: str, kind: str = "micro", images: int = 0) -> str:
        return address_of(kind, PostContent(content=content, images=[{}] * images))

    assert found("see www.example.com/a, #tag @name1") == "https://www.example.com/a"
    assert found("a@example.com https://example.com/b") == "https://example.com/b"
    assert found("https://social.example/posts/1 https://example.com") == ""
    assert found("https://example.com", images=1) == "https://example.com"
    assert found("quoted: https://example.com", kind="repost") == "https://example.com"
    assert found("https://example.com", kind="video") == ""
    article = "`https://code.example` ![p](1) [a **b**](https://example.com/a) https://b.example"
    assert found(article, kind="article") == "https://example.com/a"
    assert found("# www.example.com/b\n\n[x](https://c.example)", "article") == (
        "https://www.example.com/b"
    )
    for other in ("mailto:a@b.example", "/posts/1", "javascript:alert(1)", "//b.example"):
        assert found(f"[x]({other}) and words", kind="article") == ""
    assert found("[x](https://social.example/a)", kind="article") == ""
    assert found("https://example.com/" + "a" * 3000) == ""
    assert found("nothing") == ""
    assert is_here("https://SOCIAL.example./x")
    assert is_here("http://[")
    assert host_of("https://www.bücher.example/") == "xn--bcher-kva.example"


def test_a_failing_page_is_tried_three_times(site: Site, me: User) -> None:
    site.answers["/busy"] = (503, {}, b"")
    post = actions.publish(me, content=site.root + "/busy")
    for tries in (1, 2):
        work()
        row = WantedPreview.objects.get()
        assert (row.tries, len(site.asked)) == (tries, tries)
        WantedPreview.objects.update(due_at=0)
    work()
    assert not WantedPreview.objects.exists()
    assert len(site.asked) == 3
    assert link_of(post.pk) is None


def test_a_host_is_asked_within_its_budget(site: Site, me: User, settings: LazySettings) -> None:
    settings.BUDGETS = {**settings.BUDGETS, budgets.PREVIEW_HOST.name: Rate(2, 60)}
    posts = [actions.publish(me, content=site.page(f"/{n}", "<title>T</title>")) for n in range(3)]
    work()
    assert len(site.asked) == 2
    waiting = WantedPreview.objects.get()
    assert (waiting.pk, waiting.tries) == (posts[2].pk, 0)
    assert waiting.due_at > posts[2].position + 50_000


def test_switched_off_nothing_is_asked(site: Site, me: User, settings: LazySettings) -> None:
    url = site.page("/one", "<title>T</title>")
    waiting = actions.publish(me, content=url)
    settings.LINK_PREVIEWS = False
    actions.publish(me, content=url)
    assert WantedPreview.objects.count() == 1
    work()
    assert not WantedPreview.objects.exists()
    assert site.asked == []
    assert link_of(waiting.pk) is None


def test_a_mistake_with_one_page_does_not_stop_the_others(
    site: Site, me: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (site.page(path, f"<title>{path}</title>") for path in ("/bad", "/good"))
    actions.publish(me, content=bad)
    post = actions.publish(me, content=good)
    real = pages.read

    def read(address: str) -> pages.Page | None:
        if address == bad:
            raise RuntimeError
        return real(address)

    monkeypatch.setattr(pages, "read", read)
    work()
    assert link_of(post.pk)["title"] == "/good"
    assert WantedPreview.objects.get().tries == 1


@pytest.mark.django_db(transaction=True)
def test_the_thread_ends_without_work(site: Site, me: User) -> None:
    runner.start()
    assert not runner._running.locked()
    post = actions.publish(me, content=site.page("/one", "<title>T</title>"))
    runner.start()
    for thread in threading.enumerate():
        if thread.name == "link-previews":
            thread.join()
    assert link_of(post.pk)["title"] == "T"
    assert not runner._running.locked()


def test_guests_and_feeds_get_the_preview(site: Site, me: User, api: APIClient) -> None:
    post = actions.publish(me, content=site.page("/one", "<title>T</title>"), sensitive=True)
    work()
    assert api.get(f"{V1}posts/{post.pk}").json()["link"]["title"] == "T"
