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
from socialsite.core.rights import Right
from socialsite.core.text.fields import checked

Kind = StaffAct.Kind
KEPT = StaffAct.KEPT
# Acts after which the person may not come by, or which they must know at once.
MAILED = (Kind.WARN, Kind.LIMIT, Kind.SUSPEND, Kind.BAN)


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why staff act, for the person to read: a value of `Reason` or "", and words."""

    reason: str = ""
    words: str = ""

    @property
    def detail(self) -> dict[str, str]:
        """What the audit trail says about them: never words."""
        return {"reason": self.reason} if self.reason else {}

    def checked(self) -> "Grounds":
        """Return them as they are stored. Raises InvalidInput (`reason`, `words`)."""
        if self.reason and self.reason not in Reason.values:
            raise InvalidInput(fields={"reason": [_("Choose one of the reasons.")]})
        return Grounds(self.reason, checked(self.words, "words", StaffAct.WORDS_MAX))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person reads whose appeal against an act is granted by undoing it."""

    act_id: int = 0
    words: str = ""

    @property
    def right(self) -> int:
        """The right that granting an appeal needs; 0 for an act that is undone without one."""
        return Right.APPEALS if self.act_id else 0


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
    is_told: bool = True,
) -> StaffAct:
    """Record an act in its transaction. Raises InvalidInput for its grounds.

    The person is notified, unless the app of the `subject_id` does that (`is_told=False`).
    """
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
    if is_told:
        publish(StaffActed(user.pk, new_id()))
    if kind in MAILED and user.email:
        request_mail("staff_act", user.pk, "")
    return act


def keep_removed(kind: StaffAct.Kind, user_id: int, subject_id: int) -> None:
    """Let no undo restore what its author deleted as well."""
    acts = StaffAct.objects.filter(user=user_id, kind=kind, subject_id=subject_id, undone_at=None)
    acts.update(taken="")


class Reversal(NamedTuple):
    """How an app undoes what staff did to a post or comment: `restore(subject_id, taken)`.

    `forget(subject_id)` makes it final when it is old; without it, it can always be undone.
    """

    restore: Callable[[int, str], None]
    forget: Callable[[int], None] | None = None


# By kind of act; apps above this one fill it.
reversals: dict[str, Reversal] = {}


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
