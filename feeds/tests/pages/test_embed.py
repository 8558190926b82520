"""A public post in a frame of another site, and the page with the code for it."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions
from feeds.models import Visibility
from feeds.tests.pictures import make_picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
GONE = "This post is not available"


def embed(post_id: Any, client: Client | None = None, status: int = 200, **headers: str) -> Any:
    answer = (client or Client()).get(f"/posts/{post_id}/embed", headers=headers)
    assert answer.status_code == status
    return answer


def text_of(answer: Any) -> str:
    return str(answer.content.decode())


def policy(answer: Any) -> dict[str, str]:
    parts = answer.headers["Content-Security-Policy"].split("; ")
    return dict(part.split(" ", 1) for part in parts)


def test_only_this_address_may_be_framed_by_other_sites(author: User) -> None:
    post = actions.publish(author, content="to embed")
    answers = [embed(post.pk), embed(1, status=404), Client().post(f"/posts/{post.pk}/embed")]
    assert answers[2].status_code == 405
    for answer in answers:
        assert "X-Frame-Options" not in answer.headers
        assert policy(answer)["frame-ancestors"] == "*"
        assert policy(answer)["script-src"] == "'none'"
        assert "<script" not in text_of(answer)
    address = f"/posts/{post.pk}"
    others = ("", "/embed/", "/embed/code", "/embed/x", "/menu", "/history", "/x/embed")
    for path in (*(address + other for other in others), "/", "/nothing", "/embed", "/api/v1/feed"):
        answer = Client().get(path)
        assert answer.headers["X-Frame-Options"] == "DENY", path
        assert policy(answer)["frame-ancestors"] == "'none'", path


def test_everybody_gets_the_answer_of_a_guest_and_no_session_is_read(
    author: User, make_user: Make
) -> None:
    reader = make_user()
    post = actions.publish(author, content="the same for all")
    as_guest = embed(post.pk)
    for client in (browser_of(reader), browser_of(author)):
        client.cookies["django_language"] = "zh-hans"
        answer = embed(post.pk, client)
        assert answer.content == as_guest.content
        assert not answer.cookies
    broken = Client()
    broken.cookies["access"] = broken.cookies["refresh"] = "broken"
    answer = embed(post.pk, broken)
    assert answer.content == as_guest.content
    assert not answer.cookies


def test_all_links_open_a_new_tab_and_show_what_the_post_has(author: User, make_user: Make) -> None:
    make_user("friend1")
    picture = make_picture(author)
    post = actions.publish(
        author,
        content="see https://example.org and @friend1 <b>",
        images=[picture.pk],
    )
    page = text_of(embed(post.pk))
    for words in ("&lt;b&gt;", "@writer1", f'href="http://testserver/posts/{post.pk}"'):
        assert words in page
    assert "<img" in page
    links = re.findall(r"<a\b[^>]*>", page)
    assert len(links) >= 6
    for link in links:
        assert 'target="_blank"' in link, link
        assert re.search(r'rel="[^"]*\bnoopener\b', link), link


def test_an_article_is_shown_by_the_beginning_of_its_words(author: User) -> None:
    text = "Some **bold** words, and [a link](https://example.org)."
    post = actions.publish(author, kind="article", title="A title", content=text)
    page = text_of(embed(post.pk))
    assert "A title" in page
    assert "Some bold words, and a link." in page


def test_a_quote_opens_a_new_tab_and_a_bare_repost_shows_its_post(
    author: User, make_user: Make
) -> None:
    other = make_user()
    post = actions.publish(author, content="the original")
    bare, _ = actions.repost(other, post.pk, "")
    quote, _ = actions.repost(make_user(), post.pk, "look at this")
    assert "the original" in text_of(embed(bare.pk))
    page = text_of(embed(quote.pk))
    assert "look at this" in page
    tag = re.search(r'<a class="quote"[^>]*>', page)
    assert tag
    assert 'target="_blank" rel="noopener"' in tag[0]


def test_what_guests_may_not_read_is_gone_at_once(author: User, make_user: Make) -> None:
    posts = [actions.publish(author, content=f"post {number}") for number in range(3)]
    hidden = actions.publish(author, content="for followers", visibility="followers")
    for client in (Client(), browser_of(author)):
        page = text_of(embed(hidden.pk, client, 404))
        assert GONE in page
        assert "for followers" not in page
    etag = embed(posts[0].pk).headers["ETag"]
    for post in posts:
        embed(post.pk)
    actions.delete(author, posts[0].pk)
    actions.edit(author, posts[1].pk, 1, visibility=Visibility.FOLLOWERS.value)
    for post in posts[:2]:
        answer = embed(post.pk, status=404, if_none_match=etag)
        assert answer.headers["Cache-Control"] == "no-store"
        assert GONE in text_of(answer)
    accounts_actions.ban(author)
    assert GONE in text_of(embed(posts[2].pk, status=404))


def test_a_cache_asks_each_time_and_the_answer_is_short(author: User) -> None:
    post = actions.publish(author, content="kept for a moment")
    answer = embed(post.pk)
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "Accept-Language" in answer.headers["Vary"]
    assert "Cookie" not in answer.headers["Vary"]
    again = embed(post.pk, status=304, if_none_match=answer.headers["ETag"])
    assert again.content == b""
    assert policy(again)["frame-ancestors"] == "*"
    actions.edit(author, post.pk, 1, content="changed")
    assert "changed" in text_of(embed(post.pk, if_none_match=answer.headers["ETag"]))


def test_the_language_is_that_of_the_browser(author: User) -> None:
    post = actions.publish(author, content="in two languages")
    page = text_of(embed(post.pk, accept_language="zh-CN"))
    assert 'lang="zh-hans"' in page
    assert "View on" not in page
    assert GONE not in text_of(embed(1, status=404, accept_language="zh-CN"))


def test_a_long_text_is_shortened_and_leads_to_the_post(author: User) -> None:
    post = actions.publish(author, kind="article", title="Long", content="word " * 400 + "the end")
    page = text_of(embed(post.pk))
    assert "the end" not in page
    assert "Read on" in page


def test_the_menu_offers_the_code_of_public_posts_only(author: User, make_user: Make) -> None:
    post = actions.publish(author, content="open")
    hidden = actions.publish(author, content="for followers", visibility="followers")
    for client in (Client(), browser_of(author), browser_of(make_user())):
        menu = text_of(client.get(f"/posts/{post.pk}/menu"))
        assert f'href="/posts/{post.pk}/embed/code"' in menu
        assert client.get(f"/posts/{hidden.pk}/embed/code").status_code == 404
    own = browser_of(author)
    assert "/embed" not in text_of(own.get(f"/posts/{hidden.pk}/menu"))
    panel = own.get(f"/posts/{post.pk}/menu", headers={"HX-Request": "true"})
    assert f'href="/posts/{post.pk}/embed/code"' in text_of(panel)


def test_the_code_has_the_full_address_and_cannot_be_broken_by_a_name(
    author: User, settings: LazySettings
) -> None:
    settings.NAME_POLICY = "open"
    accounts_actions.edit_profile(author, nickname='"><script>')
    post = actions.publish(author, content="open")
    answer = Client().get(f"/posts/{post.pk}/embed/code")
    assert policy(answer)["frame-src"] == "'self'"
    page = text_of(answer)
    field = re.search(r"<textarea[^>]*readonly[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert field
    code = html.unescape(field[1])
    assert code.startswith(f'<iframe src="http://testserver/posts/{post.pk}/embed" title="Post by ')
    assert code.endswith("</iframe>")
    assert "<script" not in code
    assert "&quot;&gt;&lt;script&gt;" in code
    preview = re.search(r'<iframe class="embed-preview"[^>]*>', page)
    assert preview
    assert f'src="/posts/{post.pk}/embed"' in preview[0]


def test_the_frame_is_as_high_as_the_post_needs(author: User, make_user: Make) -> None:
    picture = make_picture(author)
    line = "a line of words"
    posts = [
        actions.publish(author, content=line),
        actions.publish(author, content=line * 20),
        actions.publish(author, content=line, images=[picture.pk]),
    ]
    posts.append(actions.repost(make_user(), posts[0].pk, line)[0])
    pages = [text_of(Client().get(f"/posts/{post.pk}/embed/code")) for post in posts]
    found = [re.findall(r'<iframe [^>]*height="(\d+)"', page) for page in pages]
    low, *higher = [int(heights[0]) for heights in found]
    assert all(low < height < 800 for height in higher)
