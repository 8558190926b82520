"""Access to the files of pictures, and their removal: through the site, and with nginx in front."""

import io
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test import Client
from PIL import Image

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from feeds.models import Post
from relations import actions as relations_actions
from socialsite.core.errors import InvalidInput
from socialsite.core.media import pictures as media_pictures
from socialsite.core.media import references, stored_files
from socialsite.core.models import Media
from socialsite.core.tasks import sweep_media
from socialsite.pages.media_files import PRIVATE, PUBLIC
from socialsite.tests import stacks
from socialsite.tests.support import locks
from socialsite.tests.support.waiting import LIMIT, eventually

pytestmark = pytest.mark.usefixtures("media_root")

Make = Callable[..., Any]
GUEST = "guest"
NOBODYS = "ab/" + "ab" * 16 + ".jpg"


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (220, 20, 20)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def fan(make_user: Make, author: User) -> User:
    found = make_user()
    relations_actions.follow(found, author)
    return found


def upload(owner: User) -> Media:
    return media_pictures.store_all(owner.pk, [(io.BytesIO(png()), "")])[0]


def posted(owner: User, visibility: str, *more: Media) -> tuple[Post, Media]:
    item = upload(owner)
    ids = [item.pk, *(one.pk for one in more)]
    return feeds_actions.publish(owner, images=ids, visibility=visibility), item


def names(item: Media) -> tuple[str, str]:
    return item.name, item.thumb_name


def status(client: Client, name: str, **headers: str) -> int:
    return client.get(f"/media/{name}", headers=headers).status_code


def linked(item: Media) -> list[bool]:
    return [stored_files.is_public(name) for name in names(item)]


def files_of(item: Media) -> list[bool]:
    return [stored_files.path_of(name).exists() for name in names(item)]


# --- access to a file ---------------------------------------------------------------------------
class World(NamedTuple):
    """Readers, a browser each, and pictures by the content that shows them."""

    browsers: dict[str, Client]
    pictures: dict[str, Media]


@pytest.fixture
def world(make_user: Make, author: User, fan: User) -> World:
    people = {"author": author, "follower": fan}
    for role in ("stranger", "blocked", "blocker", "banned", "staff"):
        people[role] = make_user()
    browsers = {role: browser_of(user) for role, user in people.items()} | {GUEST: Client()}
    pictures = {
        "public": posted(author, "public")[1],
        "followers": posted(author, "followers")[1],
        "unattached": upload(author),
        "avatar": upload(author),
    }
    accounts_actions.edit_profile(author, avatar=pictures["avatar"].pk)
    post, pictures["deleted"] = posted(author, "public")
    feeds_actions.delete(author, post.pk)
    kept, pictures["of both"] = posted(author, "followers")
    feeds_actions.delete(author, feeds_actions.publish(author, images=[pictures["of both"].pk]).pk)
    feeds_actions.repost(author, kept.pk)
    for role in ("blocked", "blocker", "banned"):
        relations_actions.follow(people[role], author)
    relations_actions.block(author, people["blocked"])
    relations_actions.block(people["blocker"], author)
    accounts_actions.ban(people["banned"])
    accounts_actions.promote(people["staff"], 3)
    return World(browsers, pictures)


ALL = frozenset((GUEST, "author", "follower", "stranger", "blocked", "blocker", "banned", "staff"))
OWN, FOLLOWERS = frozenset(("author",)), frozenset(("author", "follower"))
EXPECTED = {
    "public": ALL,
    "followers": FOLLOWERS,
    "of both": FOLLOWERS,
    "unattached": OWN,
    "deleted": OWN,  # until the event is delivered
}


@pytest.mark.django_db
@pytest.mark.parametrize("settled", [False, True])
def test_a_picture_is_for_those_who_may_see_a_post_with_it(
    world: World, drain: Make, settled: bool
) -> None:
    if settled:
        drain()
    expected = EXPECTED | ({"deleted": frozenset()} if settled else {})
    cells = 0
    for what, whom in expected.items():
        for name in names(world.pictures[what]):
            for role, browser in world.browsers.items():
                found = status(browser, name)
                assert found == (200 if role in whom else 404), (what, name, role)
                cells += 1
    full, thumb = names(world.pictures["avatar"])
    for role, browser in world.browsers.items():
        assert status(browser, thumb) == 200, role
        assert status(browser, full) == (200 if role == "author" else 404), role
        cells += 2
    assert cells == 96


