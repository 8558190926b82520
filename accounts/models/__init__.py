"""People, their sign-ups and sign-ins, acts of staff on them, and the audit trail."""

from accounts.models.audit import AuditEntry
from accounts.models.people import (
    STAFF_ROLES,
    NameTerm,
    Role,
    SearchedName,
    User,
    UserManager,
    UserQuerySet,
)
from accounts.models.sign_ins import Failures, PushSubscription, TokenBatch, TokenVersion
from accounts.models.sign_up import Invite, InvitedPerson, SignUpRequest
from accounts.models.staff_acts import Appeal, Reason, StaffAct

__all__ = [
    "STAFF_ROLES",
    "Appeal",
    "AuditEntry",
    "Failures",
    "Invite",
    "InvitedPerson",
    "NameTerm",
    "PushSubscription",
    "Reason",
    "Role",
    "SearchedName",
    "SignUpRequest",
    "StaffAct",
    "TokenBatch",
    "TokenVersion",
    "User",
    "UserManager",
    "UserQuerySet",
]
