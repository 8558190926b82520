"""The stylesheet of the site keeps to its type scale (docs/design-system.md)."""

import re
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.once


def test_every_size_of_text_is_a_step_of_the_scale() -> None:
    sheets = Path(settings.BASE_DIR, "static/css")
    css, tokens = ((sheets / f"{name}.css").read_text() for name in ("site", "tokens"))
    steps = set(re.findall(r"--size(?:-\w+)?(?=:)", tokens))
    assert len(steps) == 7
    # The two largest titles grow with the window; a letter in an avatar grows with its disc.
    allowed = r"var\((--size(?:-\w+)?)\)|inherit|clamp\(.*\)|calc\(var\(--avatar\) .*\)"
    found = re.findall(r"font-size: ([^;]+);", css)
    matched = [re.fullmatch(allowed, size) for size in found]
    assert [size for size, match in zip(found, matched, strict=True) if not match] == []
    assert {match[1] for match in matched if match and match[1]} <= steps


def test_pages_load_the_tokens_and_one_stylesheet() -> None:
    root = Path(settings.BASE_DIR, "templates")
    sheets = [
        name
        for path in root.rglob("*.html")
        for name in re.findall(r'rel="stylesheet" href="{{ static\("([^"]+)"\)', path.read_text())
    ]
    assert sheets == ["css/tokens.css", "css/site.css"]
