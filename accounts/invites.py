"""Invitations: which are valid, who may make them, and who came by them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from accounts.models import Invite, InvitedPerson, User
from socialsite.core import site
from socialsite.core.positions import Page
from socialsite.core.rights import Right

T = TypeVar("T")

SHOWN = 100  # of a person's invitations; more are refused while so many have not ended


def may_invite(user: User) -> bool:
    """Return whether a person may make invitations, and those that they made are valid."""
    here = site.current()
    if here.sign_up == site.SignUp.CLOSED or not user.is_active:
        return False
    return here.members_invite or user.may(Right.SIGN_UPS)


def is_open(invite: Invite) -> bool:
    """Return whether an invitation has not ended and is not used up."""
    return invite.used < invite.uses and invite.ends_at > timezone.now()


def usable(code: str, *, lock: bool = False) -> Invite | None:
    """Return the invitation of a code by which somebody can sign up now, with its maker."""
    if not code or len(code) > Invite.CODE_MAX or not code.isascii():
        return None
    rows = Invite.objects.filter(code=code)
    rows = rows.select_for_update() if lock else rows.select_related("maker")
    found = rows.first()
    # The database compares codes without regard to case.
    if found is None or found.code != code:
        return None
    return found if is_open(found) and may_invite(found.maker) else None


def of_person(user_id: int) -> Page[Invite]:
    """Return a person's invitations, those that end last first: all that are open are there."""
    rows = Invite.objects.filter(maker=user_id).order_by("-ends_at", "-id")
    return Page(list(rows[:SHOWN]), None)


def came_by(
    invites: Sequence[Invite], people: Callable[[Iterable[int]], Mapping[int, T]]
) -> dict[int, list[T]]:
    """Return id of an invitation → the people who came by it.

    `people` returns those of ids whom the reader may see: blocks are known above this app.
    """
    rows = InvitedPerson.objects.filter(invite__in=invites).order_by("user_id")
    pairs = list(rows.values_list("invite_id", "user_id"))
    shown = people(user_id for _, user_id in pairs)
    found = defaultdict(list)
    for invite_id, user_id in pairs:
        if user_id in shown:
            found[invite_id].append(shown[user_id])
    return dict(found)


def inviters(user_ids: Iterable[int]) -> dict[int, User]:
    """Return id of a person → who invited them."""
    rows = InvitedPerson.objects.filter(user__in=user_ids).select_related("invite__maker")
    return {row.user_id: row.invite.maker for row in rows}


def address_of(invite: Invite) -> str:
    """Return the link."""
    return f"{settings.SITE_URL}{reverse('register')}?invite={invite.code}"
