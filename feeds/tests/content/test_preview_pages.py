"""The parts of a page that a preview reads, and the encoding in which it reads them."""

import codecs
import io

import pytest
from PIL import Image

from feeds.content.previews import pages
from feeds.tests.content.sites import Site

pytestmark = pytest.mark.usefixtures("previews_on")
OTHER = "<title>Wrong</title><meta property=og:title content=Wrong>"


def title_of(site: Site, page: str | bytes, kind: str = "text/html") -> str:
    found = pages.read(site.page("/x", page, kind))
    return found.title if found else ""


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- {} -->",
        "<!-- > {} --!>",
        "<!-- {}",
        "<!doctype html><!----><!-- {} -->",
        "<script>'{}'</script>",
        "<script><!-- <script>{}</script> --></script>",
        "<style>/* {} */</style>",
        "<template>{}</template>",
        "<template><template></template>{}</template>",
        "<template><svg></svg>{}</template>",
        "<textarea>{}</textarea>",
        "<noscript>{}</noscript>",
        "<iframe>{}</iframe>",
        "<xmp>{}</xmp>",
        "<p title='{}'>",
        '<meta name=keywords content="{}">',
    ],
)
def test_elements_that_a_browser_does_not_find_are_not_read(site: Site, hidden: str) -> None:
    page = hidden.format(OTHER)
    assert title_of(site, page) == ""
    if hidden != "<!-- {}":
        assert title_of(site, f"{page}<title>Right</title>") == "Right"


@pytest.mark.parametrize(
    "hidden",
    [
        "<svg><title>Wrong</title></svg>",
        "<svg/><svg><g><title>Wrong</title></g></svg>",
        "<svg><path/><desc>x</desc><title>Wrong</title></svg>",
        "<svg><a><title>Wrong</title></a></svg>",
        "<math><title>Wrong</title></math>",
    ],
)
def test_titles_of_drawings_are_not_titles_of_the_page(site: Site, hidden: str) -> None:
    assert title_of(site, hidden) == ""
    assert title_of(site, f"{hidden}<title>Right</title>") == "Right"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>A <b>c</b></title>", "A <b>c</b>"),
        ("<title>A <!-- c --></title>", "A <!-- c -->"),
        ("<title>5 &lt; 6 &amp;amp; 7</title>", "5 < 6 &amp; 7"),
        ("<title/>A</title>", "A"),
        ("<title>A</title ><title>B</title>", "A"),
        ("<title a='>'>A</title>", "A"),
        ("<body><p><title>A</title>", "A"),
        ("<svg><foreignObject><title>A</title></foreignObject></svg>", "A"),
        ("<svg><p><title>A</title>", "A"),
        ("<svg><var><title>A</title>", "A"),
        ("<svg><g><meta property=og:title content=A>", "A"),
        ("</template></svg><title>A</title>", "A"),
        ('<meta property="og:title" content="5 < 6">', "5 < 6"),
        ("<meta property='og:title' content='<b>A</b>'>", "<b>A</b>"),
        ("<meta property=og:title content=A content=B>", "A"),
        ("<meta property=og:title property=og:x content=A>", "A"),
        ("<meta name=x property=og:title content=A>", "A"),
        ("<meta name=og:title property=x content=A>", "A"),
        ("<meta\nproperty = og:title\tcontent = A/>", "A/"),
        ("<meta/property='og:title'/content='A'/>", "A"),
        ("<meta property=og:title data-content=B content=A>", "A"),
        ("<p>" * 3000 + "<title>A</title>", "A"),
    ],
)
def test_titles_are_read_as_browsers_read_them(site: Site, page: str, title: str) -> None:
    assert title_of(site, page) == title


@pytest.mark.parametrize(
    ("head", "image", "path"),
    [
        ("", "/a.png", "/a.png"),
        ("", " /a.png\n", "/a.png"),
        ("", "/a b.png", "/a%20b.png"),
        ("", "/a\tb\n.png", "/ab.png"),
        ("<base href=/files/>", "a.png", "/files/a.png"),
        ("<base href=' /my files/ '>", "a.png", "/my%20files/a.png"),
        ("<base target=_top><base href=/one/><base href=/two/>", "a.png", "/one/a.png"),
        ("<template><base href=/two/></template>", "a.png", "/dir/a.png"),
        ("<!-- <base href=/two/> -->", "a.png", "/dir/a.png"),
        ("<base href=javascript:x>", "a.png", "/dir/a.png"),
        ("<base href=http://[>", "a.png", "/dir/a.png"),
        ("<base href=/files/>", "ROOT/a.png", "/a.png"),
        ("<base href=ROOT/files/>", "a.png", "/files/a.png"),
    ],
)
def test_the_address_of_a_picture_is_read_as_browsers_read_it(
    site: Site, head: str, image: str, path: str
) -> None:
    out = io.BytesIO()
    Image.new("RGB", (1200, 630), "teal").save(out, "PNG")
    site.page(path, out.getvalue(), "image/png")
    page = f'{head}<title>T</title><meta property=og:image content="{image}">'
    found = pages.read(site.page("/dir/page", page.replace("ROOT", site.root)))
    assert found is not None
    assert site.asked == ["/dir/page", path]
    assert found.picture