@pytest.mark.django_db
def test_hidden_objects_get_the_response_of_missing_ones(world: World, author: User) -> None:
    hidden = world.pictures["followers"].name
    for role in (GUEST, "stranger", "blocked"):
        for method in ("get", "head"):
            answers = [
                getattr(world.browsers[role], method)(f"/media/{name}", {"x": ""})
                for name in (hidden, NOBODYS)
            ]
            assert [one.status_code for one in answers] == [404, 404]
            assert all(one.headers.pop("X-Request-ID") for one in answers)  # random
            headers = [dict(one.headers) for one in answers]
            assert headers[0] == headers[1]
            assert headers[0]["Cache-Control"] == "no-store"
            bodies = [re.sub(r'"[A-Za-z0-9]{64}"', "csrf", one.content.decode()) for one in answers]
            bodies[0] = bodies[0].replace(hidden, NOBODYS)
            assert bodies[0] == bodies[1]


@pytest.mark.django_db
def test_only_public_pictures_may_be_cached(world: World) -> None:
    for what, role, kept in (
        ("public", GUEST, PUBLIC),
        ("followers", "follower", PRIVATE),
        ("unattached", "author", PRIVATE),
    ):
        for name in names(world.pictures[what]):
            for method in ("get", "head"):
                answer = getattr(world.browsers[role], method)(f"/media/{name}")
                assert answer["Cache-Control"] == kept, what
                assert answer["Content-Type"] == "image/jpeg"
                assert answer["X-Content-Type-Options"] == "nosniff"
                assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
                assert answer["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name",
    [
        *("", "..", "../keys.json", "public/x.jpg", "ab", "ab/", "ab/x.jpg", "x" * 300),
        *("ab/" + "ab" * 200, NOBODYS + "%00", NOBODYS + "/", "AB/" + "AB" * 16 + ".jpg"),
        "ab/.0123456789abcdef",
    ],
)
def test_nothing_but_pictures_has_an_address(name: str, media_root: Path) -> None:
    (media_root / "ab").mkdir(parents=True)
    for other in ("keys.json", "ab/.0123456789abcdef", "ab/x.jpg"):
        (media_root / other).write_text("{}")
    assert status(Client(), name) == 404


@pytest.mark.django_db
def test_api_clients_show_their_token(
    author: User, fan: User, make_user: Make, api_for: Make
) -> None:
    item = posted(author, "followers")[1]
    assert api_for(fan).get(f"/media/{item.name}").status_code == 200
    assert api_for(make_user()).get(f"/media/{item.name}").status_code == 404
    for name in (item.name, NOBODYS):  # a wrong token reveals nothing
        answer = browser_of(fan).get(f"/media/{name}", headers={"Authorization": "Bearer x"})
        assert (answer.status_code, answer.json()["code"]) == (401, 15)


@pytest.mark.django_db
def test_an_uploader_sees_the_upload_at_once(author: User, api_for: Make) -> None:
    client = api_for(author)
    file = io.BytesIO(png())
    file.name = "x.png"
    answer = client.post("/api/v1/media", {"file": file}, format="multipart").json()
    for address in (answer["url"], answer["thumb"]):
        assert client.get(address).status_code == 200
        assert Client().get(address).status_code == 404


@pytest.mark.django_db
def test_a_person_who_is_unfollowed_or_blocked_loses_the_pictures_at_once(
    author: User, fan: User
) -> None:
    item, browser = posted(author, "followers")[1], browser_of(fan)
    assert status(browser, item.name) == 200
    relations_actions.unfollow(fan, author)
    assert status(browser, item.name) == 404
    relations_actions.follow(fan, author)
    assert status(browser, item.name) == 200
    relations_actions.block(author, fan)
    assert status(browser, item.name) == 404


# --- public links -------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_public_picture_gets_its_link_by_its_event_or_its_first_request(
    author: User, drain: Make
) -> None:
    asked, waits = posted(author, "public")[1], posted(author, "public")[1]
    assert linked(asked) == [False, False]
    assert status(Client(), asked.thumb_name) == 200
    assert linked(asked) == [True, True]
    drain()
    assert linked(waits) == [True, True]
    assert stored_files.public_path(waits.name).samefile(stored_files.path_of(waits.name))


