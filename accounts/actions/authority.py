"""Who of staff may act, read under locks: a role in a token is only a hint.

`actor` is the staff member, or None for a command on the server, which may do everything.
"""

from accounts.credentials import two_factor
from accounts.models import STAFF_ROLES, User
from socialsite.core.errors import Forbidden


def check_admin(actor: User | None) -> None:
    """Raise Forbidden or TwoFactorNeeded unless the actor is an admin now; the row stays locked."""
    check_staff(actor, as_admin=True)


def check_staff(actor: User | None, *, as_admin: bool = False) -> None:
    """Raise Forbidden or TwoFactorNeeded unless the actor is of staff now; the row stays locked."""
    if actor is None:
        return
    now = User.objects.select_for_update().get(pk=actor.pk)
    if not (now.is_superuser if as_admin else now.is_staff):
        raise Forbidden
    two_factor.check_staff(now)


def check_over(actor: User | None, user: User, *, as_admin: bool = False) -> None:
    """Raise Forbidden unless the actor may act on this person now; both rows stay locked.

    Nobody acts on themselves, and only admins act on staff.
    """
    if actor is None:
        User.objects.select_for_update().get(pk=user.pk)
        return
    if actor.pk == user.pk:
        raise Forbidden
    rows = User.objects.select_for_update().filter(pk__in=[actor.pk, user.pk]).order_by("pk")
    people = {row.pk: row for row in rows}
    now = people[actor.pk]
    as_admin = as_admin or bool(people[user.pk].roles & STAFF_ROLES)
    if not (now.is_superuser if as_admin else now.is_staff):
        raise Forbidden
    two_factor.check_staff(now)
