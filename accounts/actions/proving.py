"""Prove by password or passkey that the person of an account uses a device that is signed in."""

from accounts import sign_in_log
from accounts.actions.clients import live_row
from accounts.actions.revocation import locked_batch
from accounts.actions.signing_in import Proof, admitted
from accounts.actions.two_factor import ask_two_factor, checked_password, locked_with
from accounts.models import User
from socialsite.core import db


def prove(user: User, client: str, password: str, code: str = "", *, address: str = "") -> None:
    """Make the sign-in of a device fresh again (`sign_in_log.is_fresh`).

    Raises PasswordNotCorrected; OtpRequired or OtpNotCorrected if the second factor is on.
    """
    _prove(user, checked_password(user, password).password, client, code, address)


@db.atomic
def _prove(user: User, checked: str, client: str, code: str, address: str) -> None:
    current = locked_with(user, checked)
    ask_two_factor(current, code, address)
    sign_in_log.prove(user.pk, client)


@db.atomic
def prove_by_passkey(user: User, client: str, proof: Proof, version: int | None = None) -> None:
    """Make the sign-in of a device fresh again, after the check of a passkey.

    Raises BannedAccessToken if the device was signed out in the meantime, and the errors of
    `sign_in`, as for a passkey that was removed.
    """
    live_row(locked_batch(user), client, version)
    admitted(user, proof)
    sign_in_log.prove(user.pk, client)
