"""The pages of feeds with and without JavaScript: home, composer, delete, profile, post, search."""

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from PIL import Image

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import text_of
from feeds import actions, cache, queries
from feeds.models import Post, PostContent, RecommendedAuthor
from relations import actions as relations_actions
from socialsite.core.http import page_sizes
from socialsite.core.models import Media
from socialsite.core.positions import Position
from socialsite.pages.cached_html import post_card

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
HTMX = {"HX-Request": "true"}
COMPOSER = 'data-testid="composer"'


def shown(answer: Any, status: int = 200) -> list[str]:
    """Return the ids of a page's posts in order."""
    return re.findall(r'<article [^>]*aria-labelledby="by-(\d+)"', text_of(answer, status))


def names(posts: list[Post]) -> list[str]:
    return [str(post.pk) for post in posts[::-1]]


def next_link(answer: Any) -> str | None:
    found = re.search(r'href="([^"]*)" data-testid="next"', text_of(answer))
    return found and found[1].replace("&amp;", "&")


def picture(name: str = "a.png") -> SimpleUploadedFile:
    file = BytesIO()
    Image.new("RGB", (30, 20), "red").save(file, "PNG")
    return SimpleUploadedFile(name, file.getvalue(), "image/png")


# --- home ---------------------------------------------------------------------------------------
def test_guests_are_welcomed_with_recommended_posts(
    client: Client, author: User, make_user: Make, make_post: Make
) -> None:
    picked = make_post(author)
    make_post(make_user())
    make_post(author, visibility="followers")
    RecommendedAuthor.objects.create(author=author)
    for address in ("/", "/recommended"):
        answer = client.get(address)
        assert shown(answer) == [str(picked.pk)]
        assert 'class="welcome"' in text_of(answer)
        assert COMPOSER not in text_of(answer)


def test_members_see_their_feed_below_the_composer(
    browser: Client, me: User, author: User, make_user: Make, make_post: Make
) -> None:
    relations_actions.follow(me, author)
    posts = [make_post(person) for person in (author, me, author)]
    make_post(make_user())
    answer = browser.get("/")
    assert shown(answer) == names(posts)
    assert COMPOSER in text_of(answer)
    assert 'data-testid="new-posts"' in text_of(answer)
    assert next_link(answer) is None


def test_an_empty_feed_page_links_to_the_search(browser: Client, make_post: Make) -> None:
    assert shown(browser.get("/")) == []
    assert 'href="/recommended"' in text_of(browser.get("/"))
    assert 'class="welcome"' not in text_of(browser.get("/recommended"))


def test_the_feed_is_paged_by_links_and_by_htmx(browser: Client, me: User, make_post: Make) -> None:
    posts = [make_post(me) for _ in range(page_sizes.PAGE_SIZE + 3)]
    first = browser.get("/")
    assert shown(first) == names(posts)[: page_sizes.PAGE_SIZE]
    link = next_link(first)
    assert link is not None
    older = browser.get("/" + link)
    assert shown(older) == names(posts)[page_sizes.PAGE_SIZE :]
    assert next_link(older) is None
    assert COMPOSER not in text_of(older)
    assert "<html" in text_of(older)
    part = browser.get("/" + link, headers=HTMX)
    assert shown(part) == shown(older)
    for whole in ("<html", COMPOSER, "<main"):
        assert whole not in text_of(part)
    # Without a cursor htmx selects the fresh first page from the whole page.
    assert "<html" in text_of(browser.get("/", headers=HTMX))


def test_only_the_first_page_of_home_moves_the_read_mark(
    browser: Client, me: User, author: User, make_post: Make
) -> None:
    relations_actions.follow(me, author)
    for _ in range(page_sizes.PAGE_SIZE + 1):
        make_post(author)
    link = next_link(browser.get("/"))
    assert queries.new_count(me) == (0, False)
    make_post(author)
    browser.get("/recommended")
    browser.get(f"/@{author.username}")
    browser.get(f"/{link}")
    assert queries.new_count(me) == (1, False)
    browser.get("/")
    assert queries.new_count(me) == (0, False)


