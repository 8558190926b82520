"""Mails to people, as plain text in their language.

A mail goes only to the address as it is stored, or as the person typed it who is to confirm it or
asked for an account; never to an address that merely matches it. Links contain secrets, so they are
created here at sending time, and no table and no queue stores them.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone, translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import closings, queries, sign_in_log, staff_acts
from accounts.audit import Act
from accounts.mail import choices, links
from accounts.mail.composing import address_of, mail_to
from accounts.models import MailKind, SignUpRequest, StaffAct, User
from socialsite.core.rate_limits import allowances, budgets
from socialsite.core.rate_limits.buckets import Take
from socialsite.core.telemetry.instruments import MAILS

logger = logging.getLogger(__name__)

# Of a person's id, the address of the event, and its `detail`.
Writer = Callable[..., list[EmailMessage]]

ASKED_FOR = ("confirm_email", "recovery")
# Kinds of mails that may wait for all other work.
UNHURRIED = set[str]()
# Acts of staff in one mail.
ACTS = 5


class Later(Exception):
    """The site's mail budget is used up; the next mail may go after `seconds`."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__(f"the site's budget of mails is used up for {seconds} s")


def send(
    kind: str,
    user_id: int,
    address: str,
    language: str,
    *,
    counted: bool = False,
    detail: Sequence[int] = (),
) -> int:
    """Send the mails of a `MailWanted` event; returns their number. Raises mail server errors.

    `counted`: their budget tokens are already taken. Raises Later when the site's budget is used
    up.
    """
    chosen = queries.language_of(user_id) or language
    with translation.override(chosen or settings.LANGUAGE_CODE):
        messages = _WRITERS[kind](user_id, address, *detail)
        if not messages or not (counted or _may_send(kind, user_id, address, len(messages))):
            return 0
        for message in messages:
            _send(message)
    return len(messages)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:
        MAILS.labels("failed").inc()
        raise
    MAILS.labels("sent").inc()


def _may_send(kind: str, user_id: int, address: str, number: int) -> bool:
    """Take budget tokens for mails; False when the recipient's budget is used up. Raises Later.

    Only sent mails count: requests for unknown addresses must not use up the site's budget. Mails
    that anybody may request and mails that report a change are counted apart, each kind by itself.
    Mails that people choose come one an hour at most: they must not use up the budget of others.
    Links for different accounts of one address are counted apart too: a stranger's account must not
    use up the budget of the address's owner.
    """
    mailbox = address.lower()
    owner = f"{kind} {user_id} {mailbox}"
    if kind in ASKED_FOR:
        site = budgets.MAIL_SITE
        owners = {budgets.MAIL_RECIPIENT: owner, budgets.MAIL_MAILBOX: f"{kind} {mailbox}"}
    else:
        site, owners = budgets.NOTICE_SITE, {budgets.NOTICE: owner}
    wanted = owners if kind in UNHURRIED else owners | {site: ""}
    takes = [Take(budget, whose, number) for budget, whose in wanted.items()]
    denials = allowances.take_all(takes)
    if not denials:
        return True
    if all(denial.budget is site for denial in denials):
        raise Later(denials[0].seconds)
    logger.warning("mail budget of one address used up; %s not sent", kind)
    return False


def _confirm_email(user_id: int, address: str) -> list[EmailMessage]:
    user: User | SignUpRequest | None = SignUpRequest.objects.filter(pk=user_id).first()
    user = user or User.objects.filter(pk=user_id).first()
    if user is None or links.waiting_of(user) != address:
        return []
    link = address_of("email_link", links.for_email(user, address))
    subject = _("Confirm your e-mail address")
    return [
        mail_to(
            address,
            subject,
            _("This address was entered for the account @%(name)s on %(site)s. To confirm, open:"),
            link,
            _("The link is valid for 24 hours. If this was not you, ignore this mail."),
            name=user.username,
        )
    ]


def _sign_up_approved(user_id: int, address: str) -> list[EmailMessage]:
    user = User.objects.active().filter(pk=user_id).first()
    if user is None:
        return []
    return [
        mail_to(
            address,
            _("Your account is open"),
            _("Welcome! Your account @%(name)s on %(site)s is open. You can log in now:"),
            address_of("login"),
            name=user.username,
        )
    ]


