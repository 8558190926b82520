"""Turning the second factor on and off, and asking for its codes.

- Every code counts once, also for two who send it at the same moment: it is looked at under the
  lock of its device.
- Whoever turns the factor on or off gives the password too: a stolen sign-in alone must neither
  shut its person out nor take their protection away.
- Turning it on signs out all other devices: they came in by the password alone, and doubt about
  who else has that is the usual reason. Turning it off ends nothing: it takes password and code.
- Each of these acts, and the use of a recovery code, is told to the e-mail address of the account.
"""

from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts import passwords, second_factor
from accounts.actions.audit import Act, note
from accounts.actions.clients import live_row, live_rows
from accounts.actions.email import write_of
from accounts.actions.revocation import fenced, locked_batch, revoke_version
from accounts.models import User
from accounts.second_factor import SetUp
from socialsite.core import db
from socialsite.core.errors import (
    InvalidInput,
    OtpNotCorrected,
    PasswordNotCorrected,
)


def begin_second_factor(user: User, password: str) -> SetUp:
    """Make a new secret, which counts once it is confirmed; what was begun before is dropped.

    Raises PasswordNotCorrected, and InvalidInput when the second factor is on.
    """
    known = _checked(user, password)
    return _begin(user, known.password)


@db.atomic
def _begin(user: User, checked: str) -> SetUp:
    current = _locked(user, checked)
    if second_factor.is_on(user):
        raise _on_already()
    TOTPDevice.objects.filter(user=user.pk).delete()
    device = second_factor.new_device(user)
    device.save(force_insert=True)
    return second_factor.set_up(device, current)


@fenced
def confirm_second_factor(
    user: User,
    code: str,
    client: str,
    *,
    version: int | None = None,
    by: str = "",
    address: str = "",
) -> list[str]:
    """Turn the second factor on by a first code; returns the recovery codes, shown this once.

    All clients but `client`, whose token has this `version`, are signed out; `by` names it to them.
    Raises OtpNotCorrected; InvalidInput when nothing was begun; BannedAccessToken when the client
    was signed out meanwhile, as by a new password: it must not shut its person out then.
    """
    batch = locked_batch(user)
    live_row(batch, client, version)
    device = second_factor.begun(user)
    if device is None:
        raise _on_already() if second_factor.is_on(user) else _nothing_begun()
    step = second_factor.step_of(device, second_factor.cleaned(code))
    if step is None:
        raise _not_corrected()
    device.confirmed, device.last_t = True, step
    device.save(update_fields=["confirmed", "last_t"])
    codes = second_factor.new_recovery_codes()
    second_factor.store_recovery_codes(user, codes)
    for row in live_rows(batch):
        if row.client != client:
            revoke_version(row, "kicked", by)
    note(user, Act.OTP_ON, "user", user.pk, address=address)
    write_of(Act.OTP_ON, user)
    return codes


@db.atomic
def check_second_factor(user: User, code: str, address: str = "") -> None:
    """Use up a code of the authenticator or a recovery code; nothing to do where it is off.

    Raises OtpNotCorrected for a wrong code or one used before.
    """
    rows = TOTPDevice.objects.select_for_update().filter(user=user.pk, confirmed=True)
    device, code = rows.first(), second_factor.cleaned(code)
    if device is None:
        return
    step = second_factor.step_of(device, code)
    if step is not None:
        TOTPDevice.objects.filter(pk=device.pk).update(last_t=step)
    elif second_factor.use_recovery_code(user, code):
        note(user, Act.OTP_RECOVERY, "user", user.pk, address=address)
        write_of(Act.OTP_RECOVERY, user)
    else:
        raise _not_corrected()


@db.atomic
def renew_recovery_codes(user: User, code: str, address: str = "") -> list[str]:
    """Replace the recovery codes; returns the new ones, shown this once.

    Raises OtpNotCorrected, and InvalidInput when the second factor is off.
    """
    locked_batch(user)
    if not second_factor.is_on(user):
        raise _off()
    check_second_factor(user, code, address)
    codes = second_factor.new_recovery_codes()
    second_factor.store_recovery_codes(user, codes)
    note(user, Act.OTP_CODES, "user", user.pk, address=address)
    write_of(Act.OTP_CODES, user)
    return codes


def end_second_factor(user: User, password: str, code: str, address: str = "") -> None:
    """Turn the second factor off. Raises PasswordNotCorrected, OtpNotCorrected, or InvalidInput."""
    known = _checked(user, password)
    _end(user, known.password, code, address)


@db.atomic
def _end(user: User, checked: str, code: str, address: str) -> None:
    _locked(user, checked)
    if not second_factor.is_on(user):
        raise _off()
    check_second_factor(user, code, address)
    second_factor.forget(user)
    note(user, Act.OTP_OFF, "user", user.pk, address=address)
    write_of(Act.OTP_OFF, user)


def _checked(user: User, password: str) -> User:
    """Return the person as read now, after a right password."""
    known = User.objects.get(pk=user.pk)
    if not passwords.is_right(known, password):
        raise _wrong_password()
    return known


def _locked(user: User, checked: str) -> User:
    """Lock a person's numbers; PasswordNotCorrected when the password was replaced meanwhile."""
    locked_batch(user)
    current = User.objects.get(pk=user.pk)
    if current.password != checked:
        raise _wrong_password()
    return current


def _wrong_password() -> PasswordNotCorrected:
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
