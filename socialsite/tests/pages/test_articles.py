"""Articles as HTML: safe for any text, with contents, pictures of the post and the time to read."""

import re
from typing import Any

import pytest
from django.utils import translation
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import html

from socialsite.pages import articles
from socialsite.pages.articles import article, minutes_of

pytestmark = pytest.mark.once

PICTURE = {
    **{"id": "77", "url": "/media/aa/b.jpg", "thumb": "/media/aa/b-s.jpg", "alt": "A tree"},
    **{"width": 30, "height": 20, "placeholder": ""},
}
PARTS = [
    *(
        "[",
        "](",
        ")",
        "![",
        "](1)",
        "<",
        ">",
        "<script>",
        "</p>",
        "javascript:",
        "https://a.example",
    ),
    *("data:text/html,", "//a.example", '"', "'", " onerror=alert(1)", "`", "```\n", "\n", "\n\n"),
    *("*", "_", "~~", "|", "|a|b|\n|-|-:|\n", "> ", "- ", "1. ", "# ", "[^1]", "[^1]: ", "&#58;"),
    *(
        "&lt;img src=x>",
        "@alice1",
        "#tea",
        "\\",
        " ",
        "a",
        "好",
        "שלום",
        "\t",
        "[a]: ",
        "\x00",
        "77",
    ),
]
HOSTILE = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)
TAGS = {*articles._ALLOWED, "html", "body"}


def shown(text: str, *images: dict[str, Any]) -> str:
    return str(article(text, images).html)


@given(HOSTILE)
@example("[x](javascript:alert(1))")
@example("[x](JaVaScRiPt:alert(1)) [y](java\nscript:alert(1)) <javascript:alert(1)>")
@example("[x]: javascript:alert(1)\n\n[x] ![x](data:image/svg+xml,<svg>)")
@example("![x](https://a.example/x.png) ![x](//a.example/x.png)")
@example('[x](https://a.example "t\\" onclick=alert(1)")')
@example("[\\```\n")
def test_no_text_makes_a_script_a_foreign_picture_or_another_element(text: str) -> None:
    made = shown(text, PICTURE)
    tree = html.fromstring(f"<body>{made}</body>") if made.strip() else html.fromstring("<p></p>")
    for element in tree.iter():
        assert element.tag in TAGS, element.tag
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert name != "style"
            if name == "href":
                assert re.match(r"https?://|mailto:|#|/media/aa/b\.jpg$|/@|/tags/", value), value
            if name == "src":
                assert value == PICTURE["url"]
        if str(element.get("href", "")).lower().startswith("http"):
            assert element.get("rel") == "nofollow ugc noopener"
            assert element.get("target") == "_blank"
        assert element.tag != "a" or not element.findall(".//a")


def test_the_sanitizer_removes_what_the_renderer_should_never_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = '<script>x</script><a href="javascript:x" onclick="y">z</a><img src="/a" onerror="x">'
    monkeypatch.setattr(articles._Renderer, "fence", lambda *_: bad)
    assert shown("```\nunique 1\n```") == '<a>z</a><img src="/a">'


def test_every_block_finds_its_own_direction() -> None:
    text = "# a\n\nb\n\n- c\n\n> d\n\n|e|\n|-|\n|f|\n\n```\ng\n```\n\nh[^1]\n\n[^1]: i"
    tree = html.fromstring(f"<body>{shown(text)}</body>")
    blocks = [one for one in tree.iter() if one.tag in ("h2", "p", "li", "th", "td", "pre", "ul")]
    assert len(blocks) >= 10
    assert all(one.get("dir") == "auto" for one in blocks)


@pytest.mark.parametrize("name", ["1", "77", "/media/aa/b.jpg", "/media/aa/b-s.jpg"])
def test_a_picture_of_the_post_is_shown_where_the_text_names_it(name: str) -> None:
    made = article(f"before\n\n![A *tall* tree]({name})\n\nafter", [PICTURE])
    assert '<img src="/media/aa/b.jpg" alt="A tall tree" width="30" height="20"' in made.html
    assert '<a class="pic" href="/media/aa/b.jpg"' in made.html
    assert made.used == {"77"}
    assert 'alt="A tree"' in shown(f"![]({name})", PICTURE)


def test_any_other_picture_is_a_link_or_its_words() -> None:
    made = shown("![x](https://a.example/x.png) ![y](/media/cc/d.jpg) ![z](2)", PICTURE)
    assert "<img" not in made
    assert (
        '<a href="https://a.example/x.png" rel="nofollow ugc noopener" target="_blank">x</a>'
        in made
    )
    assert "y z" in made


def test_headings_are_below_the_title_and_skip_no_level() -> None:
    made = article("## One\n\n##### Two *words*\n\n#\n\n# Three\n\n### Four\n\n###### Five")
    assert [tuple(one) for one in made.headings] == [
        ("part-1", 2, "One"),
        ("part-2", 3, "Two words"),
        ("part-3", 2, "Three"),
        ("part-4", 3, "Four"),
        ("part-5", 4, "Five"),
    ]
    assert '<h3 id="part-2" dir="auto">Two <em>words</em></h3>' in made.html


def test_footnotes_lead_there_and_back() -> None:
    made = shown("a[^x] b[^x]\n\n[^x]: note")
    for part in ('href="#note-1" id="ref-1"', 'id="ref-1-1"', 'id="note-1"', 'href="#ref-1-1"'):
        assert part in made
    with translation.override("zh-hans"):
        assert "回到正文" in shown("a[^x] b[^x]\n\n[^x]: note")


def test_the_alignment_of_a_column_is_a_class() -> None:
    made = shown("|a|\n|-:|\n|1|")
    assert '<td dir="auto" class="align-right">1</td>' in made
    assert '<div class="scrolls" tabindex="0" role="region" aria-label="Table"><table>' in made


def test_an_article_is_rendered_once() -> None:
    text = "rendered *once*"
    first = article(text, [PICTURE])
    assert article(text, [PICTURE]) is first
    assert article(text) is not first


@pytest.mark.parametrize(
    ("words", "minutes"),
    [("", 1), ("word " * 230, 1), ("word " * 231, 2), ("字" * 400, 1), ("字" * 4000, 10)],
)
def test_the_time_to_read_counts_words_and_characters(words: str, minutes: int) -> None:
    assert minutes_of(words) == minutes
