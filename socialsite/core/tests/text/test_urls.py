"""Addresses of others in ASCII."""

import pytest

from socialsite.core.text.urls import ascii_bytes, ascii_host, ascii_url

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("https://a.example/b?c=d#e", "https://a.example/b?c=d#e"),
        ("https://ja.wikipedia.org/wiki/日本", "https://ja.wikipedia.org/wiki/%E6%97%A5%E6%9C%AC"),
        (" https://a.example/b c?d e#f g ", "https://a.example/b%20c?d%20e#f%20g"),
        ("https://a.example/%E6%97%A5 é%", "https://a.example/%E6%97%A5%20%C3%A9%"),
        (
            "https://Bücher.example:81/ü?ö#ä",
            "https://xn--bcher-kva.example:81/%C3%BC?%C3%B6#%C3%A4",
        ),
        ("https://straße.example/", "https://straße.example/".replace("straße", "xn--strae-oqa")),
        ("https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://ｅｘａｍｐｌｅ.com/a", "https://example.com/a"),
        ("https://u@bücher.example/", "https://u@xn--bcher-kva.example/"),
        ("https://[2001:db8::1]/é", "https://[2001:db8::1]/%C3%A9"),
        ("https://exa mple.org/", "https://exa mple.org/"),
        ('https://a.example/"é', 'https://a.example/"%C3%A9'),
    ],
)
def test_an_address_is_brought_into_the_form_that_is_requested(address: str, found: str) -> None:
    assert ascii_url(address) == found
    assert ascii_url(found) == found


@pytest.mark.parametrize(
    "address",
    ["https://a\u202e.example", "https://é..example", "https://-é.example", "https://é\n.example"],
)
def test_a_malformed_address_is_an_error(address: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        ascii_url(address)
    with pytest.raises(ValueError, match="too long"):
        ascii_host("é" * 254)


def test_bytes_are_kept_whatever_they_mean() -> None:
    assert ascii_bytes("/café a%20b".encode()) == "/caf%C3%A9 a%20b"
    assert ascii_bytes("/café".encode("latin-1")) == "/caf%E9"