@pytest.mark.parametrize("address", ["/", "/recommended", "/@writer1", "/search?q=w"])
def test_a_broken_cursor_is_answered_with_the_error_page(
    browser: Client, author: User, address: str
) -> None:
    answer = browser.get(address + ("&" if "?" in address else "?") + "cursor=x")
    assert "data-error-detail" in text_of(answer, 400)


def test_a_page_of_twenty_costs_as_many_queries_as_one_of_five(
    browser: Client, me: User, make_user: Make, make_post: Make
) -> None:
    costs = []
    people = [make_user() for _ in range(5)]
    for person in people:
        relations_actions.follow(me, person)
    for count in (5, 20):
        for number in range(count - Post.objects.count()):
            make_post(people[number % 5])
        browser.get("/")  # raises the read mark
        with CaptureQueriesContext(connection) as captured:
            assert len(shown(browser.get("/"))) == count
        costs.append(len(captured))
    assert costs[0] == costs[1] <= 22


# --- the composer -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("form", "stored"),
    [
        ({"content": "hello"}, {"kind": "micro", "content": "hello", "visibility": "public"}),
        ({"content": "a\r\nb", "visibility": "followers"}, {"content": "a\nb"}),
        # Without JavaScript the fields of the other kinds are sent too, and are ignored.
        (
            {"kind": "micro", "content": "x", "title": "t", "video_url": "https://v.example/"},
            {"kind": "micro", "title": "", "video_url": ""},
        ),
        (
            {"kind": "article", "title": "t", "content": "x", "video_url": "https://v.example/"},
            {"kind": "article", "title": "t", "video_url": ""},
        ),
        (
            {"kind": "video", "video_url": "https://v.example/", "title": "t", "content": ""},
            {"kind": "video", "title": "t", "video_url": "https://v.example/"},
        ),
    ],
)
def test_each_kind_is_published_and_the_browser_sent_home(
    browser: Client, form: dict[str, str], stored: dict[str, str]
) -> None:
    answer = browser.post("/posts", form)
    assert (answer.status_code, answer["Location"]) == (303, "/")
    card = queries.post(User.objects.get(), Post.objects.get().pk)
    assert {name: card[name] for name in stored} == stored  # type: ignore[literal-required]
    assert shown(browser.get("/")) == [card["id"]]


def test_pictures_are_published_with_their_descriptions(browser: Client, media_root: Path) -> None:
    form = {"content": "", "images": [picture("a.png"), picture("b.png")], "alt": ["one", "<two>"]}
    assert browser.post("/posts", form).status_code == 303
    page = text_of(browser.get("/"))
    for alt in ("one", "&lt;two&gt;"):
        assert f'alt="{alt}"' in page
    for row in Media.objects.all():
        assert (media_root / row.name).is_file()
        assert f"/media/{row.thumb_name}" in page


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"content": "x" * 2000 + "end"}, "err-content"),
        ({"content": ""}, "err-content"),
        ({"kind": "article", "title": "", "content": "<kept>"}, "err-title"),
        ({"kind": "article", "title": "t" * 121, "content": "<kept>"}, "err-title"),
        ({"kind": "video", "video_url": 'http://v.example/"', "content": "y"}, "err-video_url"),
        ({"kind": "poll", "content": "<kept>"}, "err-kind"),
        ({"visibility": "nobody", "content": "<kept>"}, "err-visibility"),
        ({"kind": "repost", "content": "<kept>", "visibility": "followers"}, "err-kind"),
    ],
)
def test_errors_show_at_their_field_and_no_input_is_lost(
    browser: Client, me: User, make_post: Make, form: dict[str, str], error: str
) -> None:
    before = make_post(me)
    answer = browser.post("/posts", form)
    page = text_of(answer, 400)
    assert f'id="{error}"' in page
    assert shown(answer, 400) == [str(before.pk)]
    composer = page[page.index(COMPOSER) :].partition("</form>")[0]
    for field in ("content", "title", "video_url"):
        typed = form.get(field, "")
        safe = typed.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;")
        # An empty field has no value.
        value = f' value="{safe}"' if typed else f'name="{field}"'
        assert (f">{safe}</textarea>" if field == "content" else value) in composer
    if form.get("visibility") == "followers":
        assert 'value="followers" selected' in composer
    if form.get("kind") in ("article", "video"):
        assert f'value="{form["kind"]}" checked' in composer
    assert Post.objects.count() == 1


