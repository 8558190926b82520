"""Audit trail: records each act, its actor and its subject.

- An entry is written in the transaction of the act, so neither exists without the other. Entries
  are only ever added.
- An entry never contains a secret or a text that a person wrote. It contains the act, its people
  and the IP address.
"""

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts import addresses
from accounts.models import AuditEntry, User


class Act(models.TextChoices):
    """Acts that are recorded. The values are stored in the table and never change."""

    BAN = "ban", _("banned")
    UNBAN = "unban", _("lifted the ban")
    WARN = "warn", _("warned")
    LIMIT = "limit", _("limited")
    UNLIMIT = "unlimit", _("lifted the limit")
    SUSPEND = "suspend", _("suspended")
    UNSUSPEND = "unsuspend", _("ended the suspension")
    TAKE = "take", _("removed a part of the profile")
    UNDO = "undo", _("undid an act")
    REFUSE_APPEAL = "refuse_appeal", _("refused an appeal")
    FORCE_OFFLINE = "force_offline", _("ended all sign-ins")
    ROLES = "roles", _("changed the roles")
    ROLE = "role", _("changed the rights of a role")
    DELETE_ROLE = "delete_role", _("deleted a role")
    OTP_RESET = "otp_reset", _("reset two-factor sign-in")
    APPROVE = "approve", _("accepted a sign-up")
    REFUSE = "refuse", _("refused a sign-up")
    END_INVITE = "end_invite", _("ended an invitation")
    NOTE = "note", _("put a content note on a post")
    DELETE_POST = "delete_post", _("deleted a post")
    DELETE_COMMENT = "delete_comment", _("deleted a comment")
    DISMISS_REPORTS = "dismiss_reports", _("dismissed reports")
    RECOMMEND = "recommend", _("added to the recommended authors")
    UNRECOMMEND = "unrecommend", _("removed from the recommended authors")
    HIDE_TAG = "hide_tag", _("hid a tag")
    SHOW_TAG = "show_tag", _("showed a hidden tag again")
    SITE = "site", _("changed the settings of the site")
    DOCUMENT = "document", _("published a text of the site")
    ANNOUNCE = "announce", _("wrote an announcement")
    DELETE_ANNOUNCEMENT = "delete_announcement", _("deleted an announcement")
    TERMS = "terms", _("accepted the terms")
    REBUILD_INBOX = "rebuild_inbox", _("rebuilt the inbox")
    PASSWORD = "password", _("changed the password")
    RECOVER = "recover", _("set the password by e-mail")
    EMAIL = "email", _("changed the e-mail address")
    KICK = "kick", _("signed out a device")
    CLOSE = "close", _("closed the account")
    REOPEN = "reopen", _("took the closed account back")
    OTP_ON = "otp_on", _("turned two-factor sign-in on")
    OTP_OFF = "otp_off", _("turned two-factor sign-in off")
    OTP_CODES = "otp_codes", _("generated new recovery codes")
    OTP_RECOVERY = "otp_recovery", _("used a recovery code")
    PASSKEY_ADD = "passkey_add", _("added a passkey")
    PASSKEY_NAME = "passkey_name", _("renamed a passkey")
    PASSKEY_REMOVE = "passkey_remove", _("removed a passkey")
    PASSKEY_COPY = "passkey_copy", _("was refused with a passkey that seems to be copied")


def note(
    actor: User | None,
    action: str,
    subject_type: str,
    subject_id: int,
    detail: dict[str, Any] | None = None,
    address: str = "",
) -> None:
    """Record an act, in the act's transaction. `actor` is None for a command on the server.

    `detail` holds a few plain values that the kind of act does not say: roles, a client.
    """
    stored, stored_at = addresses.stored(address)
    AuditEntry.objects.create(
        actor_id=actor.pk if actor is not None else None,
        action=action,
        subject_type=subject_type,
        subject_id=subject_id,
        detail=detail or {},
        address=stored,
        address_at=stored_at,
    )
