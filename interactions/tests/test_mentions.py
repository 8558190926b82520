"""Who a text names, and how it is shown (issue 6: mentions)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interactions import mentions
from socialsite import jinja


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("@alice1", ["alice1"]),
        ("你好@Alice1，再见", ["alice1"]),
        ("(@alice1) and @BOB22, @bob22!", ["alice1", "bob22"]),
        ("mail a@alice1 or @alice1@elsewhere or @alice_1 or @@alice1", []),
        ("@abc is short, @abcdefghijklmnopq long, @４四四四 neither", []),
        ("https://x.example/@alice1 https://x.example/?a=@alice1 x/@alice1", []),
        ("see https://x.example/ @alice1.", ["alice1"]),
        (" ".join(f"@name{n}" for n in range(12)), [f"name{n}" for n in range(10)]),
    ],
)
def test_whom_a_text_names(text, names) -> None:
    assert mentions.usernames(text) == names


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="@ab1_/.:<& 好\n", max_size=40))
def test_pieces_are_the_text_and_name_the_same_people(text) -> None:
    found = list(mentions.pieces(text))
    assert "".join(piece for piece, _ in found) == text
    names = dict.fromkeys(name.lower() for _, name in found if name)
    assert list(names)[: mentions.NAMED_MAX] == mentions.usernames(text)


def test_names_and_addresses_are_linked_and_the_rest_is_escaped() -> None:
    made = jinja.linked("<b>@Alice1</b> https://x.example/@bob22 & a@carol")
    assert '<a class="mention" href="/@Alice1">@Alice1</a>' in made
    assert 'href="https://x.example/@bob22"' in made
    assert made.count("<a ") == 2
    assert made.startswith("&lt;b&gt;")
    assert "&amp; a@carol" in made


def test_a_text_is_not_cut_in_the_middle_of_a_name_or_an_address() -> None:
    assert mentions.beginning("short @bob1", 40) == "short @bob1"
    assert mentions.beginning("你好@bobby99 and more", 8) == "你好"
    assert mentions.beginning("see https://x.example/abc and more", 20) == "see "
    assert mentions.beginning("x" * 50, 20) == "x" * 20
