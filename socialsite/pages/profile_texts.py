"""Texts about people on pages."""

from datetime import datetime

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from wcwidth import iter_graphemes


def month_of(moment: str) -> str:
    """Return the month and the year of an ISO time, in the reader's language."""
    return date_format(datetime.fromisoformat(moment), _("F Y"))


def link_text(address: str) -> str:
    """Return an https address as people read it."""
    return address.removeprefix("https://").removeprefix("www.").rstrip("/")


def initial(name: str) -> str:
    """Return the first visible character of a name, which an emoji may be."""
    return next(iter_graphemes(name), "").upper()
