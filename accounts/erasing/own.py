"""What the tables of accounts, of the admin and of the second factor have of a person."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.db.models import Q, QuerySet
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.actions import erasing as actions
from accounts.models import (
    Appeal,
    AuditEntry,
    Invite,
    InvitedPerson,
    Passkey,
    PushSubscription,
    SignIn,
    SignUpRequest,
    StaffAct,
    TokenVersion,
    User,
)
from socialsite.core import db
from socialsite.core.erasing import Eraser, Stage, cleared, counted, register, rows


def _profile(user_id: int, limit: int) -> int:
    return actions.empty_profile(user_id)


def _appeals(user_id: int) -> "QuerySet[Appeal]":
    return Appeal.objects.filter(act__user_id=user_id)


def _acts(user_id: int) -> "QuerySet[StaffAct]":
    return StaffAct.objects.filter(user_id=user_id)


def _addresses(user_id: int) -> "QuerySet[AuditEntry]":
    return AuditEntry.objects.filter(actor_id=user_id).exclude(address="", address_at=None)


def _named_in_log(user_id: int) -> "QuerySet[LogEntry]":
    """Return entries of the admin's log whose line has the person's name."""
    mine = Q(object_id=str(user_id), content_type__model="user")
    for name in _names(user_id):
        mine |= Q(object_repr__contains=f"@{name}")
    return LogEntry.objects.filter(mine).exclude(object_repr="")


def _requests(user_id: int) -> "QuerySet[SignUpRequest]":
    """Return the sign-up that became the account, if a row is left."""
    same = Q(pk=user_id)
    for name in _names(user_id):
        same |= Q(username_key=name.lower())
    return SignUpRequest.objects.filter(same)


def _names(user_id: int) -> list[str]:
    """Return the username; nothing for a shell, which has none."""
    people = User.objects.filter(pk=user_id).exclude(username_key__startswith=User.ERASED)
    return list(people.values_list("username", flat=True))


def _invites(user_id: int) -> "QuerySet[Invite]":
    return Invite.objects.filter(maker_id=user_id)


@db.atomic
def _erase_invites(user_id: int, limit: int) -> int:
    """Delete invitations; sign-ups that wait keep their place, and nobody learns who invited."""
    ids = list(_invites(user_id).values_list("pk", flat=True)[:limit])
    SignUpRequest.objects.filter(invite_id__in=ids).update(invite=None)
    InvitedPerson.objects.filter(invite_id__in=ids).delete()
    Invite.objects.filter(pk__in=ids).delete()
    return len(ids)


def _of(model: Any, column: str = "user_id") -> Any:
    return lambda user_id: model._default_manager.filter(**{column: user_id})


register(
    rows("appeals", Stage.ROWS, _appeals),
    rows("acts of staff on the person", Stage.ROWS, _acts),
    Eraser("profile", Stage.ROWS, _profile, counted(actions.filled)),
    cleared(
        "addresses in the audit trail", Stage.SIGN_INS, _addresses, address="", address_at=None
    ),
    cleared("names in the log of the admin", Stage.SIGN_INS, _named_in_log, object_repr=""),
    rows("pushes", Stage.SIGN_INS, _of(PushSubscription)),
    rows("sign-ins", Stage.SIGN_INS, _of(TokenVersion)),
    rows("log of sign-ins", Stage.SIGN_INS, _of(SignIn)),
    rows("recovery codes", Stage.SIGN_INS, _of(StaticToken, "device__user_id")),
    rows("sets of recovery codes", Stage.SIGN_INS, _of(StaticDevice)),
    rows("authenticators", Stage.SIGN_INS, _of(TOTPDevice)),
    rows("passkeys", Stage.SIGN_INS, _of(Passkey)),
    rows("by whose invitation", Stage.SIGN_INS, _of(InvitedPerson)),
    Eraser("invitations", Stage.SIGN_INS, _erase_invites, counted(_invites)),
    rows("sign-up", Stage.SIGN_INS, _requests),
    erased={
        "accounts.StaffAct.user": "acts of staff on the person",
        "accounts.PushSubscription.user": "pushes",
        "accounts.TokenVersion.user": "sign-ins",
        "accounts.SignIn.user": "log of sign-ins",
        "accounts.Passkey.user": "passkeys",
        "accounts.InvitedPerson.user": "by whose invitation",
        "accounts.Invite.maker": "invitations",
        "accounts.SignUpRequest.id": "sign-up",
        "accounts.SearchedName.object_id": "profile",
        "accounts.NameTerm.object_id": "profile",
        "otp_static.StaticDevice.user": "sets of recovery codes",
        "otp_totp.TOTPDevice.user": "authenticators",
    },
    kept={
        "accounts.User.id": "the empty shell that tombstones and the audit trail refer to",
        "accounts.Closing.user": "when the account was closed and erased",
        "accounts.TokenBatch.user": "numbers that keep old tokens dead",
        "accounts.AuditEntry.actor": "the audit trail: ids without addresses",
        "accounts.AuditEntry.subject_id": "the audit trail: ids without addresses",
        "accounts.AuditEntry.detail": "the audit trail: ids without addresses",
        "accounts.StaffAct.actor": "an act of the person as staff on somebody else",
        "accounts.StaffAct.undone_by": "an act of the person as staff on somebody else",
        "accounts.Appeal.decided_by": "an act of the person as staff on somebody else",
        "admin.LogEntry.user": "the log of the admin: acts of the person as staff",
        "admin.LogEntry.object_id": "the log of the admin: acts of staff, without the name",
    },
    texts=(
        "accounts.User.nickname",
        "accounts.User.nickname_key",
        "accounts.User.bio",
        "accounts.User.links",
        "accounts.User.place",
        "accounts.User.email",
        "accounts.User.email_waiting",
        "accounts.User.email_key",
        "accounts.StaffAct.words",
        "accounts.StaffAct.taken",
        "accounts.Appeal.text",
        "accounts.Appeal.answer",
        "accounts.SignUpRequest.nickname",
        "accounts.SignUpRequest.reason",
        "accounts.SignUpRequest.answer",
        "accounts.SignUpRequest.email",
    ),
)
