"""One's own profile: the settings page, its pictures, the API."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from accounts import actions, queries
from accounts.models import User
from relations import actions as relations_actions
from socialsite.core.errors import InvalidInput
from socialsite.core.media import pictures, stored_files
from socialsite.core.models import Media

pytestmark = pytest.mark.django_db

PAGE, ME, PASSWORD = "/settings/profile", "/api/v1/users/me", "right.pass1"
RED, GREEN, BLUE = (200, 20, 20), (20, 160, 40), (20, 20, 200)
FULL = {
    "nickname": "NewNick",
    "bio": "line one\nline two",
    "pronouns": "they/them",
    "place": "Kunming",
    "links": ["https://example.org/me", "https://b.example.org"],
    "language": "zh-hans",
    "likes_shown": True,
}


@pytest.fixture(autouse=True)
def _own_folder(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def user(make_user) -> User:
    return make_user("alice1", nickname="OldNick")


@pytest.fixture
def browser(user: User) -> Client:
    client = Client()
    client.post("/login", {"username": user.username, "password": PASSWORD})
    return client


def thirds(size: tuple[int, int], kind: str = "PNG", **options: Any) -> SimpleUploadedFile:
    """Return a picture that is red on the left, green in the middle, blue on the right."""
    image = Image.new("RGB", size, GREEN)
    image.paste(RED, (0, 0, size[0] // 3, size[1]))
    image.paste(BLUE, (size[0] - size[0] // 3, 0, *size))
    out = io.BytesIO()
    image.save(out, kind, **options)
    return SimpleUploadedFile("a.png", out.getvalue(), "image/png")


def shown(address: str) -> Image.Image:
    return Image.open(stored_files.path_of(address.removeprefix(settings.MEDIA_URL)))


def near(pixel: Any, colour: tuple[int, int, int]) -> bool:
    return all(abs(a - b) < 12 for a, b in zip(pixel, colour, strict=True))


def number_of_files() -> int:
    return len([*stored_files.path_of("").glob("[0-9a-f][0-9a-f]/*")])


# --- the form -----------------------------------------------------------------------------------
def test_the_form_changes_every_field_and_shows_them_again(browser: Client, user: User) -> None:
    form = {**FULL, "links": ["example.org/me", "", " https://b.example.org ", ""]}
    form |= {"likes_shown": ["0", "1"], "bio": "line one\r\nline two"}
    response = browser.post(PAGE, form)
    assert (response.status_code, response["Location"]) == (303, PAGE)
    user.refresh_from_db()
    assert {name: getattr(user, name) for name in FULL} == FULL
    page = browser.get(PAGE).content.decode()
    assert "你的个人资料已保存" in page
    assert ">\nline one\nline two</textarea>" in page
    for text in ("NewNick", "they/them", "Kunming", "https://b.example.org"):
        assert text in page


def test_fields_that_a_form_lacks_stay(browser: Client, user: User) -> None:
    actions.edit_profile(user, **FULL)
    assert browser.post(PAGE, {"bio": "new"}).status_code == 303
    user.refresh_from_db()
    assert {name: getattr(user, name) for name in FULL} == FULL | {"bio": "new"}
    assert browser.post(PAGE, {"likes_shown": "0"}).status_code == 303
    user.refresh_from_db()
    assert not user.likes_shown


def test_a_guest_is_led_to_the_log_in() -> None:
    assert Client().get(PAGE)["Location"] == "/login?next=%2Fsettings%2Fprofile"
    assert Client().post(PAGE, {"bio": "x"}).status_code == 401


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nickname", "x"),
        ("nickname", ""),
        ("bio", "x" * 201),
        ("place", "x" * 61),
        ("pronouns", "x" * 31),
        ("language", "tlh"),
        ("links", "http://example.org"),
    ],
)
def test_a_mistake_is_shown_at_its_field_and_nothing_changes(
    field: str, value: str, browser: Client, user: User
) -> None:
    picture = thirds((60, 40))
    response = browser.post(PAGE, {"bio": "kept", field: value, "avatar": picture})
    page = response.content.decode()
    assert response.status_code == 400
    assert f'id="err-{field}"' in page
    if field != "bio":
        assert "kept</textarea>" in page
    user.refresh_from_db()
    assert (user.bio, user.nickname, user.avatar_name) == ("", "OldNick", "")
    assert (Media.objects.count(), number_of_files()) == (0, 0)


@pytest.mark.parametrize(
    "link",
    [
        "http://example.org",
        "https://user@example.org",
        "https://user:pass@example.org/",
        "javascript:alert(1)",
        "https://",
        "https://localhost",
        "https://127.0.0.1/",
        "https://exa mple.org",
        'https://example.org/"onclick=',
        "https://" + "x" * 200 + ".org",
        "//example.org",
        "",
    ],
)
def test_links_are_plain_https_addresses(link: str, user: User) -> None:
    with pytest.raises(InvalidInput) as caught:
        actions.edit_profile(user, links=[link])
    assert list(caught.value.fields or {}) == ["links"]


def test_a_profile_has_four_links_that_give_nothing_away(
    browser: Client, user: User, api_for
) -> None:
    links = [f"https://{n}.example.org/a" for n in range(5)]
    with pytest.raises(InvalidInput):
        actions.edit_profile(user, links=links)
    answer = api_for(user).patch(ME, {"links": links[:4]}, format="json").json()
    assert answer["links"] == links[:4]
    page = browser.get("/@alice1").content.decode()
    for link in links[:4]:
        assert f'<a href="{link}" rel="nofollow noopener ugc me" target="_blank">' in page


def test_a_link_is_stored_in_the_form_that_is_requested(browser: Client, user: User) -> None:
    given = ["https://ja.wikipedia.org/wiki/日本", "https://bücher.example/a b"]
    kept = [
        "https://ja.wikipedia.org/wiki/%E6%97%A5%E6%9C%AC",
        "https://xn--bcher-kva.example/a%20b",
    ]
    assert actions.edit_profile(user, links=given).links == kept
    assert f'href="{kept[0]}"' in browser.get("/@alice1").content.decode()


def test_texts_of_one_line_lose_what_is_invisible(user: User) -> None:
    changed = actions.edit_profile(user, place=" Kun\u202eming\n\t1 ", pronouns="e\u0301\u200b")
    assert (changed.place, changed.pronouns) == ("Kun ming 1", "é")


def test_the_bio_is_cleaned_at_every_entrance(user: User, browser: Client, api_for) -> None:
    typed, kept = "  one\rtwo\x0cthree\x85\u3164 ", "one\ntwo\nthree\n\u3164"
    assert browser.post(PAGE, {"bio": typed}).status_code == 303
    user.refresh_from_db()
    assert user.bio == kept
    actions.edit_profile(user, bio="")
    assert api_for(user).patch(ME, {"bio": typed}, format="json").json()["bio"] == kept


# --- pictures -----------------------------------------------------------------------------------
def test_pictures_are_cut_around_their_centre(browser: Client, user: User) -> None:
    form = {"avatar": thirds((900, 300)), "banner": thirds((600, 900))}
    assert browser.post(PAGE, form).status_code == 303
    user.refresh_from_db()
    avatar, banner = shown(user.avatar), shown(user.banner)
    assert (avatar.size, banner.size) == ((300, 300), (600, 200))
    assert all(near(avatar.getpixel((x, 150)), GREEN) for x in (10, 150, 290))
    assert [near(banner.getpixel((x, 100)), c) for x, c in ((50, RED), (300, GREEN), (550, BLUE))]


def test_large_pictures_are_scaled_and_stand_upright(browser: Client, user: User) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side: to be turned right by a quarter
    form = {
        "avatar": thirds((3000, 2400), "JPEG"),
        "banner": thirds((3000, 2400), "JPEG", exif=exif),
    }
    assert browser.post(PAGE, form).status_code == 303
    user.refresh_from_db()
    assert shown(user.avatar).size == (480, 480)
    banner = shown(user.banner)
    assert banner.width == 3 * banner.height <= 1500
    assert near(banner.getpixel((banner.width // 2, banner.height // 2)), GREEN)
    assert near(banner.getpixel((10, banner.height // 2)), GREEN)  # red is above it


def test_a_replaced_or_removed_picture_is_deleted_at_once(
    browser: Client, user: User, drain
) -> None:
    browser.post(PAGE, {"avatar": thirds((60, 60)), "banner": thirds((90, 30))})
    drain()
    old = User.objects.get(pk=user.pk)
    assert stored_files.is_public(old.avatar_name)
    assert stored_files.is_public(old.banner_name)
    browser.post(PAGE, {"avatar": thirds((50, 50)), "remove_banner": "1"})
    drain()
    user.refresh_from_db()
    assert user.banner == ""
    assert not stored_files.path_of(old.avatar_name).exists()
    assert not stored_files.path_of(old.banner_name).exists()
    assert (Media.objects.count(), number_of_files()) == (1, 2)
    browser.post(PAGE, {"remove_avatar": "1"})
    drain()
    assert (Media.objects.count(), number_of_files()) == (0, 0)


def test_one_picture_may_be_both(user: User, drain) -> None:
    item = pictures.store_all(user.pk, [(thirds((90, 30)), "")])[0]
    actions.edit_profile(user, avatar=item.pk, banner=item.pk)
    actions.edit_profile(user, avatar=0)
    drain()
    assert [stored_files.is_public(name) for name in (item.name, item.thumb_name)] == [True, False]


def test_a_banner_is_private_while_its_person_is_banned(user: User, drain) -> None:
    item = pictures.store_all(user.pk, [(thirds((90, 30)), "")])[0]
    actions.edit_profile(user, banner=item.pk)
    drain()
    assert Client().get(user.__class__.objects.get(pk=user.pk).banner).status_code == 200
    actions.ban(user)
    drain()
    assert Client().get(pictures.url_of(item.name)).status_code == 404


def test_a_file_that_is_no_picture_is_refused_at_its_field(browser: Client, user: User) -> None:
    response = browser.post(PAGE, {"banner": SimpleUploadedFile("a.png", b"no picture")})
    assert response.status_code == 415
    assert 'id="err-banner"' in response.content.decode()


def test_a_foreign_picture_is_no_banner(user: User, make_user) -> None:
    item = pictures.store_all(make_user().pk, [(thirds((90, 30)), "")])[0]
    with pytest.raises(InvalidInput) as caught:
        actions.edit_profile(user, banner=item.pk)
    assert list(caught.value.fields or {}) == ["banner"]


# --- language -----------------------------------------------------------------------------------
def test_the_language_is_that_of_mails_and_of_each_log_in(browser: Client, user: User) -> None:
    assert browser.post(PAGE, {"language": "zh-hans"}).cookies["django_language"].value == "zh-hans"
    entered = Client().post("/login", {"username": "alice1", "password": PASSWORD})
    assert entered.cookies["django_language"].value == "zh-hans"
    actions.edit_profile(user, language="")
    entered = Client().post("/login", {"username": "alice1", "password": PASSWORD})
    assert "django_language" not in entered.cookies


def test_mails_are_in_the_language_of_the_account(user: User) -> None:
    from accounts.mail import messages

    actions.change_email(user, "a@example.org", "right.pass1")
    messages.send("confirm_email", user.pk, "a@example.org", "en")
    actions.edit_profile(user, language="zh-hans")
    messages.send("confirm_email", user.pk, "a@example.org", "en")
    assert [message.subject.isascii() for message in mail.outbox] == [True, False]


# --- the API ------------------------------------------------------------------------------------
def test_the_api_changes_and_shows_a_profile(user: User, api_for, api) -> None:
    item = pictures.store_all(user.pk, [(thirds((90, 30)), "")])[0]
    answer = api_for(user).patch(ME, FULL | {"banner": str(item.pk)}, format="json").json()
    banner = pictures.url_of(item.name)
    assert {name: answer[name] for name in FULL} == FULL
    assert answer["banner"] == banner
    theirs = api.get(f"/api/v1/users/{user.pk}").json()
    own = ("language", "mails")
    assert theirs == {k: v for k, v in answer.items() if k not in own} | {"relation": None}
    assert api_for(user).patch(ME, {"banner": None}, format="json").json()["banner"] == ""


def test_of_a_blocked_person_only_the_names_are_shown(user: User, make_user, api_for) -> None:
    item = pictures.store_all(user.pk, [(thirds((90, 30)), "")])[0]
    actions.edit_profile(user, **FULL, banner=item.pk)
    blocker = make_user()
    relations_actions.block(blocker, user)
    answer = api_for(blocker).get(f"/api/v1/users/{user.pk}").json()
    hidden = {**queries.bare_profile(), "bio": "", "counts": None}
    assert {name: answer[name] for name in hidden} == hidden
    browser = Client()
    browser.post("/login", {"username": blocker.username, "password": PASSWORD})
    page = browser.get("/@alice1").content.decode()
    assert "NewNick" in page
    for text in ("Kunming", "they/them", "example.org", item.name, "<time"):
        assert text not in page


def test_a_profile_tells_when_its_person_joined(browser: Client, user: User) -> None:
    page = browser.get("/@alice1", headers={"Accept-Language": "en"}).content.decode()
    assert f"Joined {user.created_at:%B %Y}" in page
    assert 'href="/settings/profile" data-testid="edit-profile"' in page
    assert "edit-profile" not in Client().get("/@alice1").content.decode()


def test_fields_that_do_not_exist_are_refused_by_name(user: User, api_for) -> None:
    sent = {"nickname": "NewNick", "Nickname": "x", "username": "other1"}
    answer = api_for(user).patch(ME, sent, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, InvalidInput.code)
    assert set(answer.json()["fields"]) == {"Nickname", "username"}
    user.refresh_from_db()
    assert (user.nickname, user.username) == ("OldNick", "alice1")


def test_an_answer_names_few_unknown_fields_and_cuts_them(user: User, api_for) -> None:
    sent = {f"{number}" + "x" * 300: 1 for number in range(300)}
    answer = api_for(user).patch(ME, sent, format="json")
    assert answer.status_code == 400
    assert [len(name) for name in answer.json()["fields"]] == [200] * 20
