"""The colour of the site: whatever staff choose, all texts can be read."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from django.test import Client
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accounts import actions
from accounts.models import AuditEntry, Role
from accounts.tests.browsers import browser_of
from socialsite.core import site
from socialsite.pages import accent
from socialsite.tests.pages.test_colours import DARK, LIGHT, colours, luminance

Make = Callable[..., Any]
ROW = "/admin/core/sitesettings/1/change/"


def contrast(*pair: str) -> float:
    dark, light = sorted(map(luminance, pair))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.once
def test_the_colours_behind_are_those_of_the_design() -> None:
    for theme in (LIGHT, DARK):
        known = colours(theme)
        short = [known[name].replace("#fff", "#ffffff") for name in ("bg", "card", "sunken")]
        assert (*short,) == accent.BEHIND[theme]
        assert set(accent.tokens("#123456")) <= set(known)


@pytest.mark.once
@settings(max_examples=150)
@given(st.integers(0, 2**24 - 1))
@example(0)
@example(2**24 - 1)
@example(0xFF0000)
@example(0xFFFF00)
def test_all_texts_can_be_read(number: int) -> None:
    found = accent.tokens(f"#{number:06x}")
    for theme in (LIGHT, DARK):
        known = colours(theme) | {name: pair[theme] for name, pair in found.items()}
        pairs = [
            *product(("accent", "on-tint", "focus"), ("bg", "card", "sunken", "tint")),
            *product(("on-accent",), ("accent", "accent-hover")),
            *product(("text", "muted"), ("tint",)),
            *product(("#ffffff",), ("hero", "hero-end")),
        ]
        for ink, behind in pairs:
            assert contrast(known.get(ink, ink), known[behind]) >= 7, (ink, behind, theme)


@pytest.mark.once
def test_a_colour_that_can_be_read_stays_as_it_is() -> None:
    assert accent.tokens("#0a3d91")["accent"][LIGHT] == "#0a3d91"


@pytest.mark.django_db
@pytest.mark.embedded
def test_pages_name_the_colour_and_only_the_site_s_is_served() -> None:
    assert "/accent/" not in Client().get("/login").content.decode()
    actions.change_site({"accent": "#1d4ed8"})
    for place in ("/login", "/recommended", "/offline", "/nothing-here"):
        assert '<link rel="stylesheet" href="/accent/1d4ed8.css">' in (
            Client().get(place).content.decode()
        ), place
    sheet = Client().get("/accent/1d4ed8.css")
    assert sheet["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in sheet["Cache-Control"]
    assert not sheet.cookies
    rules = re.findall(r"  --([\w-]+): light-dark\(#\w{6}, #\w{6}\);\n", sheet.content.decode())
    assert set(rules) == set(accent.tokens("#1d4ed8"))
    for wrong in ("1d4ed9", "1D4ED8", "x", "1d4ed8ff"):
        assert Client().get(f"/accent/{wrong}.css").status_code == 404, wrong
    assert '"/accent/1d4ed8.css"' in Client().get("/sw.js").content.decode()
    colour = accent.tokens("#1d4ed8")["accent"][LIGHT]
    assert Client().get("/manifest.webmanifest").json()["theme_color"] == colour


@pytest.mark.django_db
def test_admins_choose_the_colour(make_user: Make) -> None:
    admin = actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    browser = browser_of(admin)
    for wrong in ("red", "#fff", "#12345", "#1234567", "#12345g", "123456"):
        assert browser.post(ROW, {"accent": wrong}).status_code == 200, wrong
    assert browser.post(ROW, {"accent": "#1D4ED8"}).status_code == 302
    assert site.current().accent == "#1d4ed8"
    assert '<link rel="stylesheet" href="/accent/1d4ed8.css">' in (
        browser.get("/admin/").content.decode()
    )
    assert AuditEntry.objects.get(action="site").detail == {"fields": ["accent"]}
