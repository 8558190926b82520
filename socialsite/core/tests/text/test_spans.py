"""Addresses and names in texts, and the places where a text may be cut (issues 6 and 17)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.core.text.spans import AHEAD, Kind, Span, beginning, is_plain, spans

pytestmark = pytest.mark.once

WORDS = ["@", "alice1", "bob", "_", ".", ",", ")", "(", "]", ":", "/", "好", "，", " ", "\n", "<"]
WORDS += ["https://", "http://x.example", "www.", "HTTP://", "a@b.example", "xn--", "[::1]", "#a"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=14).map("".join)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("see https://x.example/a, it is", ["https://x.example/a"]),
        ("(https://x.example/a_(b)).", ["https://x.example/a_(b)"]),
        ("[https://x.example/a[1]]:", ["https://x.example/a[1]"]),
        ("https://x.example/?a=b&c#d?!", ["https://x.example/?a=b&c#d"]),
        (
            '<https://x.example/a> "https://x.example/b"',
            ["https://x.example/a", "https://x.example/b"],
        ),
        ("HTTP://X.example http://localhost:8000/", ["HTTP://X.example", "http://localhost:8000/"]),
        ("http://127.0.0.1:80 http://[::1]/a", ["http://127.0.0.1:80", "http://[::1]/a"]),
        ("见https://x.example/路径，好。", ["https://x.example/路径"]),
        ("https://a https://-- https://a:b@x.example javascript://x.example ftp://x.example", []),
        (
            "www.x.example, Www.x.example awww.x.example //www.x.example",
            ["www.x.example", "Www.x.example"],
        ),
        ("x.example example.com", []),
        ("bob@x.example. mailto:a.b+c@x.example", ["bob@x.example", "a.b+c@x.example"]),
        ("a@carol @bob1@x.example /bob@x.example a@b@x.example", []),
        ("@alice1 (@Bob22), 你好@carol3，", ["@alice1", "@Bob22", "@carol3"]),
        (
            "@abc @abcdefghijklmnopq @@alice1 @alice_1 x/@alice1 https://x.example/@alice1",
            ["https://x.example/@alice1"],
        ),
    ],
)
def test_spans_of_a_text_are_found(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end, _ in spans(text)] == found


def test_spans_have_a_kind() -> None:
    text = "@alice1 https://x.example www.x.example a@x.example"
    kinds = [Kind.NAME, Kind.ADDRESS, Kind.BARE, Kind.MAIL]
    assert [span.kind for span in spans(text)] == kinds


@given(TEXTS)
def test_spans_are_in_order_and_a_word_is_read_alone(text: str) -> None:
    found = spans(text)
    assert all(before.end <= after.start for before, after in itertools.pairwise(found))
    assert all(start < end for start, end, _ in found)
    assert not (found and is_plain(text))
    # Text after a blank does not change the spans before it.
    shifted = [Span(start + 2, end + 2, kind) for start, end, kind in found]
    assert spans(f"x {text} @alice1")[: len(found)] == shifted


@given(TEXTS, st.integers(0, 60))
def test_a_beginning_has_the_names_and_addresses_of_the_whole_and_no_half(
    text: str, most: int
) -> None:
    shown = beginning(text, most)
    assert text.startswith(shown)
    assert len(shown) <= most
    whole = spans(text)
    assert not [one for one in whole if one.start < len(shown) < one.end]
    if len(text) <= most + AHEAD:
        assert spans(shown) == [one for one in whole if one.end <= len(shown)]
    if is_plain(text):
        assert shown == text[:most]


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("short @bob1", 40, "short @bob1"),
        ("你好@bobby99 and more", 8, "你好"),
        ("see https://x.example/abc and more", 20, "see "),
        ("see https://x.example/abc and more", 6, "see "),
        ("to bob@x.example and more", 6, "to "),
        ("x" * 50, 20, "x" * 20),
        ("see https://x.example/路径路径 and more", 24, "see "),
        ("@abcdefghijklmnopqrs is too long", 9, ""),  # and @abcdefgh is somebody else
    ],
)
def test_a_text_is_not_cut_in_the_middle_of_a_name_or_an_address(
    text: str, most: int, shown: str
) -> None:
    assert beginning(text, most) == shown
