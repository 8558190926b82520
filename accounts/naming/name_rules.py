"""Rules of usernames and nicknames; NAME_POLICY selects the rule of nicknames.

Character classes are spelled out and used with `fullmatch`: `\\d` and `isdigit` accept full-width
digits, and `$` accepts a trailing newline.
"""

import re
from collections.abc import Iterable

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.naming import lookalikes, open_nicknames
from accounts.validators import Texts

# 〇, Extension A, Unified Ideographs, Extensions B to H: the characters of names. One code point
# counts as one character, also above U+FFFF.
HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"
USERNAME = re.compile(rf"[A-Za-z0-9]{{{User.NAME_MIN},{User.NAME_MAX}}}")
NICKNAME = re.compile(rf"[A-Za-z0-9{HAN}]{{{User.NAME_MIN},{User.NAME_MAX}}}")
NAME_LENGTHS = {"min": User.NAME_MIN, "max": User.NAME_MAX}
DIGITS = re.compile(r"[0-9]+")

# Names that could be mistaken for a page, a role or the site itself; compared in lower case.
_RESERVED = """
    about abuse accent account accounts admin administrator announcements anonymous blocked
    bookmarks comments completions devices docs drafts email emoji everyone favicon feed feeds
    healthz help home hostmaster i18n info login logo logout mail manifest media metrics moderator
    nobody noreply notifications null oembed official offline password post postmaster posts preview
    privacy profile readyz recommended recover register report reports robots root rules search
    security settings sitemap socialsite staff static suggestions support system tags terms trending
    undefined user username users videos webmaster welcome
"""
RESERVED = frozenset(_RESERVED.split())


def username(value: str) -> Texts:
    """Return the mistakes of a username; none when it is valid."""
    if not USERNAME.fullmatch(value):
        return [_wrong_length(value) or _("Use only letters (A-Z, a-z) and digits.")]
    if value.lower() in RESERVED:
        return [_("This name is reserved.")]
    return []


def nickname(value: str) -> Texts:
    """Return the mistakes of a nickname in its normal form."""
    if _open_names():
        return open_nicknames.mistakes(value)
    if not NICKNAME.fullmatch(value):
        return [_wrong_length(value) or _("Use only Chinese characters, letters and digits.")]
    if DIGITS.fullmatch(value):
        return [_("It must not consist of digits only.")]
    return []


def normal_nickname(value: str) -> str:
    """Return a nickname as it is stored."""
    return open_nicknames.normal(value) if _open_names() else value


def nickname_hint() -> str:
    """Return the rule for nicknames in words."""
    if _open_names():
        return open_nicknames.hint()
    return (
        _("%(min)s to %(max)s Chinese characters, letters and digits, not only digits.")
        % NAME_LENGTHS
    )


def _wrong_length(name: str) -> str:
    """Return that a name is too short or too long, in words; "" if its length is right."""
    if len(name) < User.NAME_MIN:
        return _("At least %(limit)s characters.") % {"limit": User.NAME_MIN}
    if len(name) > User.NAME_MAX:
        return _("At most %(limit)s characters.") % {"limit": User.NAME_MAX}
    return ""


def _open_names() -> bool:
    return str(settings.NAME_POLICY) == "open"


def like_staff(value: str, staff: Iterable[str]) -> Texts:
    """Return the mistake of a nickname that looks like a role or like one of these names.

    Only open names are checked: the classic rule leaves little to imitate.
    """
    if not _open_names():
        return []
    if lookalikes.names_staff(value):
        return [_("This name could be mistaken for a role of the site.")]
    looks = lookalikes.skeleton(value)
    if looks and any(looks == lookalikes.skeleton(name) for name in staff):
        return [_("This name looks like that of somebody who runs the site.")]
    return []
