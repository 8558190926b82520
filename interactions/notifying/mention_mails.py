"""Mails about mentions that are still unread after some minutes, to people who chose them.

- A fold plans a mail when a mention becomes unread: one event at a time for each person, due
  `WAIT_MS` later. What goes into the mail is decided then, and again when it is written, from the
  notifications that the person may see and has not read.
- One mail has all mentions of its time, and the next one waits for `PAUSE_MS`.
- The mark of what was mailed is committed with the event of the mail, so each mention is asked for
  once. As every mail, it is lost if a worker is killed while it sends it.
"""

from collections.abc import Iterable

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import actions as accounts_actions
from accounts.mail import choices, composing, messages
from accounts.models import MailKind, User
from interactions import kinds
from interactions.events import MentionMailDue
from interactions.models import Notification, NotificationReader
from interactions.notifying import wording
from interactions.queries.notifications import Item, unread_among
from socialsite.core import db
from socialsite.core.events import publish

KIND = "mentions"
VALUES = kinds.VALUES["mentioned"]
WAIT_MS, PAUSE_MS = 10 * 60_000, 60 * 60_000
# An event that is so late does not come any more.
LOST_MS = 24 * PAUSE_MS
# Mentions that are looked at for one mail, and shown in it: the newest.
MOST, SHOWN = 50, 10


def request(reader: NotificationReader, groups: Iterable[Notification]) -> None:
    """Plan a mail if some of these unread groups are mentions, in the transaction of their fold."""
    places = [group.position for group in groups if group.kind in VALUES]
    if not places or _recipient(reader.pk) is None:
        return
    if reader.mention_mail_due > db.now_ms() - LOST_MS:
        return  # a mail is planned
    after = max(reader.mentions_after, min(places) - 1)
    _plan_at(reader.pk, max(places) + WAIT_MS, after)


def _recipient(user_id: int) -> User | None:
    """Return the person, if they can get this mail and want it."""
    user = User.objects.active().filter(pk=user_id).first()
    return user if user is not None and choices.wants(user, MailKind.MENTIONS) else None


def _plan_at(user_id: int, due: int, after: int, **values: int) -> None:
    readers = NotificationReader.objects.filter(pk=user_id)
    readers.update(mention_mail_due=due, mentions_after=after, **values)
    publish(MentionMailDue(user_id), after_seconds=max(0, -(-(due - db.now_ms()) // 1000)))


def plan(user_id: int) -> None:
    """Ask for the mail that is due, in the transaction of the caller, or plan a later one."""
    reader = NotificationReader.objects.select_for_update().filter(pk=user_id).first()
    if reader is None:
        return
    now = db.now_ms()
    to, free_at = now - WAIT_MS, reader.mention_mail_at + PAUSE_MS
    user, after = _recipient(user_id), reader.mentions_after
    if user is None:
        _end(user_id)
    elif not _unread(user_id, after, to):
        _wait_for_next(user_id, to)
    elif free_at > now:
        _plan_at(user_id, free_at, after)
    else:
        accounts_actions.request_mail(KIND, user_id, "", after, to)
        _wait_for_next(user_id, to, mention_mail_at=now)


def _wait_for_next(user_id: int, to: int, **values: int) -> None:
    """Go on after a position: plan a mail if there is a newer unread mention."""
    newer = _groups(user_id).filter(position__gt=to).order_by("position")
    position = newer.values_list("position", flat=True).first()
    if position is None:
        _end(user_id, mentions_after=to, **values)
    else:
        _plan_at(user_id, position + WAIT_MS, to, **values)


def _end(user_id: int, **values: int) -> None:
    NotificationReader.objects.filter(pk=user_id).update(mention_mail_due=0, **values)


def _groups(user_id: int) -> "QuerySet[Notification]":
    return Notification.objects.filter(user_id=user_id, is_unread=True, kind__in=VALUES)


def _unread(user_id: int, after: int, to: int) -> list[Item]:
    """Return the newest unread mentions between two positions that the person may see."""
    found = _groups(user_id).filter(position__gt=after, position__lte=to).order_by("-position")
    return unread_among(user_id, list(found.values_list("pk", flat=True)[:MOST]))


def write(user_id: int, address: str, after: int, to: int) -> list[EmailMessage]:
    """Return the mail about the mentions between two positions; none if all of them are read."""
    user, items = _recipient(user_id), _unread(user_id, after, to)
    if user is None or not items:
        return []
    lines = [_in_lines(item, user.username) for item in items[:SHOWN]]
    notifications = composing.address_of("notifications")
    message = composing.mail_to(
        user.email,
        _("New mentions of you: %(n)s") % {"n": len(items)},
        _("Hello @%(name)s, this is new for you on %(site)s:"),
        "%(lines)s",
        *([_("There are more:"), notifications] if len(items) > SHOWN else []),
        name=user.username,
        lines="\n\n".join(lines),
    )
    return [choices.with_ending(message, user, MailKind.MENTIONS)]


def _in_lines(item: Item, username: str) -> str:
    sentence = wording.sentence(item).striptags()
    link = settings.SITE_URL + (wording.address(item, username) or reverse("notifications"))
    return f"{sentence}:\n{item['subject']['preview']}\n{link}"


messages.register(KIND, write)
