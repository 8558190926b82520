"""People, their sign-ups and sign-ins, and the audit trail."""

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

__all__ = [
    "STAFF_ROLES",
    "AuditEntry",
    "Failures",
    "Invite",
    "InvitedPerson",
    "NameTerm",
    "PushSubscription",
    "Role",
    "SearchedName",
    "SignUpRequest",
    "TokenBatch",
    "TokenVersion",
    "User",
    "UserManager",
    "UserQuerySet",
]
