"""Placeholders of pictures: computed at upload, shown by classes, added to older posts."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import blurhash
import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from PIL import Image

from accounts.models import User
from accounts.tests.browsers import browser_of, text_of
from feeds import actions as feeds_actions
from feeds import queries
from feeds.models import PostContent
from socialsite.core.media import picture_placeholders, pictures, stored_files
from socialsite.core.models import Media
from socialsite.pages.picture_placeholders import placeholder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
RED, BLUE = (220, 20, 20), (20, 20, 220)


def halves(mode: str = "RGB") -> Image.Image:
    """Return a picture that is red on the left and blue on the right."""
    image = Image.new(mode, (64, 48), RED)
    image.paste(BLUE, (32, 0, 64, 48))
    return image


def upload(owner: User, image: Image.Image) -> Media:
    file = io.BytesIO()
    image.save(file, "PNG")
    return pictures.store_all(owner.pk, [(io.BytesIO(file.getvalue()), "halves")])[0]


def channels(names: str) -> dict[str, int]:
    """Return the steps of the channels that the classes of a picture name."""
    first, *others = names.removeprefix(' class="').removesuffix('"').split()
    assert first == "ph"
    return {name[0]: int(name[1], 16) for name in others}


@pytest.mark.once
def test_a_placeholder_has_the_colours_of_the_corners_at_their_place() -> None:
    found = picture_placeholders.of_image(halves())
    assert blurhash.components(found) == (4, 3)
    assert len(found) <= Media.PLACEHOLDER_MAX
    steps = channels(placeholder(found))
    for red, green, blue in ("abc", "ghi"):  # on the left
        assert (steps[red], steps[green]) > (10, 0)
        assert steps[blue] < 6
    for red, green, blue in ("def", "jkl"):  # on the right
        assert steps[red] < 6
        assert steps[green] < 6
        assert steps[blue] > 10


@pytest.mark.once
def test_transparent_pictures_have_none() -> None:
    image = halves("RGBA")
    image.putalpha(120)
    assert picture_placeholders.of_image(image) == ""
    assert placeholder("") == ""


@pytest.mark.once
def test_the_stylesheet_knows_each_class() -> None:
    css = Path(settings.BASE_DIR, "static/css/site.css").read_text()
    for letter in "abcdefghijkl":
        assert f"var(--{letter})" in css
        for step in range(16):
            assert f".{letter}{step:x} {{ --{letter}: {step * 17}; }}" in css


def test_an_upload_and_its_post_have_a_placeholder(
    make_user: Make, api_for: Make, make_post: Make
) -> None:
    author = make_user()
    file = io.BytesIO()
    halves().save(file, "PNG")
    sent = SimpleUploadedFile("x.png", file.getvalue(), "image/png")
    answer = api_for(author).post("/api/v1/media", {"file": sent}, format="multipart").json()
    assert blurhash.components(answer["placeholder"]) == (4, 3)
    post = make_post(author, content="halves", images=[int(answer["id"])])
    (image,) = api_for(author).get(f"/api/v1/posts/{post.pk}").json()["images"]
    assert image["placeholder"] == answer["placeholder"]
    page = text_of(browser_of(author).get(f"/posts/{post.pk}"))
    assert f'<img{placeholder(answer["placeholder"])} src="{image["url"]}"' in page


def test_the_pictures_of_an_article_have_theirs(make_user: Make, make_post: Make) -> None:
    author = make_user()
    item = upload(author, halves())
    words = f"One\n\n![halves]({item.pk})\n\ntwo"
    post = make_post(author, kind="article", title="Halves", content=words, images=[item.pk])
    page = text_of(browser_of(author).get(f"/posts/{post.pk}"))
    assert f'<img{placeholder(item.placeholder)} src="/media/{item.name}"' in page


def test_the_command_adds_them_to_pictures_and_posts_from_before(
    make_user: Make, make_post: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    author = make_user()
    clear = halves("RGBA")
    clear.putalpha(120)
    whole, lost, glass = (upload(author, image) for image in (halves(), halves(), clear))
    post = make_post(author, content="old", images=[whole.pk, lost.pk, glass.pk])
    make_post(author, content="without pictures")
    Media.objects.update(placeholder="")
    stored_files.path_of(lost.thumb_name).unlink()
    words = PostContent.objects.get(pk=post.pk)
    for image in words.images:
        del image["placeholder"]
    words.save()
    shown = queries.post(author, post.pk)
    assert [image["placeholder"] for image in shown["images"]] == ["", "", ""]
    call_command("add_placeholders")
    assert capsys.readouterr().out == "pictures 1, posts 2, changed 1\n"
    shown = queries.post(author, post.pk)
    before = channels(placeholder(whole.placeholder))
    whole.refresh_from_db()
    assert [image["placeholder"] for image in shown["images"]] == [whole.placeholder, "", ""]
    after = channels(placeholder(whole.placeholder))
    assert max(abs(after[name] - step) for name, step in before.items()) <= 1
    assert (shown["version"], shown["edited_at"]) == (1, None)
    call_command("add_placeholders")
    assert capsys.readouterr().out == "pictures 0, posts 2, changed 0\n"


def test_the_command_adds_them_to_previews_and_videos(
    make_user: Make, make_post: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    author = make_user()
    linked, film, unseen = (upload(author, halves()) for _ in range(3))
    Media.objects.filter(pk__in=[film.pk, unseen.pk]).update(is_video=True)
    Media.objects.filter(pk=unseen.pk).update(thumb_name="")
    post = make_post(author, content="old")
    words = PostContent.objects.get(pk=post.pk)
    words.link = {"url": "https://example.org", "title": "t", "text": ""}
    words.link["image"] = PostContent.image_of(linked)
    sizes = {"width": 64, "height": 48, "seconds": 1, "state": "ready", "failure": ""}
    words.video = {"id": str(film.pk), "name": film.name, "poster": film.thumb_name, **sizes}
    del words.link["image"]["placeholder"]
    words.save()
    Media.objects.update(placeholder="")
    shown: Any = queries.post(author, post.pk)
    assert (shown["link"]["placeholder"], shown["video"]["placeholder"]) == ("", "")
    call_command("add_placeholders")
    assert capsys.readouterr().out == "pictures 2, posts 1, changed 1\n"
    shown = queries.post(author, post.pk)
    for part in ("link", "video"):
        assert blurhash.components(shown[part]["placeholder"]) == (4, 3)


def test_the_command_and_an_edit_do_not_undo_each_other(make_user: Make, make_post: Make) -> None:
    author = make_user()
    item = upload(author, halves())
    post = make_post(author, content="old", images=[item.pk])
    words = PostContent.objects.get(pk=post.pk)
    del words.images[0]["placeholder"]
    words.save()
    feeds_actions.edit(author, post.pk, 1, content="new", alts={item.pk: "described"})
    call_command("add_placeholders")
    shown = queries.post(author, post.pk)
    assert (shown["content"], shown["images"][0]["alt"]) == ("new", "described")
    assert shown["images"][0]["placeholder"] == item.placeholder
