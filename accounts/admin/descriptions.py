"""Data of the admin's page of a person: devices, sign-out reasons, and the audit trail in words."""

from datetime import UTC, datetime
from typing import NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts import addresses, devices
from accounts.actions import Act
from accounts.actions.revocation import is_live
from accounts.models import AuditEntry, TokenBatch, TokenVersion, User

DEVICES, ACTS = 50, 20
# Admin page of each kind of audited thing.
PAGES = {
    "user": "admin:accounts_user_change",
    "post": "admin:feeds_post_change",
    "comment": "admin:interactions_comment_change",
}


class Device(NamedTuple):
    """One client of a person, as shown to staff."""

    name: str
    client: str
    address: str
    last_seen: datetime
    live: bool
    state: str


class Line(NamedTuple):
    """One entry of the audit trail in words."""

    at: datetime
    who: SafeString | str
    what: str
    whom: SafeString | str
    more: str
    address: str


def devices_of(user: User, viewer: User) -> list[Device]:
    """Return a person's clients as staff see them, signed in or not, most recently seen first."""
    batch = TokenBatch.objects.filter(pk=user.pk).first() or TokenBatch(user=user)
    rows = TokenVersion.objects.filter(user=user).order_by("-last_seen")[:DEVICES]
    return [_device(row, batch, viewer) for row in rows]


def _device(row: TokenVersion, batch: TokenBatch, viewer: User) -> Device:
    live, state = True, _("signed in")
    if not is_live(row, batch):
        live, state = False, _reason(row.ended if not row.refresh_jti else batch.ended)
        if row.ended_by and not row.refresh_jti:
            state = f"{state} ({row.ended_by})"
    elif _over(row):
        live, state = False, _("expired")
    name = devices.name_of(row.client, row.user_agent)
    address = addresses.shown_to(viewer, row.address)
    return Device(name, row.client, address, row.last_seen, live, state)


def _over(row: TokenVersion) -> bool:
    issued = datetime.fromtimestamp(row.refresh_iat, UTC)
    return issued + settings.REFRESH_LIFETIME <= timezone.now()


def _reason(reason: str) -> str:
    """Return a sign-out reason in words."""
    return {
        "login": _("replaced by a later sign-in"),
        "logout": _("logged out"),
        "kicked": _("signed out by another device"),
        "password": _("password changed"),
        "forced": _("forced offline"),
        "ban": _("banned"),
        "suspend": _("suspended"),
        "closed": _("account closed"),
        "limit": _("too many devices"),
        "reuse": _("used in two places"),
    }.get(reason, _("ended"))


def acts_about(user: User, viewer: User) -> list[Line]:
    """Return the latest acts by a person and on them, as staff see them, newest first."""
    rows = AuditEntry.objects.select_related("actor").order_by("-id")
    about = rows.filter(subject_type="user", subject_id=user.pk)[:ACTS]
    # Two reads, each with its own index; one query with OR would scan the table.
    found = {entry.pk: entry for part in (about, rows.filter(actor=user)[:ACTS]) for entry in part}
    return _lines([found[key] for key in sorted(found, reverse=True)[:ACTS]], viewer)


def acts_on(user: User, viewer: User) -> list[Line]:
    """Return the latest acts of others and of commands on a person, newest first."""
    rows = AuditEntry.objects.filter(subject_type="user", subject_id=user.pk).exclude(actor=user)
    return _lines(list(rows.select_related("actor").order_by("-id")[:ACTS]), viewer)


def _lines(latest: list[AuditEntry], viewer: User) -> list[Line]:
    ids = {entry.subject_id for entry in latest if entry.subject_type == "user"}
    names = dict(User.objects.filter(pk__in=ids).values_list("pk", "username"))
    return [
        Line(
            entry.created_at,
            actor_link(entry),
            act_name(entry),
            subject_link(entry, names.get(entry.subject_id, "")),
            detail_text(entry),
            addresses.shown_to(viewer, entry.address),
        )
        for entry in latest
    ]


def act_name(entry: AuditEntry) -> str:
    """Return the name of the act in the current language."""
    return str(Act(entry.action).label) if entry.action in Act.values else entry.action


def actor_link(entry: AuditEntry) -> SafeString | str:
    """Return a link to the actor, or a text for a command on the server."""
    if entry.actor is None:
        return _("a command on the server")
    return _link("user", entry.actor.pk, str(entry.actor))


def subject_link(entry: AuditEntry, username: str) -> SafeString | str:
    """Return a link to the person or thing acted on; empty for acts of people on themselves."""
    if entry.subject_type == "user":
        if entry.subject_id == entry.actor_id:
            return "-"
        return _link("user", entry.subject_id, f"@{username}")
    names = {
        "post": _("the post"),
        "comment": _("the comment"),
        "sign_up": _("a sign-up"),
        "site": _("the site"),
        "announcement": _("an announcement"),
        "tag": _("a tag"),
        "role": _("a role"),
    }
    return _link(entry.subject_type, entry.subject_id, names.get(entry.subject_type, "?"))


def _link(kind: str, ident: int, text: str) -> SafeString | str:
    if kind not in PAGES:
        return text
    return format_html('<a href="{}">{}</a>', reverse(PAGES[kind], args=[ident]), text)


def detail_text(entry: AuditEntry) -> str:
    """Return the detail in one line: `from: member, to: member admin`."""
    parts = {
        key: " ".join(map(str, value)) if isinstance(value, list) else str(value)
        for key, value in entry.detail.items()
    }
    return ", ".join(f"{key}: {value}" for key, value in parts.items())
