"""Who of staff may act, read under locks: a role in a token is only a hint.

`actor` is the staff member, or None for a command on the server, which may do everything. `right`
is the right that an act needs; None for what only admins do.
"""

from accounts.credentials import two_factor
from accounts.models import STAFF_ROLES, Role, User, rights_of
from socialsite.core.errors import Forbidden


def check_staff(actor: User | None, right: int | None = None) -> None:
    """Raise Forbidden or TwoFactorNeeded unless the actor has the right now; rows stay locked."""
    if actor is not None:
        _check(User.objects.select_for_update().get(pk=actor.pk), right)


def check_over(actor: User | None, user: User, right: int | None = None) -> None:
    """Raise Forbidden unless the actor may act on this person now; both rows stay locked.

    Nobody acts on themselves, and only admins act on staff.
    """
    now, whom = _locked(actor, user)
    if now is not None:
        _check(now, None if whom.roles & STAFF_ROLES else right)


def check_giving(actor: User | None, user: User, roles: int, right: int) -> None:
    """Raise Forbidden unless the actor may give this person exactly these roles; rows stay locked.

    Nobody gives or takes what they do not have, nor from somebody who has it, and nobody changes
    their own roles. Only admins make and unmake admins.
    """
    now, whom = _locked(actor, user)
    # Also without an actor: a role that is being deleted cannot be given.
    touched = rights_of(roles, lock=True) | rights_of(whom.roles, lock=True)
    if now is None:
        return
    _check(now, right | touched)
    if (roles | whom.roles) & Role.ADMIN and not now.is_superuser:
        raise Forbidden


def _locked(actor: User | None, user: User) -> tuple[User | None, User]:
    """Lock both people and return them; Forbidden if they are the same."""
    if actor is None:
        return None, User.objects.select_for_update().get(pk=user.pk)
    if actor.pk == user.pk:
        raise Forbidden
    rows = User.objects.select_for_update().filter(pk__in=[actor.pk, user.pk]).order_by("pk")
    people = {row.pk: row for row in rows}
    return people[actor.pk], people[user.pk]


def _check(now: User, right: int | None) -> None:
    """Raise Forbidden or TwoFactorNeeded unless a person, whose row is locked, has the right."""
    if not now.is_staff:
        raise Forbidden
    if right is None:
        if not now.is_superuser:
            raise Forbidden
    elif rights_of(now.roles, lock=True) & right != right:
        raise Forbidden
    two_factor.check_staff(now)
