"""Numbers of likes, reposts and bookmarks.

The number is what is kept with the subject and what is not folded into it yet, read in one
statement: a fold moves both in one transaction, so no reader sees a change twice or not at all.
"""

from django.db.models import F, IntegerField, OuterRef, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce

from interactions.models import COLUMNS, CountChange, Counted, SubjectType


def number_of(counted: Counted, subj_type: SubjectType, ident: str) -> Combinable:
    """Return the expression of the number for a row with the count; `ident` is its column."""
    changes = CountChange.objects.filter(
        subj_type=subj_type, subj_id=OuterRef(ident), counted=counted
    ).order_by()
    total = changes.values("subj_id").annotate(total=Sum("by")).values("total")
    # MariaDB's SUM returns a DECIMAL, and unsigned columns allow no subtraction.
    pending = Coalesce(Cast(Subquery(total), IntegerField()), 0)
    return Cast(F(COLUMNS[counted]), IntegerField()) + pending
