"""Find the people named in a text as `@username`, for notifications and audiences."""

from socialsite.core.rate_limits import budgets
from socialsite.core.text.spans import Kind, has_at, spans


def usernames(text: str) -> list[str]:
    """Return the keys (lower-case usernames) of people named in a text, each once, in order.

    The budget `mentions` limits their number, against spam. The caller checks whether these people
    exist.
    """
    rate = budgets.MENTIONS.rate
    if not has_at(text):
        return []
    found: dict[str, None] = {}
    for start, end, kind in spans(text):
        if kind is Kind.NAME:
            found[text[start + 1 : end].lower()] = None
            if rate is not None and len(found) == rate.capacity:
                break
    return list(found)
