"""Records of acts of staff: the person reads the reason, and each act can be undone."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actions.mails import request_mail
from accounts.events import StaffActed
from accounts.models import Appeal, Reason, StaffAct, User
from socialsite.core.errors import InvalidInput, NotFound
from socialsite.core.events import publish
from socialsite.core.ids import new_id
from socialsite.core.text import clean

Kind = StaffAct.Kind
# Acts after which the person may not come by, or which they must know at once.
MAILED = (Kind.WARN, Kind.LIMIT, Kind.SUSPEND, Kind.BAN)


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why staff act, for the person to read: a value of `Reason` or "", and words."""

    reason: str = ""
    words: str = ""

    def checked(self) -> "Grounds":
        """Return them as they are stored. Raises InvalidInput (`reason`, `words`)."""
        words = clean(self.words)
        if self.reason and self.reason not in Reason.values:
            raise InvalidInput(fields={"reason": [_("Choose one of the reasons.")]})
        if len(words) > StaffAct.WORDS_MAX:
            limit = {"limit": StaffAct.WORDS_MAX}
            raise InvalidInput(fields={"words": [_("At most %(limit)s characters.") % limit]})
        return Grounds(self.reason, words)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person reads whose appeal against an act is granted by undoing it."""

    act_id: int = 0
    words: str = ""


NO_GROUNDS, NO_ANSWER = Grounds(), Answer()


def record(
    kind: StaffAct.Kind,
    user: User,
    actor: User | None,
    grounds: Grounds,
    *,
    subject_id: int = 0,
    until: datetime | None = None,
    taken: str = "",
) -> StaffAct:
    """Record an act in its transaction; the person is told. Raises InvalidInput for its grounds."""
    known = grounds.checked()
    act = StaffAct.objects.create(
        kind=kind,
        user=user,
        actor=actor,
        subject_id=subject_id,
        reason=known.reason,
        words=known.words,
        until=until,
        taken=taken,
        created_at=timezone.now(),
    )
    publish(StaffActed(user.pk, new_id()))
    if kind in MAILED and user.email:
        request_mail("staff_act", user.pk, "")
    return act


def record_removal(
    kind: StaffAct.Kind, user_id: int, actor: User | None, grounds: Grounds, *, subject_id: int
) -> StaffAct:
    """Record the deletion of a post or comment, whose app tells the person.

    Raises InvalidInput for the grounds.
    """
    known = grounds.checked()
    return StaffAct.objects.create(
        kind=kind,
        user_id=user_id,
        actor=actor,
        subject_id=subject_id,
        reason=known.reason,
        words=known.words,
        taken=StaffAct.KEPT,
        created_at=timezone.now(),
    )


def keep_removed(kind: StaffAct.Kind, user_id: int, subject_id: int) -> None:
    """Let no undo restore what its author deleted as well."""
    acts = StaffAct.objects.filter(user=user_id, kind=kind, subject_id=subject_id, undone_at=None)
    acts.update(taken="")


class Removal(NamedTuple):
    """How an app undoes what staff did to a post or comment, and how it makes it final, by id.

    `restore` also gets the `taken` of the act.
    """

    restore: Callable[[int, str], None]
    forget: Callable[[int], None]


# By kind of act; apps above this one fill it.
removals: dict[str, Removal] = {}


def end(kind: StaffAct.Kind, user: User, actor: User | None, answer: Answer = NO_ANSWER) -> None:
    """Mark the standing acts of a kind as undone, and grant the open appeals against them."""
    rows = StaffAct.objects.filter(user=user, kind=kind, undone_at=None)
    for act in rows.select_for_update().order_by("pk"):
        end_one(act, actor, answer)


def replace(kind: StaffAct.Kind, user: User, actor: User | None, new: StaffAct) -> None:
    """Mark the standing acts of a kind as undone by a new one, which takes over an open appeal."""
    rows = StaffAct.objects.filter(user=user, kind=kind, undone_at=None).exclude(pk=new.pk)
    for act in rows.select_for_update().order_by("pk"):
        Appeal.objects.filter(pk=act.pk, state=Appeal.State.OPEN).update(act=new)
        act.undone_at, act.undone_by = timezone.now(), actor
        act.save(update_fields=["undone_at", "undone_by"])


def end_one(act: StaffAct, actor: User | None, answer: Answer = NO_ANSWER) -> None:
    """Mark a locked act as undone, and grant its appeal if it is open.

    Raises NotFound if the `answer` is to an appeal that is not open any more.
    """
    act.undone_at, act.undone_by = timezone.now(), actor
    act.taken = ""
    act.save(update_fields=["undone_at", "undone_by", "taken"])
    appeals = Appeal.objects.filter(pk=act.pk, state=Appeal.State.OPEN)
    words = answer.words if answer.act_id == act.pk else ""
    granted = appeals.update(
        state=Appeal.State.GRANTED, decided_by=actor, decided_at=act.undone_at, answer=words
    )
    if answer.act_id == act.pk and not granted:
        raise NotFound
    if granted and act.user.email:
        request_mail("appeal_decided", act.user_id, "")
    publish(StaffActed(act.user_id, new_id()))
