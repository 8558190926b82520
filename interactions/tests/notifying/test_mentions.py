"""People named in a text, and how the name is rendered."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.text import mentions
from socialsite.pages import jinja


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
        ("иван@yandex.ru, hej @mariö, @jose\u0301", []),
        ("＠Alice1 안녕@bobby2님", ["alice1", "bobby2"]),
        (" ".join(f"@name{n}" for n in range(12)), [f"name{n}" for n in range(10)]),
    ],
)
def test_usernames_mentioned_in_a_text_are_found(text, names) -> None:
    assert mentions.usernames(text) == names


def test_how_many_are_notified_is_a_number_of_the_table(settings) -> None:
    text = " ".join(f"@name{n}" for n in range(12))
    settings.BUDGETS = {"mentions": Rate(3, 0)}
    assert mentions.usernames(text) == ["name0", "name1", "name2"]
    assert jinja.linked(text).count("<a ") == 12  # further names are still links
    settings.BUDGETS = {"mentions": None}
    assert len(mentions.usernames(text)) == 12


@given(st.text(alphabet="@\uff20ab1_/.:<& 好é\n", max_size=40))
def test_the_links_of_a_text_are_its_mentions(text) -> None:
    made = str(escape(jinja.linked(text)))
    names = dict.fromkeys(name.lower() for name in re.findall(r'href="/@([^"]+)"', made))
    assert list(names)[: budgets.MENTIONS.capacity] == mentions.usernames(text)
    assert html.unescape(re.sub("<[^>]*>", "", made)) == text


def test_names_and_addresses_are_linked_and_the_rest_is_escaped() -> None:
    made = jinja.linked("<b>@Alice1</b> https://x.example/@bob22 & a@carol")
    assert '<a class="mention" href="/@Alice1">@Alice1</a>' in made
    assert 'href="https://x.example/@bob22"' in made
    assert made.count("<a ") == 2
    assert made.startswith("&lt;b&gt;")
    assert "&amp; a@carol" in made
