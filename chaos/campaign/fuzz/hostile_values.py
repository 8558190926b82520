"""Hostile values: texts of every script, odd characters, long repeats, wrong types, bad ids."""

import json
import random
import string
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

from chaos.campaign.journal import INJECTED

# Each line of the texts of every script is a range of this many code points. No block is smaller
# than 16, and smaller blocks share a line with others.
RANGE = 128
UNSEEN = ("Cc", "Cs", "Cn")
ARTICLE_MAX, POST_MAX = 50_000, 2_000

PROBES = [
    f"{INJECTED} onx=1>",
    f'"{INJECTED}>',
    f"'>{INJECTED}>",
    f"</textarea></title></script>{INJECTED}>",
    f"https://a.example/{INJECTED}>",
    f"www.a.example/?{INJECTED}>&amp;lt;",
    f"&lt;zzx&gt; {INJECTED}>",
    "{{7*7}} {% raw %} ${7*7} #{7*7} <%= 7*7 %>",
    "%s %d %n {0} {a.b} {0.__class__}",
    "' OR '1'='1'; DROP TABLE accounts_user; --",
    "../../../../etc/passwd",
    "javascript:alert(1)",
    "https://javascript:alert(1)@a.example/x.mp4",
    "data:text/html;base64,PHNjcmlwdD4=",
    "=cmd|'/c calc'!A1",
    "\r\nX-Injected: 1\r\n\r\n",
    "%0d%0aX-Injected:%201",
    "a\x00b",
    "\ud800",
    "\udc00\ud800 x",
    "\ufffe\uffff\U0001fffe",
    "\u202ebidi \u202dtext\u202c \u2066x\u2069",
    "\u200b\u200c\u200d\ufeff\u2060",
    "a" + "\u0301" * 300,
    "\u0e47" * 200,
    "👩‍👩‍👧‍👦" * 40,
    "🏳️‍🌈🇩🇪" * 60,
    "ﷺ" * 150,
    "𝕊𝕠𝕔𝕚𝕒𝕝",
    "İıſŉ ﬀ ß ẞ",
    "١٢٣ ²³ １２３ ⅷ",
    "\t\n\v\f\r\x1b[31m\x07\x7f\x85\u2028\u2029",
    "null",
    "undefined",
    "NaN",
    "-0",
    "1e309",
    "true",
    "[]",
    "{}",
    "@",
    "#",
    "@@@@",
    "@ @a @ab @abcd @abcdefghijklmnopqrstuvwxyz",
    "x@y.z a@b.example mailto:a@b.example",
    "http://[::1]/ http://a.example:99999/ http://用户.例え.jp/路?x=1#y",
    "http://" + "a." * 120 + "example",
]
HEADS = ("", "x@y ", "http://a.b/", "www.a.b", "@", "#", "https://", "(", "&", "a ", "<")
TAILS = ("", "a", "a)", " x", ".", "@", ";", "\n")
REPEATED = (*string.punctuation, "()", ")(", "[]", "://", "@a", "#a", "&amp;", "a.", "a@", " ")
REPEATED += ("\u0301", "\u200d", "\n", "http://", "www.", "<a ", "((", "))", "_*", ".)", ",.")
BAD_IDS = ["abc", "-1", "0", "0x1", "9" * 19, "9" * 20, "9" * 400, "1.5", "١٢", "%00", "null"]
BAD_IDS += [str(2**63 - 1), str(2**63), str(2**64), "1e3", " 1", "1 ", "+1", "1,2", "me", ".."]
BAD_IDS += ["' OR 1=1 --", "é", "x" * 300, "/", "//", ".", "%2e%2e%2f", "a/b", "\ud800", "🐱"]
BAD_CURSORS = ["nonsense", "AAAA", "A" * 3000, "🐱", "=", "0", "-1", "\x00", "eyJhIjoxfQ=="]
BIG = [10**18, 2**31, 2**63 - 1, 2**63, 10**30, 10**400, -1, -(2**63), 0]


def assigned() -> Iterator[str]:
    """Yield every assigned character of Unicode, in lines of one range each."""
    for start in range(0, sys.maxunicode + 1, RANGE):
        line = "".join(
            chr(point)
            for point in range(start, start + RANGE)
            if unicodedata.category(chr(point)) not in UNSEEN
        )
        if line.strip():
            yield line


def articles(lines: Iterator[str], limit: int = ARTICLE_MAX - 5000) -> Iterator[list[str]]:
    """Join lines into texts of about `limit` characters."""
    found, length = list[str](), 0
    for line in lines:
        found.append(line)
        length += len(line) + 1
        if length > limit:
            yield found
            found, length = [], 0
    if found:
        yield found


def costly(limit: int) -> Iterator[str]:
    """Yield texts that may slow down parsers of links, mentions and marks."""
    for repeated in REPEATED:
        for head in HEADS:
            for tail in TAILS[:4]:
                count = (limit - len(head) - len(tail)) // len(repeated)
                yield head + repeated * count + tail


