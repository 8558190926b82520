"""The forms in which texts are compared."""

import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.core.text import folding
from socialsite.core.text.folding import MARKS_MAX, caseless, plain

pytestmark = pytest.mark.once

FORMS: tuple[Any, ...] = ("NFC", "NFD", "NFKC", "NFKD")
# Letters that have parts, their parts, and what stands between them.
PARTS = st.sampled_from(
    "EйЙиёзάᾳがガｶﾞﾟ각하\u1112\u1161\u11a8\uffa1\u0301\u0306\u0308\u0316\u0345\u3099\u200d\ufe0f ßİŉǆ"
)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("ГАЙ", "га\u0438\u0306"),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"),
        ("ガイド", "ｶﾞｲﾄﾞ"),
        ("ガイド", "カ\u3099イト\u3099"),
        ("STRASSE", "straße"),
        ("ﬁn", "Fin"),
        ("１２３", "123"),
        ("a\u00a0b", "a b"),
        ("a\u3164b", "a\u2800b"),
        ("ra\u00adin", "rain"),
        ("ᾳ", "α"),
        ("e\u200d\u0301", "é"),
    ],
)
def test_texts_that_differ_in_form_only_are_equal(text: str, same: str) -> None:
    assert caseless(text) == caseless(same)
    assert plain(text) == plain(same)


@pytest.mark.parametrize("other", ["гаи", "한굴", "カイト", "strase", "fiñ", "áb"])
def test_other_letters_are_different(other: str) -> None:
    equal = ("ГАЙ", "한글", "ガイド", "STRASSE", "ﬁn", "ab")
    assert caseless(other) not in map(caseless, equal)


def test_accents_make_no_difference_on_latin_letters_only() -> None:
    assert plain("José Ñandú ǿ") == plain("jose nandu ø")
    assert plain("за́мок") == plain("замок")
    assert plain("йё") != plain("ие")
    assert plain("ガ") != plain("カ")


@given(st.text(max_size=MARKS_MAX) | st.text(PARTS, max_size=MARKS_MAX))
def test_every_form_of_a_text_has_one_form(text: str) -> None:
    for fold in (caseless, plain):
        folded = fold(text)
        assert fold(folded) == folded
        assert {fold(unicodedata.normalize(form, text)) for form in FORMS} == {folded}


def test_the_form_of_each_character_is_its_own_form() -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1))
    assert [one for one in every if plain(plain(one)) != plain(one)] == []


def test_of_many_marks_in_a_row_the_first_remain() -> None:
    assert caseless("я" + "\u0301" * 500) == "я" + "\u0301" * MARKS_MAX


def test_a_process_keeps_the_forms_of_few_characters() -> None:
    plain("".join(map(chr, range(sys.maxunicode + 1))))
    assert len(folding._CASELESS) + len(folding._PLAIN) < 120_000
