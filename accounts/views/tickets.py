"""Tickets in forms: they prove that a person's password or passkey was checked just now.

A ticket serves one purpose: that for an appeal does not log anybody in.
"""

import secrets
from typing import Literal, NamedTuple

from django.core import signing
from django.utils.crypto import salted_hmac

from accounts.models import User

Purpose = Literal["login-code", "appeal", "reopen"]


class Holder(NamedTuple):
    """The person of a ticket, whether the second factor was checked too, and the passkey or 0."""

    user: User
    coded: bool
    passkey: int = 0


def for_person(user: User, purpose: Purpose, *, coded: bool = False, passkey: int = 0) -> str:
    """Return a ticket which proves that this person's password, or passkey, was just checked."""
    claims = {"user": user.pk, "password": _password_hash(user), "coded": coded}
    if passkey:
        claims["passkey"] = passkey
    return signing.dumps(claims, salt=_salt(purpose))


def holder_of(ticket: str, purpose: Purpose, seconds: int) -> Holder | None:
    """Return whose ticket it is, if it is not older than this and still valid."""
    try:
        claims = signing.loads(ticket, salt=_salt(purpose), max_age=seconds)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=claims["user"]).first()
    if user is None or not secrets.compare_digest(claims["password"], _password_hash(user)):
        return None
    return Holder(user, claims.get("coded", False), claims.get("passkey", 0))


def _salt(purpose: Purpose) -> str:
    return f"accounts.{purpose}"


def _password_hash(user: User) -> str:
    return salted_hmac("accounts.tickets", user.password, algorithm="sha256").hexdigest()
