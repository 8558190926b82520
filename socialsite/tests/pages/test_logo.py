"""The logo that staff upload takes the place of that of the design everywhere."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from accounts import actions
from accounts.models import AuditEntry, Role, User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from socialsite.core import site
from socialsite.core.errors import Forbidden
from socialsite.core.media import logos
from socialsite.core.models import SiteLogo
from socialsite.tests.support import pictures

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
ROW = "/admin/core/sitesettings/1/change/"
CLEAR, RED, WHITE = (0, 0, 0, 0), (200, 0, 0, 255), (255, 255, 255, 255)


def drawn(width: int = 600, height: int = 300, colour: tuple[int, ...] = RED) -> io.BytesIO:
    """Return a PNG with a clear edge around one colour."""
    image = Image.new("RGBA", (width, height), CLEAR)
    image.paste(colour, (width // 4, height // 4, width * 3 // 4, height * 3 // 4))
    out = io.BytesIO()
    image.save(out, "PNG")
    out.seek(0)
    return out


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGBA")


def page(address: str, client: Client | None = None) -> str:
    return (client or Client()).get(address).content.decode()


@pytest.mark.parametrize("size", [(600, 300), (30, 60), (1, 400)])
def test_the_whole_logo_is_in_the_middle_of_a_square(size: tuple[int, int]) -> None:
    for name, data in logos.made_of(drawn(*size)).items():
        image = opened(data)
        side = logos.SIDES[name]
        assert image.size == (side, side)
        is_opaque = name in ("touch", "maskable")
        assert image.getpixel((0, 0)) == (WHITE if is_opaque else CLEAR)
        if size[0] > 1:
            assert image.getpixel((side // 2, side // 2)) == RED, name


def test_nothing_of_the_logo_is_cut_off() -> None:
    side = logos.SIDES["512"]
    left, top, right, bottom = opened(logos.made_of(drawn(600, 300))["512"]).getbbox() or (0,) * 4
    # Half of the logo is red, in both directions.
    assert abs(right - left - side // 2) <= 8
    assert abs(bottom - top - side // 4) <= 8


def test_pages_show_it_in_the_place_of_the_other_one(make_user: Make, browser: Client) -> None:
    post = feeds_actions.publish(make_user(), content="words")
    places = ["/login", "/search", "/offline", f"/posts/{post.pk}/embed", "/nothing-here"]
    before = [page(place) for place in places]
    actions.set_logo(logos.made_of(drawn()))
    digest = site.current().logo
    assert len(digest) == 12
    for place, old in zip(places, before, strict=True):
        assert "/logo/" not in old, place
        shown = page(place)
        assert f'<link rel="icon" href="/logo/{digest}/192.png" type="image/png">' in shown, place
        assert f'href="/logo/{digest}/touch.png"' in shown, place
        if place != "/offline":
            assert f'<img src="/logo/{digest}/192.png"' in shown, place
        assert "img/logo" not in shown, place
    assert f'/logo/{digest}/512.png">' in page("/recommended")
    icons = Client().get("/manifest.webmanifest").json()["icons"]
    assert [icon["src"] for icon in icons] == [
        f"/logo/{digest}/{name}.png" for name in ("192", "512", "maskable")
    ]
    assert f'"/logo/{digest}/192.png"' in page("/sw.js")
    for name, side in logos.SIDES.items():
        answer = Client().get(f"/logo/{digest}/{name}.png")
        assert answer["Content-Type"] == "image/png"
        assert "immutable" in answer["Cache-Control"]
        assert not answer.cookies
        assert opened(answer.content).size == (side, side)
    for wrong in (f"{digest}/64", f"{'0' * 12}/192", f"{digest.upper()}/192 ", "x/192"):
        assert Client().get(f"/logo/{wrong}.png").status_code == 404, wrong


def test_another_logo_has_another_address_and_the_old_files_are_gone(browser: Client) -> None:
    actions.set_logo(logos.made_of(drawn()))
    first = site.current().logo
    actions.set_logo(logos.made_of(drawn(colour=(0, 0, 200, 255))))
    second = site.current().logo
    assert first != second
    assert Client().get(f"/logo/{first}/192.png").status_code == 404
    assert SiteLogo.objects.count() == len(logos.SIDES)
    actions.set_logo({})
    assert "/logo/" not in page("/search", browser)
    assert not SiteLogo.objects.exists()
    assert Client().get(f"/logo/{second}/192.png").status_code == 404


def test_admins_upload_it(make_user: Make) -> None:
    admin = actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    browser = browser_of(admin)

    def send(data: bytes, **more: str) -> int:
        return browser.post(
            ROW, {"new_logo": SimpleUploadedFile("l.png", data), **more}
        ).status_code

    for what, data in pictures.REFUSED.items():
        assert send(data) == 200, what
    assert site.current().logo == ""
    large = pictures.encoded(Image.effect_noise((900, 900), 90))
    assert len(large) > 400_000  # above the limit of other forms
    assert send(large) == 302
    assert site.current().logo
    assert send(large) == 302
    assert browser.post(ROW, {"name": "Garden"}).status_code == 302
    assert site.current().logo
    assert browser.post(ROW, {"no_logo": "on"}).status_code == 302
    assert site.current().logo == ""
    noted = AuditEntry.objects.filter(action="site").order_by("id").values_list("detail", flat=True)
    assert [one["fields"] for one in noted] == [["logo"], ["name"], ["name"], ["logo"]]
    for user in (make_user(), actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)):
        assert isinstance(user, User)
        with pytest.raises(Forbidden):
            actions.set_logo({}, user)