class Dice(random.Random):
    """Random hostile values, repeatable by a seed."""

    any_json: tuple[Any, ...] = ()

    def script(self, length: int = 40) -> str:
        """Return a text with characters of a few ranges."""
        found = list[str]()
        while len(found) < length:
            start = self.choice((0x20, 0xA0, 0x370, 0x590, 0x900, 0x3040, 0x4E00, 0x1F300))
            start = start if self.random() < 0.5 else self.randrange(0x20, 0x1FBFF)
            for point in range(start, start + self.randrange(1, 12)):
                if unicodedata.category(chr(point)) not in UNSEEN:
                    found.append(chr(point))
        return "".join(found)

    def words(self, limit: int = 200) -> str:
        """Return a text that a person might write, in some script, with odd parts in it."""
        parts = [self.script(self.randrange(1, 30)) for _ in range(self.randrange(1, 4))]
        if self.random() < 0.5:
            parts.insert(self.randrange(len(parts) + 1), self.choice(PROBES))
        text = " ".join(parts).encode(errors="ignore").decode()
        return text.replace("\x00", "")[:limit] or "x"

    def hostile_text(self, limit: int = POST_MAX) -> str:
        """Return a text that no person would write."""
        kind = self.random()
        if kind < 0.5:
            return self.choice(PROBES)
        if kind < 0.6:
            return self.script(60)
        if kind < 0.9:
            length = self.choice((10, 300, limit - 1, limit, limit + 1, 2 * limit))
            head, tail = self.choice(HEADS), self.choice(TAILS)
            repeated = self.choice(REPEATED)
            return head + repeated * (length // len(repeated)) + tail
        return "".join(chr(self.randrange(0x110000)) for _ in range(self.randrange(1, 60)))

    def odd_value(self) -> Any:
        """Return a wrong value for a JSON field."""
        kind = self.random()
        if kind < 0.25:
            return self.choice(BIG)
        if kind < 0.5:
            return self.hostile_text()
        if kind < 0.6:
            return self.nested(self.choice((5, 31, 33, 200)))
        if kind < 0.8 and self.any_json:
            return self.choice(self.any_json)
        return self.choice(
            [None, True, False, 1.5, -0.0, 1e308, [], {}, [[]], [None], {"$gt": ""}, {"id": []}, ""]
        )

    def nested(self, depth: int) -> Any:
        """Return nested lists or objects."""
        found: Any = 1
        name = self.choice(("", "a"))
        for _ in range(depth):
            found = {name: found} if name else [found]
        return found

    def bad_id(self) -> str:
        """Return an invalid id."""
        return self.choice(BAD_IDS)

    def garbage(self) -> tuple[bytes, str]:
        """Return a body that is neither JSON nor a form, or has a wrong content type."""
        bodies = [
            b"",
            b"{",
            b"[]",
            b"null",
            b'"text"',
            b"\xff\xfe\x00{",
            b'{"a": NaN}',
            b'{"content": "\\ud800"}',
            b'{"a":1,"a":2}',
            b"[" * 5000,
            b'{"a":' * 3000,
            b'{"a":' + b"9" * 5000 + b"}",
            b"\xef\xbb\xbf{}",
            json.dumps({"x" * 3000: 1}).encode(),
            b"a=b&c=%ff&%00=1",
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n',
        ]
        kinds = ["application/json", "application/json; charset=utf-16", "text/plain", "x", ""]
        kinds += ["multipart/form-data; boundary=x", "multipart/form-data", "application/xml"]
        kinds += ["application/x-www-form-urlencoded", "multipart/form-data; boundary=" + "x" * 80]
        kind = "application/json" if self.random() < 0.6 else self.choice(kinds)
        return self.choice(bodies), kind

    def odd_header(self) -> tuple[str, str]:
        """Return a header that no client should send."""
        return self.choice(
            [
                ("Host", self.choice(["evil.example", "", "a b", "[::1", "x" * 300, "é", "a:b:c"])),
                (
                    "Accept-Language",
                    self.choice(["zh-Hans", "x" * 600, "*;q=9", "é", "-", "a" * 2]),
                ),
                ("Accept", self.choice(["text/html", "application/xml;q=2", "x" * 500, "é/é"])),
                ("Cookie", self.choice(["csrf=x", "a=" + "x" * 3000, "=;=;", "access=é", '"'])),
                ("Authorization", self.choice(["Bearer", "Bearer x", "Basic eDp5", "Bearer é"])),
                ("Content-Type", self.choice(["text/plain", "x", "application/json; charset=x"])),
                ("Idempotency-Key", self.choice(["", "x" * 101, "é", "a\tb", "k"])),
                ("If-Modified-Since", self.choice(["x", "Sun, 06 Nov 9999 08:49:37 GMT"])),
                ("Range", self.choice(["bytes=0-0", "bytes=9-1", "bytes=-", "x", "bytes=0-9e9"])),
                ("HX-Request", "true"),
                ("HX-Current-URL", self.choice(["x", "http://[", "https://a.example/é"])),
                ("X-Forwarded-For", self.choice(["1.2.3.4", "x", "::1, é", ", ,", "9" * 300])),
                ("X-Forwarded-Proto", self.choice(["https", "x", "http,https"])),
                ("X-Forwarded-Host", "evil.example"),
                ("User-Agent", self.choice(["", "x" * 3000, "Mozilla/5.0 é", "\x7f"])),
                ("Referer", self.choice(["x", "http://[", "https://evil.example/"])),
                ("Origin", self.choice(["null", "https://evil.example", "x", "http://["])),
                ("X-HTTP-Method-Override", "DELETE"),
            ]
        )
