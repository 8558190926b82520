"""The beginnings of texts."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from socialsite.core.text.cuts import PARTS_MAX, cut, shortened
from socialsite.core.text.spans import beginning

pytestmark = pytest.mark.once

FLAGS = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
# Parts of flags, families, Hangul, letters with marks, and Indian words.
PARTS = st.sampled_from(
    "a 字\u0301\u200d\ufe0f\U0001f3fd\U0001f1e9\U0001f468\u1112\u1161\u0915\u094d"
)


@pytest.mark.parametrize(
    ("text", "most", "found"),
    [
        ("abc", 3, "abc"),
        ("abc", 2, "ab"),
        ("字字字", 2, "字字"),
        (f"a{FLAGS}", 2, "a"),
        (f"a{FLAGS}", 3, f"a{FLAGS[:2]}"),
        (f"a{FLAGS}", 4, f"a{FLAGS[:2]}"),
        (f"a{FAMILY}", 3, "a"),
        ("xe\u0301y", 2, "x"),
        ("\u1112\u1161\u11ab\u1100", 2, "\u1112\u1161"),
        # Characters of too many parts, and a row of flags.
        ("a" + "\u0301" * 500, 300, "a" + "\u0301" * 299),
        (FLAGS * 50, 101, FLAGS * 25),
    ],
)
def test_a_text_is_cut_between_visible_characters(text: str, most: int, found: str) -> None:
    assert cut(text, most) == found
    assert shortened(text, most + 1) == (text if len(text) <= most + 1 else f"{found}…")
    assert beginning(text, most) == found


@given(st.text(PARTS, max_size=150) | st.text(max_size=40), st.integers(0, 150))
def test_every_cut_is_between_visible_characters(text: str, most: int) -> None:
    found = cut(text, most)
    assert len(found) <= most
    assert text.startswith(found)
    if len(text) <= most:
        assert found == text
        return
    lengths = [len(one) for one in iter_graphemes(text)]
    if max(lengths) < PARTS_MAX:
        ends = {0, *accumulate(lengths)}
        whole = max(end for end in ends if end <= most)
        assert len(found) == (whole or most)
