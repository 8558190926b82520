"""Who likes what, and how many do.

The number of likes is what is kept with the subject and what is not folded into it yet, read in one
statement: a fold moves both in one transaction, so no reader sees a change twice or not at all.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db.models import F, IntegerField, OuterRef, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce

from interactions.models import Like, LikeChange, SubjectType

if TYPE_CHECKING:
    from accounts.models import User


def liked_ids(viewer: "User | None", subj_type: SubjectType, ids: Iterable[int]) -> set[int]:
    """Return which of these the reader likes; guests like nothing."""
    if viewer is None:
        return set()
    rows = Like.objects.filter(user_id=viewer.pk, subj_type=subj_type, subj_id__in=list(ids))
    return set(rows.values_list("subj_id", flat=True))


def like_count(subj_type: SubjectType, ident: str) -> Combinable:
    """Return the expression of the likes of a row with a `like_count`; `ident` is its column."""
    changes = LikeChange.objects.filter(subj_type=subj_type, subj_id=OuterRef(ident)).order_by()
    total = changes.values("subj_id").annotate(total=Sum("by")).values("total")
    # MariaDB sums into a DECIMAL, and refuses to take from what is unsigned.
    pending = Coalesce(Cast(Subquery(total), IntegerField()), 0)
    return Cast(F("like_count"), IntegerField()) + pending
