"""Say that somebody is not interesting."""

from accounts.models import User
from relations.models import Dismissal


def dismiss(user: User, other_id: int) -> None:
    """Never suggest this person again; saying so twice, or of nobody, changes nothing more."""
    if User.objects.filter(pk=other_id).exists():
        row = Dismissal(user_id=user.pk, other_id=other_id)
        Dismissal.objects.bulk_create([row], ignore_conflicts=True)
