"""Staff share the work on cases: they take cases, and write notes for each other.

Neither changes who may act on a case. All of these actions raise Forbidden and TwoFactorNeeded.
"""

from django.utils.translation import gettext_lazy as _

from accounts import actions as accounts_actions
from accounts.models import User
from interactions.models import Case, CaseNote
from socialsite.core import db
from socialsite.core.errors import NotFound
from socialsite.core.rights import Right
from socialsite.core.text.fields import checked


@db.atomic
def take_case(actor: User, case_id: int, *, over: bool = False) -> bool:
    """Assign an open case to oneself; return False if that is not possible.

    A case of somebody else is taken `over` only if that is wanted.
    """
    accounts_actions.check_staff(actor, Right.CASES)
    case = _locked(case_id)
    is_free = case.assignee_id is None or (over and case.assignee_id != actor.pk)
    if not case.open_count or not is_free:
        return False
    case.assignee = actor
    case.save(update_fields=["assignee"])
    return True


@db.atomic
def give_back_case(actor: User, case_id: int) -> bool:
    """Assign one's own open case to nobody; return False if it is not one's own, or closed."""
    accounts_actions.check_staff(actor, Right.CASES)
    case = _locked(case_id)
    if not case.open_count or case.assignee_id != actor.pk:
        return False
    case.assignee = None
    case.save(update_fields=["assignee"])
    return True


@db.atomic
def note_case(actor: User, case_id: int, words: str) -> CaseNote:
    """Write a note about a case. Raises InvalidInput (`words`) and NotFound."""
    accounts_actions.check_staff(actor, Right.CASES)
    text = checked(words, "words", CaseNote.WORDS_MAX, _("Write the note first."))
    if not Case.objects.filter(pk=case_id).exists():
        raise NotFound
    return CaseNote.objects.create(
        case_id=case_id, author=actor, words=text, created_at=db.now_ms()
    )


def _locked(case_id: int) -> Case:
    case = Case.objects.select_for_update().filter(pk=case_id).first()
    if case is None:
        raise NotFound
    return case
