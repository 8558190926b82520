"""Reports by people, and the decisions of staff about them.

- A person has at most one open report of an object. The reports of one object are a `Case`. Adding
  or closing reports locks its row, after all other locks of the action.
- Staff delete and ban through the same actions as everywhere, which check permissions and write the
  audit trail. If a case ends in another way (the author deletes the object, staff ban from the
  person's page), the event closes it.
"""

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from accounts import staff_acts
from accounts.actions import NO_GROUNDS, Grounds
from accounts.models import User
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from interactions import queries
from interactions.actions.comments import delete_comment
from interactions.events import ReportsClosed
from interactions.models import Case, Comment, Outcome, Reason, Report, ReportedKind
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.errors import Forbidden, InvalidInput, NotFound, Text
from socialsite.core.events import publish
from socialsite.core.rights import Right
from socialsite.core.text import clean

REMOVALS = {
    ReportedKind.POST: accounts_actions.ActKind.DELETE_POST,
    ReportedKind.COMMENT: accounts_actions.ActKind.DELETE_COMMENT,
}


def report(user: User, kind: int, subject_id: int, reason: str, words: str = "") -> bool:
    """Report a post, a comment or a person; return False if such a report is already open.

    Raises InvalidInput (`reason`, `words`), NotFound or UserNotFound if the person may not see it,
    Forbidden for their own objects.
    """
    text = _words(reason, words)
    owner_id = _owner(user, ReportedKind(kind), subject_id)
    if owner_id == user.pk:
        raise Forbidden(_("You cannot report yourself."))
    return _report(user, kind, subject_id, owner_id, reason, text)


@db.atomic
def _report(user: User, kind: int, subject_id: int, owner_id: int, reason: str, words: str) -> bool:
    rows = Case.objects.select_for_update().filter(kind=kind, subject_id=subject_id)
    case = rows.first()
    if case is None:
        db.ensure(Case(kind=kind, subject_id=subject_id, owner_id=owner_id))
        case = rows.get()
    # Checked again under the lock: the event that closes the case of a deleted object may be over.
    _owner(user, ReportedKind(kind), subject_id)
    if Report.objects.filter(case=case, reporter=user, is_open=True).exists():
        return False
    now = db.now_ms()
    Report.objects.create(case=case, reporter=user, reason=reason, words=words, created_at=now)
    if not case.open_count:
        case.assignee = None
    case.open_count += 1
    case.reasons[reason] = case.reasons.get(reason, 0) + 1
    case.reported_at, case.outcome, case.closed_at, case.closed_by = now, Outcome.OPEN, None, None
    case.save()
    return True


def check_reportable(user: User, kind: int, subject_id: int) -> None:
    """Raise the errors of `report` if it cannot be reported, before a form is shown."""
    if _owner(user, ReportedKind(kind), subject_id) == user.pk:
        raise Forbidden(_("You cannot report yourself."))


def _owner(user: User, kind: ReportedKind, subject_id: int) -> int:
    """Return its author, or the person."""
    if kind == ReportedKind.POST:
        return feeds_queries.visible_post(user, subject_id).author_id
    if kind == ReportedKind.COMMENT:
        comment, _post = queries.visible_comment(user, subject_id)
        if comment.deleted:
            raise NotFound
        return comment.author_id
    return int(relations_queries.profile(user, accounts_queries.by_id(subject_id))["id"])


def _words(reason: str, words: str) -> str:
    wrong: dict[str, list[Text]] = {}
    text = clean(words)
    if reason not in Reason.values:
        wrong["reason"] = [_("Choose one of the reasons.")]
    elif reason == Reason.OTHER and not text:
        wrong["words"] = [_("Please describe the problem briefly.")]
    if len(text) > Report.WORDS_MAX:
        wrong["words"] = [_("At most %(limit)s characters.") % {"limit": Report.WORDS_MAX}]
    if wrong:
        raise InvalidInput(fields=wrong)
    return text


# --- staff --------------------------------------------------------------------------------------
@db.atomic
def dismiss_reports(actor: User, case_id: int, address: str = "") -> bool:
    """Close the reports of a case without action; return False if none is open.

    Raises Forbidden and TwoFactorNeeded, as all actions of staff.
    """
    accounts_actions.check_staff(actor, Right.CASES)
    case = Case.objects.select_for_update().get(pk=case_id)
    count = _close(case, Outcome.DISMISSED, actor)
    if not count:
        return False
    act = accounts_actions.Act.DISMISS_REPORTS
    accounts_actions.note(
        actor, act, _name(case.kind), case.subject_id, {"reports": count}, address
    )
    return True


@db.atomic
def delete_reported(
    actor: User, case_id: int, address: str = "", grounds: Grounds = NO_GROUNDS
) -> bool:
    """Delete the reported post or comment; return False if it is already gone.

    Its author reads the grounds; without a reason, the most frequent one of the reports. Raises
    Forbidden for a person, and the errors of `dismiss_reports`.
    """
    accounts_actions.check_staff(actor, Right.CASES)
    case = Case.objects.get(pk=case_id)
    if case.kind == ReportedKind.USER:
        raise Forbidden
    gone = _gone(case)
    if gone is not None:
        _close_one(case_id, gone, actor)
        return False
    reason = grounds.reason or max(case.reasons, key=case.reasons.__getitem__, default="")
    grounds = Grounds(reason, grounds.words)
    if case.kind == ReportedKind.POST:
        feeds_actions.delete(actor, case.subject_id, address, grounds)
    else:
        delete_comment(actor, case.subject_id, address, grounds, as_staff=True)
    _close_one(case_id, Outcome.DELETED, actor)
    return True


