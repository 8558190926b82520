"""One form of every text that people type."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.core.text import clean, one_line, without_controls

pytestmark = pytest.mark.once

LINE_ENDS = ["\r\n", "\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]
# Unicode names these as blank or as default-ignorable, in categories of letters, marks and signs.
EMPTY = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\ufe00\ufe0f\uffa0\U000e0100"


@pytest.mark.parametrize("end", LINE_ENDS)
def test_words_of_two_lines_stay_apart_whatever_ends_the_line(end: str) -> None:
    assert clean(f"a{end}b") == "a\nb"
    assert one_line(f" a{end} b{end}") == "a b"


@pytest.mark.parametrize("character", EMPTY)
def test_a_text_that_shows_nothing_is_empty(character: str) -> None:
    assert clean(character) == clean(f" {character}\u200b\n{character * 3}\t") == ""
    # Among others they may matter: an emoji has a selector, a syllable a filler.
    assert clean(f"a{character}b") == f"a{character}b"


@given(st.text(max_size=60))
def test_nothing_visible_is_lost(text: str) -> None:
    made = clean(text)
    assert clean(made) == made
    assert without_controls(made) == made
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in made if c not in "\n\t")
    if made:
        assert made.split() == without_controls(text).split()
