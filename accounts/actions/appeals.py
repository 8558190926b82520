"""Appeals: a person objects once to an act, and staff who did not act decide once."""

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actions import moderation
from accounts.actions.authority import check_over
from accounts.actions.mails import request_mail
from accounts.actions.staff_acts import Answer
from accounts.audit import Act, note
from accounts.events import StaffActed
from accounts.models import Appeal, StaffAct, User
from socialsite.core import db
from socialsite.core.errors import AlreadyAppealed, Forbidden, NotFound
from socialsite.core.events import publish
from socialsite.core.ids import new_id
from socialsite.core.rights import Right
from socialsite.core.text import clean
from socialsite.core.text.fields import checked


@db.atomic
def appeal(user: User, act_id: int, text: str) -> Appeal:
    """Object to an act on oneself that stands.

    Raises InvalidInput (`text`); NotFound for an act on somebody else; AlreadyAppealed,
    also for an act that is undone.
    """
    words = checked(text, "text", Appeal.TEXT_MAX, _("Please say why you object."))
    act = StaffAct.objects.select_for_update().filter(pk=act_id, user=user).first()
    if act is None:
        raise NotFound
    if act.undone_at is not None or Appeal.objects.filter(pk=act.pk).exists():
        raise AlreadyAppealed
    return Appeal.objects.create(act=act, text=words, created_at=timezone.now())


def grant_appeal(act_id: int, answer: str, actor: User, address: str = "") -> None:
    """Grant an open appeal: its act is undone. Raises what `refuse_appeal` raises."""
    act = _open(act_id).act
    _check_other(act, actor)
    words = clean(answer)[: Appeal.ANSWER_MAX]
    moderation.undo(act.pk, actor, address, Answer(act.pk, words))
    if not Appeal.objects.filter(pk=act.pk, decided_by=actor).exists():
        raise NotFound  # somebody undid the act at the same time


@db.atomic
def refuse_appeal(act_id: int, answer: str, actor: User, address: str = "") -> None:
    """Refuse an open appeal: its act stands.

    Raises NotFound if it is decided already, Forbidden for whoever did the act, or who may not act
    on the person, TwoFactorNeeded.
    """
    act = _open(act_id).act
    _check_other(act, actor)
    check_over(actor, act.user, Right.APPEALS)
    StaffAct.objects.select_for_update().get(pk=act_id)
    row = _open(act_id)
    row.state, row.decided_by, row.decided_at = Appeal.State.REFUSED, actor, timezone.now()
    row.answer = clean(answer)[: Appeal.ANSWER_MAX]
    row.save()
    publish(StaffActed(act.user_id, new_id()))
    if act.user.email:
        request_mail("appeal_decided", act.user_id, "")
    note(actor, Act.REFUSE_APPEAL, "user", act.user_id, {"act": act.kind}, address)


def _open(act_id: int) -> Appeal:
    rows = Appeal.objects.select_related("act__user").filter(pk=act_id, state=Appeal.State.OPEN)
    row = rows.first()
    if row is None:
        raise NotFound
    return row


def _check_other(act: StaffAct, actor: User) -> None:
    if act.actor_id == actor.pk:
        raise Forbidden(_("Somebody else than who acted decides about an appeal."))
