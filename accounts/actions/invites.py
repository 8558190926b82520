"""Invitations: make one, end one, and sign up by one."""

from datetime import timedelta

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import invites
from accounts.actions.authority import check_staff
from accounts.audit import Act, note
from accounts.credentials import two_factor
from accounts.models import Invite, InvitedPerson, User
from socialsite.core import db, site
from socialsite.core.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    SignUpClosed,
)
from socialsite.core.rights import Right


@db.atomic
def create_invite(maker: User, uses: int = 1, days: int = 7) -> Invite:
    """Make an invitation for so many people, valid for so many days.

    Raises Forbidden or TwoFactorNeeded if the person may not invite, InvalidInput with `fields`,
    QuotaExceeded if they have `invites.SHOWN` that have not ended.
    """
    now = timezone.now()
    maker = User.objects.select_for_update().get(pk=maker.pk)
    if not invites.may_invite(maker):
        raise Forbidden
    if not site.current().members_invite:
        two_factor.check_staff(maker)  # it is a power of staff
    wrong = {}
    if not 1 <= uses <= Invite.USES_MAX:
        wrong["uses"] = [_("From 1 to %(most)s.") % {"most": Invite.USES_MAX}]
    if not 1 <= days <= Invite.DAYS_MAX:
        wrong["days"] = [_("From 1 to %(most)s.") % {"most": Invite.DAYS_MAX}]
    if wrong:
        raise InvalidInput(fields=wrong)
    if Invite.objects.filter(maker=maker, ends_at__gt=now).count() >= invites.SHOWN:
        raise QuotaExceeded
    ends_at = now + timedelta(days=days)
    return Invite.objects.create(maker=maker, uses=uses, created_at=now, ends_at=ends_at)


@db.atomic
def end_own_invite(maker: User, invite_id: int) -> None:
    """End one's invitation now. Raises NotFound if it is not one's own."""
    row = Invite.objects.select_for_update().filter(pk=invite_id, maker=maker).first()
    if row is None:
        raise NotFound
    _end(row)


@db.atomic
def end_invite(invite_id: int, actor: User | None = None, address: str = "") -> None:
    """End somebody's invitation now. Staff only; raises Forbidden, TwoFactorNeeded or NotFound."""
    check_staff(actor, Right.SIGN_UPS)
    row = Invite.objects.select_for_update().filter(pk=invite_id).first()
    if row is None:
        raise NotFound
    if _end(row):
        note(actor, Act.END_INVITE, "user", row.maker_id, address=address)


def _end(row: Invite) -> bool:
    now = timezone.now()
    if row.ends_at <= now:
        return False
    row.ends_at = now
    row.save(update_fields=["ends_at"])
    return True


def take(code: str, *, is_needed: bool) -> Invite | None:
    """Take a use of an invitation, in the transaction of the sign-up.

    Raises SignUpClosed if it is no longer valid and `is_needed`, else returns None.
    """
    found = invites.usable(code, lock=True) if code else None
    if found is None:
        if is_needed:
            raise no_invite(code)
        return None
    found.used += 1
    found.save(update_fields=["used"])
    return found


def give_back(invite_ids: list[int]) -> None:
    """Give back the uses of sign-ups that became no account."""
    for ident in sorted(invite_ids):
        Invite.objects.filter(pk=ident).update(used=F("used") - 1)


def came(user: User, invite: Invite | None) -> None:
    """Note by whose invitation a new person came."""
    if invite is not None:
        InvitedPerson.objects.create(user=user, invite=invite)


def no_invite(code: str) -> SignUpClosed:
    """Return the error for a sign-up that needs a valid invitation."""
    return SignUpClosed(
        _("This invitation is no longer valid. Please ask for another one.")
        if code
        else _("One needs an invitation to sign up here.")
    )