def _sign_up_refused(user_id: int, address: str) -> list[EmailMessage]:
    row = SignUpRequest.objects.filter(pk=user_id, state=SignUpRequest.State.REFUSED).first()
    if row is None:
        return []
    return [
        mail_to(
            address,
            _("Your request for an account"),
            _("You asked for the account @%(name)s on %(site)s. We did not accept your request."),
            *(["%(answer)s"] if row.answer else []),
            _("Your name and your password are deleted; you may ask again."),
            name=row.username,
            answer=row.answer,
        )
    ]


def _recovery(user_id: int, address: str) -> list[EmailMessage]:
    found: dict[str, list[User]] = {}
    for user in User.objects.filter(email_key=address.lower()).order_by("pk"):
        if closings.may_recover(user):
            found.setdefault(user.email, []).append(user)
    return [_recovery_of(stored, users) for stored, users in found.items()]


def _recovery_of(address: str, users: list[User]) -> EmailMessage:
    lines = [
        f"@{user.username}:\n{address_of('recover_link', links.for_recovery(user))}"
        for user in users
    ]
    return mail_to(
        address,
        _("Set a new password"),
        _("Somebody asked for a new password on %(site)s. To choose one, open the link:"),
        *lines,
        _(
            "Each link is valid for one hour and works once. If this was not you, ignore this"
            " mail: your password does not change."
        ),
    )


def _password_changed(user_id: int, address: str) -> list[EmailMessage]:
    user = User.objects.exclude(email="").filter(pk=user_id).first()
    if user is None or (user.deleted_at and not closings.until(user_id)):
        return []
    return [
        mail_to(
            user.email,
            _("Your password was changed"),
            _("The password of your account @%(name)s on %(site)s was changed."),
            _("If this was not you, set a new one at once:"),
            address_of("recover"),
            name=user.username,
        )
    ]


def _email_changed(user_id: int, address: str) -> list[EmailMessage]:
    user = User.objects.filter(pk=user_id, deleted_at=None).first()
    if user is None:
        return []
    return [
        mail_to(
            address,
            _("Your e-mail address was changed"),
            _("This is no longer the address of your account @%(name)s on %(site)s."),
            _("If this was not you, log in, change your password and set your address again:"),
            address_of("email"),
            name=user.username,
        )
    ]


def _two_factor_changed(text: Promise) -> Writer:
    """Return the writer of a mail that reports a change of a person's second factor."""

    def write(user_id: int, address: str) -> list[EmailMessage]:
        user = User.objects.exclude(email="").filter(pk=user_id, deleted_at=None).first()
        if user is None:
            return []
        return [
            mail_to(
                user.email,
                _("Two-factor sign-in of your account"),
                str(text),
                _("If this was not you, set a new password at once, then check your settings:"),
                address_of("recover"),
                address_of("two_factor"),
                name=user.username,
            )
        ]

    return write


def _staff_act(user_id: int, address: str) -> list[EmailMessage]:
    """Write of the acts of the last day: of two in a row, one mail may be over the budget."""
    user = User.objects.exclude(email="").filter(pk=user_id, deleted_at=None).first()
    recent = StaffAct.objects.filter(user=user_id, undone_at=None)
    recent = recent.filter(created_at__gt=timezone.now() - timedelta(days=1))
    found = [staff_acts.body(act) for act in recent.order_by("-id")[:ACTS]]
    if user is None or not found:
        return []
    return [
        mail_to(
            user.email,
            _("A decision about your account"),
            _("The staff of %(site)s decided about your account @%(name)s:"),
            "%(acts)s",
            _("You can read this, and object once, here. If you cannot log in, try all the same:"),
            address_of("acts"),
            name=user.username,
            acts="\n\n".join(map(_in_lines, found)),
        )
    ]


def _in_lines(act: staff_acts.ActBody) -> str:
    words = staff_acts.in_words(act)
    reason = _("Reason: %(reason)s.") % {"reason": words["reason"]} if words["reason"] else ""
    return "\n".join(filter(None, [words["title"], reason, act["words"], words["effect"]]))


def _appeal_decided(user_id: int, address: str) -> list[EmailMessage]:
    user = User.objects.exclude(email="").filter(pk=user_id, deleted_at=None).first()
    if user is None:
        return []
    return [
        mail_to(
            user.email,
            _("Your objection"),
            _("The staff of %(site)s decided about the objection of @%(name)s. To read it, open:"),
            address_of("acts"),
            name=user.username,
        )
    ]


