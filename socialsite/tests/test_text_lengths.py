"""The length of a text counts as it is stored, at every entrance."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from feeds.content.polls import definition
from feeds.models import Kind, PostContent
from feeds.tests.pictures import make_picture
from interactions import actions as interactions_actions
from interactions.models import CommentContent
from socialsite.core.models import Media

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

ARTICLE = PostContent.TEXT_MAX[Kind.ARTICLE]
TIGER = "\U0001f405"  # two units of UTF-16, as browsers count


def of_length(length: int) -> tuple[str, str]:
    """Return a text as a form sends it, with CRLF and blanks, and as it is stored."""
    stored = ((TIGER + "\n") * length)[: length - 1] + "x"
    return " " + stored.replace("\n", "\r\n") + "\r\n ", stored


FIELDS: dict[str, tuple[int, Callable[[str], tuple[str, str, dict[str, Any]]]]] = {
    "content": (
        ARTICLE,
        lambda text: ("post", "posts", {"kind": "article", "title": "t", "content": text}),
    ),
    "draft": (
        ARTICLE,
        lambda text: ("post", "drafts", {"kind": "article", "title": "t", "content": text}),
    ),
    "preview": (ARTICLE, lambda text: ("post", "preview", {"content": text})),
    "note": (
        PostContent.NOTE_MAX,
        lambda text: ("post", "posts", {"content": "words", "note": text}),
    ),
    "bio": (User.BIO_MAX, lambda text: ("patch", "users/me", {"bio": text})),
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("more", [0, 1])
def test_the_api_counts_the_characters_that_it_stores(
    me: User, api_for: Any, field: str, more: int
) -> None:
    most, request = FIELDS[field]
    sent, stored = of_length(most + more)
    method, path, body = request(sent)
    answer = getattr(api_for(me), method)(f"/api/v1/{path}", body, format="json")
    if more:
        name = field if field in body else "content"
        assert answer.status_code == 400
        assert str(most) in str(answer.json()["fields"][name])
    else:
        assert answer.status_code in (200, 201), answer.content
        shown = answer.json()
        assert shown.get(field, shown.get("content", stored)) == stored


def test_titles_descriptions_and_options_may_have_their_length_with_line_ends(
    me: User, api_for: Any
) -> None:
    api, item = api_for(me), make_picture(me)
    option = "a \t " + "a" * (definition.OPTION_MAX - 3)
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    poll = {"options": [f"{option}1\r\n", f"\r\n{option}2"], "ends_at": tomorrow}
    title = "t  " + "t" * (PostContent.TITLE_MAX - 2) + "\r\n"
    article = {"kind": "article", "title": title, "content": "c", "images": [item.pk]}
    made = api.post("/api/v1/posts", article, format="json")
    assert made.status_code == 201, made.content
    alt = "d   " + "d" * (Media.ALT_MAX - 2) + " \r\n"
    body = {"version": 1, "title": title, "alts": {str(item.pk): alt}}
    path = f"/api/v1/posts/{made.json()['id']}"
    edited = api.patch(path, body, format="json")
    assert edited.status_code == 200, edited.content
    assert edited.json()["images"][0]["alt"] == " ".join(alt.split())
    body["alts"] = {str(item.pk): "d" + alt}
    assert api.patch(path, body, format="json").status_code == 400
    asked = api.post("/api/v1/posts", {"content": "which", "poll": poll}, format="json")
    assert asked.status_code == 201, asked.content


def test_a_description_that_is_too_long_is_refused_and_shown_again(me: User) -> None:
    browser, item = browser_of(me), make_picture(me)
    long = "d" * (Media.ALT_MAX + 1)
    form = {"content": "words", "keep": item.pk, f"alt-{item.pk}": long}
    for path in ("/posts", "/drafts"):
        answer = browser.post(path, form)
        assert answer.status_code == 400
        assert f"at most {Media.ALT_MAX} characters" in answer.text
        assert long in answer.text
        assert "words</textarea>" in answer.text
    item.refresh_from_db()
    assert item.alt == ""
    assert browser.post("/posts", form | {f"alt-{item.pk}": long[1:]}).status_code == 303
    item.refresh_from_db()
    assert item.alt == long[1:]


@pytest.mark.parametrize("size", [CommentContent.TEXT_MAX, CommentContent.TEXT_MAX + 1])
def test_pages_count_as_the_api_does(me: User, size: int) -> None:
    sent, stored = of_length(size)
    browser = browser_of(me)
    post = feeds_actions.publish(me, content="words")
    comment = interactions_actions.comment(me, post.pk, "first")
    page = browser.get(f"/comments/{comment.pk}/edit").text
    assert f'maxlength="{2 * CommentContent.TEXT_MAX}"' in page
    form = {"content": sent, "version": 1}
    answer = browser.post(f"/comments/{comment.pk}/edit", form)
    is_short = size <= CommentContent.TEXT_MAX
    assert answer.status_code == (303 if is_short else 422)
    kept = CommentContent.objects.get(pk=comment.pk).content
    assert kept == (stored if is_short else "first")
