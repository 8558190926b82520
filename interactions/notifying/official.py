"""Causes from the site itself: decisions of staff, and what became of reports."""

from collections import defaultdict

from interactions import kinds
from interactions.models import ANSWERS, Answer, Case, Report, ReportedKind
from interactions.notifying.cause_rows import FOLD_NOW_MAX, Cause, sync
from interactions.notifying.progress import START, Place, publish_rest

# People told in one transaction: those of them who are online are hinted at once.
REPORTERS = FOLD_NOW_MAX - 1
REPORTED = {
    ReportedKind.POST: kinds.REPORTED_POST,
    ReportedKind.COMMENT: kinds.REPORTED_COMMENT,
    ReportedKind.USER: kinds.REPORTED_PERSON,
}


def of_decision(user_id: int, ref: int) -> None:
    """Notify a person of a decision of staff about them; `ref` is different for each."""
    sync([Cause(user_id, kinds.DECIDED, user_id, 0, actor_id=0, ref=ref)], lambda: True)


def of_reports(case_id: int, after: Place = START) -> None:
    """Tell those who reported an object what became of it, some in each step."""
    case = Case.objects.get(pk=case_id)
    closed = Report.objects.filter(case=case, is_open=None, pk__gt=after[0]).order_by("pk")
    found = list(closed.values_list("pk", "reporter_id", "outcome")[:REPORTERS])
    kind = REPORTED[ReportedKind(case.kind)]
    by_answer: dict[str, list[Cause]] = defaultdict(list)
    for ident, reporter_id, outcome in found:
        cause = Cause(reporter_id, kind, case.subject_id, 0, actor_id=0, ref=ident)
        by_answer[ANSWERS.get(outcome, Answer.ACTED)].append(cause)
    for answer, causes in by_answer.items():
        sync(causes, lambda: True, answer)
    publish_rest("reports", [case_id], (found[-1][0], 0, 0) if len(found) == REPORTERS else None)
