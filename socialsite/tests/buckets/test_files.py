"""Files in a bucket: who gets an address, what the address leads to, and when files go."""

import io
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from PIL import Image
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from feeds.models import Post
from socialsite.core.errors import Unavailable
from socialsite.core.exports import jobs as exports
from socialsite.core.media import picture_placeholders, references, stored_files
from socialsite.core.media import pictures as media_pictures
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.buckets import places
from socialsite.core.media.buckets.address import Address
from socialsite.core.models import Export, Media
from socialsite.pages import media_files
from socialsite.tests.buckets.conftest import Names
from socialsite.tests.support.answers import assert_error

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("bucket")]
Make = Callable[..., Any]


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (220, 20, 20)).save(out, "PNG")
    return out.getvalue()


def upload(owner: User) -> Media:
    return media_pictures.store_all(owner.pk, [(io.BytesIO(png()), "")])[0]


def posted(owner: User, visibility: str) -> tuple[Post, Media]:
    item = upload(owner)
    return feeds_actions.publish(owner, images=[item.pk], visibility=visibility), item


def get(client: Client, name: str) -> Any:
    return client.get(f"/media/{name}")


def opened(address: str) -> Any:
    return urllib.request.urlopen(address, timeout=60)  # noqa: S310  (of the test's own server)


def followed(answer: Any) -> Any:
    """Fetch what a redirect leads to."""
    assert answer.status_code == 302
    return opened(answer.headers["Location"])


def status(client: Client, name: str) -> int:
    return get(client, name).status_code


# --- readers ------------------------------------------------------------------------------------
def test_only_who_may_see_a_picture_gets_an_address(
    author: User, make_user: Make, names: Names, settings: Any
) -> None:
    item = upload(author)
    assert names() == sorted(item.file_names())
    assert not settings.MEDIA_ROOT.exists()
    assert [status(client, item.name) for client in (Client(), browser_of(make_user()))] == [
        404
    ] * 2
    answer = get(browser_of(author), item.name)
    assert answer.headers["Cache-Control"] == media_files.PRIVATE
    with followed(answer) as found:
        assert Image.open(io.BytesIO(found.read())).size == (40, 30)
        assert found.headers["Content-Type"] == "image/jpeg"
        assert found.headers["Cache-Control"] == media_files.PRIVATE
    query = parse_qs(urlsplit(answer.headers["Location"]).query)
    assert query["X-Amz-Expires"] == [str(buckets.PRIVATE_SECONDS)]


def test_without_a_signature_the_server_gives_nothing(author: User) -> None:
    address = get(browser_of(author), upload(author).name).headers["Location"]
    with pytest.raises(urllib.error.HTTPError, match="403"):
        opened(address.partition("?")[0])


def test_guests_get_the_picture_of_a_public_post_until_it_is_deleted(
    author: User, drain: Make, names: Names
) -> None:
    post, item = posted(author, "public")
    answer = get(Client(), item.name)
    assert answer.headers["Cache-Control"] == media_files.REDIRECT
    with followed(answer) as found:
        assert found.headers["Cache-Control"] == media_files.PUBLIC
    feeds_actions.delete(author, post.pk)
    assert status(Client(), item.name) == 404, "before any event is handled"
    drain()
    assert names() == []
    with pytest.raises(urllib.error.HTTPError, match=r"40[34]"):
        followed(answer)


def test_a_picture_that_is_no_longer_public_has_no_new_address(author: User) -> None:
    _post, item = posted(author, "public")
    accounts_actions.ban(author)
    assert status(Client(), item.name) == 404
    accounts_actions.unban(author)
    assert status(Client(), item.name) == 302


def test_a_public_picture_costs_no_budget_and_few_queries(
    author: User, django_assert_num_queries: Any
) -> None:
    _post, item = posted(author, "public")
    client = Client()
    with django_assert_num_queries(3):  # its row, the profiles, the posts
        assert get(client, item.name).status_code == 302


def test_a_head_request_is_answered_by_the_site(author: User) -> None:
    item = upload(author)
    answer = browser_of(author).head(f"/media/{item.name}")
    assert (answer.status_code, int(answer.headers["Content-Length"])) == (
        200,
        stored_files.size(item.name),
    )
    buckets.remove(item.name)
    assert browser_of(author).head(f"/media/{item.name}").status_code == 404


