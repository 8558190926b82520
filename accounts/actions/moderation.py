"""Staff acts on people: ban, unban, force offline, set roles, reset the second factor.

- `actor` is the staff member, or None for a command on the server, which may do everything. The
  actor's rights are read under the lock of both people: a role in a token is only a hint. If two
  admins remove each other's role at once, the second is refused, so one admin always remains.
- Nobody acts on themselves. Only admins act on staff, set roles and reset second factors.
- Each act that changes something adds one entry to the audit trail.
"""

from django.utils import timezone

from accounts import cache
from accounts.actions.mails import write_of
from accounts.actions.revocation import fenced, locked_batch, revoke_batch
from accounts.audit import Act, note
from accounts.credentials import two_factor
from accounts.events import RolesChanged, UserBanned, UserUnbanned
from accounts.models import STAFF_ROLES, Role, User
from socialsite.core.errors import Forbidden
from socialsite.core.events import publish


@fenced
def ban(user: User, actor: User | None = None, address: str = "") -> User:
    """Ban a person: revoke every token, refuse log-ins, hide everything they wrote.

    Like all of these acts, raises Forbidden or TwoFactorNeeded.
    """
    batch = locked_batch(user)
    _check_authority(actor, user)
    user.refresh_from_db()
    if user.banned_at is None:
        user.banned_at = timezone.now()
        user.save(update_fields=["banned_at"])
        revoke_batch(batch, "ban")
        publish(UserBanned(user.pk))
        cache.standing_changed(user.pk)
        note(actor, Act.BAN, "user", user.pk, address=address)
    return user


@fenced
def unban(user: User, actor: User | None = None, address: str = "") -> User:
    """Lift a ban. New sign-ins work; old tokens stay dead."""
    locked_batch(user)
    _check_authority(actor, user)
    user.refresh_from_db()
    if user.banned_at is not None:
        user.banned_at = None
        user.save(update_fields=["banned_at"])
        publish(UserUnbanned(user.pk))
        cache.standing_changed(user.pk)
        note(actor, Act.UNBAN, "user", user.pk, address=address)
    return user


@fenced
def force_offline(user: User, actor: User | None = None, address: str = "") -> None:
    """End all sign-ins of a person, access and refresh tokens; they may log in again at once."""
    batch = locked_batch(user)
    _check_authority(actor, user)
    revoke_batch(batch, "forced")
    note(actor, Act.FORCE_OFFLINE, "user", user.pk, address=address)


@fenced
def promote(user: User, roles: int, actor: User | None = None, address: str = "") -> User:
    """Set a person's roles to exactly these.

    Access tokens with other roles are revoked. Refresh tokens stay valid and fetch new ones.
    """
    batch = locked_batch(user)
    _check_authority(actor, user, as_admin=True)
    user.refresh_from_db()
    if user.roles != roles:
        detail = {"from": role_names(user.roles), "to": role_names(roles)}
        user.roles = roles
        user.save(update_fields=["roles"])
        revoke_batch(batch, "roles", access_only=True)
        publish(RolesChanged(user.pk, roles))
        note(actor, Act.ROLES, "user", user.pk, detail, address)
    return user


@fenced
def reset_two_factor(user: User, actor: User | None = None, address: str = "") -> None:
    """Remove the second factor of a person who lost device and recovery codes; admins only.

    The sign-ins go on, since they are no weaker than before. The next log-in needs only the
    password.
    """
    locked_batch(user)
    _check_authority(actor, user, as_admin=True)
    if two_factor.remove(user):
        note(actor, Act.OTP_RESET, "user", user.pk, address=address)
        write_of(Act.OTP_RESET, user)


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


def role_names(roles: int) -> list[str]:
    """Return the names of the bits in `User.roles`."""
    return [role.name.lower() for role in Role if roles & role]


def _check_authority(actor: User | None, user: User, *, as_admin: bool = False) -> None:
    """Raise Forbidden unless the actor may act on this person now; both rows stay locked."""
    if actor is None:
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
