"""Content notes and sensitive pictures: folded and blurred for all who did not choose otherwise."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from accounts.tests.browsers import text_of
from feeds import actions
from feeds.drafts import actions as drafts
from feeds.models import Post, PostContent, PostVersion
from feeds.tests.pictures import make_picture
from socialsite.core.errors import InvalidInput

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
FOLDED = '<details class="folded" data-testid="note">'
OPEN = '<details class="folded" data-testid="note" open>'


def made(me: User, **values: Any) -> Post:
    given = {"content": "the words", "note": " a note ", "images": [make_picture(me).pk]}
    return actions.publish(me, sensitive=True, **{**given, **values})


# --- API ----------------------------------------------------------------------------------------
def test_a_note_is_published_edited_and_kept_in_versions(mine: APIClient) -> None:
    body = {"content": "x", "note": "first", "sensitive": True}
    post = mine.post(f"{V1}posts", body, format="json").json()
    assert (post["note"], post["sensitive"]) == ("first", True)
    address = f"{V1}posts/{post['id']}"
    for version, change, wanted in (
        (1, {"note": "second"}, ("second", True)),
        (2, {"sensitive": False}, ("second", False)),
        (3, {"note": ""}, ("", False)),
    ):
        edited = mine.patch(address, {"version": version, **change}, format="json").json()
        assert (edited["note"], edited["sensitive"]) == wanted
        assert edited["version"] == version + 1
    # Nothing changes: the version stays.
    assert mine.patch(address, {"version": 4, "note": ""}, format="json").json()["version"] == 4
    items = mine.get(f"{address}/history").json()["items"]
    assert [item["note"] for item in items] == ["", "second", "second", "first"]


def test_a_note_is_bounded_and_a_repost_has_none(mine: APIClient, me: User) -> None:
    too_long: dict[str, Any] = {"content": "x", "note": "n" * 101}
    for path in ("posts", "drafts"):
        answer = mine.post(f"{V1}{path}", too_long, format="json")
        assert (answer.status_code, list(answer.json()["fields"])) == (400, ["note"])
    with pytest.raises(InvalidInput):
        actions.publish(me, **too_long)
    quote, _new = actions.repost(me, made(me).pk, "look")
    for given in ({"note": "n"}, {"sensitive": True}):
        with pytest.raises(InvalidInput):
            actions.edit(me, quote.pk, 1, **given)
    assert actions.edit(me, quote.pk, 1, content="look!", note="", sensitive=False)


def test_a_draft_keeps_both_until_it_is_a_post_and_back(mine: APIClient, me: User) -> None:
    body = {"content": "x", "note": "later", "sensitive": True}
    draft = mine.post(f"{V1}drafts", body, format="json").json()
    assert (draft["note"], draft["sensitive"]) == ("later", True)
    post = drafts.publish(me, int(draft["id"]))
    words = PostContent.objects.get(post=post)
    assert (words.note, words.sensitive) == ("later", True)
    again = drafts.rewrite(me, post.pk)
    assert (again.note, again.sensitive) == ("later", True)


# --- pages --------------------------------------------------------------------------------------
def test_pages_fold_and_blur_unless_the_browser_wants_otherwise(browser: Client, me: User) -> None:
    post = made(me)
    pages = ("/", f"/posts/{post.pk}", f"/@{me.username}", f"/@{me.username}?tab=replies")
    for client in (browser, Client()):
        for path in pages:
            page = text_of(client.get(path))
            assert FOLDED in page, path
            assert "a note</span>" in page
            assert f'id="veil-{post.pk}"' in page
        answer = client.post("/settings/reading", {"notes": "1"})
        assert (answer.status_code, answer["Location"]) == (303, "/settings/reading")
        assert answer.cookies["reading"]["httponly"]
        for path in pages:
            page = text_of(client.get(path))
            assert OPEN in page, path
            assert f'id="veil-{post.pk}"' in page
        client.post("/settings/reading", {"notes": "1", "pictures": "1"})
        assert "veil" not in text_of(client.get("/"))
        settings = text_of(client.get("/settings/reading"))
        assert settings.count(" checked>") == 2
        client.post("/settings/reading", {})
        assert FOLDED in text_of(client.get("/"))
    embedded = text_of(Client().get(f"/posts/{post.pk}/embed"))
    assert '<details class="folded">' in embedded
    assert f'id="veil-{post.pk}"' in embedded


def test_what_stands_for_a_post_is_its_note(browser: Client, me: User, make_user: Make) -> None:
    other = make_user()
    post = made(other, title="", content="the words")
    actions.repost(me, post.pk, "look")
    quoted = text_of(browser.get("/"))
    assert '<span class="quote-text" dir="auto">a note</span>' in quoted
    assert "the words" not in quoted
    page = text_of(Client().get(f"/posts/{post.pk}"))
    assert '<meta property="og:description" content="a note">' in page
    assert "/media/" not in page[: page.index("</head>")]
    assert "<title>a note" in page
    feed = text_of(Client().get(f"/@{other.username}/feed.atom"))
    actions.repost(make_user("quiet"), post.pk)
    for text in (feed, text_of(Client().get("/@quiet/feed.atom"))):
        assert "<title>a note</title>" in text
        assert "the words" not in text
        assert "&lt;img" not in text


def test_a_note_of_later_folds_former_versions(me: User) -> None:
    post = made(me, note="")
    assert "folded" not in text_of(Client().get(f"/posts/{post.pk}/history"))
    actions.edit(me, post.pk, 1, note="later")
    page = text_of(Client().get(f"/posts/{post.pk}/history"))
    assert page.count('<details class="folded">') == 2


def test_an_edit_of_a_video_keeps_what_its_form_lacks(browser: Client, me: User) -> None:
    values = {"kind": "video", "video_url": "https://v.example/1", "images": []}
    post = made(me, **values)
    browser.post(f"/posts/{post.pk}/edit", {"version": "1", "content": "new"})
    words = PostContent.objects.get(post=post)
    assert (words.content, words.sensitive) == ("new", True)


def test_the_forms_send_both(browser: Client, me: User) -> None:
    browser.post("/posts", {"kind": "micro", "content": "x", "note": "n", "sensitive": "1"})
    words = PostContent.objects.get()
    assert (words.note, words.sensitive) == ("n", True)
    edit = f"/posts/{words.pk}/edit"
    form = text_of(browser.get(edit))
    assert '<details class="content-note" open>' in form
    assert 'name="sensitive" value="1" checked' in form
    browser.post(edit, {"version": "1", "content": "x", "note": "m"})
    words.refresh_from_db()
    assert (words.note, words.sensitive) == ("m", False)
    assert PostVersion.objects.get().note == "n"
    history = text_of(browser.get(f"/posts/{words.pk}/history"))
    assert history.count('<details class="folded">') == 2
    assert '<span dir="auto">n</span>' in history
    wrong = browser.post("/posts", {"kind": "micro", "content": "kept", "note": "n" * 101})
    assert 'id="err-note"' in text_of(wrong, 400)
    assert "kept</textarea>" in text_of(wrong, 400)
    browser.post("/drafts", {"kind": "micro", "content": "x", "note": "of a draft"})
    assert "of a draft" in text_of(browser.get("/drafts"))
