"""Rules of names and passwords."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver
from django.utils import translation

from accounts import validators
from accounts.credentials import password_rules
from accounts.naming import name_rules
from socialsite.core.errors import RegMatchError

pytestmark = pytest.mark.once


@pytest.mark.parametrize("name", ["abcd", "ABCD", "0123", "a1B2c3D4e5F6g7H8", "Alice1"])
def test_a_username_of_4_to_16_ascii_letters_and_digits_is_fine(name) -> None:
    assert name_rules.username(name) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "abc",
        "a" * 17,
        "abcd\n",
        "\nabcd",
        "ab cd",
        " abcd",
        "abcd ",
        "ab_cd",
        "ab-cd",
        "abcd.",
        "àlice1",
        "ａｌｉｃｅ",
        "１２３４",
        "٣٣٣٣",
        "abc²",
        "爱丽丝们",
        "abcd\x00",
        "abc\u200bd",
        "аlice1",  # a Cyrillic a
    ],
)
def test_any_other_username_is_refused(name) -> None:
    assert name_rules.username(name)


@pytest.mark.parametrize("name", ["admin", "Admin", "SETTINGS", "login", "moderator", "feeds"])
def test_a_reserved_username_is_refused_in_any_case(name) -> None:
    assert name_rules.username(name)


def test_the_first_words_of_addresses_are_no_usernames() -> None:
    words = {*_first_words(get_resolver().url_patterns), "reports", "trending"}
    assert {"tags", "drafts", "bookmarks", "suggestions", "emoji"} <= words
    assert {word for word in words if not name_rules.username(word)} == set()


def _first_words(patterns: list[Any]) -> Iterator[str]:
    for pattern in patterns:
        address = str(pattern.pattern).lstrip("^")
        if address or not hasattr(pattern, "url_patterns"):
            yield re.split(r"\W", address)[0]
        else:
            yield from _first_words(pattern.url_patterns)


@pytest.mark.parametrize(
    "name",
    ["abcd", "爱丽丝们", "爱丽丝A1", "a234", "㐀㐁㐂㐃", "\U00020bb7野家子", "零〇零〇", "一" * 16],
)
def test_a_nickname_of_4_to_16_han_letters_and_digits_is_fine(name) -> None:
    assert name_rules.nickname(name) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "爱丽丝",
        "\U00020bb7野家",  # four UTF-16 units, three characters
        "一" * 17,
        "abcd\n",
        "ab cd",
        "1234",
        "0" * 16,
        "１２３４",
        "abc１",
        "ひらがな",
        "한국사람",
        "ａｂｃｄ",
        "abc😀",
        "abc!",
        "<b>abc",
        "e\u0301cole",
        "爱丽丝\u3000",
    ],
)
def test_any_other_nickname_is_refused(name) -> None:
    assert name_rules.nickname(name)


@pytest.mark.parametrize("rule", [name_rules.username, name_rules.nickname])
def test_each_refusal_of_a_name_has_its_own_words(rule) -> None:
    with translation.override("en"):
        found = [str(rule(name)[0]) for name in ("", "abc", "a" * 17, "ab cd")]
    assert found[:2] == ["At least 4 characters."] * 2
    assert found[2] == "At most 16 characters."
    assert found[3].startswith("Use only ")


@pytest.mark.parametrize("password", ["aB3$&.", "right.pass1", "@#$&.@#$&.@#$&.a", "x7q2m9"])
def test_a_password_of_6_to_16_of_the_named_characters_is_fine(password) -> None:
    assert password_rules.mistakes(password, "alice1", "爱丽丝们") == []


@pytest.mark.parametrize(
    "password",
    [
        "",
        "aB3$&",
        "a" * 17,
        "right.pass1\n",
        "right pass",
        "right-pass",
        "rightpäss",
        "１２３４５６７",
    ],
)
def test_any_other_password_is_refused(password) -> None:
    assert password_rules.mistakes(password, "alice1", "爱丽丝们")


@pytest.mark.parametrize("password", ["password1", "PASSWORD1", "qwerty", "123456", "iloveyou"])
def test_a_password_that_many_people_use_is_refused(password) -> None:
    assert password_rules.mistakes(password, "alice1", "爱丽丝们")


@pytest.mark.parametrize("password", ["Zq8alice", "zq8ALICE", "Nick99aa", "NICK99AA"])
def test_a_password_that_is_a_name_of_the_person_is_refused(password) -> None:
    assert password_rules.mistakes(password, "zq8alice", "nick99Aa")


@pytest.fixture
def asvs(settings) -> None:
    settings.PASSWORD_POLICY = "asvs"


@pytest.mark.parametrize(
    "password",
    [
        "xq7.mdet",
        "correct horse battery staple",
        "  two blanks at each end  ",
        "密码很长也可以用",
        "pässwörd mit ß",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 family",
        "zzzzzzzzzq",  # no composition rule
        "x" * 128,
        "ﷺ" * 7,  # eighteen characters each in normal form
    ],
)
def test_by_asvs_8_to_128_characters_of_anything_are_fine(password, asvs) -> None:
    assert password_rules.mistakes(password, "alice1", "爱丽丝们") == []


@pytest.mark.parametrize(
    "password",
    [
        "",
        "xq7.mde",
        "密码不够长",
        "x" * 129,
        "ﷺ" * 8,
        "right pass1\n",
        "right\x00pass",
        "right\tpass1",
        "right\u2028pass",
        "right\ud800pass",
        "right\ue000pass",
    ],
)
def test_by_asvs_short_endless_or_unprintable_passwords_are_refused(password, asvs) -> None:
    assert password_rules.mistakes(password, "alice1", "爱丽丝们") == [password_rules.hint()]


@pytest.mark.parametrize(
    "password",
    [
        "password1",
        "ＰＡＳＳＷＯＲＤ１",
        "SocialSite",
        "iloveyou",
        "Alice1234",
        "ALICE1234",
        "爱丽丝们爱丽丝们",
    ],
)
def test_by_asvs_common_passwords_and_names_are_refused(password, asvs) -> None:
    assert password_rules.mistakes(password, "alice1234", "爱丽丝们爱丽丝们")


def test_the_hint_follows_the_policy(settings) -> None:
    assert (password_rules.shortest(), str(password_rules.hint())[:7]) == (6, "6 to 16")
    settings.PASSWORD_POLICY = "asvs"
    assert (password_rules.shortest(), str(password_rules.hint())[:8]) == (8, "8 to 128")


def test_the_error_names_every_wrong_field_at_once() -> None:
    with pytest.raises(RegMatchError) as caught:
        validators.check(username=["bad"], nickname=[], password=["bad", "worse"])
    assert caught.value.envelope()["fields"] == {"username": ["bad"], "password": ["bad", "worse"]}
