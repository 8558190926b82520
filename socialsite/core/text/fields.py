"""The check of a text that somebody enters in one field."""

from django.utils.translation import gettext_lazy as _

from socialsite.core.errors import InvalidInput, Text
from socialsite.core.text import clean


def checked(text: str, field: str, most: int, missing: Text | None = None) -> str:
    """Return a text as it is stored, with at most so many characters.

    Raises InvalidInput for this field; with `missing`, what it says, also for an empty text.
    """
    words = clean(text)
    if missing is not None and not words:
        raise InvalidInput(fields={field: [missing]})
    if len(words) > most:
        raise InvalidInput(fields={field: [_("At most %(limit)s characters.") % {"limit": most}]})
    return words
