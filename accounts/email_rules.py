"""Rules of e-mail addresses."""

from collections.abc import Iterable
from contextlib import suppress

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.validators import Texts
from socialsite.core import site
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


def own_mistakes(value: str) -> Texts:
    """Return the mistakes of an address that a person gives as their own: also its domain."""
    wrong = mistakes(value)
    if wrong:
        return wrong
    here, domain = site.current(), normal(value).rpartition("@")[2]
    allowed = not here.domains_allowed or _is_of(domain, here.domains_allowed)
    if allowed and not _is_of(domain, here.domains_refused):
        return []
    return [_("The site takes no addresses of this domain.")]


def domains_of(text: str) -> tuple[list[str], list[str]]:
    """Return the domains in the lines of a text, as they are stored, and the lines that are none.

    An `@` before a domain, and blanks around it, do not matter.
    """
    found: list[str] = []
    wrong: list[str] = []
    for line in text.split():
        domain = normal(f"x@{line.removeprefix('@')}").removeprefix("x@")
        (wrong if mistakes(f"x@x.{domain}") else found).append(domain)
    return sorted(set(found)), wrong


def _is_of(domain: str, domains: Iterable[str]) -> bool:
    """Return whether a domain is one of these, or a subdomain of one."""
    return any(domain == one or domain.endswith(f".{one}") for one in domains)


def normal(value: str) -> str:
    """Return an address as it is stored: stripped, with the domain in ASCII and in lower case."""
    name, at, domain = value.strip(" ").rpartition("@")
    with suppress(ValueError):  # `email` rejects it
        domain = ascii_host(domain)
    return f"{name}{at}{domain.lower()}"
