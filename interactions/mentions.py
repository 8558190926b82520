"""People named in a text as `@username`, for notifications."""

from socialsite.core.spans import Kind, spans

# Of one text at most so many people are told: beyond, a text is a leaflet.
NAMED_MAX = 10


def usernames(text: str) -> list[str]:
    """Return the keys (lower-case usernames) of people named in a text, each once, in order.

    At most NAMED_MAX of them; whether there are such people is up to whoever notifies them.
    """
    if "@" not in text:
        return []
    found: dict[str, None] = {}
    for start, end, kind in spans(text):
        if kind is Kind.NAME:
            found[text[start + 1 : end].lower()] = None
            if len(found) == NAMED_MAX:
                break
    return list(found)
