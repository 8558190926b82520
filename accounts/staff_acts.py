"""What staff decided about a person, as the person reads it: never who of staff it was."""

from datetime import datetime
from typing import TypedDict

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Appeal, Reason, StaffAct, User
from socialsite.core import ids
from socialsite.core.positions import Page, Position, cut
from socialsite.core.times import iso_of

Kind = StaffAct.Kind


class AppealBody(TypedDict):
    """One's objection; `state` is open, granted or refused, `answer` what staff wrote."""

    text: str
    state: str
    created_at: str
    decided_at: str | None
    answer: str


class ActBody(TypedDict):
    """One act; `words` are from staff, `reason` is a value of `Reason` or "".

    `subject_id` is the post or comment that was deleted.
    """

    id: str
    kind: str
    reason: str
    words: str
    until: str | None
    created_at: str
    undone_at: str | None
    may_appeal: bool
    subject_id: str | None
    appeal: AppealBody | None


def of_person(user_id: int, cursor: Position | None, size: int) -> Page[ActBody]:
    """Return a page of the acts on a person, the newest first, with their appeals."""
    rows = StaffAct.objects.filter(user=user_id).select_related("appeal").order_by("-id")
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor.id)
    page = cut(list(rows[: size + 1]), size, lambda act: Position(ids.ms_of(act.pk), act.pk))
    return page.with_items([body(act) for act in page.items])


def body(act: StaffAct) -> ActBody:
    """Return an act as the API and the pages show it."""
    appeal: Appeal | None = getattr(act, "appeal", None)
    return ActBody(
        id=str(act.pk),
        kind=act.kind,
        reason=act.reason,
        words=act.words,
        until=_time(act.until),
        created_at=iso_of(act.created_at),
        undone_at=_time(act.undone_at),
        may_appeal=appeal is None and act.undone_at is None,
        subject_id=str(act.subject_id) if act.subject_id else None,
        appeal=None if appeal is None else _appeal(appeal),
    )


def _appeal(appeal: Appeal) -> AppealBody:
    return AppealBody(
        text=appeal.text,
        state=appeal.state,
        created_at=iso_of(appeal.created_at),
        decided_at=_time(appeal.decided_at),
        answer=appeal.answer,
    )


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else iso_of(moment)


def removal(kind: StaffAct.Kind, user_id: int, subject_id: int) -> StaffAct | None:
    """Return the standing act by which staff deleted a post or comment of a person."""
    acts = StaffAct.objects.filter(user=user_id, kind=kind, subject_id=subject_id, undone_at=None)
    return acts.select_related("actor").last()


def stands(act_id: int) -> bool:
    """Return whether an act is not undone."""
    return StaffAct.objects.filter(pk=act_id, undone_at=None).exists()


def in_words(act: ActBody) -> dict[str, str]:
    """Return `title`, `effect` and `reason` of an act in the current language."""
    effects = {
        Kind.WARN: _("Nothing else changed. Please read the rules of this site."),
        Kind.LIMIT: _("Neither you nor your posts are recommended or found by a search."),
        Kind.SUSPEND: _("You cannot log in until this time. What you wrote stays."),
        Kind.BAN: _("You cannot log in, and nobody sees what you wrote."),
        Kind.TAKE_AVATAR: _("You may choose another picture."),
        Kind.TAKE_BANNER: _("You may choose another picture."),
        Kind.TAKE_BIO: _("You may write another text."),
        Kind.NOTE: _("Readers see the note first, and pictures blurred. You cannot change that."),
        Kind.DELETE_POST: _("Nobody sees it any more."),
        Kind.DELETE_COMMENT: _("Nobody sees it any more."),
    }
    known = act["reason"] in Reason.values
    return {
        "title": str(Kind(act["kind"]).label),
        "effect": effects[Kind(act["kind"])],
        "reason": str(Reason(act["reason"]).label) if known else "",
    }


def suspension_text(user: User) -> str:
    """Return until when and why a suspended person cannot log in."""
    act = StaffAct.objects.filter(user=user, kind=Kind.SUSPEND, undone_at=None).last()
    until = user.suspended_until or timezone.now()
    when = {"time": f"{until:%Y-%m-%d %H:%M} UTC"}
    parts = [_("The staff suspended your account until %(time)s.") % when]
    if act is not None and (why := in_words(body(act))["reason"]):
        parts.append(_("Reason: %(reason)s.") % {"reason": why})
    return " ".join(parts)