@db.atomic
def warn_reported(
    actor: User, case_id: int, address: str = "", grounds: Grounds = NO_GROUNDS
) -> bool:
    """Warn the reported person or author, and close the case; NotFound if it is closed.

    Raises what `accounts.actions.warn` raises.
    """
    accounts_actions.warn(_person_of(case_id), actor, address, grounds)
    close_case(case_id, Outcome.WARNED, actor)
    return True


@db.atomic
def note_reported(
    actor: User, case_id: int, address: str = "", grounds: Grounds = NO_GROUNDS, *, note: str
) -> bool:
    """Put a content note on the reported post, and close the case; NotFound if it is closed.

    Raises what `feeds.actions.put_note` raises, and Forbidden for a comment or a person.
    """
    case = Case.objects.get(pk=case_id)
    if case.kind != ReportedKind.POST:
        raise Forbidden
    feeds_actions.put_note(actor, case.subject_id, note, address, grounds)
    close_case(case_id, Outcome.NOTED, actor)
    return True


@db.atomic
def limit_reported(
    actor: User, case_id: int, address: str = "", grounds: Grounds = NO_GROUNDS
) -> bool:
    """Limit the reported person or author, and close the case; NotFound if it is closed.

    Raises what `accounts.actions.limit` raises.
    """
    accounts_actions.limit(_person_of(case_id), actor, address, grounds)
    close_case(case_id, Outcome.LIMITED, actor)
    return True


def suspend_reported(
    actor: User, case_id: int, address: str = "", grounds: Grounds = NO_GROUNDS, *, days: int = 1
) -> bool:
    """Suspend the reported person or author, and close the case; NotFound if it is closed.

    Raises what `accounts.actions.suspend` raises.
    """
    if not accounts_queries.moderates(actor, Right.CASES):
        raise Forbidden
    if not Case.objects.filter(pk=case_id, open_count__gt=0).exists():
        raise NotFound
    accounts_actions.suspend(_person_of(case_id), actor, address, grounds, days=days)
    _close_one(case_id, Outcome.SUSPENDED, actor)
    return True


def ban_reported(
    actor: User, case_id: int, address: str = "", grounds: Grounds = NO_GROUNDS
) -> bool:
    """Ban the reported person or author and close all their cases; False if banned already.

    Raises what `accounts.actions.ban` raises.
    """
    person = _person_of(case_id)
    was_banned = person.banned_at is not None
    accounts_actions.ban(person, actor, address, grounds)
    close_reports_about(person.pk, actor)
    return not was_banned


def _person_of(case_id: int) -> User:
    """Return the reported person, or the author of what is reported."""
    return User.objects.get(pk=Case.objects.get(pk=case_id).owner_id)


@db.atomic
def close_case(case_id: int, outcome: Outcome, actor: User) -> None:
    """Close a case with what was done about it. Raises Forbidden; NotFound if it is closed."""
    accounts_actions.check_staff(actor, Right.CASES)
    if not _close_one(case_id, outcome, actor):
        raise NotFound


@db.atomic
def _close_one(case_id: int, outcome: Outcome, actor: User) -> int:
    return _close(Case.objects.select_for_update().get(pk=case_id), outcome, actor)


@db.atomic
def close_reports_about(user_id: int, actor: User | None = None) -> None:
    """Close every open case about a banned person."""
    if User.objects.filter(pk=user_id, banned_at__isnull=False).exists():
        _close_all(Case.objects.filter(owner_id=user_id), Outcome.BANNED, actor)


@db.atomic
def close_erased(case_id: int) -> None:
    """Close an open case about somebody whose account is erased."""
    _close_all(Case.objects.filter(pk=case_id), Outcome.GONE, None)


@db.atomic
def close_reports_of(kind: int, subject_id: int) -> None:
    """Close the open case of a deleted post or comment, whoever deleted it.

    Does nothing if it was restored before the event of its deletion was handled.
    """
    cases = Case.objects.filter(kind=kind, subject_id=subject_id)
    case = cases.first()
    outcome = None if case is None else _gone(case)
    if outcome is not None:
        _close_all(cases, outcome, None)


def _gone(case: Case) -> Outcome | None:
    """Return whether staff deleted the post or comment, or somebody else; None if it is there."""
    if not _is_gone(case.kind, case.subject_id):
        return None
    kind = REMOVALS[ReportedKind(case.kind)]
    removal = staff_acts.removal(kind, case.owner_id, case.subject_id)
    return Outcome.GONE if removal is None else Outcome.DELETED


def _is_gone(kind: int, subject_id: int) -> bool:
    if kind == ReportedKind.COMMENT:
        return not Comment.objects.filter(pk=subject_id, deleted=False).exists()
    post = feeds_queries.texts([subject_id]).get(subject_id)
    return post is None or post.is_deleted or post.is_removed


def _close_all(cases: "QuerySet[Case]", outcome: Outcome, actor: User | None) -> None:
    for case in cases.filter(open_count__gt=0).select_for_update().order_by("pk"):
        _close(case, outcome, actor)


def _close(case: Case, outcome: Outcome, actor: User | None) -> int:
    """Close the open reports of a locked case; return how many there were."""
    count = case.open_count
    if count:
        reports = Report.objects.filter(case=case, is_open=True)
        first = reports.order_by("pk").values_list("pk", flat=True).first() or 0
        reports.update(is_open=None, outcome=outcome)
        case.open_count, case.reasons, case.outcome = 0, {}, outcome
        case.closed_at, case.closed_by = db.now_ms(), actor
        case.save()
        publish(ReportsClosed(case.pk, first))
    return count


def _name(kind: int) -> str:
    """Return its name in the audit trail."""
    return ReportedKind(kind).name.lower()
