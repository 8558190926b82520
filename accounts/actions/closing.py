"""Closing one's account, and taking it back before it is erased.

- A closed account is hidden at once, like a banned one (`User.deleted_at`), and all of its tokens
  are revoked. Nothing else changes, so whoever takes it back finds everything as it was.
- `Closing.erase_at` says from when it is erased. From then on, or once a part is erased, nobody can
  take it back.
- Closing and reopening run under the lock of the person's tokens, like log-ins and refreshes. One
  of two that run at the same time sees the result of the other.
- An admin remains: the last one cannot close the account.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import cache, closings
from accounts.actions.mails import write_of
from accounts.actions.revocation import fenced, locked_batch, revoke_batch
from accounts.actions.signing_in import Proof, admitted, enter
from accounts.actions.two_factor import ask_two_factor, checked_password, wrong_password
from accounts.audit import Act, note
from accounts.events import UserClosed, UserReopened
from accounts.models import Closing, Role, User
from accounts.tokens import TokenPair
from socialsite.core.errors import (
    BannedAccessToken,
    Forbidden,
    PasswordNotCorrected,
)
from socialsite.core.events import publish


def close(user: User, password: str, code: str = "", *, address: str = "") -> datetime:
    """Close a person's own account. Returns from when it is erased.

    Raises PasswordNotCorrected; OtpRequired or OtpNotCorrected if the second factor is on;
    Forbidden for the last admin; BannedAccessToken if the account was closed in the meantime.
    """
    return _close(user, checked_password(user, password).password, code, address)


@fenced
def _close(user: User, checked: str, code: str, address: str) -> datetime:
    batch = locked_batch(user)
    _check_others_administer(user)
    current = User.objects.select_for_update().get(pk=user.pk)
    if not current.is_active:
        raise BannedAccessToken
    if current.password != checked:
        raise wrong_password()
    ask_two_factor(current, code, address)
    now = timezone.now()
    current.deleted_at = now
    current.save(update_fields=["deleted_at"])
    erase_at = now + timedelta(days=settings.CLOSE_GRACE_DAYS)
    Closing.objects.create(user=current, closed_at=now, erase_at=erase_at)
    revoke_batch(batch, "closed")
    publish(UserClosed(current.pk))
    cache.standing_changed(current.pk)
    note(current, Act.CLOSE, "user", current.pk, address=address)
    write_of(Act.CLOSE, current)
    return erase_at


def _check_others_administer(user: User) -> None:
    """Raise Forbidden if the person is the last admin who can log in; admins stay locked.

    So of two admins who close their accounts at the same time, the second is refused.
    """
    if not User.objects.get(pk=user.pk).roles & Role.ADMIN:
        return
    staff = User.objects.active().filter(roles__gt=Role.MEMBER).order_by("pk")
    admins = [row for row in staff.select_for_update() if row.roles & Role.ADMIN]
    if not any(row.pk != user.pk and not row.is_suspended for row in admins):
        raise Forbidden(_("You are the only admin. Make somebody else an admin first."))


@fenced
def reopen(
    user: User,
    client: str = "other",
    user_agent: str = "",
    address: str = "",
    proof: Proof | None = None,
) -> TokenPair:
    """Open a closed account again, and sign in; an open account is signed in only.

    Raises what `sign_in` raises; PasswordNotCorrected if the account cannot be taken back any more.
    """
    batch = locked_batch(user)
    current = admitted(user, proof)
    if current.deleted_at:
        closing = Closing.objects.select_for_update().filter(pk=user.pk).first()
        if closing is None or not closings.can_return(closing):
            raise PasswordNotCorrected
        closing.delete()
        current.deleted_at = None
        current.save(update_fields=["deleted_at"])
        publish(UserReopened(current.pk))
        cache.standing_changed(current.pk)
        note(current, Act.REOPEN, "user", current.pk, address=address)
        write_of(Act.REOPEN, current)
    return enter(current, batch, client, user_agent, address)
