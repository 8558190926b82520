"""People, their sign-ups, sign-ins and closed accounts, acts of staff, and the audit trail."""

from accounts.models.audit import AuditEntry
from accounts.models.closing import Closing, KeptName
from accounts.models.people import (
    MailKind,
    NameTerm,
    SearchedName,
    User,
    UserManager,
    UserQuerySet,
)
from accounts.models.roles import STAFF_ROLES, Role, StaffRole, rights_of
from accounts.models.sign_ins import (
    Failures,
    Passkey,
    PushSubscription,
    SignIn,
    TokenBatch,
    TokenVersion,
)
from accounts.models.sign_up import Invite, InvitedPerson, SignUpRequest
from accounts.models.staff_acts import Appeal, Reason, StaffAct

__all__ = [
    "STAFF_ROLES",
    "Appeal",
    "AuditEntry",
    "Closing",
    "Failures",
    "Invite",
    "InvitedPerson",
    "KeptName",
    "MailKind",
    "NameTerm",
    "Passkey",
    "PushSubscription",
    "Reason",
    "Role",
    "SearchedName",
    "SignIn",
    "SignUpRequest",
    "StaffAct",
    "StaffRole",
    "TokenBatch",
    "TokenVersion",
    "User",
    "UserManager",
    "UserQuerySet",
    "rights_of",
]
