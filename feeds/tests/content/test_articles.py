"""Articles in Markdown: their page, and plain words everywhere else."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from lxml import etree, html
from rest_framework.test import APIClient

from accounts.models import User
from accounts.tests.browsers import browser_of, text_of
from feeds import actions
from feeds.tests.discovery.search.results import results
from feeds.tests.pictures import make_numbered_picture
from interactions.models import NotificationCause
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db
Make = Callable[..., Any]
V1 = "/api/v1/"
TEXT = (
    "Some **bold** words for @alice1 and #tea, `not #code or @bob22`.\n\n"
    "## One\n\n[a link](https://a.example)\n\n## Two\n\n## Three\n\n![in the text](1)\n"
)
PLAIN = "Some bold words for @alice1 and #tea, not #code or @bob22."


@pytest.fixture
def author(make_user: Make) -> User:
    return make_user("writer1")


def publish(author: User, content: str = TEXT, **values: Any) -> Any:
    return actions.publish(author, kind="article", title="A title", content=content, **values)


def test_the_page_shows_contents_time_text_and_each_picture_once(author: User) -> None:
    pictures = [make_numbered_picture(author, number).pk for number in range(2)]
    post = publish(author, images=pictures)
    page = html.fromstring(text_of(Client().get(f"/posts/{post.pk}")))
    links = page.xpath("//*[@data-testid='contents']//a")
    assert [(one.get("href"), one.text) for one in links] == [
        ("#part-1", "One"),
        ("#part-2", "Two"),
        ("#part-3", "Three"),
    ]
    assert page.xpath("//*[@data-testid='read-time']")[0].text == "1 minute to read"
    [prose] = page.xpath("//*[@data-testid='prose']")
    assert prose.xpath(".//strong")[0].text == "bold"
    assert prose.xpath(".//a[@class='mention']/@href") == ["/@alice1", "/tags/tea"]
    assert len(prose.xpath(".//img")) == 1
    assert len(page.xpath("//*[@data-viewer]//img")) == 2


def test_two_headings_have_no_contents(author: User) -> None:
    post = publish(author, "## One\n\n## Two")
    assert 'data-testid="contents"' not in text_of(Client().get(f"/posts/{post.pk}"))


def test_sensitive_pictures_are_covered_in_the_text_until_a_reader_asks(author: User) -> None:
    picture = make_numbered_picture(author, 1).pk
    post = publish(author, images=[picture], sensitive=True)
    assert "veil-text" in text_of(Client().get(f"/posts/{post.pk}"))


def test_lists_and_other_programs_get_plain_words(author: User, make_user: Make) -> None:
    post = publish(author)
    quote, _ = actions.repost(make_user(), post.pk, "look")
    card = text_of(Client().get("/@writer1"))
    page = text_of(Client().get(f"/posts/{post.pk}"))
    quoting = text_of(Client().get(f"/posts/{quote.pk}"))
    embedded = text_of(Client().get(f"/posts/{post.pk}/embed"))
    feed = text_of(Client().get("/@writer1/feed.atom"))
    for shown in (card, page, quoting, embedded, feed):
        assert PLAIN in shown
        assert "**" not in shown
        assert "`" not in shown
    assert f'property="og:description" content="{PLAIN}' in page
    draft = browser_of(author)
    draft.post("/drafts", {"kind": "article", "title": "T", "content": TEXT})
    assert PLAIN in text_of(draft.get("/drafts"))
    assert PLAIN in text_of(draft.get(f"/posts/{post.pk}/delete"))


@pytest.mark.parametrize("content", ["![](1)", "---", "***\n\n![](1)"])
def test_an_article_without_words_shows_its_title_and_pictures(
    author: User, make_user: Make, api_for: Make, drain: Callable[[], None], content: str
) -> None:
    post = publish(author, content, images=[make_numbered_picture(author, 1).pk])
    quote, _ = actions.repost(make_user("quoter1"), post.pk, "look")
    drain()
    for _again in range(2):  # from the database, then from the cache
        card = html.fromstring(text_of(Client().get("/@writer1")))
        quoting = html.fromstring(text_of(Client().get(f"/posts/{quote.pk}")))
        embedded = html.fromstring(text_of(Client().get(f"/posts/{post.pk}/embed")))
        for shown, path in (
            (card, "//*[@data-testid='post']"),
            (quoting, "//a[@class='quote']"),
            (embedded, "//*[@data-testid='embedded']"),
        ):
            [part] = shown.xpath(path)
            assert "A title" in part.text_content()
            assert content not in part.text_content()
            assert part.xpath(".//img/@alt") == ["picture 1"]
        for name in ("writer1", "quoter1"):
            feed = etree.fromstring(Client().get(f"/@{name}/feed.atom").content)
            [summary] = feed.xpath("//*[local-name()='entry']/*[local-name()='summary']/text()")
            assert "A title" in summary
            assert content not in summary
            assert 'alt="picture 1"' in summary
        page = text_of(Client().get(f"/posts/{post.pk}"))
        assert 'property="og:description" content="A title"' in page
        body = api_for(author).get(f"{V1}posts/{post.pk}").json()
        assert (body["title"], body["content"]) == ("A title", content)
        assert "prose" not in body


def test_the_size_of_an_embedded_article_without_words_is_that_of_its_title(author: User) -> None:
    bodies = [
        Client().get(f"/oembed?url=/posts/{publish(author, content).pk}").json()
        for content in ("---", "---\n\n" * 9)
    ]
    assert bodies[0]["height"] == bodies[1]["height"]


def test_the_api_search_reads_no_markdown_of_an_article_without_words(
    author: User, api_for: Make, drain: Callable[[], None]
) -> None:
    post = publish(author, "![](https://a.example/onlyhere.jpg)")
    drain()
    client = api_for(author)
    for question, ids in (("onlyhere", []), ("title -onlyhere", [str(post.pk)])):
        found = client.get(f"{V1}search/posts", {"q": question}).json()
        assert [one["id"] for one in found["items"]] == ids


def test_the_api_has_the_text_as_it_was_written(author: User, api_for: Make) -> None:
    post = publish(author)
    body = api_for(author).get(f"{V1}posts/{post.pk}").json()
    assert body["content"] == TEXT.strip()
    assert body["tags"] == ["tea"]
    assert "prose" not in body


def test_tags_and_names_count_outside_of_code(
    author: User, make_user: Make, drain: Callable[[], None]
) -> None:
    named, other = make_user("alice1"), make_user("bob22")
    publish(author)
    drain()
    found = set(NotificationCause.objects.values_list("user_id", flat=True))
    assert named.pk in found
    assert other.pk not in found
    assert "A title" in text_of(Client().get("/tags/tea"))
    assert "A title" not in text_of(Client().get("/tags/code"))


def test_an_edit_keeps_tags_right(author: User) -> None:
    post = publish(author, "#tea `#milk`")
    actions.edit(author, post.pk, 1, content="`#tea` #milk")
    assert "A title" not in text_of(Client().get("/tags/tea"))
    assert "A title" in text_of(Client().get("/tags/milk"))


@pytest.mark.parametrize(
    ("question", "is_found"),
    [('"some bold words"', True), ("boldly", False), ("onetwo", True), ("example", False)],
)
def test_the_search_finds_plain_words(
    author: User, drain: Callable[[], None], question: str, is_found: bool
) -> None:
    post = publish(author, TEXT + "\n\none*two*")
    drain()
    assert results(author, question) == ([str(post.pk)] if is_found else [])


# --- preview ------------------------------------------------------------------------------------
def test_the_api_previews_a_text_with_ones_own_pictures(
    author: User, make_user: Make, api_for: Make
) -> None:
    own, foreign = make_numbered_picture(author, 1), make_numbered_picture(make_user(), 2)
    text = f"**b** ![x]({own.pk}) ![y]({foreign.pk}) <i>"
    body = {"content": text, "images": [own.pk, foreign.pk]}
    answer = api_for(author).post(V1 + "preview", body, format="json")
    assert answer.status_code == 200
    made = answer.json()["html"]
    assert "<strong>b</strong>" in made
    assert "aa/1.jpg" in made
    assert "aa/2.jpg" not in made
    assert "&lt;i&gt;" in made


def test_a_preview_needs_a_person_and_a_text_of_an_article(author: User, api_for: Make) -> None:
    assert_error(
        APIClient().post(V1 + "preview", {"content": "x"}, format="json"), 401, "NOT_AUTHENTICATED"
    )
    for body in ({}, {"content": "x" * 50_001}, {"content": "x", "images": [1] * 10}):
        answer = api_for(author).post(V1 + "preview", body, format="json")
        assert answer.status_code == 400
    assert Client().post("/preview", {"content": "x"}).status_code in (302, 303, 401, 403)


def test_a_preview_works_without_a_script_and_keeps_what_was_typed(author: User) -> None:
    browser, picture = browser_of(author), make_numbered_picture(author, 1)
    form = {
        **{"kind": "article", "title": "A <title>", "content": "**b** ![x](1)", "note": "n"},
        **{"keep": picture.pk, f"alt-{picture.pk}": "A tree"},
    }
    page = text_of(browser.post("/preview", form))
    assert "<strong>b</strong>" in page
    assert "A &lt;title&gt;" in page
    assert "**b** ![x](1)</textarea>" in page
    assert page.count("aa/1.jpg") == 2
    part = text_of(browser.post("/preview", form, headers={"hx-request": "true"}))
    assert "<strong>b</strong>" in part
    assert "<textarea" not in part


def test_a_preview_of_a_draft_goes_on_with_the_draft(author: User, make_user: Make) -> None:
    browser = browser_of(author)
    answer = browser.post("/drafts", {"kind": "article", "title": "T", "content": "x"})
    address = answer.headers["Location"]
    ident = address.rsplit("/", 1)[1]
    page = text_of(browser.get(address))
    assert f"/preview?draft={ident}" in page
    page = text_of(browser.post(f"/preview?draft={ident}", {"kind": "article", "content": "*y*"}))
    assert f'action="{address}"' in page
    stranger = browser_of(make_user())
    answer = stranger.post(f"/preview?draft={ident}", {"kind": "article", "content": "y"})
    assert answer.status_code == 404


def test_a_preview_of_a_text_that_is_too_long_says_so(author: User) -> None:
    form = {"kind": "article", "content": "x" * 50_001}
    answer = browser_of(author).post("/preview", form)
    assert "err-content" in text_of(answer, 400)
    answer = browser_of(author).post("/preview", form, headers={"hx-request": "true"})
    assert answer.status_code == 400
