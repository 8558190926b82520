"""Two-factor authentication: turning it on and off, and checking codes.

- Every code is accepted once, even if two requests send it at the same moment: it is checked under
  the lock of its device.
- Turning the factor on or off requires the password too. A stolen sign-in alone must neither lock
  the person out nor remove their protection.
- Turning it on signs out all other devices. They signed in by password alone, and the usual reason
  for turning it on is doubt about who else knows the password. Turning it off ends no sign-in,
  since it takes password and code.
- Each of these acts, and each use of a recovery code, is reported to the account's e-mail address.
"""

from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.actions.clients import live_row, live_rows
from accounts.actions.mails import write_of
from accounts.actions.revocation import fenced, locked_batch, revoke_version
from accounts.audit import Act, note
from accounts.credentials import passwords, two_factor
from accounts.credentials.two_factor import SetUp
from accounts.models import User
from socialsite.core import db
from socialsite.core.errors import InvalidInput, OtpNotCorrected, OtpRequired, PasswordNotCorrected


def begin_two_factor(user: User, password: str) -> SetUp:
    """Create a new secret, which takes effect once it is confirmed; replaces an unconfirmed one.

    Raises PasswordNotCorrected, and InvalidInput when the second factor is on.
    """
    known = checked_password(user, password)
    return _begin(user, known.password)


@db.atomic
def _begin(user: User, checked: str) -> SetUp:
    current = locked_with(user, checked)
    if two_factor.is_on(user):
        raise _on_already()
    TOTPDevice.objects.filter(user=user.pk).delete()
    device = two_factor.new_device(user)
    device.save(force_insert=True)
    return two_factor.set_up(device, current)


@fenced
def confirm_two_factor(
    user: User,
    code: str,
    client: str,
    *,
    version: int | None = None,
    by: str = "",
    address: str = "",
) -> list[str]:
    """Turn the second factor on with a first code. Returns the recovery codes, shown only now.

    Signs out all clients but `client`, whose token has this `version`; `by` is its name as shown to
    the others. Raises OtpNotCorrected; InvalidInput when no set-up was begun; BannedAccessToken
    when the client was signed out in the meantime, as by a new password: it must not lock its
    person out then.
    """
    batch = locked_batch(user)
    live_row(batch, client, version)
    device = two_factor.begun(user)
    if device is None:
        raise _on_already() if two_factor.is_on(user) else _nothing_begun()
    step = two_factor.step_of(device, two_factor.cleaned(code))
    if step is None:
        raise _not_corrected()
    device.confirmed, device.last_t = True, step
    device.save(update_fields=["confirmed", "last_t"])
    codes = two_factor.new_recovery_codes()
    two_factor.store_recovery_codes(user, codes)
    for row in live_rows(batch):
        if row.client != client:
            revoke_version(row, "kicked", by)
    note(user, Act.OTP_ON, "user", user.pk, address=address)
    write_of(Act.OTP_ON, user)
    return codes


@db.atomic
def check_two_factor(user: User, code: str, address: str = "") -> None:
    """Consume a code of the authenticator or a recovery code; does nothing where the factor is off.

    Raises OtpNotCorrected for a wrong or used code.
    """
    rows = TOTPDevice.objects.select_for_update().filter(user=user.pk, confirmed=True)
    device, code = rows.first(), two_factor.cleaned(code)
    if device is None:
        return
    step = two_factor.step_of(device, code)
    if step is not None:
        TOTPDevice.objects.filter(pk=device.pk).update(last_t=step)
    elif two_factor.use_recovery_code(user, code):
        note(user, Act.OTP_RECOVERY, "user", user.pk, address=address)
        write_of(Act.OTP_RECOVERY, user)
    else:
        raise _not_corrected()


def ask_two_factor(user: User, code: str, address: str = "") -> None:
    """Consume a code where the factor is on. Raises OtpRequired without one; OtpNotCorrected."""
    if two_factor.is_on(user) and not code.strip():
        raise OtpRequired(fields={"otp": [OtpRequired.message]})
    check_two_factor(user, code, address)


@db.atomic
def renew_recovery_codes(user: User, code: str, address: str = "") -> list[str]:
    """Replace the recovery codes. Returns the new ones, shown only now.

    Raises OtpNotCorrected, and InvalidInput when the second factor is off.
    """
    locked_batch(user)
    if not two_factor.is_on(user):
        raise _off()
    check_two_factor(user, code, address)
    codes = two_factor.new_recovery_codes()
    two_factor.store_recovery_codes(user, codes)
    note(user, Act.OTP_CODES, "user", user.pk, address=address)
    write_of(Act.OTP_CODES, user)
    return codes


def end_two_factor(user: User, password: str, code: str, address: str = "") -> None:
    """Turn the second factor off. Raises PasswordNotCorrected, OtpNotCorrected, or InvalidInput."""
    known = checked_password(user, password)
    _end(user, known.password, code, address)


@db.atomic
def _end(user: User, checked: str, code: str, address: str) -> None:
    locked_with(user, checked)
    if not two_factor.is_on(user):
        raise _off()
    check_two_factor(user, code, address)
    two_factor.remove(user)
    note(user, Act.OTP_OFF, "user", user.pk, address=address)
    write_of(Act.OTP_OFF, user)


def checked_password(user: User, password: str) -> User:
    """Return a fresh copy of the person after checking the password."""
    known = User.objects.get(pk=user.pk)
    if not passwords.is_right(known, password):
        raise wrong_password()
    return known


def locked_with(user: User, checked: str) -> User:
    """Lock the person's batch. Raises PasswordNotCorrected if the password changed meanwhile."""
    locked_batch(user)
    current = User.objects.get(pk=user.pk)
    if current.password != checked:
        raise wrong_password()
    return current


def wrong_password() -> PasswordNotCorrected:
    """Return the error for somebody who changes their own account."""
    text = _("This is not your password.")
    return PasswordNotCorrected(text, fields={"password": [text]})


def _not_corrected() -> OtpNotCorrected:
    return OtpNotCorrected(fields={"otp": [OtpNotCorrected.message]})


def _on_already() -> InvalidInput:
    return InvalidInput(_("Two-factor sign-in is on already."))


def _nothing_begun() -> InvalidInput:
    return InvalidInput(_("Please start setting up two-factor sign-in again."))


def _off() -> InvalidInput:
    return InvalidInput(_("Two-factor sign-in is off."))
