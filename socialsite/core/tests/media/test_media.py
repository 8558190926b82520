"""Uploads: refused pictures, and the content and place of stored ones."""

import io
import os
import threading
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, OperationalError, connection
from django.db.models import QuerySet
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.views.static import serve
from PIL import Image, PngImagePlugin

from accounts import actions as accounts_actions
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from socialsite.core import errors, tasks
from socialsite.core.media import disk_space, encoding, pictures, references
from socialsite.core.media import stored_files as media_files
from socialsite.core.models import IdempotencyKey, Media
from socialsite.core.runtime import data_dir
from socialsite.core.tasks import sweep_media
from socialsite.tests.support.pictures import BLUE, RED, REFUSED, encoded, picture, png_of_size
from socialsite.tests.support.waiting import LIMIT

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("media_root"),
    # As `core.media.encoding` sets it; pytest resets the filters of warnings.
    pytest.mark.filterwarnings("error::PIL.Image.DecompressionBombWarning"),
]

ORIENTATION, GPS = 0x0112, 0x8825


def two_colours(size: tuple[int, int] = (64, 32)) -> Image.Image:
    """Return a picture that is red on the left, blue on the right."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (size[0] // 2, 0, *size))
    return image


def store(data: bytes, owner_id: int = 1, alt: str = "") -> Media:
    return pictures.store_all(owner_id, [(io.BytesIO(data), alt)])[0]


def files() -> list[Path]:
    from django.conf import settings

    root = Path(settings.MEDIA_ROOT)
    return sorted(p for p in root.glob("[0-9a-f][0-9a-f]/*") if p.is_file())


def stored(item: Media, thumb: bool = False) -> Image.Image:
    from django.conf import settings

    image = Image.open(Path(settings.MEDIA_ROOT) / (item.thumb_name if thumb else item.name))
    image.load()
    return image


def near(pixel: Any, colour: tuple[int, int, int]) -> bool:
    return all(abs(a - b) < 30 for a, b in zip(pixel[:3], colour, strict=True))


# --- stored pictures ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_the_four_formats_are_stored_with_a_thumbnail(kind: str) -> None:
    item = store(picture((1000, 500), kind))
    assert (item.width, item.height) == (1000, 500)
    assert near(stored(item).convert("RGB").getpixel((10, 10)), RED)
    assert stored(item, thumb=True).size == (480, 240)
    assert item.size == sum(path.stat().st_size for path in files())


def test_names_are_random_and_in_sub_directories() -> None:
    data = picture()
    one, two = store(data), store(data)
    assert one.name != two.name
    for item in (one, two):
        directory, name = item.name.split("/")
        assert name.startswith(directory)
        assert len(name.split(".")[0]) == 32
    assert len(files()) == 4


@pytest.mark.parametrize(
    ("group", "directory", "file"), [(None, 0o700, 0o600), (os.getegid(), 0o2710, 0o640)]
)
def test_files_are_readable_for_the_web_server_alone_and_no_draft_is_left(
    media_root: Path, settings: Any, group: int | None, directory: int, file: int
) -> None:
    settings.FILES_GROUP = group
    media_root.mkdir()
    media_root.chmod(data_dir.shared_dir(group))
    before = os.umask(data_dir.UMASK)
    try:
        store(picture())
    finally:
        os.umask(before)
    assert len(files()) == 2
    assert all(path.stat().st_mode & 0o7777 == file for path in files())
    assert files()[0].parent.stat().st_mode & 0o7777 == directory


def test_a_long_picture_is_scaled_down_in_proportion() -> None:
    item = store(picture((6000, 1500), "JPEG"))
    assert (item.width, item.height) == (2048, 512)
    assert stored(item).size == (2048, 512)


@pytest.mark.parametrize("size", [(4097, 3), (3, 4500), (2049, 2049), (4095, 100)])
def test_odd_sizes_are_scaled_without_a_border(size: tuple[int, int]) -> None:
    item = store(picture(size))
    image = stored(item).convert("RGB")
    assert max(image.size) == 2048
    corner = (image.width - 1, image.height - 1)
    assert near(image.getpixel((0, 0)), RED)
    assert near(image.getpixel(corner), RED)


def test_a_small_picture_is_not_scaled_up() -> None:
    item = store(picture((7, 5)))
    assert (item.width, item.height) == (7, 5)
    assert stored(item, thumb=True).size == (7, 5)


def test_transparency_is_preserved_and_opaque_pictures_become_jpeg() -> None:
    image = Image.new("RGBA", (20, 20), (10, 200, 10, 0))
    image.paste((10, 200, 10, 255), (0, 0, 10, 20))
    see_through = store(encoded(image))
    assert see_through.name.endswith(".webp")
    image = stored(see_through).getchannel("A")
    assert [image.getpixel((x, 5)) for x in (2, 17)] == [255, 0]
    opaque = store(encoded(Image.new("RGBA", (20, 20), (1, 2, 3, 255))))
    assert opaque.name.endswith(".jpg")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_every_mode_of_pixels_is_read(mode: str) -> None:
    image = Image.new(mode, (3000, 10))
    item = store(encoded(image, "JPEG" if mode == "CMYK" else "PNG"))
    assert (item.width, item.height) == (2048, 7)


def test_sixteen_bit_greys_are_scaled_and_not_clipped() -> None:
    item = store(encoded(Image.new("I;16", (8, 8), 128 * 256)))
    assert near(stored(item).convert("RGB").getpixel((4, 4)), (128, 128, 128))


def test_transparency_by_palette_or_by_colour_key_is_preserved() -> None:
    keyed = encoded(Image.new("RGB", (8, 8), RED), transparency=RED)
    palette = encoded(Image.new("P", (8, 8), 3), "GIF", transparency=3)
    for data in (keyed, palette):
        assert stored(store(data)).convert("RGBA").getchannel("A").getpixel((4, 4)) == 0


def test_an_animation_is_stored_as_its_first_frame() -> None:
    frames = [Image.new("RGB", (30, 20), colour) for colour in (RED, BLUE)]
    item = store(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert near(stored(item).convert("RGB").getpixel((5, 5)), RED)
    assert getattr(stored(item), "n_frames", 1) == 1


@pytest.mark.parametrize(
    ("orientation", "red_at"),
    [
        (1, "left"),
        (2, "right"),
        (3, "right"),
        (4, "left"),
        (5, "top"),
        (6, "top"),
        (7, "bottom"),
        (8, "bottom"),
        (99, "left"),
    ],
)
def test_a_picture_is_rotated_by_its_exif_orientation(orientation: int, red_at: str) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    item = store(encoded(two_colours(), "JPEG", exif=exif, quality=95))
    image = stored(item)
    width, height = image.size
    assert (width > height) == (red_at in ("left", "right"))
    places = {
        "left": (3, height // 2),
        "right": (width - 4, height // 2),
        "top": (width // 2, 3),
        "bottom": (width // 2, height - 4),
    }
    assert [name for name, place in places.items() if near(image.getpixel(place), RED)].count(
        red_at
    ) == 1


def test_no_metadata_survives() -> None:
    exif = Image.Exif()
    exif[0x010E] = "SECRET-DESCRIPTION"
    exif.get_ifd(GPS)[1] = "N"
    exif.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", "SECRET-TEXT")
    xmp = b"<x:xmpmeta>SECRET-XMP</x:xmpmeta>"
    for data in (
        encoded(two_colours(), "JPEG", exif=exif, comment=b"SECRET-COMMENT", xmp=xmp),
        encoded(two_colours(), "PNG", exif=exif, pnginfo=text),
        encoded(two_colours().convert("RGBA"), "WEBP", exif=exif, xmp=xmp),
    ):
        assert b"SECRET" in data
        item = store(data)
        assert not stored(item).getexif()
        assert "icc_profile" not in stored(item).info
    assert all(b"SECRET" not in path.read_bytes() for path in files())
    assert all(b"Exif" not in path.read_bytes() for path in files())


def test_a_polyglot_leaves_its_second_half_behind() -> None:
    evil = b"<script>alert(1)</script>PK\x03\x04<?php system($_GET[0]); ?>"
    gif = encoded(two_colours(), "GIF", comment=evil[:200])
    for data in (picture(kind="JPEG") + evil, picture() + evil, gif + evil):
        store(data)
    for path in files():
        assert b"script" not in path.read_bytes()
        assert b"PK\x03\x04" not in path.read_bytes()


# --- refused pictures ---------------------------------------------------------------------------
@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_picture_is_refused_and_leaves_nothing(name: str) -> None:
    with pytest.raises(errors.UnsupportedMedia):
        store(REFUSED[name])
    assert not files()
    assert not Media.objects.exists()


@pytest.mark.parametrize(
    "data",
    [
        png_of_size(5001, 5000),
        png_of_size(60_000, 60_000),
        png_of_size(2_000_000_000, 2),
        picture((4000, 2001), "WEBP", method=0),
        png_of_size(25_000_000, 1),
        png_of_size(16_385, 1),
        png_of_size(1, 16_385),
        picture((16_385, 2), "JPEG"),
        picture((2, 16_385), "GIF"),
    ],
    ids=["just over", "bomb", "widest", "webp", "line", "wide", "high", "wide jpeg", "high gif"],
)
def test_too_many_pixels_are_refused_before_they_are_decoded(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_pixels(*args: object) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr(encoding, "_reduced", no_pixels)
    with pytest.raises(errors.PayloadTooLarge, match="10 MB, 16,384 pixels on each side and 25"):
        store(data)


@pytest.mark.parametrize("size", [(5000, 5000), (16_384, 1525), (1525, 16_384)])
def test_a_picture_of_exactly_the_limit_is_decoded(size: tuple[int, int]) -> None:
    with pytest.raises(errors.UnsupportedMedia):  # its pixels are missing
        store(png_of_size(*size))


def test_a_file_over_ten_megabytes_is_refused() -> None:
    data = picture() + b"\0" * encoding.MAX_BYTES
    with pytest.raises(errors.PayloadTooLarge):
        store(data)


def test_a_compressed_text_bomb_in_a_png_is_refused() -> None:
    text = PngImagePlugin.PngInfo()
    for number in range(80):
        text.add_text(f"k{number}", "A" * 1_000_000, zip=True)
    with pytest.raises(errors.UnsupportedMedia):
        store(encoded(Image.new("RGB", (4, 4)), pnginfo=text))


def test_the_pictures_of_one_request_share_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MAX_WORK", 3 * 40 * 30)
    uploads = [(io.BytesIO(picture()), "") for _ in range(3)]
    with pytest.raises(errors.PayloadTooLarge, match="Together"):
        pictures.store_all(1, uploads)
    assert not files()
    assert len(pictures.store_all(1, [(io.BytesIO(picture()), "") for _ in range(2)])) == 2


def test_the_quota_of_one_person_does_not_concern_another(monkeypatch: pytest.MonkeyPatch) -> None:
    store(picture(), owner_id=1)
    monkeypatch.setattr(disk_space, "QUOTA_BYTES", 1)
    with pytest.raises(errors.PayloadTooLarge):
        store(picture(), owner_id=1)
    assert store(picture(), owner_id=2).owner_id == 2


def test_no_file_is_left_when_the_row_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**kwargs: object) -> None:
        assert len(files()) == 2
        raise DatabaseError("full")

    monkeypatch.setattr(Media.objects, "create", fail)
    with pytest.raises(DatabaseError):
        store(picture())
    assert not files()


def test_pictures_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    decode, inside, most = encoding._decode, [0], [0]
    asked: list[int] = []
    lock, all_asked, decoders = threading.Lock(), threading.Event(), encoding._decoders

    def acquire(timeout: float) -> bool:
        asked.append(1)
        if len(asked) == 6:
            all_asked.set()
        return decoders.acquire(timeout=timeout)

    def watched(raw: bytes, work: encoding.Work) -> tuple[Image.Image, bool]:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        try:
            assert all_asked.wait(LIMIT)
            return decode(raw, work)
        finally:
            with lock:
                inside[0] -= 1

    monkeypatch.setattr(encoding, "_decode", watched)
    monkeypatch.setattr(encoding, "WAIT_SECONDS", LIMIT)
    gate = SimpleNamespace(acquire=acquire, release=decoders.release)
    monkeypatch.setattr(encoding, "_decoders", gate)
    threads = [
        threading.Thread(target=encoding.encode, args=(io.BytesIO(picture()),)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [encoding.DECODERS]


def test_a_request_that_waits_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(encoding, "_decoders", threading.BoundedSemaphore(1))
    with encoding._decoders, pytest.raises(errors.Unavailable):
        store(picture())
    store(picture())


# --- reading ------------------------------------------------------------------------------------
def test_by_ids_returns_ones_own_pictures_in_the_given_order() -> None:
    first, second = store(picture()), store(picture())
    assert pictures.by_ids(1, [second.pk, first.pk]) == [second, first]
    assert pictures.by_ids(1, []) == []


def test_by_ids_refuses_pictures_of_others_and_unknown_ones() -> None:
    mine, theirs = store(picture()), store(picture(), owner_id=2)
    for ids in ([mine.pk, theirs.pk], [5]):
        with pytest.raises(errors.InvalidInput):
            pictures.by_ids(1, ids)


def test_an_address_begins_with_the_media_address() -> None:
    assert pictures.url_of("ab/abc.jpg") == "/media/ab/abc.jpg"
    assert pictures.url_of("") == ""


# --- the API ------------------------------------------------------------------------------------
def upload(client: Any, data: bytes, name: str = "x.png", **fields: Any) -> Any:
    file = SimpleUploadedFile(name, data, "image/png")
    headers = fields.pop("headers", None)
    return client.post(
        "/api/v1/media", {"file": file, **fields}, format="multipart", headers=headers
    )


def test_an_upload_responds_with_the_stored_picture(make_user: Any, api_for: Any) -> None:
    me = make_user()
    answer = upload(api_for(me), picture((600, 300)), alt=" a red\nfield ")
    assert answer.status_code == 201
    item = Media.objects.get()
    assert item.owner_id == me.pk
    assert answer.json() == {
        "id": str(item.pk),
        "url": f"/media/{item.name}",
        "width": 600,
        "height": 300,
        "thumb": f"/media/{item.thumb_name}",
        "alt": "a red field",
        "placeholder": item.placeholder,
        "animated": False,
    }


def test_an_upload_says_that_an_animation_is_not_kept_and_so_does_a_repeat(
    make_user: Any, api_for: Any
) -> None:
    client = api_for(make_user())
    frames = [Image.new("RGB", (30, 20), colour) for colour in (RED, BLUE)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    for _ in range(2):
        answer = upload(client, data, headers={"Idempotency-Key": "one"})
        assert (answer.status_code, answer.json()["animated"]) == (201, True)
    Media.objects.all().delete()
    assert upload(client, data, headers={"Idempotency-Key": "one"}).status_code == 404


def test_pictures_are_served_as_what_they_are(media_root: Path, client: Any) -> None:
    opaque = store(picture())
    see_through = store(encoded(Image.new("RGBA", (9, 9), (1, 2, 3, 4))))
    for item, kind in ((opaque, "image/jpeg"), (see_through, "image/webp")):
        served = serve(RequestFactory().get("/"), item.name, document_root=str(media_root))
        assert served["Content-Type"] == kind
    assert client.get("/media/none.jpg")["X-Content-Type-Options"] == "nosniff"


def test_an_upload_needs_a_login(api: Any, db: None) -> None:
    answer = upload(api, picture())
    assert (answer.status_code, answer.json()["code"]) == (401, 14)


def test_bad_uploads_answer_in_the_envelope(make_user: Any, api_for: Any) -> None:
    client = api_for(make_user())
    html = upload(client, REFUSED["html"], name="x.png")
    assert (html.status_code, html.json()["code"]) == (415, 23)
    large = upload(client, png_of_size(9000, 9000))
    assert (large.status_code, large.json()["code"]) == (413, 20)
    missing = client.post("/api/v1/media", {"alt": "x"}, format="multipart")
    assert (missing.status_code, set(missing.json()["fields"])) == (400, {"file"})
    text = client.post("/api/v1/media", {"file": "text"}, format="multipart")
    assert text.status_code == 400
    long = upload(client, picture(), alt="x" * 201)
    assert (long.status_code, set(long.json()["fields"])) == (400, {"alt"})
    for kind, body in (("application/json", "{}"), ("text/plain", "x")):
        answer = client.post("/api/v1/media", body, content_type=kind)
        assert (answer.status_code, answer.json()["code"]) == (415, 23)
    torn = client.generic(
        "POST", "/api/v1/media", b"--x\r\nrubbish", "multipart/form-data; boundary=x"
    )
    assert torn.status_code == 400
    assert client.get("/api/v1/media").status_code == 405
    assert not Media.objects.exists()
    assert not files()


def test_a_description_that_is_a_file_is_taken_as_none(make_user: Any, api_for: Any) -> None:
    client = api_for(make_user())
    answer = upload(client, picture(), alt=SimpleUploadedFile("a.txt", b"x"))
    assert (answer.status_code, answer.json()["alt"]) == (201, "")


def test_an_upload_repeated_with_its_key_is_stored_once(make_user: Any, api_for: Any) -> None:
    client, headers = api_for(make_user()), {"Idempotency-Key": "k1"}
    first = upload(client, picture(), headers=headers)
    again = upload(client, picture(), headers=headers)
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Media.objects.count() == 1
    assert len(files()) == 2
    other = upload(client, picture((9, 9)), headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, 24)
    assert len(files()) == 2


def test_no_file_remains_when_the_key_cannot_be_stored(
    make_user: Any, api_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, **kwargs: object) -> None:
        raise DatabaseError("full")

    client = api_for(make_user())
    monkeypatch.setattr(IdempotencyKey, "save", fail, raising=True)
    monkeypatch.setattr(IdempotencyKey.objects, "create", lambda **kwargs: IdempotencyKey(**kwargs))
    answer = upload(client, picture(), headers={"Idempotency-Key": "k1"})
    assert answer.status_code == 500
    assert not Media.objects.exists()
    assert not files()


# --- unused uploads -----------------------------------------------------------------------------
def aged(item: Media, days: float) -> None:
    Media.objects.filter(pk=item.pk).update(created_at=timezone.now() - timedelta(days=days))


def test_a_picture_that_nothing_used_for_a_month_is_swept_away_with_its_files(
    make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "SWEEP_STEP", 2)
    owner = make_user()
    items = {
        name: store(picture(), owner.pk) for name in ("new", "posted", "avatar", "a", "b", "c")
    }
    feeds_actions.publish(owner, images=[items["posted"].pk])
    accounts_actions.edit_profile(owner, avatar=items["avatar"].pk)
    for name, item in items.items():
        aged(item, 30.9 if name == "new" else 31.1)
    media_files.path_of(items["b"].name).unlink()  # a sweep died here
    sweep_media()
    left = {items[name].pk for name in ("new", "posted", "avatar")}
    assert set(Media.objects.values_list("pk", flat=True)) == left
    assert len(files()) == 2 * len(left)


def test_a_picture_that_its_owner_still_sees_is_kept_and_one_that_others_ask_for_is_not(
    make_user: Any,
) -> None:
    """A text in the browser lasts 30 days after its last change, and its pictures with it."""
    owner, other = make_user(), make_user()
    seen, unseen = store(picture(), owner.pk), store(picture(), owner.pk)
    for item in (seen, unseen):
        aged(item, 30)
    for _ in range(3):
        assert browser_of(owner).get(f"/media/{seen.thumb_name}").status_code == 200
        assert browser_of(other).get(f"/media/{unseen.thumb_name}").status_code == 404
        for item in (seen, unseen):
            row = Media.objects.filter(pk=item.pk).first()
            if row is not None:
                aged(row, (timezone.now() - row.created_at).days + 10)
        sweep_media()
    assert [item.pk for item in Media.objects.all()] == [seen.pk]


def test_unused_pictures_are_swept_and_used_ones_never(
    make_user: Any,
) -> None:
    owner, other = make_user(), make_user()
    names = ("deleted", "replaced", "taken off", "twice", "of both", "shown")
    items = {name: store(picture(), owner.pk) for name in names}
    pks = {name: item.pk for name, item in items.items()}
    first = feeds_actions.publish(owner, images=[pks["deleted"], pks["twice"], pks["of both"]])
    second = feeds_actions.publish(owner, images=[pks["twice"]])
    feeds_actions.publish(owner, images=[pks["taken off"], pks["shown"]])
    for name in ("replaced", "taken off", "of both"):
        accounts_actions.edit_profile(owner, avatar=pks[name])
    feeds_actions.delete(owner, first.pk)
    accounts_actions.edit_profile(other, avatar=store(picture(), other.pk).pk)
    Media.objects.update(created_at=timezone.now() - timedelta(days=32))
    for _ in range(2):
        sweep_media()
        gone = {"deleted", "replaced"}
        left = {item.pk for name, item in items.items() if name not in gone}
        assert set(Media.objects.filter(owner_id=owner.pk).values_list("pk", flat=True)) == left
    assert not Media.objects.filter(is_used=False).exists()  # not checked again every night
    feeds_actions.delete(owner, second.pk)
    accounts_actions.edit_profile(owner, avatar=0)
    sweep_media()
    left = {pks["taken off"], pks["shown"]}
    assert set(Media.objects.filter(owner_id=owner.pk).values_list("pk", flat=True)) == left
    assert len(files()) == 2 * (len(left) + 1)


def test_a_deadlock_of_the_sweep_takes_no_files_from_whoever_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The waiting post gets the row, and uses the picture before the sweep tries again."""
    aged(store(picture()), 32)
    real, found = QuerySet.delete, []

    def deadlocked(rows: QuerySet[Any]) -> Any:
        found.append(len(files()))
        if len(found) == 1:
            raise OperationalError(1213, "Deadlock found")
        return real(rows)

    monkeypatch.setattr(QuerySet, "delete", deadlocked)
    sweep_media()
    assert found == [2, 2]
    assert (Media.objects.count(), files()) == (0, [])


