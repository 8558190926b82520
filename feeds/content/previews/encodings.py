"""Find the encoding of a page of another site, and decode it.

The first of these counts: a byte order mark, the HTTP header, a `meta` element, an XML declaration.
A page without any is UTF-8 if it is valid UTF-8, and windows-1252 otherwise. Browsers do the same,
except that they search only the first 1,024 bytes for a `meta`, within scripts too.
"""

import codecs
import re

import webencodings

from feeds.content.previews import markup

WINDOWS_1252 = webencodings.lookup("windows-1252")
# In the standard of browsers every byte has a character in windows-1252; five have none in Python.
_CHARACTERS = {
    byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x80, 0xA0)
}
_CHARSET = re.compile(
    r"""charset \s*+ = \s*+ (?: "([^"]*+)" | '([^']*+)' | ([^\s;"'][^\s;]*+) )""",
    re.VERBOSE | re.IGNORECASE,
)
_XML = re.compile(
    rb"""<\?xml (?=\s) [^>]*? \s encoding \s*+ = \s*+ (?: "([^"<>]*+)" | '([^'<>]*+)' )""",
    re.VERBOSE,
)
_XML_MAX = 1024  # bytes of an XML declaration
_UTF_16 = {b"<\0?\0x\0": "utf-16le", b"\0<\0?\0x": "utf-16be"}


def decoded(body: bytes, content_type: str, *, cut: bool = False) -> str:
    """Return the text of a page. `cut` is whether only the beginning of the page was read."""
    encoding = (
        webencodings.lookup(_of_header(content_type))
        or _of_meta(body)
        or _of_xml(body)
        or (webencodings.UTF8 if _is_utf8(body, cut=cut) else WINDOWS_1252)
    )
    # A byte order mark counts more than the encoding that is given here.
    text, used = webencodings.decode(body, encoding)
    if used.name == "replacement":  # the name of encodings that browsers refuse to read
        return ""
    return body.decode("latin-1").translate(_CHARACTERS) if used is WINDOWS_1252 else text


def _of_header(content_type: str) -> str:
    """Return the parameter `charset` of a header, or an empty text."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'")
    return ""


def _of_meta(body: bytes) -> webencodings.Encoding | None:
    """Return the encoding in the first `meta` element that has a known one.

    Its name is in ASCII, so a page in UTF-16 is in another encoding than the element says.
    """
    for name, attributes, _ in markup.elements(body.decode("latin-1")):
        if name != "meta":
            continue
        label = attributes.get("charset", "")
        if not label and attributes.get("http-equiv", "").strip().lower() == "content-type":
            match = _CHARSET.search(attributes.get("content", ""))
            label = next(filter(None, match.groups()), "") if match else ""
        if encoding := _readable(label):
            return encoding
    return None


def _of_xml(body: bytes) -> webencodings.Encoding | None:
    """Return the encoding in the XML declaration at the beginning of a page."""
    if body[:6] in _UTF_16:
        return webencodings.lookup(_UTF_16[body[:6]])
    match = _XML.match(body[:_XML_MAX])
    return _readable((match[1] or match[2] or b"").decode("latin-1")) if match else None


def _readable(label: str) -> webencodings.Encoding | None:
    """Return the encoding of a label that was read in ASCII."""
    encoding = webencodings.lookup(label)
    if encoding and encoding.name in ("utf-16le", "utf-16be"):
        return webencodings.UTF8
    return WINDOWS_1252 if encoding and encoding.name == "x-user-defined" else encoding


def _is_utf8(body: bytes, *, cut: bool) -> bool:
    """Return whether a page is valid UTF-8, except for a character that ends after a cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body, final=not cut)
    except UnicodeDecodeError:
        return False
    return True
