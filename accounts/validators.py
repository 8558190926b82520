"""Rules of usernames, nicknames, passwords and e-mail addresses.

Character classes are spelled out and used with `fullmatch`: `\\d` and `isdigit` accept full-width
digits, and `$` accepts a trailing newline. PASSWORD_POLICY selects the classic rule or that of ASVS
6.2: long passwords of any characters, without composition rules. NAME_POLICY selects the rule of
nicknames.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.naming import lookalikes, open_policy
from socialsite.core.http.errors import RegMatchError
from socialsite.core.media import video_links

Texts = list[str | Promise]

# 〇, Extension A, Unified Ideographs, Extensions B to H: the characters of names. One code point
# counts as one character, also above U+FFFF.
HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"

USERNAME = re.compile(rf"[A-Za-z0-9]{{{User.NAME_MIN},{User.NAME_MAX}}}")
SEED_MIN, SEED_MAX = 6, 16
PASSWORD = re.compile(rf"[A-Za-z0-9@#$&.]{{{SEED_MIN},{SEED_MAX}}}")
NICKNAME = re.compile(rf"[A-Za-z0-9{HAN}]{{{User.NAME_MIN},{User.NAME_MAX}}}")
NAME_LENGTHS = {"min": User.NAME_MIN, "max": User.NAME_MAX}
DIGITS = re.compile(r"[0-9]+")
ASVS_MIN, ASVS_MAX = 8, 128
# Control characters, surrogates, private and unassigned characters, line and paragraph separators.
UNPRINTABLE = frozenset(("Cc", "Cs", "Co", "Cn", "Zl", "Zp"))
# Characters that a text in one line must not have; Cf are formats, such as overrides of direction.
CONTROLS = UNPRINTABLE | {"Cf"}
SITE_NAME = "socialsite"

# Names that could be mistaken for a page, a role or the site itself; compared in lower case.
_RESERVED = """
    about abuse account accounts admin administrator anonymous blocked comments devices docs
    everyone feed feeds healthz help home hostmaster info login logout mail media metrics moderator
    nobody noreply notifications null official password post postmaster posts privacy profile readyz
    recommended recover register root rules search security settings sitemap socialsite staff static
    support system terms undefined user username users webmaster
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
        return open_policy.mistakes(value)
    if not NICKNAME.fullmatch(value):
        return [_wrong_length(value) or _("Use only Chinese characters, letters and digits.")]
    if DIGITS.fullmatch(value):
        return [_("It must not consist of digits only.")]
    return []


def _wrong_length(name: str) -> str:
    """Return that a name is too short or too long, in words; "" if its length is right."""
    if len(name) < User.NAME_MIN:
        return _("At least %(limit)s characters.") % {"limit": User.NAME_MIN}
    if len(name) > User.NAME_MAX:
        return _("At most %(limit)s characters.") % {"limit": User.NAME_MAX}
    return ""


def password(value: str, username: str, nickname: str) -> Texts:
    """Return the mistakes of a password (A15, or ASVS) for a person with these names."""
    value = normal_password(value) if _asvs() else value
    if not _has_shape(value):
        return [password_hint()]
    if value.lower() in (username.lower(), nickname.lower()):
        return [_("The password must not be one of your names.")]
    if value.lower() == SITE_NAME or _is_common(value):
        return [_("This password is too common.")]
    return []


def normal_password(value: str) -> str:
    """Return a password in the one normal form (NFKC) that is hashed; keyboards write several."""
    return unicodedata.normalize("NFKC", value)


def password_hint() -> str:
    """Return the rule for new passwords in words."""
    if _asvs():
        lengths = {"min": ASVS_MIN, "max": ASVS_MAX}
        return _("%(min)s to %(max)s characters of any kind, spaces too.") % lengths
    lengths = {"min": SEED_MIN, "max": SEED_MAX}
    return _("%(min)s to %(max)s letters, digits and @ # $ & .") % lengths


def password_min() -> int:
    """Return the minimum length of a new password in characters."""
    return ASVS_MIN if _asvs() else SEED_MIN


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


def _asvs() -> bool:
    return str(settings.PASSWORD_POLICY) == "asvs"


def _has_shape(value: str) -> bool:
    if not _asvs():
        return PASSWORD.fullmatch(value) is not None
    printable = all(unicodedata.category(one) not in UNPRINTABLE for one in value)
    return ASVS_MIN <= len(value) <= ASVS_MAX and printable


def email(value: str) -> Texts:
    """Return the mistakes of an e-mail address."""
    value = normal_email(value)
    try:
        validate_email(value)
    except ValidationError:
        return [_("This is not an e-mail address.")]
    # Few servers accept names beyond ASCII; Django accepts some of them, such as a dotless i.
    if len(value) > User.EMAIL_MAX or not value.rpartition("@")[0].isascii():
        return [_("This is not an e-mail address.")]
    return []


def normal_email(value: str) -> str:
    """Return an address as it is stored: stripped, with the domain in lower case."""
    name, at, domain = value.strip(" ").rpartition("@")
    return f"{name}{at}{domain.lower()}"


def _is_common(value: str) -> bool:
    try:
        _common_passwords().validate(value)
    except ValidationError:
        return True
    return False


@cache
def _common_passwords() -> CommonPasswordValidator:
    """Return Django's list of common passwords, loaded on first use."""
    return CommonPasswordValidator()


def nickname_hint() -> str:
    """Return the rule for nicknames in words."""
    if _open_names():
        return open_policy.hint()
    return (
        _("%(min)s to %(max)s Chinese characters, letters and digits, not only digits.")
        % NAME_LENGTHS
    )


# --- the other fields of a profile ----------------------------------------------------------------
def normal_nickname(value: str) -> str:
    """Return a nickname as it is stored."""
    return open_policy.normal(value) if _open_names() else value


def key_of(nickname: str) -> str:
    """Return a nickname as it is searched for."""
    return nickname.lower()[: User.NICKNAME_MAX]


def one_line(text: str) -> str:
    """Return a text in one line, without invisible control characters."""
    shown = (" " if unicodedata.category(c) in CONTROLS else c for c in text)
    return unicodedata.normalize("NFC", " ".join("".join(shown).split()))


def links(values: Sequence[str]) -> Texts:
    """Return the mistakes of the links of a profile."""
    if len(values) > User.LINKS_MAX:
        return [_("At most %(limit)s links.") % {"limit": User.LINKS_MAX}]
    if any(len(value) > User.LINK_MAX for value in values):
        return _too_long(User.LINK_MAX, "x" * (User.LINK_MAX + 1))
    # The same rule as for videos: no user name or password, and a host that is public in form.
    if not all(video_links.host_of(value) for value in values):
        return [_("A link must begin with https:// and have the name of a public site.")]
    return []


def language(value: str) -> Texts:
    """Return the mistakes of the language of an account; "" means none."""
    if value in ("", *dict(settings.LANGUAGES)):
        return []
    return [_("The site does not have this language.")]


def _too_long(limit: int, value: str) -> Texts:
    return [_("At most %(limit)s characters.") % {"limit": limit}] if len(value) > limit else []


PROFILE: Mapping[str, Callable[[Any], Texts]] = {
    "bio": partial(_too_long, User.BIO_MAX),
    "links": links,
    "place": partial(_too_long, User.PLACE_MAX),
    "pronouns": partial(_too_long, User.PRONOUNS_MAX),
    "language": language,
}


def check(**found: Texts) -> None:
    """Raise RegMatchError with the fields that have mistakes."""
    fields = {name: texts for name, texts in found.items() if texts}
    if fields:
        raise RegMatchError(fields=fields)
