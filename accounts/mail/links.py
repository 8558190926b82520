"""Tokens in mailed links: signed, bound to a purpose, valid for one use.

- A link that confirms an address names the account and the address. It is valid for a day, while
  the address waits for its confirmation, and void once the password changes: whoever knew the old
  one may have entered the address. The account then shows it as waiting, and sends a new link.
- A recovery link is Django's own token: void once the password or the address changes, or an hour
  has passed.
- Every invalid link raises WrongLink.
"""

from typing import NamedTuple

from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.http import base36_to_int, int_to_base36

from accounts import closings
from accounts.models import SignUpRequest, User
from socialsite.core.errors import WrongLink

EMAIL_SECONDS = 86_400
EMAIL_SALT = "accounts.links.waiting"


class EmailLink(NamedTuple):
    """Content of a link that confirms an address."""

    user_id: int
    address: str
    password: str


def for_email(user: User | SignUpRequest, address: str) -> str:
    """Return a token that confirms an address of an account or of a sign-up."""
    return signing.dumps([user.pk, address, _password_of(user)], salt=EMAIL_SALT)


def read_email(token: str) -> EmailLink:
    """Return the content of a confirmation token. Raises WrongLink."""
    try:
        return EmailLink(*signing.loads(token, salt=EMAIL_SALT, max_age=EMAIL_SECONDS))
    except signing.BadSignature:
        raise WrongLink from None


def confirming(token: str) -> EmailLink:
    """Return the content of a confirmation token that can still be used. Raises WrongLink."""
    link = read_email(token)
    found: User | SignUpRequest | None = SignUpRequest.objects.filter(pk=link.user_id).first()
    found = found or User.objects.filter(pk=link.user_id).first()
    if found is None or not fits(link, found):
        raise WrongLink
    return link


def fits(link: EmailLink, owner: User | SignUpRequest) -> bool:
    """Return whether the address still waits, and the password is that of the link."""
    same = constant_time_compare(link.password, _password_of(owner))
    return same and bool(link.address) and link.address == waiting_of(owner)


def waiting_of(owner: User | SignUpRequest) -> str:
    """Return the address that waits for its confirmation; empty for none."""
    if isinstance(owner, SignUpRequest):
        is_over = owner.is_confirmed or owner.state == SignUpRequest.State.REFUSED
        return "" if is_over else owner.email
    return owner.email_waiting if owner.is_active else ""


def _password_of(user: User | SignUpRequest) -> str:
    """Return what changes with the password, and tells nothing about it."""
    return salted_hmac(EMAIL_SALT, user.password).hexdigest()[:32]


def for_recovery(user: User) -> str:
    """Return a token that sets a new password."""
    return f"{int_to_base36(user.pk)}-{default_token_generator.make_token(user)}"


def recovering(token: str) -> User:
    """Return the person of a recovery token. Raises WrongLink."""
    number, _, _rest = token.partition("-")
    try:
        user = User.objects.filter(pk=base36_to_int(number)).first()
    except (ValueError, OverflowError):
        raise WrongLink from None
    if user is None or not recovers(token, user):
        raise WrongLink
    return user


def recovers(token: str, user: User) -> bool:
    """Return whether a recovery token is valid for this account as it is now.

    A closed account that can be taken back has one too; its person still has to log in for that.
    """
    rest = token.partition("-")[2]
    return closings.may_recover(user) and default_token_generator.check_token(user, rest)
