"""Moving uploads into a bucket and back, while readers read and people delete."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.template.defaultfilters import filesizeformat
from django.test import Client
from PIL import Image

from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from feeds.models import Post
from socialsite.core.exports import jobs as exports
from socialsite.core.media import pictures as media_pictures
from socialsite.core.media import stored_files
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.buckets.address import Address
from socialsite.core.models import Export, Media
from socialsite.tests.buckets.conftest import Names

pytestmark = pytest.mark.django_db
Make = Callable[..., Any]
Use = Callable[[], Address]


def upload(owner: User) -> Media:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (220, 20, 20)).save(out, "PNG")
    return media_pictures.store_all(owner.pk, [(io.BytesIO(out.getvalue()), "")])[0]


def local(item: Media) -> list[bool]:
    return [stored_files.path_of(name).exists() for name in item.file_names()]


def moved(*words: str) -> str:
    out = io.StringIO()
    call_command("move_media", *words, stdout=out)
    return out.getvalue().replace("\xa0", " ").strip()


@pytest.fixture
def before(use_bucket: Use, author: User, drain: Make) -> list[Media]:
    """A public and a private picture in the folder, of a site that has a bucket by now."""
    items = [upload(author), upload(author)]
    feeds_actions.publish(author, images=[items[0].pk], visibility="public")
    drain()
    assert stored_files.is_public(items[0].name)
    use_bucket()
    return items


def test_readers_see_a_picture_before_and_after_it_is_moved(
    before: list[Media], author: User, names: Names
) -> None:
    public, private = before
    reader, owner = Client(), browser_of(author)

    def seen() -> list[int]:
        return [
            client.get(f"/media/{item.name}").status_code
            for client in (reader, owner)
            for item in before
        ]

    assert seen() == [200, 404, 200, 200]
    total = filesizeformat(sum(item.size for item in before)).replace("\xa0", " ")
    assert moved() == f"moved 2 pictures and videos, {total}"
    assert [local(item) for item in before] == [[False] * 2] * 2
    assert not stored_files.is_public(public.name)
    assert names() == sorted(name for item in before for name in item.file_names())
    assert seen() == [302, 404, 302, 302]
    assert moved() == "moved 0 pictures and videos, 0 bytes"
    assert moved("--back") == f"moved 2 pictures and videos, {total}"
    assert names() == []
    assert seen() == [200, 404, 200, 200]
    assert stored_files.is_public(public.name)
    assert not stored_files.is_public(private.name)


def test_who_is_ended_in_the_middle_goes_on(before: list[Media], names: Names) -> None:
    item = before[0]
    buckets.put(stored_files.path_of(item.name), item.name)  # and killed before it was removed
    assert Client().get(f"/media/{item.name}").status_code == 200
    moved()
    assert len(names()) == 4
    assert [local(item) for item in before] == [[False] * 2] * 2


def test_a_picture_that_is_deleted_while_it_is_moved_is_gone(
    before: list[Media], author: User, names: Names, drain: Make
) -> None:
    item = before[0]
    for name in item.file_names():
        buckets.put(stored_files.path_of(name), name)
    feeds_actions.delete(author, Post.objects.get().pk)
    drain()
    assert local(item) == [False] * 2
    assert names() == []


def test_an_archive_is_moved(author: User, use_bucket: Use, names: Names) -> None:
    row = exports.request(author.pk)
    exports.path_of(row.name).write_bytes(b"archive")
    Export.objects.update(state=Export.State.READY)
    use_bucket()
    moved()
    assert names() == [exports.stored_name(row.name)]
    assert not exports.path_of(row.name).exists()


def test_without_a_bucket_there_is_nothing_to_do() -> None:
    with pytest.raises(CommandError, match="names no bucket"):
        moved()
