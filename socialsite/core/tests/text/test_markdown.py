"""What the words of an article are, without the signs of Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.core.text import markdown

pytestmark = pytest.mark.once

SIGNS = st.text(st.sampled_from("[]()!*_~`#@<>|-+=:1 a好\n\t\\&^\"'/"), max_size=300)


def prose(text: str) -> str:
    return markdown.read(text).prose


def signs(text: str) -> list[str]:
    return markdown.read(text).signs.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# A *head*\n\nand **bold**, ~~gone~~ `code`", "A head\n\nand bold, gone code"),
        ("one\ntwo\\\nthree", "one\ntwo\nthree"),
        ("- a\n- b\n  - c\n\n> said", "a\nb\nc\nsaid"),
        ("[a *link*](https://a.example) ![a tree](1)", "a link a tree"),
        ("[a link][1] and [this]\n\n[1]: https://a.example", "a link and [this]"),
        ("|a|b|\n|-|-|\n|1|2|", "a\nb\n1\n2"),
        ("```py\nx = 1\n```\n\nend", "x = 1\n\nend"),
        ("Tea.[^1]\n\n[^1]: Green tea.", "Tea.\nGreen tea."),
        ("<b>not HTML</b> &lt; &amp;", "<b>not HTML</b> < &"),
        ("one&#12;two&#13;three&#x85;four&#7;", "one\ntwo\nthree\ufffdfour\ufffd"),
        ("2 * 3 * 4 and snake_case_word", "2 * 3 * 4 and snake_case_word"),
    ],
)
def test_words_have_no_signs(text: str, words: str) -> None:
    assert prose(text) == words


@pytest.mark.parametrize(
    "text",
    ["Plain words.\nA second line.\n\nA paragraph, #tea for @alice1.", "只是文字,\n没有标记。"],
)
def test_a_text_without_signs_stays_as_it_is(text: str) -> None:
    assert prose(text) == text


def test_indented_lines_are_words_and_no_code() -> None:
    assert prose("    a poem\n      in steps") == "a poem\nin steps"


def test_names_and_tags_count_outside_of_code_and_links() -> None:
    text = (
        "@alice1 *#tea* `@bob22 #code` [@carol3 #link](https://a.example) ![#alt](1) \\#escaped\n"
        "<https://a.example/#frag>\n\n```\n@dave44 #fence\n```\n\n- #item"
    )
    assert signs(text) == ["@alice1", "#tea", "#item"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("**https://a.example**", "https://a.example"),
        ("https://a.example/_x_/y_z", "https://a.example/_x_/y_z"),
        ("(https://a.example/b)", "https://a.example/b"),
    ],
)
def test_an_address_ends_before_signs(text: str, address: str) -> None:
    [block] = [token for token in markdown.parse(text).tokens if token.type == "inline"]
    found = [token.content for token in block.children or () if token.type == "span"]
    assert found == [address]


def test_what_is_too_deep_stays_as_words() -> None:
    assert prose(">" * 40 + " deep").endswith("> deep")
    assert "deep" in prose("\n".join("  " * level + "- deep" for level in range(40)))


def test_a_text_has_a_bounded_number_of_cells() -> None:
    table = "|a" * 20 + "|\n" + "|-" * 20 + "|\n" + "x\n" * 2000 + "\n"
    cells = [token for token in markdown.parse(table * 10).tokens if token.type == "td_open"]
    assert len(cells) <= markdown.CELLS_MAX


@given(SIGNS)
def test_any_text_has_words(text: str) -> None:
    words = markdown.read(text)
    assert len(words.prose) <= 3 * len(text) + 10
    assert all(sign[0] in "@#" for sign in words.signs.split("\n") if sign)
