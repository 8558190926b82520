"""Who likes what."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from interactions.models import Like, SubjectType

if TYPE_CHECKING:
    from accounts.models import User


def liked_ids(viewer: "User | None", subj_type: SubjectType, ids: Iterable[int]) -> set[int]:
    """Return which of these the reader likes; guests like nothing."""
    if viewer is None:
        return set()
    rows = Like.objects.filter(user_id=viewer.pk, subj_type=subj_type, subj_id__in=list(ids))
    return set(rows.values_list("subj_id", flat=True))