def _closed(user_id: int, address: str) -> list[EmailMessage]:
    user = User.objects.exclude(email="").exclude(deleted_at=None).filter(pk=user_id).first()
    if user is None or closings.of(user_id) is None:
        return []
    until = closings.until(user_id)
    subject = _("Your account is closed")
    closed = _("Your account @%(name)s on %(site)s is closed. Nobody sees your profile and posts.")
    if until is None:
        erased = _("All of it is being erased, and cannot be taken back.")
        return [mail_to(user.email, subject, closed, erased, name=user.username)]
    return [
        mail_to(
            user.email,
            subject,
            closed,
            _("All of it will be erased on %(time)s. Until then you can log in to take it back:"),
            address_of("login"),
            _(
                "If this was not you, take it back and change your password at once. If your"
                " password does not work any more, set a new one first:"
            ),
            address_of("recover"),
            name=user.username,
            time=closings.shown(until),
        )
    ]


def _reopened(user_id: int, address: str) -> list[EmailMessage]:
    user = User.objects.exclude(email="").filter(pk=user_id, deleted_at=None).first()
    if user is None:
        return []
    return [
        mail_to(
            user.email,
            _("Your account is open again"),
            _("You took back your account @%(name)s on %(site)s. Everything is as it was before."),
            _("If this was not you, set a new password at once:"),
            address_of("recover"),
            name=user.username,
        )
    ]


def _new_sign_in(user_id: int, address: str) -> list[EmailMessage]:
    """Write of the last day: of two in a row, one mail may be over the budget."""
    user = User.objects.exclude(email="").filter(pk=user_id, deleted_at=None).first()
    found = sign_in_log.first_seen(user_id, timedelta(days=1))[:ACTS]
    if user is None or not found or not choices.wants(user, MailKind.SIGN_INS):
        return []
    message = mail_to(
        user.email,
        _("A new device signed in"),
        _("Somebody logged in to your account @%(name)s on %(site)s with a new device:"),
        "%(devices)s",
        _("If this was you, there is nothing to do. If not, set a new password at once:"),
        address_of("recover"),
        name=user.username,
        devices="\n".join(map(sign_in_log.in_words, found)),
    )
    return [choices.with_ending(message, user, MailKind.SIGN_INS)]


_WRITERS: dict[str, Writer] = {
    "new_sign_in": _new_sign_in,
    Act.CLOSE: _closed,
    Act.REOPEN: _reopened,
    "staff_act": _staff_act,
    "appeal_decided": _appeal_decided,
    "confirm_email": _confirm_email,
    "sign_up_approved": _sign_up_approved,
    "sign_up_refused": _sign_up_refused,
    "recovery": _recovery,
    "password_changed": _password_changed,
    "email_changed": _email_changed,
    Act.OTP_ON: _two_factor_changed(
        gettext_lazy("Two-factor sign-in was turned on for your account @%(name)s on %(site)s.")
    ),
    Act.OTP_OFF: _two_factor_changed(
        gettext_lazy("Two-factor sign-in was turned off for your account @%(name)s on %(site)s.")
    ),
    Act.OTP_RESET: _two_factor_changed(
        gettext_lazy(
            "Staff removed two-factor sign-in and all passkeys from your account @%(name)s on"
            " %(site)s."
        )
    ),
    Act.OTP_CODES: _two_factor_changed(
        gettext_lazy("New recovery codes were generated for your account @%(name)s on %(site)s.")
    ),
    Act.OTP_RECOVERY: _two_factor_changed(
        gettext_lazy("A recovery code of your account @%(name)s on %(site)s was used.")
    ),
    Act.PASSKEY_ADD: _two_factor_changed(
        gettext_lazy("A passkey was added to your account @%(name)s on %(site)s.")
    ),
    Act.PASSKEY_REMOVE: _two_factor_changed(
        gettext_lazy("A passkey was removed from your account @%(name)s on %(site)s.")
    ),
    Act.PASSKEY_COPY: _two_factor_changed(
        gettext_lazy(
            "A log-in to your account @%(name)s on %(site)s was refused, since somebody seems to"
            " have copied its passkey. Remove this passkey."
        )
    ),
}


def register(kind: str, writer: Writer) -> None:
    """Let another app write the mails of a kind; they go after all other work."""
    _WRITERS[kind] = writer
    UNHURRIED.add(kind)