CYRILLIC = "<title>Привет</title>"
LATIN = "<title>Caf\xe9 \u2019</title>"
XML = '<?xml version="1.0" encoding="{}"?>'
CONTENT_TYPE = '<meta http-equiv="Content-Type" content="text/html; charset={}">'


@pytest.mark.parametrize(
    "before",
    [
        "<meta charset=koi8-r>",
        "<meta charset = ' KOI8-R '>",
        "<META CHARSET=koi8-r charset=utf-8>",
        CONTENT_TYPE.format("koi8-r"),
        CONTENT_TYPE.format(" koi8-r ; x=y"),
        CONTENT_TYPE.format("'koi8-r'"),
        CONTENT_TYPE.replace("charset=", "charset = ").format("koi8-r"),
        "<meta charset=unknown><meta charset=koi8-r>",
        "<meta name=x content='text/html; charset=utf-8'><meta charset=koi8-r>",
        "<script charset=utf-8></script><meta charset=koi8-r>",
        "<script>x = '<meta charset=utf-8>'</script><meta charset=koi8-r>",
        "<!-- <meta charset=utf-8> --><meta charset=koi8-r>",
        "<template><meta charset=utf-8></template><meta charset=koi8-r>",
        " " * 5000 + "<meta charset=koi8-r>",
        XML.format("koi8-r"),
        XML.replace('"', "'").format("KOI8-R"),
        XML.format("utf-8") + "<meta charset=koi8-r>",
    ],
)
def test_a_page_is_read_in_the_encoding_that_it_declares(site: Site, before: str) -> None:
    assert title_of(site, (before + CYRILLIC).encode("koi8-r")) == "Привет"
    if "meta" in before:
        assert title_of(site, (CYRILLIC + before).encode("koi8-r")) == "Привет"


@pytest.mark.parametrize(
    ("kind", "body", "title"),
    [
        # The byte order mark counts more than the header, and the header more than the page.
        ("text/html; charset=koi8-r", codecs.BOM_UTF8 + CYRILLIC.encode(), "Привет"),
        ("text/html", codecs.BOM_UTF16_LE + CYRILLIC.encode("utf-16le"), "Привет"),
        ("text/html; charset=utf-8", codecs.BOM_UTF16_BE + CYRILLIC.encode("utf-16be"), "Привет"),
        ("text/html; charset=utf-16le", CYRILLIC.encode("utf-16le"), "Привет"),
        ("text/html;charset=koi8-r", f"<meta charset=utf-8>{CYRILLIC}".encode("koi8-r"), "Привет"),
        ('text/html; x=y; Charset="KOI8-R"', CYRILLIC.encode("koi8-r"), "Привет"),
        ("text/html; xcharset=koi8-r", CYRILLIC.encode(), "Привет"),
        (
            "text/html; charset=no; y=z",
            f"<meta charset=koi8-r>{CYRILLIC}".encode("koi8-r"),
            "Привет",
        ),
        # A page that is read as ASCII is not in UTF-16.
        ("text/html", f"<meta charset=utf-16>{CYRILLIC}".encode(), "Привет"),
        ("text/html", XML.format("utf-16").encode() + CYRILLIC.encode(), "Привет"),
        ("text/html", (XML.format("utf-16") + CYRILLIC).encode("utf-16le"), "Привет"),
        ("text/html", (XML.format("utf-16") + CYRILLIC).encode("utf-16be"), "Привет"),
        ("text/html", f"<meta charset=x-user-defined>{LATIN}".encode("cp1252"), "Caf\xe9 \u2019"),
        # Without a label.
        ("text/html", CYRILLIC.encode(), "Привет"),
        ("text/html", LATIN.encode("cp1252"), "Caf\xe9 \u2019"),
        ("text/html", b"<title>Caf\xe9</title>", "Caf\xe9"),
        ("text/html", b"<title>Caf\xe9", "Caf\xe9"),
        ("text/html", b"<title>a\x81b</title>", "ab"),
        (
            "application/xhtml+xml",
            XML.format("koi8-r").encode() + CYRILLIC.encode("koi8-r"),
            "Привет",
        ),
        ("text/html; charset=latin1", b"<title>\x80\x93</title>", "\u20ac\u201c"),
        ("text/html; charset=iso-2022-kr", b"<title>x</title>", ""),
    ],
)
def test_the_surest_sign_of_an_encoding_counts(
    site: Site, kind: str, body: bytes, title: str
) -> None:
    assert title_of(site, body, kind) == title


@pytest.mark.parametrize("cut", range(3))
def test_a_character_that_is_cut_at_the_limit_does_not_change_the_encoding(
    site: Site, cut: int
) -> None:
    page = CYRILLIC + "x" * cut
    assert title_of(site, page + "好" * (pages.MAX_BYTES // 3)) == "Привет"