# --- what the site itself reads -----------------------------------------------------------------
def test_missing_placeholders_are_made_from_the_bucket(author: User) -> None:
    item = upload(author)
    Media.objects.update(placeholder="")
    assert picture_placeholders.add(0) == ([item.pk], 1)


def test_an_archive_is_made_and_fetched(author: User, names: Names) -> None:
    row = exports.request(author.pk)

    def write(_owner: int, file: Any, done: Callable[[int], None]) -> None:
        file.write(b"archive")
        done(50)

    assert exports.work_off(write)
    name = exports.stored_name(row.name)
    assert names() == [name]
    assert list(exports.folder().iterdir()) == []
    assert buckets.read(name) == b"archive"
    assert exports.delete_all(author.pk, 10) == 1
    assert names() == []


def test_archives_without_a_row_are_removed_when_they_are_old(
    author: User, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = exports.request(author.pk)
    for name in ("ab" * 16, kept.name):
        buckets.write(exports.stored_name(name), b"archive")
    assert exports.purge() == 0
    monkeypatch.setattr(exports, "DAYS", -1)
    exports.purge()
    assert names() == [exports.stored_name(kept.name)]


# --- the end of files ---------------------------------------------------------------------------
def test_the_nightly_check_removes_old_files_without_a_row(
    author: User, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [upload(author), upload(author)]
    orphan, foreign = "cd/" + "cd" * 16 + ".jpg", "cd/notes.txt"
    for name in (orphan, foreign):
        buckets.write(name, b"x")

    night = date.fromordinal(0xCD % references.NIGHTS)
    assert references.remove_orphans(night) == 0, "its row may be written yet"
    monkeypatch.setattr(stored_files, "OLD_SECONDS", -60)
    assert references.remove_orphans(night) == 1
    assert names() == sorted([foreign, *(name for item in kept for name in item.file_names())])


# --- trouble ------------------------------------------------------------------------------------
def leave(settings: Any, bucket: Address) -> Callable[[], None]:
    """Make the server not answer; return a function that ends that."""
    settings.MEDIA_BUCKET = Address("http://127.0.0.1:1", bucket.bucket, "", "key", "secret")
    return lambda: setattr(settings, "MEDIA_BUCKET", bucket)


def test_an_archive_waits_for_the_server_as_long_as_it_takes(
    author: User, bucket: Address, settings: Any, names: Names
) -> None:
    row, back = exports.request(author.pk), leave(settings, bucket)

    def write(_owner: int, file: Any, _done: Callable[[int], None]) -> None:
        file.write(b"archive")

    for _turn in range(exports.TRIES_MAX + 1):
        Export.objects.update(due_at=0)
        assert exports.work_off(write)
    assert Export.objects.get().state == Export.State.WAITING
    back()
    Export.objects.update(due_at=0)
    assert exports.work_off(write)
    assert names() == [exports.stored_name(row.name)]


def test_while_the_server_is_away_uploads_are_refused_and_nothing_is_lost(
    author: User, api_for: Callable[..., APIClient], bucket: Address, settings: Any, drain: Make
) -> None:
    post, item = posted(author, "public")
    back = leave(settings, bucket)
    file = io.BytesIO(png())
    file.name = "a.png"
    answer = api_for(author).post("/api/v1/media", {"file": file})
    assert_error(answer, 503, "UNAVAILABLE")
    assert Media.objects.count() == 1
    feeds_actions.delete(author, post.pk)
    with pytest.raises(Unavailable):
        references.drop_unused(Media.objects.filter(pk=item.pk).select_for_update())
    assert Media.objects.filter(pk=item.pk).exists()
    back()
    drain()
    assert not Media.objects.exists()
    with pytest.raises(FileNotFoundError):
        buckets.read(item.name)


def test_many_threads_use_one_connection(
    used: places.Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "AT_ONCE", 8)
    wrong: list[str] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                name, data = f"ab/{number}-{turn}.jpg", f"{number}-{turn}".encode() * 1000
                buckets.write(name, data)
                address = buckets.address(name, "private", 60)
                with opened(address) as found:
                    if found.read() != data or buckets.read(name) != data:
                        wrong.append(name)
                buckets.remove(name)
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert list(buckets.listed("")) == []
