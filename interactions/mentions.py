"""People named in a text as `@username`: one reading of it for links and for notifications.

- A name stands alone: `a@bob1`, `@bob1@elsewhere`, `@bob_1` and what lies inside an address
  (`https://x.example/@bob1`) name nobody here.
- Whether there is such a person is not asked: that is up to whoever tells them.
"""

import re
from collections.abc import Iterator

# Of one text at most so many people are told: beyond, a text is a leaflet.
NAMED_MAX = 10

# Addresses are passed over as a whole. Usernames are those of `accounts.rules` (A16).
_TOKEN = re.compile(r"https?://\S+|(?<![A-Za-z0-9_@/])@([A-Za-z0-9]{4,16})(?![A-Za-z0-9_@])")


# What stands at the end of a text that was cut, and may be the half of a name or of an address.
_HALF = re.compile(r"[!-~]*(?:@|://)[!-~]*$")


def beginning(text: str, most: int) -> str:
    """Return at most so many characters of a text, none of them half a name or address."""
    return text if len(text) <= most else _HALF.sub("", text[:most])


def usernames(text: str) -> list[str]:
    """Return the keys (lower-case usernames) of people named in a text, each once, in order.

    At most NAMED_MAX of them.
    """
    if "@" not in text:
        return []
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(text):
        if match[1]:
            found[match[1].lower()] = None
            if len(found) == NAMED_MAX:
                break
    return list(found)


def pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield a text in pieces: (what it says, the username that it names or None)."""
    end = 0
    for match in _TOKEN.finditer(text):
        if match[1]:
            yield text[end : match.start()], None
            yield match[0], match[1]
            end = match.end()
    yield text[end:], None
