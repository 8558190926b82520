"""Nicknames under NAME_POLICY=open."""

import unicodedata
from typing import Any

import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st
from wcwidth import wcswidth

from accounts import actions
from accounts.models import User
from accounts.naming import lookalikes, name_rules, open_nicknames
from socialsite.core.errors import RegMatchError

FINE = [
    "A",
    "Zoë van Dam",
    "李",
    "美 咲🌸",
    "O’Neil-Smith Jr.",
    "علی‌رضا",
    "नमस्ते",
    "ก้อง",
    "Nguyễn Thị Ánh",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈 Sam",
    "1️⃣",
    "👍🏽",
    "42",
    "🇫🇷 Jean",
    "Badminton",
    "Modesty",
    "x" * 30,
    "👩🏽" * 30,
]
EMPTY, LONG = open_nicknames._EMPTY, open_nicknames._TOO_LONG % {"limit": 30}
MUCH, TURNS, HIDDEN = open_nicknames._TOO_MUCH, open_nicknames._DIRECTION, open_nicknames._INVISIBLE
SPACES, MARKS, LETTER = open_nicknames._SPACES, open_nicknames._MARKS, open_nicknames._NO_LETTER
REFUSED = [
    ("", EMPTY),
    ("x" * 31, LONG),
    ("👨‍👩‍👧‍👦" * 10, MUCH),
    ("Ann\u202egro.elpmaxe", TURNS),
    ("\u2066Ann", TURNS),
    ("Ann\u200f", TURNS),
    ("Ann\u200b", HIDDEN),
    ("A\u200dnn", HIDDEN),
    ("A\u200cnn", HIDDEN),
    ("\u200d👧", HIDDEN),
    ("علی\u200c", HIDDEN),
    ("Ann\n", HIDDEN),
    ("Ann\x00", HIDDEN),
    ("\u3164", HIDDEN),
    ("\u2800\u2800", HIDDEN),
    ("Ann\ufe0f", HIDDEN),
    ("葛\U000e0100", HIDDEN),
    ("🏴\U000e0067\U000e007f", HIDDEN),
    ("\ue000", HIDDEN),
    ("\ud800", HIDDEN),
    (" Ann", SPACES),
    ("Ann ", SPACES),
    ("Ann  B", SPACES),
    ("Ann\u3000B", SPACES),
    ("Ann\u00a0B", SPACES),
    ("\u0301a", MARKS),
    ("a \u0323b", MARKS),
    ("q" + "\u0323" * 5, MARKS),
    ("...", LETTER),
    ("-", LETTER),
]


@pytest.fixture(autouse=True)
def _open(settings: Any) -> None:
    settings.NAME_POLICY = "open"


@pytest.mark.once
@pytest.mark.parametrize("name", FINE)
def test_a_name_of_any_script_is_fine(name: str) -> None:
    assert open_nicknames.mistakes(open_nicknames.normal(name)) == []
    assert not lookalikes.names_staff(name)


@pytest.mark.once
@pytest.mark.parametrize(("name", "reason"), REFUSED)
def test_each_refusal_has_its_own_words(name: str, reason: Any) -> None:
    assert open_nicknames.mistakes(open_nicknames.normal(name)) == [reason]


@pytest.mark.once
@pytest.mark.parametrize(
    "name",
    [
        *("Admin", "ＡＤＭＩＮ", "Аdmin", "ᴀdmin✅", "a.d.m.i.n", "Adm1n", "ádmin", "Site Admin"),
        *("socialsite", "Socia1site", "Rnoderator", "Staff 🛡", "ѕtаff", "The Officials"),
        *("管理员", "本站官方", "站长小王", "𝔞𝔡𝔪𝔦𝔫"),
    ],
)
def test_roles_and_their_look_alikes_are_not_names(name: str) -> None:
    assert lookalikes.names_staff(name)


