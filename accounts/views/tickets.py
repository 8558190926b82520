"""Tickets in forms: they prove that a person's current password was entered correctly just now."""

import secrets

from django.core import signing
from django.utils.crypto import salted_hmac

from accounts.models import User

SALT = "accounts.login-code"


def for_person(user: User) -> str:
    """Return a ticket which proves that this person's password was just checked."""
    return signing.dumps({"user": user.pk, "password": _password_hash(user)}, salt=SALT)


def person_of(ticket: str, seconds: int) -> User | None:
    """Return the person of a ticket that is not older than this and still valid."""
    try:
        claims = signing.loads(ticket, salt=SALT, max_age=seconds)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=claims["user"]).first()
    if user is None or not secrets.compare_digest(claims["password"], _password_hash(user)):
        return None
    return user


def _password_hash(user: User) -> str:
    return salted_hmac(SALT, user.password, algorithm="sha256").hexdigest()