def test_a_video_shows_the_host_that_it_leads_to(author: User, make_post: Make) -> None:
    address = "https://elsewhere.example?.video.example/watch"
    post = make_post(author, kind="video", video_url=address, title="A film")
    page = text_of(Client().get(f"/posts/{post.pk}"))
    assert f'href="{address}"' in page
    assert "<small>elsewhere.example <i " in page


@pytest.mark.parametrize(
    "address", ["https://javascript:alert(1)@a.example", "javascript:alert(1)", "https://1.2.3.4/x"]
)
def test_a_bad_address_that_was_stored_once_is_a_link_for_nobody(
    browser: Client, author: User, make_post: Make, address: str
) -> None:
    post = make_post(author, kind="video", video_url="https://video.example/", content="a film")
    PostContent.objects.filter(pk=post.pk).update(video_url=address)
    cache.CARDS.invalidate([post.pk])
    assert address not in text_of(browser.get(f"/posts/{post.pk}"))
    assert browser.get(f"/api/v1/posts/{post.pk}").json()["video_url"] == ""
    card = queries.post(None, post.pk) | {"video_url": address}
    assert address not in post_card(card, "/login")


@pytest.mark.parametrize(
    ("form", "status", "error"),
    [
        ({"content": "x" * 2001}, 400, "err-content"),
        ({"kind": "article", "content": "typed"}, 400, "err-title"),
        ({"content": "typed", "visibility": "nobody"}, 400, "err-visibility"),
    ],
)
def test_the_pictures_of_a_refused_post_are_not_stored(
    browser: Client, media_root: Path, form: dict[str, str], status: int, error: str
) -> None:
    page = text_of(browser.post("/posts", {**form, "images": [picture()], "alt": ["a"]}), status)
    assert f'id="{error}"' in page
    assert f">{form['content']}</textarea>" in page
    assert not Post.objects.exists()
    assert not Media.objects.exists()
    assert [path for path in media_root.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("images", "status"),
    [
        ([SimpleUploadedFile("a.png", b"<script>alert(1)</script>", "image/png")], 415),
        ([SimpleUploadedFile("a.png", b"\x89PNG\r\n\x1a\n" + b"x" * 50, "image/png")], 415),
        ([SimpleUploadedFile(f"{n}.png", b"x", "image/png") for n in range(10)], 400),
    ],
    ids=["script", "broken", "ten"],
)
def test_a_refused_picture_leaves_the_words_in_the_composer(
    browser: Client, images: list[SimpleUploadedFile], status: int
) -> None:
    for file in images:
        file.seek(0)
    page = text_of(browser.post("/posts", {"content": "typed", "images": images}), status)
    assert 'id="err-images"' in page
    assert ">typed</textarea>" in page
    assert not Post.objects.exists()
    assert not Media.objects.exists()


def test_publishing_needs_a_login_a_post_and_a_token(client: Client, browser: Client) -> None:
    assert client.post("/posts", {"content": "x"}).status_code == 401
    assert browser.get("/posts").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    assert strict.post("/posts", {"content": "x"}).status_code == 403
    assert not Post.objects.exists()


# --- one post and deleting it -------------------------------------------------------------------
def test_words_are_shown_as_words(browser: Client, me: User, make_post: Make) -> None:
    attack = "<script>alert(1)</script> https://ok.example/<b> javascript:alert(2)"
    post = make_post(me, kind="article", title="<i>t</i>", content=attack)
    for address in ("/", f"/posts/{post.pk}", f"/@{me.username}"):
        page = text_of(browser.get(address))
        assert "<script>alert" not in page
        assert "<i>t" not in page
        assert 'href="javascript' not in page
        assert "&lt;i&gt;t" in page


