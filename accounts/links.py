"""What the links of our mails carry: signed, bound to what they are for, good for one use.

- A link to confirm an address names account and address, and the password and address the account
  had when it was made: once either has changed (its own use changes the address), it is void.
- A link to set a new password is Django's own token: void once the password, the address or an hour
  has passed.
- Whatever is wrong with a link is WrongLink.
"""

import secrets
from typing import NamedTuple

from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.utils.crypto import salted_hmac
from django.utils.http import base36_to_int, int_to_base36

from accounts.models import User
from socialsite.core.errors import WrongLink

EMAIL_SECONDS = 86_400
EMAIL_SALT = "accounts.links.email"


class EmailLink(NamedTuple):
    """What a link to confirm an address says."""

    user_id: int
    address: str
    state: str


def for_email(user: User, address: str) -> str:
    """Return the token that confirms an address of an account."""
    return signing.dumps([user.pk, address, _state(user)], salt=EMAIL_SALT)


def read_email(token: str) -> EmailLink:
    """Return what a token to confirm an address says. Raises WrongLink."""
    try:
        return EmailLink(*signing.loads(token, salt=EMAIL_SALT, max_age=EMAIL_SECONDS))
    except signing.BadSignature:
        raise WrongLink from None


def confirming(token: str) -> EmailLink:
    """Return what a token to confirm an address says, if it still can be used. Raises WrongLink."""
    link = read_email(token)
    user = User.objects.filter(pk=link.user_id).first()
    if user is None or not fits(link, user):
        raise WrongLink
    return link


def fits(link: EmailLink, user: User) -> bool:
    """Tell whether an account is still as it was when the link was made."""
    return user.is_active and secrets.compare_digest(link.state, _state(user))


def _state(user: User) -> str:
    return salted_hmac(EMAIL_SALT, f"{user.password} {user.email}", algorithm="sha256").hexdigest()


def for_recovery(user: User) -> str:
    """Return the token that sets a new password."""
    return f"{int_to_base36(user.pk)}-{default_token_generator.make_token(user)}"


def recovering(token: str) -> User:
    """Return the person of a token to set a new password. Raises WrongLink."""
    number, _, _rest = token.partition("-")
    try:
        user = User.objects.active().filter(pk=base36_to_int(number)).first()
    except (ValueError, OverflowError):
        raise WrongLink from None
    if user is None or not recovers(token, user):
        raise WrongLink
    return user


def recovers(token: str, user: User) -> bool:
    """Tell whether a token to set a new password is one of this account, as it is now."""
    rest = token.partition("-")[2]
    return user.is_active and default_token_generator.check_token(user, rest)
