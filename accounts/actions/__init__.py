"""Writes of people and their sign-ins (A4-A14, T1-T8)."""

from accounts.actions.people import BIO_MAX, edit_profile, register
from accounts.actions.presence import touch
from accounts.actions.revocation import announce, ban, log_out, promote, unban
from accounts.actions.signing_in import check_password, login, refresh, sign_in

__all__ = [
    "BIO_MAX",
    "announce",
    "ban",
    "check_password",
    "edit_profile",
    "log_out",
    "login",
    "promote",
    "refresh",
    "register",
    "sign_in",
    "touch",
    "unban",
]
