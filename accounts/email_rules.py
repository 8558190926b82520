"""Rules of e-mail addresses."""

from contextlib import suppress

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.validators import Texts
from socialsite.core.text.urls import ascii_host


def mistakes(value: str) -> Texts:
    """Return the mistakes of an e-mail address."""
    value = normal(value)
    try:
        validate_email(value)
    except ValidationError:
        return [_("This is not an e-mail address.")]
    # Few servers accept names beyond ASCII; Django accepts some of them, such as a dotless i.
    if len(value) > User.EMAIL_MAX or not value.isascii():
        return [_("This is not an e-mail address.")]
    return []


def normal(value: str) -> str:
    """Return an address as it is stored: stripped, with the domain in ASCII and in lower case."""
    name, at, domain = value.strip(" ").rpartition("@")
    with suppress(ValueError):  # `email` rejects it
        domain = ascii_host(domain)
    return f"{name}{at}{domain.lower()}"