def test_words_in_a_quote_are_shown_as_words(browser: Client, me: User, make_post: Make) -> None:
    attack = "<script>alert(1)</script>"
    noted = make_post(me, note="<i>n</i>", content="folded")
    titled = make_post(me, kind="article", title="<i>t</i>", content=attack)
    for post in (make_post(me, attack), noted, titled):
        actions.repost(me, post.pk, "look")
    page = text_of(browser.get("/"))
    assert "<script>alert" not in page
    assert "<i>n" not in page
    assert "<i>t" not in page
    for words in ("&lt;script&gt;alert(1)", "&lt;i&gt;n"):
        assert f'<span class="quote-text" dir="auto">{words}' in page
    assert '<b class="quote-title">&lt;i&gt;t' in page


def test_a_post_is_deleted_without_javascript(browser: Client, me: User, make_post: Make) -> None:
    post = make_post(me)
    address = f"/posts/{post.pk}"
    assert f'href="{address}/menu"' in text_of(browser.get(address))
    assert f'href="{address}/delete"' in text_of(browser.get(f"{address}/menu"))
    answer = browser.post(f"{address}/delete")
    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert shown(browser.get("/")) == []
    assert "data-error-detail" in text_of(browser.get(address), 404)


def test_htmx_deletes_the_card_in_place(browser: Client, me: User, make_post: Make) -> None:
    post = make_post(me)
    answer = browser.post(f"/posts/{post.pk}/delete", headers=HTMX)
    assert text_of(answer) == ""
    assert Post.objects.get().is_deleted


def test_nobody_elses_post_is_deleted(
    client: Client, browser: Client, me: User, author: User, make_post: Make
) -> None:
    post, private = make_post(author), make_post(author, visibility="followers")
    own = make_post(me)
    page = text_of(browser.get(f"/posts/{post.pk}"))
    assert f"/posts/{post.pk}/delete" not in page
    assert "/delete" not in text_of(browser.get(f"/posts/{post.pk}/menu"))
    for browsing, ident, status in (
        (browser, post.pk, 403),
        (browser, private.pk, 404),
        (browser, 10**18, 404),
        (browser, "x", 400),
        (client, own.pk, 401),
    ):
        answer = browsing.post(f"/posts/{ident}/delete")
        assert "data-error-detail" in text_of(answer, status)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    assert strict.post(f"/posts/{own.pk}/delete").status_code == 403
    assert browser.get(f"/posts/{own.pk}/delete").status_code == 200
    assert not Post.objects.filter(is_deleted=True).exists()


def test_a_post_that_one_may_not_see_is_not_found(
    client: Client, browser: Client, me: User, author: User, make_post: Make
) -> None:
    post, private = make_post(author), make_post(author, visibility="followers")
    addresses = [f"/posts/{post.pk}", f"/posts/{private.pk}"]
    for browsing in (client, browser):
        assert [browsing.get(address).status_code for address in addresses] == [200, 404]
    relations_actions.block(author, me)
    assert [browser.get(address).status_code for address in addresses] == [404, 404]
    assert "data-error-detail" in text_of(browser.get("/posts/x"), 400)


# --- profiles -----------------------------------------------------------------------------------
def test_a_profile_shows_the_person_and_their_posts_page_by_page(
    client: Client, browser: Client, me: User, author: User, make_post: Make
) -> None:
    posts = [make_post(author) for _ in range(page_sizes.PAGE_SIZE + 2)]
    private = make_post(author, visibility="followers")
    make_post(me)
    address = f"/@{author.username}"
    for browsing in (client, browser):
        first = browsing.get(address)
        assert shown(first) == names(posts)[: page_sizes.PAGE_SIZE]
        part = browsing.get(f"{address}{next_link(first)}", headers=HTMX)
        assert shown(part) == names(posts)[page_sizes.PAGE_SIZE :]
        assert "<html" not in text_of(part)
        assert shown(browsing.get(address.upper())) == shown(first)
    relations_actions.follow(me, author)
    assert shown(browser.get(address))[0] == str(private.pk)
    assert f"<b>{page_sizes.PAGE_SIZE + 3}</b>" in text_of(browser.get(address))


