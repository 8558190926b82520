"""The pages that edit a post and list its versions, without JavaScript."""

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from accounts import actions as accounts_actions
from accounts.models import Role, User
from accounts.tests.browsers import text_of
from feeds import actions, queries
from feeds.models import Post, PostVersion
from feeds.tests.pictures import make_picture
from socialsite.core.models import Media

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
CONFLICT = 'data-testid="edit-conflict"'


@pytest.fixture
def me(make_user: Make) -> User:
    return make_user("writer1")


def picture(name: str = "a.png") -> SimpleUploadedFile:
    out = BytesIO()
    Image.new("RGB", (8, 8), (9, 9, 9)).save(out, "PNG")
    return SimpleUploadedFile(name, out.getvalue(), "image/png")


def fields(page: str) -> dict[str, str]:
    """Return the values of the form as a browser would send them."""
    form = page[page.index('data-testid="edit-form"') :]
    found = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = re.search(r'name="([^"]+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and not ("checkbox" in tag and "checked" not in tag) and 'type="file"' not in tag:
            found[name[1]] = value[1] if value else ""
    words = re.search(r"<textarea[^>]*>(.*?)</textarea>", form, re.DOTALL)
    assert words
    return found | {"content": words[1]}


def card_of(post: Post, viewer: Any = None) -> Any:
    return queries.post(viewer, post.pk)


def test_the_form_has_the_present_words_and_saves_others(
    browser: Client, me: User, make_post: Make
) -> None:
    post = make_post(me, "first <b>", kind="article", title="Title")
    assert f'href="/posts/{post.pk}/edit"' in text_of(browser.get(f"/posts/{post.pk}/menu"))
    assert 'data-testid="edited"' not in text_of(browser.get(f"/posts/{post.pk}"))
    form = fields(text_of(browser.get(f"/posts/{post.pk}/edit")))
    assert form["content"] == "first &lt;b&gt;"
    assert (form["title"], form["version"]) == ("Title", "1")
    answer = browser.post(f"/posts/{post.pk}/edit", form | {"content": "second", "title": "New"})
    assert (answer.status_code, answer["Location"]) == (303, f"/posts/{post.pk}")
    for path in (f"/posts/{post.pk}", "/", "/@writer1"):
        page = text_of(Client().get(path) if path != "/" else browser.get(path))
        assert f'href="/posts/{post.pk}/history" data-testid="edited">edited <time' in page
        assert "second" in page
    card = card_of(post)
    assert (card["title"], card["visibility"]) == ("New", "public")


def test_an_edit_of_an_old_version_shows_both_texts_and_can_be_saved_again(
    browser: Client, me: User, make_post: Make
) -> None:
    post = make_post(me, "first")
    form = fields(text_of(browser.get(f"/posts/{post.pk}/edit")))
    actions.edit(me, post.pk, 1, content="from elsewhere")
    page = text_of(browser.post(f"/posts/{post.pk}/edit", form | {"content": "typed"}), 409)
    conflict = page[page.index(CONFLICT) : page.index("<form", page.index(CONFLICT))]
    assert "from elsewhere" in conflict
    again = fields(page)
    assert (again["content"], again["version"]) == ("typed", "2")
    assert card_of(post)["content"] == "from elsewhere"
    assert browser.post(f"/posts/{post.pk}/edit", again).status_code == 303
    assert card_of(post)["content"] == "typed"


def test_a_conflict_stores_no_pictures(browser: Client, me: User, make_post: Make) -> None:
    post = make_post(me, "first")
    actions.edit(me, post.pk, 1, content="second")
    form = {"version": "1", "content": "typed", "images": [picture()]}
    assert CONFLICT in text_of(browser.post(f"/posts/{post.pk}/edit", form), 409)
    assert not Media.objects.exists()


def test_pictures_are_removed_described_and_added(
    browser: Client, me: User, make_post: Make
) -> None:
    browser.post("/posts", {"content": "x", "images": [picture(), picture("b.png")]})
    post = Post.objects.get()
    gone, kept = (image["id"] for image in card_of(post)["images"])
    form = fields(text_of(browser.get(f"/posts/{post.pk}/edit")))
    form |= {"remove": gone, f"alt-{kept}": "better", "alt": "new one"}
    answer = browser.post(f"/posts/{post.pk}/edit", {**form, "images": [picture("c.png")]})
    assert answer.status_code == 303
    images = card_of(post)["images"]
    assert [image["alt"] for image in images] == ["better", "new one"]
    assert images[0]["id"] == kept


def test_pictures_that_were_uploaded_when_chosen_are_added(
    browser: Client, me: User, make_post: Make
) -> None:
    browser.post("/posts", {"content": "x", "images": [picture()]})
    post = Post.objects.get()
    (first,) = (image["id"] for image in card_of(post)["images"])
    new, path = make_picture(me, "new"), f"/posts/{post.pk}/edit"
    form: dict[str, Any] = {**fields(text_of(browser.get(path)))}
    # The post's own pictures are not among those that were uploaded for the edit.
    form |= {"keep": [str(new.pk), first], f"alt-{new.pk}": "the new one"}
    page = text_of(browser.post(path, form | {"content": "x" * 2001}), 400)
    assert f'name="keep" value="{new.pk}" checked' in page
    assert f'name="keep" value="{first}"' not in page
    assert 'value="the new one"' in page
    assert browser.post(path, form).status_code == 303
    assert [(image["id"], image["alt"]) for image in card_of(post)["images"]] == [
        (first, ""),
        (str(new.pk), "the new one"),
    ]


def test_an_uploaded_picture_of_somebody_else_or_one_too_many_is_refused(
    browser: Client, me: User, make_user: Make, make_post: Make
) -> None:
    post = make_post(me, "first")
    path = f"/posts/{post.pk}/edit"
    theirs = make_picture(make_user(), "theirs")
    for keep in ([theirs.pk], ["x"], [make_picture(me, f"n{number}").pk for number in range(10)]):
        form = {"version": "1", "content": "typed", "keep": keep}
        assert 'id="err-images"' in text_of(browser.post(path, form), 400)
    assert card_of(post)["images"] == []
    actions.edit(me, post.pk, 1, content="from elsewhere")
    mine = make_picture(me, "mine")
    page = text_of(browser.post(path, {"version": "1", "content": "typed", "keep": mine.pk}), 409)
    assert f'name="keep" value="{mine.pk}" checked' in page


@pytest.mark.parametrize(
    ("form", "status", "error"),
    [
        ({"content": "x" * 2001}, 400, "err-content"),
        ({"content": ""}, 400, "err-content"),
        ({"content": "typed", "visibility": "nobody"}, 400, "err-visibility"),
        ({"content": "typed", "version": "x"}, 400, "err-all"),
        ({"content": "typed", "images": [picture() for _ in range(10)]}, 400, "err-images"),
        (
            {"content": "typed", "images": [SimpleUploadedFile("a.png", b"x", "image/png")]},
            415,
            "err-images",
        ),
    ],
)
def test_a_refused_edit_keeps_what_was_typed(
    browser: Client, me: User, make_post: Make, form: dict[str, Any], status: int, error: str
) -> None:
    post = make_post(me, "first")
    answer = browser.post(f"/posts/{post.pk}/edit", {"version": "1", **form})
    page = text_of(answer, status)
    assert f'id="{error}"' in page
    assert f">{form['content']}</textarea>" in page
    assert card_of(post)["content"] == "first"
    assert not Media.objects.exists()


def test_the_audience_can_only_become_narrower(browser: Client, me: User, make_post: Make) -> None:
    post = make_post(me, "first")
    assert 'name="visibility"' in text_of(browser.get(f"/posts/{post.pk}/edit"))
    form = {"version": "1", "content": "first", "visibility": "followers"}
    assert browser.post(f"/posts/{post.pk}/edit", form).status_code == 303
    assert card_of(post, me)["visibility"] == "followers"
    page = text_of(browser.get(f"/posts/{post.pk}/edit"))
    assert ('value="public"' in page, 'value="self"' in page) == (False, True)


def test_only_the_author_gets_the_form(browser: Client, make_user: Make, make_post: Make) -> None:
    post = make_post(make_user())
    plain = actions.repost(make_user(), post.pk)[0]
    text_of(browser.get(f"/posts/{post.pk}/edit"), 403)
    text_of(browser.post(f"/posts/{post.pk}/edit", {"version": "1", "content": "x"}), 403)
    text_of(browser.get(f"/posts/{plain.pk}/edit"), 403)
    assert "/login" in Client().get(f"/posts/{post.pk}/edit").headers.get("Location", "/login")
    assert f"/posts/{post.pk}/edit" not in text_of(browser.get(f"/posts/{post.pk}"))


def test_a_repost_without_words_has_no_form(browser: Client, me: User, make_post: Make) -> None:
    plain = actions.repost(me, make_post(me).pk)[0]
    text_of(browser.get(f"/posts/{plain.pk}/edit"), 403)
    assert f"/posts/{plain.pk}/edit" not in text_of(browser.get(f"/posts/{plain.pk}/menu"))


def test_the_form_of_a_quote_shows_the_post_in_it(
    browser: Client, me: User, make_user: Make, make_post: Make
) -> None:
    shown = make_post(make_user(), "what is quoted")
    quote = actions.repost(me, shown.pk, content="my words")[0]
    assert "what is quoted" in text_of(browser.get(f"/posts/{quote.pk}/edit"))
    actions.delete(shown.author, shown.pk)
    assert "no longer available" in text_of(browser.get(f"/posts/{quote.pk}/edit"))


def test_the_history_page_has_all_versions(browser: Client, me: User, make_post: Make) -> None:
    post = make_post(me, "version <one>")
    actions.edit(me, post.pk, 1, content="version two @writer1")
    page = text_of(Client().get(f"/posts/{post.pk}/history"))
    assert page.index("version two") < page.index("version &lt;one&gt;")
    assert page.count('data-testid="version"') == 2
    actions.edit(me, post.pk, 2, visibility="followers")
    text_of(Client().get(f"/posts/{post.pk}/history"), 404)
    assert "version &lt;one&gt;" in text_of(browser.get(f"/posts/{post.pk}/history"))
    actions.delete(me, post.pk)
    text_of(browser.get(f"/posts/{post.pk}/history"), 404)


def test_staff_read_former_versions_in_the_admin(
    make_user: Make, me: User, make_post: Make
) -> None:
    staff = make_user()
    accounts_actions.promote(staff, Role.MEMBER | Role.MODERATOR)
    admin = Client()
    admin.cookies["access"] = accounts_actions.sign_in(staff, client="chrome").access
    post = make_post(me, "an insult")
    actions.edit(me, post.pk, 1, content="harmless")
    row = PostVersion.objects.get()
    assert f"?q={post.pk}" in text_of(admin.get(f"/admin/feeds/post/{post.pk}/change/"))
    assert f"/{row.pk}/change/" in text_of(admin.get(f"/admin/feeds/postversion/?q={post.pk}"))
    page = text_of(admin.get(f"/admin/feeds/postversion/{row.pk}/change/"))
    assert "an insult" in page
    assert 'name="_save"' not in page


def test_an_article_is_previewed_before_it_is_saved(
    browser: Client, me: User, make_post: Make, make_user: Make
) -> None:
    pictures = [make_picture(me), make_picture(me, name="b")]
    ids = [item.pk for item in pictures]
    post = make_post(me, "old", kind="article", title="Title", images=ids)
    page = text_of(browser.get(f"/posts/{post.pk}/edit"))
    assert 'data-testid="preview"' not in page
    address = f"/preview?post={post.pk}"
    assert f'formaction="{address}"' in page
    typed = fields(page) | {
        "title": "Newer",
        "content": "**bold** ![](1)",
        "remove": str(ids[0]),
        f"alt-{ids[1]}": "described",
    }
    shown = text_of(browser.post(address, typed))
    preview = shown[shown.index('data-testid="preview"') : shown.index('data-testid="edit-form"')]
    assert "<strong>bold</strong>" in preview
    assert "Newer" in preview
    assert pictures[1].name in preview
    assert pictures[0].name not in preview
    # Nothing is saved, and nothing typed is lost.
    assert card_of(post)["content"] == "old"
    again = fields(shown)
    assert again["content"] == "**bold** ![](1)"
    assert (again["title"], again[f"alt-{ids[1]}"]) == ("Newer", "described")
    assert again["remove"] == str(ids[0])
    assert browser.post(f"/posts/{post.pk}/edit", again).status_code == 303
    assert card_of(post)["title"] == "Newer"

    long = browser.post(address, typed | {"content": "x" * 50_001})
    assert long.status_code == 400
    assert 'id="err-content"' in text_of(long, 400)
    plain = make_post(me, "micro")
    theirs = make_post(make_user(), "old", kind="article", title="Title")
    assert browser.post(f"/preview?post={plain.pk}", typed).status_code == 403
    assert browser.post(f"/preview?post={theirs.pk}", typed).status_code == 403
    assert browser.post("/preview?post=1", typed).status_code == 404
    assert browser.post("/preview?post=x", typed).status_code == 400