def test_deleting_a_post_locks_the_head_before_its_pictures(make_user: Any) -> None:
    """In the same order as publishing; otherwise the two would deadlock."""
    owner = make_user()
    post = feeds_actions.publish(owner, images=[store(picture(), owner.pk).pk])
    with CaptureQueriesContext(connection) as queries:
        feeds_actions.delete(owner, post.pk)
    changed = [query["sql"].split()[1].strip('"`') for query in queries if "UPDATE" in query["sql"]]
    order = [table for table in changed if table in ("feeds_authorhead", "core_media")]
    assert order == ["feeds_authorhead", "core_media"]


def test_a_night_sweeps_no_more_than_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "SWEEP_STEP", 2)
    monkeypatch.setattr(tasks, "SWEEPS_MAX", 1)
    for _ in range(3):
        aged(store(picture()), 32)
    sweep_media()
    assert Media.objects.count() == 1


def test_pictures_swept_while_a_post_was_written_are_not_added_to_it(
    make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = make_user()
    item = store(picture(), owner.pk)
    aged(item, 32)
    real = pictures.by_ids

    def found_and_swept(owner_id: int, ids: Any) -> Any:
        found = real(owner_id, ids)
        sweep_media()
        return found

    monkeypatch.setattr(pictures, "by_ids", found_and_swept)
    with pytest.raises(errors.InvalidInput):
        feeds_actions.publish(owner, content="x", images=[item.pk])
    with pytest.raises(errors.InvalidInput):
        accounts_actions.edit_profile(owner, avatar=item.pk)
    assert files() == []
