"""Rendered parts that the process caches equal freshly rendered ones, and reach no other reader."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template import engines
from django.test import Client
from django.utils import translation
from lxml import html
from markupsafe import Markup

from accounts import actions as accounts_actions
from feeds import queries as feeds_queries
from socialsite.core.text.spans import spans
from socialsite.pages import cached_html, jinja


@pytest.fixture
def card(make_user, make_post) -> dict[str, Any]:
    return dict(feeds_queries.post(None, make_post(make_user()).pk))


CARDS = {
    "login": "",
    "full": False,
    "when": "now",
    "edited": "",
    "quoted": "",
    "by": [],
    "by_username": "",
    "own": False,
}


@pytest.mark.django_db
def test_a_cached_card_equals_the_template_s(card) -> None:
    engine: Any = engines["jinja2"]
    macro = engine.env.get_template("feeds/_card.html").module.card
    for _ in range(2):
        assert cached_html.post_card(card, "") == macro(card, CARDS)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        {"like_count": 7},
        {"comment_count": 7},
        {"liked": True},
        {"content": "other words"},
        {"created_at": "2020-01-01T00:00:00.000Z"},
        {"visibility": "followers"},
        {"edited_at": "2020-01-01T00:00:00.000Z"},
    ],
)
def test_a_card_that_changed_is_made_anew(card, change) -> None:
    before = cached_html.post_card(card, "")
    after = cached_html.post_card({**card, **change}, "")
    assert after != before
    assert cached_html.post_card(card, "") == before


@pytest.mark.django_db
def test_language_length_and_log_in_each_have_their_own_card(card) -> None:
    made = {
        cached_html.post_card(card, ""),
        cached_html.post_card(card, "", full=True),
        cached_html.post_card(card, "/login"),
    }
    with translation.override("zh-hans"):
        made.add(cached_html.post_card(card, ""))
    assert len(made) == 4


@pytest.mark.django_db
@pytest.mark.parametrize("mine", [True, False])
def test_a_card_has_no_form_and_its_buttons_send_that_of_the_request(card, mine) -> None:
    made = html.fromstring(cached_html.post_card({**card, "mine": mine}, ""))
    buttons = made.xpath("//button")
    assert len(buttons) == 3
    assert all(one.get("form") == "acts" and one.get("formaction") for one in buttons)
    assert not made.xpath("//form | //input")


def test_links_are_rendered_and_text_is_escaped() -> None:
    text = "<b> https://x.example/?a=1&b=2 </b>"
    made = jinja.linked(text)
    assert made == jinja.linked(text)
    assert 'href="https://x.example/?a=1&amp;b=2"' in made
    assert "&lt;b&gt;" in made
    assert jinja.linked("<b>") == "<b>"  # the template escapes it
    assert not hasattr(jinja.linked("<b>"), "__html__")
    assert "</a>" in jinja.linked("https://x.example " + "x" * 50_000)


def test_links_leave_the_site_by_http_only_and_without_a_referrer() -> None:
    made = jinja.linked("(https://x.example/a'b), www.x.example a@x.example javascript://x.example")
    away = 'rel="nofollow ugc noopener" target="_blank"'
    assert f'(<a href="https://x.example/a&#39;b" {away}>https://x.example/a&#39;b</a>),' in made
    assert f'<a href="https://www.x.example" {away}>www.x.example</a>' in made
    assert '<a href="mailto:a@x.example">a@x.example</a>' in made
    assert made.endswith(" javascript://x.example")


def test_a_long_text_is_parsed_once_and_the_cache_is_bounded_by_bytes(monkeypatch) -> None:
    read = []
    monkeypatch.setattr(jinja, "spans", lambda text: read.append(text) or spans(text))
    text = "@alice1 " + "x" * 50_000
    assert jinja.linked(text) == jinja.linked(text)
    assert read == [text]
    links: Any = jinja._linked.cache
    for number in range(60):
        jinja.linked(f"@alice1 {number} " + "\U00020000" * 50_000)
    assert 0 < links.currsize <= links.maxsize == jinja.LINKED_BYTES
    assert sum(map(sys.getsizeof, links)) < jinja.LINKED_BYTES / 2  # each beside its links
    jinja.linked(text)
    assert read.count(text) == 2


@pytest.mark.django_db
def test_cards_of_long_posts_are_bounded_by_bytes(card) -> None:
    cards: Any = cached_html._part.cache
    for number in range(150):
        cached_html.post_card({**card, "content": f"{number} " + "&" * 50_000}, "", full=True)
    assert 0 < cards.currsize <= cards.maxsize == cached_html.CARDS_BYTES
    assert len(cards) < 150


@pytest.mark.django_db
def test_parts_of_the_page_are_bounded_by_bytes() -> None:
    made: Any = cached_html._cached_macro.cache
    for number in range(1200):
        cached_html.cached_html("_layout.html", "tail", f"/login?next=/{number}" + "x" * 2_000)
    assert 0 < made.currsize <= made.maxsize == cached_html.MACROS_BYTES
    assert len(made) < 1200


def test_the_bar_of_the_site_has_the_values_of_its_request_escaped() -> None:
    """It is made once for all readers."""
    made = []
    for name in ("<Ann>", "Bob"):
        values = dict.fromkeys(("badge", "me_url", "avatar", "hidden", "site", "logo"), "")
        values |= {"name": name, "username": f"{name}1", "next": f'/?q="{name}'}
        made.append(
            cached_html.cached_frame(values, "_layout.html", "header", "", True, False, True, "en")
        )
    ann, bob = made
    assert "<b>&lt;Ann&gt;</b><small>@&lt;Ann&gt;1</small>" in ann
    assert "<b>Bob</b><small>@Bob1</small>" in bob
    assert "Ann" not in bob
    assert ann.replace("&lt;Ann&gt;", "Bob") == bob
    values["next"] = '/?q="<Ann>'
    guest = cached_html.cached_frame(values, "_layout.html", "header", "", False, False, True, "en")
    assert 'name="next" value="/?q=&#34;&lt;Ann&gt;"' in guest


def test_texts_follow_the_language() -> None:
    english = jinja.gettext("Home")
    with translation.override("zh-hans"):
        assert jinja.gettext("Home") != english
    assert jinja.gettext("Home") == english


@pytest.mark.django_db
def test_all_forms_of_a_page_carry_the_readers_token_and_a_like_works_without_javascript(
    make_user, make_post
) -> None:
    posts = [make_post(make_user()) for _ in range(2)]
    pages = []
    for _ in range(2):
        client = Client(enforce_csrf_checks=True)
        client.cookies["access"], client.cookies["refresh"] = accounts_actions.sign_in(make_user())
        page = client.get("/recommended").content.decode()
        token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        assert page.count(token) >= 3
        found = html.fromstring(page)
        button = found.get_element_by_id(f"like-{posts[0].pk}")
        form = dict(found.get_element_by_id(button.get("form")).form_values())
        assert form == {"csrfmiddlewaretoken": token, "next": "/recommended"}
        sent = {**form, button.get("name"): button.get("value")}
        answer = client.post(button.get("formaction"), sent)
        assert answer.status_code in (200, 303)
        pages.append(token)
    assert pages[0] not in page


PERSON = {
    "id": "7",
    "username": "name1",
    "nickname": "Name",
    "avatar": "",
    "bio": "words",
    "relation": None,
}
PEOPLE = {"csrf": "<input>", "next": "/a?b=1&c=%22", "login": "", "me": "other1", "undo": False}


def rendered(template: str, macro: str, *args: Any) -> str:
    engine: Any = engines["jinja2"]
    return str(getattr(engine.env.get_template(template).module, macro)(*args))


@pytest.mark.parametrize(
    "change",
    [
        *({name: "other1"} for name in ("username", "nickname", "avatar", "bio")),
        *({"relation": name} for name in ("FOLLOWING", "FOLLOWED", "BLACKLISTING", "BLACKLISTED")),
        *({"me": "name1"}, {"undo": True}, {"login": "/login?next=/x"}, {"next": '"><script>'}),
    ],
)
def test_a_cached_row_of_a_person_equals_the_template_s(change) -> None:
    own = {key: value for key, value in change.items() if key in PERSON}
    for person, c in ((PERSON, PEOPLE), ({**PERSON, **own}, {**PEOPLE, **change})):
        made = rendered("relations/_person.html", "row", person, {**c, "csrf": Markup("<input>")})
        for _ in range(2):
            assert cached_html.person_rows([person], c) == made
        assert cached_html._HIDDEN not in made
        assert "<script>" not in made


COMMENT = {
    "id": "8",
    "root_id": None,
    "parent_id": None,
    "author": {"id": "7", "username": "name1", "nickname": "Name", "avatar": "", "bio": ""},
    "content": "words",
    "created_at": "2020-01-01T00:00:00.000Z",
    "like_count": 1,
    "reply_count": 2,
    "liked": False,
    "pinned": False,
    "author_liked": False,
    "author_replied": False,
    "deleted": False,
    "mine": False,
    "answers": None,
    "edited_at": None,
}
COMMENTS = {
    "sort": "hot",
    "hidden": Markup("<input>"),
    "member": True,
    "login": "",
    "author": False,
    "post_id": "9",
    "post_author": "host1",
    "open": True,
    "here": "/posts/9?sort=hot&",
    "path": "/posts/9?sort=hot",
    "reply": "",
    "content": "",
    "errors": {},
    "plain": False,
    "list": True,
}


@pytest.mark.parametrize(
    "change",
    [
        *({name: True} for name in ("liked", "pinned", "author_liked", "deleted", "mine")),
        *({name: 5} for name in ("like_count", "reply_count")),
        *({"content": "other"}, {"author": None}, {"answers": "other1"}, {"root_id": "3"}),
        {"edited_at": "2020-01-02T00:00:00.000Z"},
        *({"c": {name: False}} for name in ("member", "open", "list")),
        *({"c": {name: True}} for name in ("author", "plain")),
        *({"c": {"post_author": "name1"}}, {"c": {"here": "/x?", "path": "/x"}}),
        *({"c": {"reply": "8", "content": "typed"}}, {"c": {"login": "/login", "member": False}}),
    ],
)
def test_a_cached_comment_equals_the_template_s(change) -> None:
    change, shared = dict(change), {}
    shared = change.pop("c", {})
    for comment, c in ((COMMENT, COMMENTS), ({**COMMENT, **change}, {**COMMENTS, **shared})):
        times = {"when": "2020-01-01", "edited": "2020-01-02" if comment["edited_at"] else ""}
        made = rendered("interactions/comments/_comment.html", "item", comment, {**c, **times})
        for _ in range(2):
            assert cached_html.comment_items([comment], c) == made
        assert cached_html.comment_item(comment, c) == made
        assert cached_html._HIDDEN not in made


def test_no_view_passes_a_name_that_the_base_template_sets() -> None:
    """The base template would replace its value: Jinja gives blocks the variables of the base."""
    root = Path(settings.BASE_DIR)
    base = Path(root, "templates/base.html").read_text()
    taken = set(re.findall(r"{%-? set (\w+)", base)) - {"user"}
    for app in ("accounts", "feeds", "interactions", "relations"):
        for path in root.glob(f"{app}/views*/**/*.py"):
            passed = set(re.findall(r'"(\w+)":', path.read_text()))
            assert passed & taken == set(), path
