"""Sign-ups that wait: for the confirmation of their address, or for staff to decide.

A request has the id that its account will have, so a link that confirms its address confirms that
of the account if staff are faster. Every step locks the row of the request first.
"""

from datetime import timedelta
from enum import Enum

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone, translation
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from accounts import addresses
from accounts.actions import erasing, invites, people
from accounts.actions.authority import check_staff
from accounts.actions.mails import request_mail
from accounts.audit import Act, note
from accounts.invites import may_invite
from accounts.mail import links
from accounts.models import SignUpRequest, User
from accounts.validators import Texts
from socialsite.core import db, site
from socialsite.core.errors import NotFound, WrongLink
from socialsite.core.rights import Right
from socialsite.core.text import clean

State = SignUpRequest.State
# How long a request waits for its confirmation and for staff, and is kept after a refusal.
UNCONFIRMED_DAYS, WAITING_DAYS, REFUSED_DAYS = 3, 90, 7


class Confirmed(Enum):
    """What the confirmation of an address led to."""

    ADDRESS = "address"  # of an account
    ACCOUNT = "account"  # a new one
    REQUEST = "request"  # staff decide now


def request_account(
    username: str,
    nickname: str,
    password: str,
    *,
    email: str = "",
    reason: str = "",
    terms: int = 0,
    invite: str = "",
    needs_invite: bool = False,
    needs_approval: bool = False,
    address: str = "",
) -> SignUpRequest:
    """Store a sign-up that waits, and send a link to its address. Raises as `register`.

    `reason` is the answer to the site's question, which is asked if the sign-up `needs_approval`;
    `address` is the IP address of the request.
    """
    here, reason = site.current(), clean(reason)
    more: dict[str, Texts] = {}
    if here.email_needed and not email.strip():
        more["email"] = [_("Please give your e-mail address.")]
    if needs_approval and not reason:
        more["reason"] = [_("Please answer the question.")]
    elif len(reason) > SignUpRequest.REASON_MAX:
        more["reason"] = [_("That is too long.")]
    user = people.checked(username, nickname, password, unconfirmed=email, more=more)
    kept, kept_at = addresses.stored(address)
    row = SignUpRequest(
        id=user.pk,
        state=State.UNCONFIRMED if here.email_needed else State.WAITING,
        username=user.username,
        username_key=user.username_key,
        nickname=user.nickname,
        password=user.password,
        email=user.email_waiting,
        needs_approval=needs_approval,
        reason=reason if needs_approval else "",
        language=get_language() or "",
        terms_accepted=terms,
        address=kept,
        address_at=kept_at,
    )
    _store(row, invite, needs_invite)
    return row


@db.atomic
def _store(row: SignUpRequest, code: str, needs_invite: bool) -> None:
    row.invite = invites.take(code, is_needed=needs_invite)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise people.duplicated() from None
    taken = User.objects.select_for_update().filter(username_key=row.username_key).first()
    if taken or erasing.is_kept(row.username):
        raise people.duplicated()  # see `people.create`
    send_link_again(row)


@db.atomic
def send_link_again(row: SignUpRequest) -> None:
    """Send a link to the address of a request, if it has one."""
    if row.email:
        request_mail("confirm_email", row.pk, row.email)


def confirm(link: links.EmailLink) -> Confirmed | None:
    """Confirm the address of a request, in a transaction; None if there is no such request.

    It opens the account, unless staff decide. They also do if the site has become stricter since.
    Raises WrongLink for a link that is not, or no longer, for this address.
    """
    row = SignUpRequest.objects.select_for_update().filter(pk=link.user_id).first()
    if row is None:
        return None
    if not links.fits(link, row):
        raise WrongLink
    row.is_confirmed = True
    if _may_enter(row):
        _open(row)
        return Confirmed.ACCOUNT
    _enter(row, State.WAITING)
    return Confirmed.REQUEST


@db.atomic
def approve(request_id: int, actor: User | None = None, address: str = "") -> User:
    """Open the account that a request asks for. Staff only; raises Forbidden or TwoFactorNeeded.

    Raises NotFound if it does not wait any more, DuplicatedUser if its name is taken.
    """
    check_staff(actor, Right.SIGN_UPS)
    row = _waiting(request_id)
    with translation.override(row.language or settings.LANGUAGE_CODE):
        user = _open(row)
        if row.email:
            request_mail("sign_up_approved", user.pk, row.email)
    note(actor, Act.APPROVE, "user", user.pk, address=address)
    return user


@db.atomic
def refuse(request_id: int, answer: str, actor: User | None = None, address: str = "") -> None:
    """Refuse a request; `answer` says why, and may be empty. Staff only; raises as `approve`."""
    check_staff(actor, Right.SIGN_UPS)
    row = _waiting(request_id)
    row.username_key, row.password = None, ""
    row.answer = clean(answer)[: SignUpRequest.ANSWER_MAX]
    _enter(row, State.REFUSED)
    if row.email:
        with translation.override(row.language or settings.LANGUAGE_CODE):
            request_mail("sign_up_refused", row.pk, row.email)
    note(actor, Act.REFUSE, "sign_up", row.pk, address=address)


def purge_requests(limit: int = 1000) -> int:
    """Delete requests that nobody confirmed or decided on, and refused ones; returns how many."""
    kept = {
        State.UNCONFIRMED: UNCONFIRMED_DAYS,
        State.WAITING: WAITING_DAYS,
        State.REFUSED: REFUSED_DAYS,
    }
    return sum(_purge(state, days, limit) for state, days in kept.items())


@db.atomic
def _purge(state: SignUpRequest.State, days: int, limit: int) -> int:
    before = timezone.now() - timedelta(days=days)
    old = SignUpRequest.objects.filter(state=state, changed_at__lt=before)
    ids = list(old.order_by("changed_at").values_list("pk", flat=True)[:limit])
    rows = list(old.filter(pk__in=ids).select_for_update().order_by("pk"))
    invites.give_back([row.invite_id for row in rows if row.invite_id is not None])
    SignUpRequest.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _waiting(request_id: int) -> SignUpRequest:
    rows = SignUpRequest.objects.select_for_update()
    row = rows.filter(pk=request_id, state=State.WAITING).first()
    if row is None:
        raise NotFound
    return row


def _enter(row: SignUpRequest, state: SignUpRequest.State) -> None:
    row.state, row.changed_at = state, timezone.now()
    row.save()


def _open(row: SignUpRequest) -> User:
    """Make the account of a request, whose row goes."""
    user = people.account(row.username, row.nickname, row.password)
    user.pk, user.terms_accepted = row.pk, row.terms_accepted
    if row.is_confirmed:
        user.email, user.email_key = row.email, row.email.lower()
    else:
        user.email_waiting = row.email
    SignUpRequest.objects.filter(pk=row.pk).delete()
    people.create(user)
    invites.came(user, row.invite)
    return user


def _may_enter(row: SignUpRequest) -> bool:
    """Return whether the site, as it is now, opens an account without a decision of staff."""
    if row.needs_approval:
        return False
    invited = row.invite is not None and may_invite(row.invite.maker)
    return site.current().sign_up == site.SignUp.OPEN or invited