@pytest.mark.django_db
def test_a_public_picture_is_served_where_links_cannot_be_made(
    author: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    item = posted(author, "public")[1]
    for _ in range(2):
        assert status(Client(), item.name) == 200
    assert linked(item) == [False, False]


@pytest.mark.django_db
def test_no_other_picture_is_ever_linked(world: World, drain: Make) -> None:
    drain()
    for what in ("followers", "unattached", "of both"):
        for browser in world.browsers.values():
            status(browser, world.pictures[what].name)
        assert linked(world.pictures[what]) == [False, False], what
    assert linked(world.pictures["avatar"]) == [False, True]


@pytest.mark.django_db
def test_a_ban_makes_pictures_private_and_its_end_public_again(
    author: User, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "STEP", 2)
    items = [posted(author, "public")[1] for _ in range(5)]
    accounts_actions.edit_profile(author, avatar=items[0].pk)
    drain()
    assert all(linked(item) == [True, True] for item in items)
    accounts_actions.ban(author)
    drain()
    assert all(linked(item) == [False, False] for item in items)
    assert status(Client(), items[0].thumb_name) == 404
    accounts_actions.unban(author)
    assert status(Client(), items[0].thumb_name) == 200
    drain()
    assert all(linked(item) == [True, True] for item in items)


@pytest.mark.django_db
def test_the_nightly_check_removes_links_that_should_not_be_public(
    author: User, drain: Make, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "STEP", 2)
    public, private = posted(author, "public")[1], posted(author, "followers")[1]
    drain()
    for name in (*names(private), NOBODYS):
        stored_files.path_of(name).parent.mkdir(parents=True, exist_ok=True)
        stored_files.path_of(name).touch()
        stored_files.publish(name)
    found = sum(references.check_public(date.fromordinal(night)) for night in range(1, 17))
    assert found == 3
    assert linked(private) == [False, False]
    assert not stored_files.is_public(NOBODYS)
    assert linked(public) == [True, True]
    assert status(Client(), public.name) == 200
    assert not sum(references.check_public(date.fromordinal(night)) for night in range(1, 17))
    sweep_media()
    assert "wrongly public" not in caplog.text


# --- removal of files ---------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_nightly_check_removes_old_files_without_a_row(
    author: User, drain: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(references, "STEP", 2)
    items = [posted(author, audience)[1] for audience in ("public", "followers")]
    drain()
    orphans = [f"{NOBODYS[:2]}/{number:032x}.jpg" for number in range(10)]
    foreign = f"{NOBODYS[:2]}/notes.txt"
    for name in (*orphans, foreign):
        stored_files.path_of(name).parent.mkdir(parents=True, exist_ok=True)
        stored_files.path_of(name).touch()

    def removed() -> int:
        nights = map(date.fromordinal, range(1, 17))
        return sum(references.remove_orphans(night) for night in nights)

    assert not removed()  # its row may be written yet
    monkeypatch.setattr(stored_files, "OLD_SECONDS", -60)
    assert not removed()  # 12 uploads, and two rows: perhaps another database
    assert "is this the right database?" in caplog.text
    for name in orphans[1:]:
        stored_files.remove(name)
    assert (removed(), removed()) == (1, 0)
    assert not any(stored_files.path_of(name).exists() for name in orphans)
    assert stored_files.path_of(foreign).exists()
    assert all(files_of(item) == [True, True] for item in items)


@pytest.mark.django_db
def test_the_pictures_of_a_deleted_post_are_removed_by_its_event(author: User, drain: Make) -> None:
    other = upload(author)
    post, item = posted(author, "public", other)
    feeds_actions.publish(author, images=[other.pk])
    drain()
    feeds_actions.delete(author, post.pk)
    drain()
    assert (files_of(item), linked(item)) == ([False, False], [False, False])
    assert not Media.objects.filter(pk=item.pk).exists()
    assert status(Client(), item.name) == status(browser_of(author), item.name) == 404
    assert (files_of(other), linked(other)) == ([True, True], [True, True])


@pytest.mark.django_db
def test_a_public_post_that_goes_leaves_a_picture_to_the_followers_of_the_other(
    author: User, fan: User, drain: Make
) -> None:
    item = upload(author)
    feeds_actions.publish(author, images=[item.pk], visibility="followers")
    public = feeds_actions.publish(author, images=[item.pk])
    drain()
    assert linked(item) == [True, True]
    feeds_actions.delete(author, public.pk)
    drain()
    assert (files_of(item), linked(item)) == ([True, True], [False, False])
    assert (status(Client(), item.name), status(browser_of(fan), item.name)) == (404, 200)


@pytest.mark.django_db
def test_an_avatar_that_is_replaced_is_removed_by_its_event(author: User, drain: Make) -> None:
    old, new = upload(author), upload(author)
    accounts_actions.edit_profile(author, avatar=old.pk)
    drain()
    assert linked(old) == [False, True]
    accounts_actions.edit_profile(author, avatar=new.pk)
    drain()
    assert (files_of(old), files_of(new)) == ([False, False], [True, True])
    assert (linked(old), linked(new)) == ([False, False], [False, True])


@pytest.mark.django_db
def test_an_upload_that_waits_for_its_post_is_not_removed(author: User, drain: Make) -> None:
    item = upload(author)
    drain()
    sweep_media()
    assert files_of(item) == [True, True]


# --- processes that die, and concurrent ones ----------------------------------------------------
class Died(BaseException):
    """Simulates a kill of the process."""


def dies_at(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def die(name: str) -> None:
        if name == place:
            raise Died

    monkeypatch.setattr(references, "failpoint", die)


@pytest.mark.django_db
@pytest.mark.parametrize("place", ["pictures-locked", "pictures-arranged"])
def test_a_process_that_dies_on_the_way_to_a_public_link_leaves_the_picture_to_be_seen(
    author: User, drain: Make, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    post, item = posted(author, "public")
    with monkeypatch.context() as patch:
        dies_at(patch, place)
        with pytest.raises(Died):
            status(Client(), item.name)
    assert status(Client(), item.name) == 200
    assert linked(item) == [True, True]
    feeds_actions.delete(author, post.pk)
    drain()
    assert (files_of(item), linked(item)) == ([False, False], [False, False])


@pytest.mark.django_db
@pytest.mark.parametrize("place", ["picture-removed", "pictures-locked", "pictures-arranged"])
def test_a_process_that_dies_on_the_way_to_remove_a_picture_is_followed_by_another(
    author: User, drain: Make, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    kept = upload(author)
    post, item = posted(author, "public", kept)
    feeds_actions.publish(author, images=[kept.pk], visibility="followers")
    drain()
    feeds_actions.delete(author, post.pk)
    event = references.PicturesChanged(author.pk, sorted((item.pk, kept.pk)))
    with monkeypatch.context() as patch:
        dies_at(patch, place)
        with pytest.raises(Died):
            references.settle_pictures(event)
    assert status(Client(), item.name) == 404 or linked(item) == [True, True]
    drain()
    assert (files_of(item), linked(item)) == ([False, False], [False, False])
    assert not Media.objects.filter(pk=item.pk).exists()
    assert (files_of(kept), linked(kept)) == ([True, True], [False, False])


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ends", ["delete", "ban"])
def test_a_link_that_is_made_while_its_reason_ends_does_not_stay(
    author: User, drain: Make, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """A reader found the picture public; the post is deleted before the link exists."""
    post, item = posted(author, "public")
    threads: list[threading.Thread] = []

    def end() -> None:
        try:
            feeds_actions.delete(author, post.pk) if ends == "delete" else accounts_actions.ban(
                author
            )
            drain()
        finally:
            connection.close()

    def meanwhile(place: str) -> None:
        if place == "pictures-locked" and not threads:
            threads.append(threading.Thread(target=end))
            threads[0].start()
            locks.waits_or(lambda: not threads[0].is_alive())

    with monkeypatch.context() as patch:
        patch.setattr(references, "failpoint", meanwhile)
        assert status(Client(), item.name) == 200
    threads[0].join()
    assert linked(item) == [False, False]
    assert status(Client(), item.name) == 404


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_post_that_takes_a_picture_while_it_is_removed_has_it_or_is_refused(
    author: User, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, item = posted(author, "public")
    drain()
    feeds_actions.delete(author, post.pk)
    outcome: list[str] = []

    def publish() -> None:
        try:
            feeds_actions.publish(author, images=[item.pk])
            outcome.append("published")
        except InvalidInput:
            outcome.append("refused")
        finally:
            connection.close()

    threads: list[threading.Thread] = []

    def meanwhile(place: str) -> None:
        if place == "picture-removed" and not threads:
            threads.append(threading.Thread(target=publish))
            threads[0].start()
            assert locks.waits_or(lambda: outcome != [])  # for the row

    with monkeypatch.context() as patch:
        patch.setattr(references, "failpoint", meanwhile)
        drain()
    threads[0].join()
    assert outcome == ["refused"]
    assert files_of(item) == [False, False]


# --- real servers -------------------------------------------------------------------------------
def fetch(base: str, path: str, token: str = "", **headers: str) -> tuple[int, Any, bytes]:
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(base + path, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:  # noqa: S310
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def send(base: str, token: str) -> dict[str, str]:
    body = b"\r\n".join(
        [
            b"--x",
            b'Content-Disposition: form-data; name="file"; filename="x.png"',
            b"Content-Type: image/png",
            b"",
            png(),
            b"--x--",
            b"",
        ]
    )
    request = urllib.request.Request(  # noqa: S310  (our own address)
        base + "/api/v1/media",
        data=body,
        headers={
            "Content-Type": "multipart/form-data; boundary=x",
            "Authorization": f"Bearer {token}",
        },
    )
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:  # noqa: S310
        found: dict[str, str] = json.loads(answer.read())
        return found


@pytest.mark.e2e
@pytest.mark.timeout(240)
@stacks.BOTH_MODES
def test_pictures_through_the_servers_of_both_modes(site: str) -> None:
    author, fan, other = (stacks.Client.new(site, f"media{role}") for role in ("own", "fan", "oth"))
    fan("POST", f"users/{author.id}/follow")
    tokens = {"author": author.token, "follower": fan.token, "other": other.token, GUEST: ""}
    pictures: dict[str, dict[str, str]] = {}
    posts: dict[str, str] = {}
    for kind in ("public", "followers", "deleted", "unattached"):
        pictures[kind] = send(site, author.token)
        if kind != "unattached":
            visibility = "followers" if kind == "followers" else "public"
            body = {"images": [pictures[kind]["id"]], "visibility": visibility}
            posts[kind] = author("POST", "posts", **body)["id"]
    expected = {
        "public": {*tokens},
        "followers": {"author", "follower"},
        "unattached": {"author"},
        "deleted": set(),
    }
    assert fetch(site, pictures["deleted"]["url"])[0] == 200
    author("DELETE", f"posts/{posts['deleted']}")
    addresses = [pictures["deleted"][key] for key in ("url", "thumb")]
    eventually(
        lambda: {fetch(site, one, author.token)[0] for one in addresses},
        lambda found: found == {404},
    )
    for kind, whom in expected.items():
        for role, token in tokens.items():
            for key in ("url", "thumb"):
                code, headers, data = fetch(site, pictures[kind][key], token)
                assert code == (200 if role in whom else 404), (kind, role)
                if code == 200:
                    assert headers["Content-Type"] == "image/jpeg"
                    assert data.startswith(b"\xff\xd8")
                    # If nginx stands in front, it sends every file itself.
                    assert ("ETag" in headers) == (headers["Server"] == "nginx")
                    assert headers.get_all("Cache-Control") == [
                        PUBLIC if kind == "public" else PRIVATE
                    ]
                    assert headers["X-Content-Type-Options"] == "nosniff"
                    assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
                else:
                    assert headers["Cache-Control"] == "no-store"
    # Neither nginx's internal location nor a header that only nginx sends gives access.
    name = pictures["followers"]["url"].removeprefix("/media/")
    for path in (f"/_uploads/{name}", f"/media/public/{name}", f"/media/../media/{name}"):
        assert fetch(site, path)[0] in (400, 404), path
    headers = {"X-Sendfile-Type": "X-Accel-Redirect"}
    assert fetch(site, pictures["followers"]["url"], **headers)[0] == 404
    assert fetch(site, pictures["followers"]["url"], fan.token, **headers)[2].startswith(
        b"\xff\xd8"
    )