def test_the_blocker_sees_only_the_way_to_unblock(
    browser: Client, me: User, author: User, make_post: Make
) -> None:
    make_post(author, content="unwanted words")
    relations_actions.block(me, author)
    address = f"/@{author.username}"
    for path in (
        address,
        f"{address}?cursor=",
        f"{address}?cursor={Position(2**50, 1).encode()}",
    ):
        answer = browser.get(path)
        assert shown(answer) == []
        assert "unwanted words" not in text_of(answer)
    assert 'data-testid="profile"' in text_of(browser.get(address))
    assert f"@{author.username}" in text_of(browser.get(address))


@pytest.mark.parametrize("way", ["blocks me", "banned", "nobody"])
def test_people_hidden_from_me_have_no_profile(
    browser: Client, client: Client, me: User, author: User, make_post: Make, way: str
) -> None:
    make_post(author)
    name = "nobody1" if way == "nobody" else author.username
    if way == "blocks me":
        relations_actions.block(author, me)
    elif way == "banned":
        accounts_actions.ban(author)
    answers = [browser.get(f"/@{name}")]
    if way == "blocks me":
        assert client.get(f"/@{name}").status_code == 200
    else:
        answers.append(client.get(f"/@{name}"))
    for answer in answers:
        assert "data-error-detail" in text_of(answer, 404)
        assert shown(answer, 404) == []


# --- search -------------------------------------------------------------------------------------
def found(answer: Any) -> list[str]:
    return re.findall(r'href="/@(\w+)"', text_of(answer).partition("<main")[2])


def test_search_finds_people_by_any_part_of_a_name(
    client: Client, browser: Client, me: User, make_user: Make
) -> None:
    make_user("annika", nickname="Nika")
    make_user("boris1", nickname="Annabel")
    make_user("joanna", nickname="Joanna")
    for browsing in (client, browser):
        for text in ("ann", "ANN", " ann ", "@ann"):
            people = set(found(browsing.get("/search", {"q": text, "tab": "people"})))
            assert people == ({"annika", "boris1", "joanna"} if text != "@ann" else people)
            assert "annika" in people
        for text in ("", " ", "%", "_", "zzz", "\x00", "a" * 500):
            assert found(browsing.get("/search", {"q": text, "tab": "people"})) == []


def test_search_shows_the_input_as_text(client: Client) -> None:
    page = text_of(client.get("/search", {"q": '"><script>alert(1)</script>'}))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_search_hides_those_behind_a_block(
    client: Client, browser: Client, me: User, make_user: Make
) -> None:
    blocking, blocked, closed = (make_user(f"annika{n}") for n in range(3))
    assert len(set(found(browser.get("/search", {"q": "annika"})))) == 3
    relations_actions.block(blocking, me)
    relations_actions.block(me, blocked)
    accounts_actions.ban(closed)
    assert found(browser.get("/search", {"q": "annika"})) == []
    assert set(found(client.get("/search", {"q": "annika"}))) == {"annika0", "annika1"}


def test_search_is_paged(client: Client, make_user: Make) -> None:
    for number in range(page_sizes.PAGE_SIZE + 2):
        make_user(f"annika{number:02d}")
    first = client.get("/search", {"q": "annika", "tab": "people"})
    assert len(set(found(first))) == page_sizes.PAGE_SIZE
    link = next_link(first)
    assert link is not None
    second = client.get(f"/search{link}")
    assert set(found(second)) == {"annika00", "annika01"}
    part = text_of(client.get(f"/search{link}", headers=HTMX))
    assert "<html" not in part
    assert "annika00" in part


def test_recommended_posts_show_until_the_reader_follows_somebody_or_posts(
    browser: Client, me: User, author: User, make_post: Make
) -> None:
    quiet = text_of(browser.get("/"))
    assert "Your feed is empty" in quiet
    assert "Recommended posts" not in quiet
    post = make_post(author)
    page = text_of(browser.get("/"))
    assert "Your feed is empty" in page
    assert f"/posts/{post.pk}" in page.partition("Recommended posts")[2]
    relations_actions.follow(me, author)
    assert "Recommended posts" not in text_of(browser.get("/"))
    relations_actions.unfollow(me, author)
    mine = make_post(me)
    assert names([mine]) == shown(browser.get("/"))
