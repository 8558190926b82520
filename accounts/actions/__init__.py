"""Writes of the accounts app: people, credentials, sign-ins, moderation.

Reads belong to `accounts.queries`. No module here enqueues jobs or writes to Redis.
"""

from accounts.actions.appeals import appeal, grant_appeal, refuse_appeal
from accounts.actions.authority import check_over, check_staff
from accounts.actions.closing import close, reopen
from accounts.actions.credentials import change_password, set_password
from accounts.actions.email import (
    change_email,
    confirm_email,
    drop_waiting_email,
    remove_email,
    send_confirmation_again,
)
from accounts.actions.erasing import forget_names
from accounts.actions.invites import create_invite, end_invite, end_own_invite, no_invite
from accounts.actions.mail_choices import choose_mails, end_mails
from accounts.actions.mails import request_mail
from accounts.actions.moderation import (
    ban,
    force_offline,
    forget_taken,
    limit,
    reset_two_factor,
    suspend,
    take,
    unban,
    undo,
    unlimit,
    unsuspend,
    warn,
)
from accounts.actions.passkeys import add_passkey, remove_passkey, rename_passkey, use_passkey
from accounts.actions.people import register
from accounts.actions.presence import touch
from accounts.actions.profile import (
    check_profile,
    edit_profile,
    end_first_steps,
    set_preferences,
)
from accounts.actions.proving import prove, prove_by_passkey
from accounts.actions.recovery import recover, request_recovery
from accounts.actions.refreshing import refresh
from accounts.actions.restoring import end_all_sign_ins
from accounts.actions.revocation import announce
from accounts.actions.roles import check_role, delete_role, people_with, promote, save_role
from accounts.actions.sign_up_requests import (
    Confirmed,
    approve,
    purge_requests,
    refuse,
    request_account,
    send_link_again,
)
from accounts.actions.signing_in import Proof, check_password, person_of, sign_in
from accounts.actions.signing_out import kick, kick_others, log_out
from accounts.actions.site import (
    change_site,
    delete_announcement,
    publish_document,
    save_announcement,
    set_logo,
)
from accounts.actions.staff_acts import (
    KEPT,
    NO_GROUNDS,
    Grounds,
    Reversal,
    keep_removed,
    reversals,
)
from accounts.actions.staff_acts import Kind as ActKind
from accounts.actions.staff_acts import record as record_act
from accounts.actions.terms import accept_terms, check_terms
from accounts.actions.two_factor import (
    begin_two_factor,
    check_two_factor,
    confirm_two_factor,
    end_two_factor,
    renew_recovery_codes,
)
from accounts.audit import Act, note

__all__ = [
    "KEPT",
    "NO_GROUNDS",
    "Act",
    "ActKind",
    "Confirmed",
    "Grounds",
    "Proof",
    "Reversal",
    "accept_terms",
    "add_passkey",
    "announce",
    "appeal",
    "approve",
    "ban",
    "begin_two_factor",
    "change_email",
    "change_password",
    "change_site",
    "check_over",
    "check_password",
    "check_profile",
    "check_role",
    "check_staff",
    "check_terms",
    "check_two_factor",
    "choose_mails",
    "close",
    "confirm_email",
    "confirm_two_factor",
    "create_invite",
    "delete_announcement",
    "delete_role",
    "drop_waiting_email",
    "edit_profile",
    "end_all_sign_ins",
    "end_first_steps",
    "end_invite",
    "end_mails",
    "end_own_invite",
    "end_two_factor",
    "force_offline",
    "forget_names",
    "forget_taken",
    "grant_appeal",
    "keep_removed",
    "kick",
    "kick_others",
    "limit",
    "log_out",
    "no_invite",
    "note",
    "people_with",
    "person_of",
    "promote",
    "prove",
    "prove_by_passkey",
    "publish_document",
    "purge_requests",
    "record_act",
    "recover",
    "refresh",
    "refuse",
    "refuse_appeal",
    "register",
    "remove_email",
    "remove_passkey",
    "rename_passkey",
    "renew_recovery_codes",
    "reopen",
    "request_account",
    "request_mail",
    "request_recovery",
    "reset_two_factor",
    "reversals",
    "save_announcement",
    "save_role",
    "send_confirmation_again",
    "send_link_again",
    "set_logo",
    "set_password",
    "set_preferences",
    "sign_in",
    "suspend",
    "take",
    "touch",
    "unban",
    "undo",
    "unlimit",
    "unsuspend",
    "use_passkey",
    "warn",
]
