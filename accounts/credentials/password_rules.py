"""Rules of new passwords: PASSWORD_POLICY selects the classic one or that of ASVS 6.2.

The latter allows long passwords of any characters, without composition rules.
"""

import re
import unicodedata
from functools import cache

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.validators import UNPRINTABLE, Texts
from socialsite.core import site

SEED_MIN, SEED_MAX = 6, 16
PASSWORD = re.compile(rf"[A-Za-z0-9@#$&.]{{{SEED_MIN},{SEED_MAX}}}")
ASVS_MIN, ASVS_MAX = 8, 128
SOFTWARE = "socialsite"


def mistakes(value: str, username: str, nickname: str) -> Texts:
    """Return the mistakes of a password (A15, or ASVS) for a person with these names."""
    value = normal(value) if _asvs() else value
    if not _has_shape(value):
        return [hint()]
    if value.lower() in (username.lower(), nickname.lower()):
        return [_("The password must not be one of your names.")]
    if value.lower() in (SOFTWARE, site.known().name.lower()) or _is_common(value):
        return [_("This password is too common.")]
    return []


def normal(value: str) -> str:
    """Return a password in the one normal form (NFKC) that is hashed; keyboards write several."""
    return unicodedata.normalize("NFKC", value)


def hint() -> str:
    """Return the rule for new passwords in words."""
    if _asvs():
        lengths = {"min": ASVS_MIN, "max": ASVS_MAX}
        return _("%(min)s to %(max)s characters of any kind, spaces too.") % lengths
    lengths = {"min": SEED_MIN, "max": SEED_MAX}
    return _("%(min)s to %(max)s letters, digits and @ # $ & .") % lengths


def shortest() -> int:
    """Return the minimum length of a new password in characters."""
    return ASVS_MIN if _asvs() else SEED_MIN


def _asvs() -> bool:
    return str(settings.PASSWORD_POLICY) == "asvs"


def _has_shape(value: str) -> bool:
    if not _asvs():
        return PASSWORD.fullmatch(value) is not None
    printable = all(unicodedata.category(one) not in UNPRINTABLE for one in value)
    return ASVS_MIN <= len(value) <= ASVS_MAX and printable


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
