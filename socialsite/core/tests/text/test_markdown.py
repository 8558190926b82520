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
    ("text", "words"),
    [
        ("**注意：**内容", "注意：内容"),
        ("这是**“重点”**内容", "这是“重点”内容"),
        ("~~删除：~~内容", "删除：内容"),
        ("**この文（Can I?）。**です", "この文（Can I?）。です"),
        ("이 **용어(This)**를", "이 용어(This)를"),
        ("我可以强调**这个`code`**吗", "我可以强调这个code吗"),
        # Spaces and words of other scripts as in CommonMark.
        ("中文 ** 不 ** 是", "中文 ** 不 ** 是"),
        ("**a:**b", "**a:**b"),
        ("👍**“a”**b", "👍**“a”**b"),
        ("snake_中_文", "snake_中_文"),
    ],
)
def test_emphasis_needs_no_spaces_beside_chinese_japanese_and_korean(text: str, words: str) -> None:
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


@pytest.mark.parametrize("mark", ["_", "__", "___", "*_", "~~_", "**__"])
@pytest.mark.parametrize(
    "sign",
    [
        *("@alice1", "\uff20alice1", "#tea", "#my_tag", "#话题", "https://a.example"),
        *("https://a.example/b_c", "https://a.example/_x_/y", "www.a.example", "bob_1@a.example"),
    ],
)
def test_signs_of_emphasis_beside_a_span_are_not_part_of_it(mark: str, sign: str) -> None:
    for before, after in [("", ""), ("so ", ", so"), ("(", ")"), ("a ", ".\n_b_ x_y")]:
        text = f"{before}{mark}{sign}{mark[::-1]}{after}"
        assert spans_in(text)[:1] == [sign], text
        assert prose(text).startswith(f"{before}{sign}{after[:1]}"), text
    assert spans_in(f"_see {sign}_ and __x {sign} y__") == [sign, sign]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@alice1_ @bob22_x _@carol3_x", []),
        ("https://a.example/x_ https://a.example/_x_", None),
        ("\\_@alice1_ x_@bob22_", []),
        ("_a b@x.example", ["b@x.example"]),
        ("_bob_@x.example", ["_bob_@x.example"]),
        ("https://a.example/~x_y", None),
    ],
)
def test_underscores_without_emphasis_stay_parts_of_words(
    text: str, found: list[str] | None
) -> None:
    assert spans_in(text) == (text.split() if found is None else found)


def spans_in(text: str) -> list[str]:
    blocks = [token.children or () for token in markdown.parse(text).tokens]
    return [one.content for block in blocks for one in block if one.type == "span"]


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
