"""What usernames, nicknames and passwords may be (A15-A17, T13).

Every class is spelled out and used with `fullmatch`: `\\d` and `isdigit` take full-width digits,
`$` takes a newline at the end.
"""

import re
from functools import cache

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
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
    """Return what is wrong with a username (A16); nothing when it is fine."""
    if not USERNAME.fullmatch(value):
        return [_("4 to 16 letters (A-Z, a-z) and digits.")]
    if value.lower() in RESERVED:
        return [_("This name is reserved.")]
    return []


def nickname(value: str) -> Texts:
    """Return what is wrong with a nickname (A17)."""
    if not NICKNAME.fullmatch(value):
        return [_("4 to 16 Chinese characters, letters and digits.")]
    if DIGITS.fullmatch(value):
        return [_("Not only digits.")]
    return []


def password(value: str, username: str, nickname: str) -> Texts:
    """Return what is wrong with a password (A15), for the person of these names."""
    if not PASSWORD.fullmatch(value):
        return [_("6 to 16 letters, digits and @ # $ & .")]
    if value.lower() in (username.lower(), nickname.lower()):
        return [_("The password must not be one of your names.")]
    if _is_common(value):
        return [_("Too many people use this password.")]
    return []


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
