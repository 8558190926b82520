"""Addresses and names in texts, and the places where a text may be cut (issues 6 and 17)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.core.text.cuts import cut
from socialsite.core.text.spans import AHEAD, Kind, Span, beginning, is_plain, spans

pytestmark = pytest.mark.once

WORDS = ["@", "alice1", "bob", "_", ".", ",", ")", "(", "]", ":", "/", "好", "，", " ", "\n", "<"]
WORDS += ["https://", "http://x.example", "www.", "HTTP://", "a@b.example", "xn--", "[::1]", "#a"]
WORDS += [
    "\uff20",
    "é",
    "e\u0301",
    "рф",
    "ไทย",
    "님",
    "\u200b",
    "\ufe0f",
    "؟",
    "—",
    "**",
    "😀",
    ".b",
]
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


SPACED = "éøßжωאبहதაա\u0301\u064e\u093f٣५\uff41"
SPACED_LETTERS = "éøßжωאبहதაա\uff41"
UNSPACED = "好ひカ々ไລမក한\uff71"
UNSEEN = "\u200b\u200e\u200f\u202e\u2066\u2069\u2060\ufeff\u00ad\u034f\ufe0f\u180b\U000e0100\u200d"


@pytest.mark.parametrize("letter", SPACED)
@pytest.mark.parametrize("sign", "@\uff20")
def test_a_name_within_a_longer_word_of_any_script_is_none(letter: str, sign: str) -> None:
    assert spans(f"{letter}{sign}alice1 {sign}alice1{letter} {sign}alice1\u00ad{letter}") == []


@pytest.mark.parametrize("letter", SPACED_LETTERS + "a")
def test_a_name_before_the_rest_of_a_host_is_none(letter: str) -> None:
    assert spans(f"@alice1.{letter}") == []


@pytest.mark.parametrize(
    "beside", [*UNSPACED, "❤\ufe0f", "*\ufe0f\u20e3", "😀", "—", "·", "①", "«"]
)
@pytest.mark.parametrize("sign", "@\uff20")
def test_a_name_beside_what_needs_no_space_is_found(beside: str, sign: str) -> None:
    text = f"{beside}{sign}alice1{beside[0]} {sign}bob22.{beside[0]} {sign}carol3."
    assert found_in(text) == [f"{sign}alice1", f"{sign}bob22", f"{sign}carol3"]


@pytest.mark.parametrize("letter", SPACED)
def test_a_mail_address_or_www_within_a_longer_word_is_none(letter: str) -> None:
    assert spans(f"{letter}bob@x.example bob@x.example{letter} {letter}www.x.example") == []


@pytest.mark.parametrize(
    "host",
    [
        "пример.рф",
        "例え.テスト",
        "한국.한국",
        "हिन्दी.भारत",
        "مثال.مصر",
        "x.vermögensberatung",
        "ไทย.ไทย",
    ],
)
def test_a_host_of_any_script_is_an_address(host: str) -> None:
    for address in (f"https://{host}", f"http://{host}/x", f"https://{host}:80?a", f"www.{host}"):
        assert found_in(f"see {address}, then") == [address]
        assert found_in(f"看{address}。好") == [address]


@pytest.mark.parametrize(
    "after",
    [
        "你好",
        "привет",
        "에서",
        "😀",
        "—",
        "**",
        "*",
        "…",
        "\\",
        "·",
        "&a",
        "%2f",
        ")",
        "_",
        "؟",
        "-a",
    ],
)
@pytest.mark.parametrize("host", ["x.example", "x.example:80", "127.0.0.1", "localhost", "[::1]"])
def test_a_host_before_other_characters_is_the_address(host: str, after: str) -> None:
    assert found_in(f"https://{host}{after} @alice1") == [f"https://{host}", "@alice1"]
    assert found_in(f"https://{host}{after},@alice1 ") == [f"https://{host}", "@alice1"]


@pytest.mark.parametrize("mark", "؟،۔।»—›‽።၊។՞⁇٪")
def test_punctuation_of_any_script_at_the_end_is_not_part_of_an_address(mark: str) -> None:
    assert found_in(f"https://x.example/a{mark} b") == ["https://x.example/a"]
    assert found_in(f"(https://x.example/a{mark}).") == ["https://x.example/a"]
    assert found_in(f"https://x.example/a{mark}b") == [f"https://x.example/a{mark}b"]


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize(
    "address", ["https://x.example", "https://x.example/a", "www.x.example/?a"]
)
def test_an_address_ends_before_invisible_characters(address: str, unseen: str) -> None:
    assert found_in(f"{address}{unseen}b {address}{unseen}") == [address, address]


def test_joiners_that_spelling_needs_are_part_of_an_address() -> None:
    address = "https://fa.example/می\u200cخواهم"
    assert found_in(f"{address}\u200c {address}") == [address, address]


@pytest.mark.parametrize("host", ["a@x.example", "user:pass@x.example", "xx.example@y.example"])
def test_an_address_with_a_user_name_is_no_link(host: str) -> None:
    assert spans(f"https://{host} www.{host}") == []


def found_in(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in spans(text)]


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
        assert shown == cut(text, most)


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