# Characters that a random text rarely has, beside those that it often has.
ODD = [
    *open_nicknames.BLANK,
    *open_nicknames.DIRECTIONS,
    "\u200c",
    "\u200d",
    "\u200b",
    "\u0301",
    "\u094d",
]
PLAIN = [
    "a",
    "B",
    "1",
    " ",
    ".",
    "李",
    "ع",
    "ک",
    "क",
    "👧",
    "🏽",
    "❤",
    "\ufe0f",
    "\u20e3",
    "e\u0301",
]
TEXTS = st.lists(st.sampled_from(ODD + PLAIN) | st.characters(), max_size=12).map("".join)
# By the standard: Default_Ignorable_Code_Point, without joiners and the emoji form.
IGNORED = frozenset(
    map(
        chr,
        (
            *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200B, 0x200E, 0x200F, 0x3164),
            *(0xFEFF, 0xFFA0, *range(0x180B, 0x1810), *range(0x202A, 0x202F)),
            *(*range(0x2060, 0x2070), *range(0xFE00, 0xFE0F), *range(0xFFF0, 0xFFF9)),
            *(*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)),
        ),
    )
)


@pytest.mark.once
@given(TEXTS)
@example("a\u200d")
@example("\u2800")
def test_an_accepted_name_is_visible_and_says_nothing_hidden(text: str) -> None:
    name = open_nicknames.normal(text)
    if open_nicknames.mistakes(name):
        return
    assert name == unicodedata.normalize("NFC", name) == name.strip()
    assert IGNORED.isdisjoint(name)
    assert not any(unicodedata.bidirectional(c) in _TURNING for c in name)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Co", "Zl", "Zp") for c in name)
    assert wcswidth(name) > 0
    assert name.isprintable() or any(c in name for c in "\u200c\u200d") or "Cn" in _kinds(name)
    assert len(name) <= User.NICKNAME_MAX
    without = name.replace("\u200c", "").replace("\u200d", "").replace("\ufe0f", "")
    assert without.strip("\u2800\u3164 ")
    assert open_nicknames.mistakes(open_nicknames.normal(name)) == []


_TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def _kinds(name: str) -> set[str]:
    return {unicodedata.category(c) for c in name}


# --- through the action -------------------------------------------------------------------------
@pytest.fixture
def staff(make_user) -> User:
    user = make_user("linawood", nickname="Lina Wood")
    actions.promote(user, 3)
    return user


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["Lina Wood", "Lіna Wооd", "LINA-WOOD", "1ina wood", "ʟinawood"])
def test_nobody_looks_like_a_member_of_staff(name: str, staff: User, make_user) -> None:
    other = make_user()
    with pytest.raises(RegMatchError) as caught:
        actions.edit_profile(other, nickname=name)
    assert list(caught.value.fields or {}) == ["nickname"]
    with pytest.raises(RegMatchError):
        make_user("newcomer", nickname=name)
    assert actions.edit_profile(staff, nickname="Admin Lina").nickname == "Admin Lina"


@pytest.mark.django_db
def test_names_are_stored_in_one_form_and_found(make_user, api) -> None:
    user = make_user("zoevandam", nickname="Zoe\u0308 van Dam")
    assert user.nickname == "Zoë van Dam"
    found = api.get("/api/v1/users?q=zoë van").json()["items"]
    assert [person["id"] for person in found] == [str(user.pk)]
    emoji = "👩🏽" * 30
    assert actions.edit_profile(user, nickname=emoji).nickname == emoji
    assert User.objects.get(pk=user.pk).nickname == emoji


@pytest.mark.django_db
def test_a_name_of_another_policy_stays_until_it_is_changed(make_user, settings: Any) -> None:
    user = make_user(nickname="Zoë 🌸")
    settings.NAME_POLICY = "seed"
    assert actions.edit_profile(user, nickname="Zoë 🌸", bio="x").bio == "x"
    with pytest.raises(RegMatchError):
        actions.edit_profile(user, nickname="Zoë 🌼")


@pytest.mark.django_db
def test_the_form_says_the_rule_before_one_types(settings: Any) -> None:
    assert "any language" in Client().get("/register").content.decode()
    settings.NAME_POLICY = "seed"
    assert str(name_rules.nickname_hint()) in Client().get("/register").content.decode()


@pytest.mark.django_db
def test_the_first_letter_of_a_picture_is_a_whole_character(make_user) -> None:
    make_user("familie", nickname="👨‍👩‍👧‍👦 Smith")
    assert ">👨‍👩‍👧‍👦</span>" in Client().get("/@familie").content.decode()
