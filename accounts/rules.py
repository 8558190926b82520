"""What usernames, nicknames, passwords and e-mail addresses may be.

Every class is spelled out and used with `fullmatch`: `\\d` and `isdigit` take full-width digits,
`$` takes a newline at the end. PASSWORD_POLICY chooses between the seed's rule for passwords and
one that ASVS 6.2 asks for: long ones of anything, no composition.
"""

import re
import unicodedata
from functools import cache

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from socialsite.core.errors import RegMatchError

Texts = list[str | Promise]

# 〇, Extension A, Unified Ideographs, Extensions B to H: what names are written with. One code
# point counts as one character, also above U+FFFF.
HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"

USERNAME = re.compile(r"[A-Za-z0-9]{4,16}")
PASSWORD = re.compile(r"[A-Za-z0-9@#$&.]{6,16}")
NICKNAME = re.compile(rf"[A-Za-z0-9{HAN}]{{4,16}}")
DIGITS = re.compile(r"[0-9]+")
ASVS_MIN, ASVS_MAX = 8, 128
# Control characters, half surrogates, private and unassigned ones, breaks of lines and paragraphs.
UNPRINTABLE = frozenset(("Cc", "Cs", "Co", "Cn", "Zl", "Zp"))
SITE_NAME = "socialsite"
EMAIL_MAX = 254

# Names that a page, a role or the site itself could be mistaken for; compared in lower case.
_RESERVED = """
    about abuse account accounts admin administrator anonymous blocked comments devices docs
    everyone feed feeds healthz help home hostmaster info login logout mail media metrics moderator
    nobody noreply notifications null official password post postmaster posts privacy profile readyz
    recommended recover register root rules search security settings sitemap socialsite staff static
    support system terms undefined user username users webmaster
"""
RESERVED = frozenset(_RESERVED.split())


def username(value: str) -> Texts:
    """Return what is wrong with a username; nothing when it is fine."""
    if not USERNAME.fullmatch(value):
        return [_("4 to 16 letters (A-Z, a-z) and digits.")]
    if value.lower() in RESERVED:
        return [_("This name is reserved.")]
    return []


def nickname(value: str) -> Texts:
    """Return what is wrong with a nickname."""
    if not NICKNAME.fullmatch(value):
        return [_("4 to 16 Chinese characters, letters and digits.")]
    if DIGITS.fullmatch(value):
        return [_("Not only digits.")]
    return []


def password(value: str, username: str, nickname: str) -> Texts:
    """Return what is wrong with a password (A15, or ASVS), for the person of these names."""
    value = normal_password(value) if _asvs() else value
    if not _has_shape(value):
        return [password_hint()]
    if value.lower() in (username.lower(), nickname.lower()):
        return [_("The password must not be one of your names.")]
    if value.lower() == SITE_NAME or _is_common(value):
        return [_("Too many people use this password.")]
    return []


def normal_password(value: str) -> str:
    """Return a password as it is hashed: one form of what keyboards write in several (NFKC)."""
    return unicodedata.normalize("NFKC", value)


def password_hint() -> str | Promise:
    """Return what a new password may be, in words."""
    if _asvs():
        return _("8 to 128 characters of any kind, spaces too.")
    return _("6 to 16 letters, digits and @ # $ & .")


def password_min() -> int:
    """Return the least number of characters of a new password."""
    return ASVS_MIN if _asvs() else 6


def _asvs() -> bool:
    return str(settings.PASSWORD_POLICY) == "asvs"


def _has_shape(value: str) -> bool:
    if not _asvs():
        return PASSWORD.fullmatch(value) is not None
    printable = all(unicodedata.category(one) not in UNPRINTABLE for one in value)
    return ASVS_MIN <= len(value) <= ASVS_MAX and printable


def email(value: str) -> Texts:
    """Return what is wrong with an e-mail address."""
    value = normal_email(value)
    try:
        validate_email(value)
    except ValidationError:
        return [_("This is not an e-mail address.")]
    # Few servers take names beyond ASCII; Django lets some of those pass, dotless i among them.
    if len(value) > EMAIL_MAX or not value.rpartition("@")[0].isascii():
        return [_("This is not an e-mail address.")]
    return []


def normal_email(value: str) -> str:
    """Return an address as it is stored: without blanks around it, the domain in lower case."""
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
    """Django's list, loaded on first use."""
    return CommonPasswordValidator()


def check(**found: Texts) -> None:
    """Raise RegMatchError with the fields that have something wrong with them."""
    fields = {name: texts for name, texts in found.items() if texts}
    if fields:
        raise RegMatchError(fields=fields)
