"""Log-in: check the password, then end the sign-ins that it replaces, and issue a pair."""

from typing import NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import addresses, closings, devices, queries, sign_in_log, staff_acts, tokens
from accounts.actions import clients
from accounts.actions.mails import request_mail
from accounts.actions.revocation import fenced, locked_batch
from accounts.credentials import passwords, two_factor
from accounts.events import UserSignedIn
from accounts.mail import choices
from accounts.models import MailKind, Passkey, SignUpRequest, TokenBatch, TokenVersion, User
from accounts.tokens import TokenPair
from socialsite.core import db
from socialsite.core.errors import (
    ApprovalPending,
    OtpRequired,
    PasskeyRefused,
    PasswordNotCorrected,
    Suspended,
    UserNotFound,
)
from socialsite.core.errors import UserBanned as UserBannedError
from socialsite.core.events import publish


class Proof(NamedTuple):
    """Proof shown before a sign-in.

    `password` is the hash of the account's password at that time. `code` says whether a second
    factor was checked, `passkey` which passkey was; 0 for none.
    """

    password: str
    code: bool
    passkey: int = 0


def check_password(username: str, password: str) -> User:
    """Return the person with this name and password, whom staff let log in.

    Raises what `person_of` raises; UserBanned and Suspended only when the password is right. The
    account may be closed: `sign_in` says so, after the code of the second factor.
    """
    user = person_of(username, password)
    check_admitted(user)
    return user


def check_admitted(user: User) -> None:
    """Raise UserBanned or Suspended for a person whom staff keep from logging in."""
    if user.banned_at:
        raise UserBannedError
    if user.is_suspended:
        raise Suspended(staff_acts.suspension_text(user))


def person_of(username: str, password: str) -> User:
    """Return the person with this name and password, whether or not staff let them log in.

    Raises PasswordNotCorrected, also for an unknown name, at the same cost (T14); with
    LOGIN_ERRORS=separate, UserNotFound for an unknown name, still at that cost. Raises
    ApprovalPending for a sign-up that waits, only when the password is right. A closed account that
    can be taken back exists for the right password only, any other closed account for none.
    """
    # Both, and in this order: at one cost for each name, and an account that opens now is seen.
    waiting, user = queries.request_by_name(username), queries.any_by_name(username)
    right = passwords.is_right(user or waiting, password)
    if waiting and right and user is None:
        raise ApprovalPending(
            _(
                "Please open the link in the mail that we sent to you. If none arrives, look into"
                " the spam folder, or log in again in an hour: we then send it once more."
            )
            if waiting.state == SignUpRequest.State.UNCONFIRMED
            else None
        )
    separate = settings.LOGIN_ERRORS == "separate"
    if user is None or (user.deleted_at and not (right and closings.until(user.pk))):
        raise (
            UserNotFound(_("There is no user with this name."))
            if separate
            else PasswordNotCorrected
        )
    if not right:
        raise PasswordNotCorrected(_("The password is wrong.") if separate else None)
    return user


@fenced
def sign_in(
    user: User,
    client: str = "other",
    user_agent: str = "",
    address: str = "",
    proof: Proof | None = None,
) -> TokenPair:
    """Issue a pair for a client; sign-ins that may not coexist with it end.

    The `proof` must still be valid under the lock: a log-in that began with the old
    password fails after its change, like a refresh (T5), and one by a passkey after its removal.
    Raises PasswordNotCorrected, PasskeyRefused, OtpRequired, UserBanned or Suspended for changes in
    the meantime, and AccountClosing for a closed account.
    """
    batch = locked_batch(user)
    current = admitted(user, proof)
    if current.deleted_at:
        raise closings.refusal(user.pk) or PasswordNotCorrected
    return enter(current, batch, client, user_agent, address)


def admitted(user: User, proof: Proof | None) -> User:
    """Return the person as they are now, open or closed. The caller holds the lock.

    Raises UserBanned, Suspended, PasswordNotCorrected, PasskeyRefused or OtpRequired if the proof
    does not do.
    """
    current = User.objects.get(pk=user.pk)
    check_admitted(current)
    if proof and proof.password != current.password:
        raise PasswordNotCorrected
    if proof and proof.passkey and not _has_passkey(current, proof.passkey):
        raise PasskeyRefused
    if proof and not proof.code and two_factor.is_on(current):
        raise OtpRequired
    return current


def _has_passkey(user: User, passkey_id: int) -> bool:
    return Passkey.objects.filter(pk=passkey_id, user=user.pk).exists()


def enter(user: User, batch: TokenBatch, client: str, user_agent: str, address: str) -> TokenPair:
    """Sign a client in, and end what it replaces. The caller holds the lock and checked all."""
    rows = clients.rows_of(batch)
    clients.end_replaced(batch, rows, client, by=devices.name_of(client, user_agent))
    row = clients.row_for(batch, rows, client)
    row.user_agent = user_agent[: TokenVersion.USER_AGENT_MAX]
    row.address, row.address_at = addresses.stored(address)
    if choices.wants(user, MailKind.SIGN_INS) and sign_in_log.is_unknown(row):
        request_mail("new_sign_in", user.pk, "")
    sign_in_log.note(row)
    publish(UserSignedIn(user.pk, client))
    return issue(user, batch, row)


def issue(user: User, batch: TokenBatch, row: TokenVersion) -> TokenPair:
    """Activate a new refresh token of a client and return the pair. The caller holds the lock."""
    token_id = tokens.new_token_id(batch.batch)
    row.refresh_jti, row.refresh_iat, row.refresh_bat = token_id
    row.previous_jti = row.oldest_jti = ""
    row.rotated_at = db.now_ms()
    row.last_seen = timezone.now()
    row.store()
    return tokens.mint(user, row.client, row.version, batch.batch, token_id)
