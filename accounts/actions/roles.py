"""Roles: give them to people, and make roles of one's own.

Nobody gives more than they have: an actor needs the right to give roles, and every right of the
roles that are given, taken, made, changed or deleted (`authority.check_giving`). If two admins
remove each other's role at once, the second is refused, so one admin always remains.
"""

from django.utils.translation import gettext_lazy as _

from accounts.actions.authority import check_giving, check_staff
from accounts.actions.revocation import fenced, locked_batch, revoke_batch
from accounts.audit import Act, note
from accounts.events import RolesChanged
from accounts.models import Role, StaffRole, User
from socialsite.core import db
from socialsite.core.errors import InvalidInput, NotFound
from socialsite.core.events import publish
from socialsite.core.rights import ALL, Right, names
from socialsite.core.text.fields import checked


@fenced
def promote(user: User, roles: int, actor: User | None = None, address: str = "") -> User:
    """Set a person's roles to exactly these bits.

    Access tokens with other roles are revoked. Refresh tokens stay valid and fetch new ones. Raises
    Forbidden or TwoFactorNeeded, and NotFound for a role that was deleted.
    """
    batch = locked_batch(user)
    check_giving(actor, user, roles, Right.ROLES)
    known = role_names(roles)
    user.refresh_from_db()
    if user.roles != roles:
        detail = {"from": role_names(user.roles), "to": known}
        user.roles = roles
        user.save(update_fields=["roles"])
        revoke_batch(batch, "roles", access_only=True)
        publish(RolesChanged(user.pk, roles))
        note(actor, Act.ROLES, "user", user.pk, detail, address)
    return user


@db.atomic
def save_role(
    name: str, rights: int, actor: User | None = None, address: str = "", bit: int | None = None
) -> StaffRole:
    """Make a role, or change the one with this bit; its people have the new rights at once.

    Raises what `check_role` raises; NotFound, Forbidden and TwoFactorNeeded.
    """
    rows = {row.bit: row for row in StaffRole.objects.select_for_update().order_by("pk")}
    if bit is not None and bit not in rows:
        raise NotFound
    had = rows[bit].rights if bit is not None else 0
    check_staff(actor, Right.ROLES | had | (rights & ALL))
    name = check_role(name, rights, bit)
    free = [one for one in StaffRole.BITS if one not in rows]
    row = rows[bit] if bit is not None else StaffRole(bit=free[0], rights=0)
    if (row.name, row.rights) != (name, rights):
        row.name, row.name_key, row.rights = name, name.lower(), rights
        row.save()
        detail = {"role": name, "from": names(had), "to": names(rights)}
        note(actor, Act.ROLE, "role", row.bit, detail, address)
    return row


def check_role(name: str, rights: int, bit: int | None = None) -> str:
    """Return the name of a new role, or of the one with this bit, as it is stored.

    Raises InvalidInput: `name`, `rights`, or neither if there are as many roles as possible.
    """
    name = checked(name, "name", StaffRole.NAME_MAX, _("Please fill this in."))
    others = StaffRole.objects.exclude(pk=bit or 0)
    if name.lower() in Role.labels or others.filter(name_key=name.lower()).exists():
        raise InvalidInput(fields={"name": [_("There is a role of this name already.")]})
    if not rights or rights & ~ALL:
        raise InvalidInput(fields={"rights": [_("Choose at least one right.")]})
    if bit is None and others.count() >= len(StaffRole.BITS):
        text = _("At most %(limit)s roles.") % {"limit": len(StaffRole.BITS)}
        raise InvalidInput(text)
    return name


@db.atomic
def delete_role(bit: int, actor: User | None = None, address: str = "") -> None:
    """Delete a role that nobody has. Raises InvalidInput while somebody has it, and as above."""
    row = StaffRole.objects.select_for_update().filter(pk=bit).first()
    if row is None:
        raise NotFound
    check_staff(actor, Right.ROLES | row.rights)
    # Locked: `promote` reads the role under its lock, so nobody gets the role meanwhile.
    if held := people_with(bit, lock=True):
        whom = {"names": ", ".join(str(one) for one in held)}
        raise InvalidInput(_("Take the role away from these people first: %(names)s") % whom)
    row.delete()
    note(actor, Act.DELETE_ROLE, "role", bit, {"role": row.name}, address)


def people_with(bit: int, *, lock: bool = False) -> list[User]:
    """Return the people with a role, oldest account first; with `lock` all of staff are locked."""
    staff = User.objects.filter(roles__gt=Role.MEMBER).order_by("pk")
    return [one for one in (staff.select_for_update() if lock else staff) if one.roles & bit]


def role_names(roles: int) -> list[str]:
    """Return the names of the bits in `User.roles`. Raises NotFound for a bit without a role."""
    own = [bit for bit in StaffRole.BITS if roles & bit]
    found = dict(StaffRole.objects.filter(pk__in=own).values_list("pk", "name")) if own else {}
    if len(found) < len(own):
        raise NotFound
    return [role.label for role in Role if roles & role] + [found[bit] for bit in own]
