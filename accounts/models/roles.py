"""Roles: the bits of `User.roles`, and the roles that a site makes itself."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from socialsite.core import rights


class Role(models.IntegerChoices):
    """Bits of `User.roles` that every site has."""

    MEMBER = 1, "member"
    MODERATOR = 2, "moderator"
    ADMIN = 4, "admin"


class StaffRole(models.Model):
    """A role of one's own: a name for a set of rights, and its bit in `User.roles`."""

    NAME_MAX = 40
    # The other bits that the column has room for.
    BITS = tuple(1 << place for place in range(3, 15))

    bit = models.PositiveSmallIntegerField(primary_key=True)
    name = models.CharField(max_length=NAME_MAX, verbose_name=_("name"))
    # The name in lower case.
    name_key = models.CharField(max_length=NAME_MAX, unique=True)
    rights = models.PositiveIntegerField(verbose_name=_("rights"))
    created_at = models.DateTimeField(default=timezone.now, verbose_name=_("created at"))

    class Meta:
        verbose_name = _("role")
        verbose_name_plural = _("roles")

    def __str__(self) -> str:
        return self.name


OWN_ROLES = sum(StaffRole.BITS)
STAFF_ROLES = Role.MODERATOR | Role.ADMIN | OWN_ROLES


def rights_of(roles: int, *, lock: bool = False) -> int:
    """Return the rights that the bits of `User.roles` give; own roles are read in one query.

    With `lock` their rows stay locked until the end of the transaction.
    """
    if roles & Role.ADMIN:
        return rights.ALL
    given = int(rights.MODERATOR) if roles & Role.MODERATOR else 0
    own = [bit for bit in StaffRole.BITS if roles & bit]
    if own:
        rows = StaffRole.objects.filter(pk__in=own).order_by("pk")
        for one in (rows.select_for_update() if lock else rows).values_list("rights", flat=True):
            given |= one
    return given
