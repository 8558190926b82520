"""What other programs read: Atom, oEmbed, the map of the site, the heads of public pages."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import LazySettings
from django.test import Client
from lxml import etree

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import text_of
from feeds import actions
from feeds.tests.pictures import make_picture
from relations import actions as relations_actions

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
APP = ("/manifest.webmanifest", "/sw.js", "/offline")
ATOM = {"a": "http://www.w3.org/2005/Atom"}
MAP = {"m": "http://www.sitemaps.org/schemas/sitemap/0.9"}


@pytest.fixture
def author(make_user: Make) -> User:
    return make_user("author")


def atom(path: str, client: Client | None = None) -> etree._Element:
    answer = (client or Client()).get(path)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    return etree.fromstring(answer.content)


def found(root: etree._Element, path: str) -> list[str]:
    return [str(value) for value in root.xpath(path, namespaces={**ATOM, **MAP})]


# --- Atom ---------------------------------------------------------------------------------------
def test_a_person_has_an_atom_feed_as_guests_see_it(
    author: User, browser: Client, me: User
) -> None:
    picture = make_picture(author)
    post = actions.publish(author, content="a < b & c\nsecond \ufffe line", images=[picture.pk])
    actions.publish(author, content="not for guests", visibility="followers")
    actions.publish(author, kind="article", title="A title", content="#Tea")
    relations_actions.follow(me, author)
    for client in (Client(), browser):
        root = atom("/@author/feed.atom", client)
        assert found(root, "a:entry/a:title/text()") == ["A title", "a < b & c second  line"]
    [html] = found(root, "a:entry[2]/a:summary/text()")
    assert html.startswith('a &lt; b &amp; c<br>second  line<br><img src="http://testserver/media/')
    link = f"http://testserver/posts/{post.pk}"
    assert found(root, "a:entry[2]/a:link/@href") == found(root, "a:entry[2]/a:id/text()") == [link]
    assert found(root, "a:entry[1]/a:category/@term") == ["tea"]
    assert found(root, "a:link[@rel='self']/@href") == ["http://testserver/@author/feed.atom"]
    assert '<link rel="alternate" type="application/atom+xml" href="/@author/feed.atom"' in text_of(
        Client().get("/@author")
    )


def test_no_text_breaks_the_feeds_that_have_it(author: User, make_user: Make) -> None:
    codes = [*range(0x20), *range(0x7F, 0xA1), 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF]
    entities = "".join(f"&#{code};" for code in codes)
    raw = "".join(chr(code) for code in codes[1:] if not 0xD800 <= code < 0xE000)
    linked = f"`{entities}` [{entities}](/{entities} '{entities}') ![{entities}](1)"
    for words in (entities, raw, linked, "&NewLine;&Tab;"):
        post = actions.publish(author, kind="article", title=f"T{raw}", content=f"#cats {words}")
    for words in (entities, raw):
        actions.publish(author, content=f"#cats {words}")
    actions.repost(make_user("reader"), post.pk, f"{raw}!")
    for path in ("/@author/feed.atom", "/tags/cats/feed.atom", "/@reader/feed.atom"):
        assert found(atom(path), "a:entry/a:summary/text()")


def test_a_feed_reader_loads_a_feed_only_if_it_changed(author: User) -> None:
    actions.publish(author, content="one #tea")
    for path in ("/@author/feed.atom", "/tags/tea/feed.atom"):
        first = Client().get(path)
        again = {"If-None-Match": first["ETag"]}
        assert Client().get(path, headers=again).status_code == 304
        assert first["Cache-Control"] == "no-cache"
    post = actions.publish(author, content="two #tea")
    assert Client().get(path, headers=again).status_code == 200
    actions.delete(author, post.pk)
    assert Client().get(path, headers=again).status_code == 304


def test_a_feed_without_posts_changes_with_its_first_post(author: User) -> None:
    for path in ("/@author/feed.atom", "/tags/tea/feed.atom"):
        first = Client().get(path)
        assert found(atom(path), "a:updated/text()") == ["1970-01-01T00:00:00+00:00"]
        again = {"If-None-Match": first["ETag"]}
        assert Client().get(path, headers=again).status_code == 304
    actions.publish(author, content="one #tea")
    assert Client().get(path, headers=again).status_code == 200


def test_a_tag_has_an_atom_feed(author: User, make_user: Make) -> None:
    actions.publish(author, content="one #tea")
    actions.publish(author, content="two #tea", visibility="followers")
    other = make_user()
    actions.publish(other, content="three #tea")
    titles = "a:entry/a:title/text()"
    assert found(atom("/tags/Tea/feed.atom"), titles) == ["three #tea", "one #tea"]
    accounts_actions.ban(other)
    assert found(atom("/tags/tea/feed.atom"), titles) == ["one #tea"]
    for path in ("/tags/1/feed.atom", "/@nobody1/feed.atom", f"/@{other.username}/feed.atom"):
        assert Client().get(path).status_code == 404


def test_a_repost_is_in_the_feed_with_what_it_shows(author: User, make_user: Make) -> None:
    source = actions.publish(make_user("writer"), content="the words")
    actions.repost(author, source.pk)
    actions.repost(author, source.pk, "look")
    root = atom("/@author/feed.atom")
    assert found(root, "a:entry/a:title/text()") == ["look", "the words"]
    assert all("the words" in html for html in found(root, "a:entry/a:summary/text()"))


# --- oEmbed -------------------------------------------------------------------------------------
def test_a_public_post_answers_oembed(author: User) -> None:
    post = actions.publish(author, content="hello")
    address = f"http://testserver/posts/{post.pk}"
    answer = Client().get("/oembed", {"url": address})
    values = answer.json()
    assert values["type"] == "rich"
    assert values["author_url"] == "http://testserver/@author"
    assert f'src="{address}/embed"' in values["html"]
    assert (values["width"], f'width="{values["width"]}"' in values["html"]) == (550, True)
    assert answer["Access-Control-Allow-Origin"] == "*"
    narrow = Client().get("/oembed", {"url": f"/posts/{post.pk}", "maxwidth": "300"}).json()
    assert narrow["width"] == 300
    page = text_of(Client().get(f"/posts/{post.pk}"))
    assert f'href="/oembed?url={quote(address, safe="")}"' in page or quote(address) in page
    assert Client().get("/oembed", {"url": address, "format": "xml"}).status_code == 501


def test_oembed_knows_no_other_address(author: User) -> None:
    hidden = actions.publish(author, content="x", visibility="followers")
    post = actions.publish(author, content="x")
    actions.delete(author, post.pk)
    for url in (
        "",
        "http://[",
        "http://testserver/",
        "http://testserver/@author",
        f"http://elsewhere.example/posts/{post.pk}",
        f"http://testserver/posts/{hidden.pk}",
        f"http://testserver/posts/{post.pk}",
        "http://testserver/posts/1",
    ):
        assert Client().get("/oembed", {"url": url}).status_code == 404, url
    assert Client().get("/oembed").status_code == 404


# --- the site -----------------------------------------------------------------------------------
def test_the_map_has_what_guests_may_read(
    author: User, make_user: Make, settings: LazySettings
) -> None:
    other = make_user("banned")
    shown = actions.publish(author, content="one")
    actions.publish(make_user("quiet"), content="two", visibility="followers")
    actions.publish(other, content="three")
    accounts_actions.ban(other)
    root = etree.fromstring(Client().get("/sitemap.xml").content)
    assert Client().get("/sitemap.xml")["Cache-Control"] == "no-cache"
    places = [place.removeprefix(settings.SITE_URL) for place in found(root, "m:url/m:loc/text()")]
    assert places == ["/", "/recommended", "/tags", "/@author", f"/posts/{shown.pk}"]


def test_robots_find_the_map_and_leave_out_the_rest(settings: LazySettings) -> None:
    text = text_of(Client().get("/robots.txt"))
    assert text.startswith("User-agent: *\nDisallow: /admin/\n")
    assert f"Sitemap: {settings.SITE_URL}/sitemap.xml\n" in text
    icon = Client().get("/favicon.ico")
    assert (icon.status_code, icon["Location"].endswith(".ico")) == (301, True)


@pytest.mark.parametrize("kind", ["words", "picture"])
def test_public_pages_say_how_a_link_to_them_looks(author: User, kind: str) -> None:
    images = [make_picture(author).pk] if kind == "picture" else []
    post = actions.publish(author, content='say "hello" #tea', images=images)
    page = text_of(Client().get(f"/posts/{post.pk}"))
    said = dict(re.findall(r'<meta (?:property|name)="([\w:]+)" content="([^"]*)"', page))
    assert said["og:url"] == f"http://testserver/posts/{post.pk}"
    assert said["og:description"] == "say &#34;hello&#34; #tea"
    assert said["og:image"].startswith("http://testserver/")
    assert said["twitter:card"] == ("summary_large_image" if images else "summary")
    for path in ("/@author", "/tags/tea", "/recommended"):
        assert f'<link rel="canonical" href="http://testserver{path}">' in text_of(
            Client().get(path)
        )


def test_other_posts_say_nothing(author: User, browser: Client, me: User) -> None:
    relations_actions.follow(me, author)
    post = actions.publish(author, content="x", visibility="followers")
    page = text_of(browser.get(f"/posts/{post.pk}"))
    assert "og:" not in page
    assert "oembed" not in page


def test_files_for_programs_set_no_cookie_and_know_nobody(
    author: User, make_user: Make, settings: LazySettings
) -> None:
    """A browser whose access token is over would get a fresh pair from any other page."""
    post = actions.publish(author, content="#tea")
    pair = accounts_actions.sign_in(make_user(), "chrome")
    paths = ("/@author/feed.atom", "/tags/tea/feed.atom", f"/oembed?url=/posts/{post.pk}")
    for path in (*paths, "/sitemap.xml", "/robots.txt", "/favicon.ico", *APP):
        client = Client()
        client.cookies["access"], client.cookies["refresh"] = "x", pair.refresh
        client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
        answer = client.get(path)
        assert answer.status_code in (200, 301), path
        assert not answer.cookies, path
        assert answer.content == Client().get(path).content
    client.cookies["access"], client.cookies["refresh"] = "x", pair.refresh
    assert client.get("/").cookies


def test_odd_sizes_and_addresses(author: User) -> None:
    post = actions.publish(author, content="hello")
    address = f"/posts/{post.pk}"
    for size in ("", "x", "-1", "9" * 5000, "\u0663"):
        answer = Client().get("/oembed", {"url": address, "maxwidth": size, "maxheight": size})
        assert answer.json()["width"] == 550
    small = Client().get("/oembed", {"url": address, "maxwidth": "99", "maxheight": "88"}).json()
    assert (small["width"], small["height"]) == (99, 88)
    assert Client().get("/oembed", {"url": "/posts/abc"}).status_code == 404


def test_a_page_has_one_canonical_address(author: User) -> None:
    actions.publish(author, content="#tea")
    for asked, own in (
        ("/tags/%23TEA", "/tags/tea"),
        ("/@AUTHOR", "/@author"),
        ("/recommended?tab=people", "/recommended?tab=people"),
    ):
        assert f'<link rel="canonical" href="http://testserver{own}">' in text_of(
            Client().get(asked)
        )


def test_what_others_show_of_a_page_ends_with_a_whole_character(author: User) -> None:
    flag = "\U0001f1e9\U0001f1ea"
    accounts_actions.edit_profile(author, bio="b" * 159 + flag * 20)
    post = actions.publish(author, content="a" * 39 + flag * 140)
    shown, _is_new = actions.repost(author, post.pk, "look")
    for path in ("/@author", f"/posts/{post.pk}", f"/posts/{shown.pk}", f"/posts/{post.pk}/embed"):
        page = text_of(Client().get(path))
        assert flag[0] in page
        # Each half of a flag beside none or one of its kind.
        halves = re.findall(f"[{flag}]+", page)
        assert [half for half in halves if len(half) % 2] == []
