"""The names of tags, in all scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.core.text import tags
from socialsite.core.text.spans import Kind, beginning, spans, tag_names

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("# ## #_ #1 #2026_1 #!", []),
        ("#One #ONE #one", ["one"]),
        ("#Straße \uff03\uff21\uff22 #caf\u00e9 #cafe\u0301", ["strasse", "ab", "caf\u00e9"]),
        ("a#b x_#c &#39;d http://x.example/#e /#f", []),
        ("(#a) [#b], #c. \u201c#d\u201d #e\uff0c\u597d", ["a", "b", "c", "d", "e"]),
        ("#1st #a_b #a-b", ["1st", "a_b", "a"]),
        # Chinese writers close a tag, or write on without a space.
        ("\u4eca\u5929\u53bb#\u5317\u4eac#\u73a9", ["\u5317\u4eac"]),
        ("#\u8bdd\u9898\u4e00##\u8bdd\u9898\u4e8c#", ["\u8bdd\u9898\u4e00", "\u8bdd\u9898\u4e8c"]),
        ("#a#b#c", ["a"]),
        # Marks, joiners and middle dots belong to words.
        ("#\u0939\u093f\u0928\u094d\u0926\u0940", ["\u0939\u093f\u0928\u094d\u0926\u0940"]),
        ("#\u0645\u06cc\u200c\u062e\u0648", ["\u0645\u06cc\u062e\u0648"]),
        (
            "#col\u00b7laborar #\u65e5\u672c\u30fb\u8a9e",
            ["col\u00b7laborar", "\u65e5\u672c\u30fb\u8a9e"],
        ),
        # One character that stands for words or a fraction; one for a letter.
        ("#\ufdfa #\u00bd #\u2460a", ["1a"]),
        ("#" + "a" * 50, ["a" * 50]),
        ("#" + "a" * 51, []),
        ("#" + "\ufb03" * 20, []),
    ],
)
def test_tags_of_a_text(text: str, names: list[str]) -> None:
    assert tag_names(text) == names


def test_the_signs_belong_to_the_link() -> None:
    text = "\u4eca\u5929\u53bb#\u5317\u4eac#\u73a9 #a."
    shown = [text[one.start : one.end] for one in spans(text)]
    assert shown == ["#\u5317\u4eac#", "#a"]


def test_a_joiner_between_a_letter_and_its_mark_makes_no_other_tag() -> None:
    assert tags.name_of("cafe\u200d\u0301") == tags.name_of("caf\u00e9") == "caf\u00e9"
    assert tags.name_of("\u1112\u200d\u1161") == "\ud558"


@given(st.text(max_size=60) | st.text(alphabet="eE\u0301\u200d\ufe0f\u1112\u1161a", max_size=9))
def test_the_name_of_a_name_is_itself(word: str) -> None:
    name = tags.name_of(word)
    if name is not None:
        assert tags.name_of(name) == name
        assert tag_names(f"#{name}") == [name]
        assert tag_names(f"#{name.upper()}") in ([name], [])


@given(st.text(alphabet="#\uff03ab1_ \u5317.&/@", max_size=30), st.integers(0, 30))
def test_a_cut_keeps_tags_whole(text: str, most: int) -> None:
    cut = beginning(text, most)
    whole = [text[one.start : one.end] for one in spans(text) if one.kind is Kind.TAG]
    for one in spans(cut):
        if one.kind is Kind.TAG:
            assert cut[one.start : one.end] in whole
