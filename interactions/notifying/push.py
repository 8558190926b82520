"""Pushes notifications to the devices of their reader, who has turned that on for each device.

- A fold asks for a push when a notification becomes unread. What more people add to an unread one
  is not pushed, so a viral post causes one push until it is read.
- What is sent, and to whom, is decided just before each request, from the database: the devices
  whose sign-in has not ended, and the notifications that their reader may see and has not read.
  However late a worker is, it sends nothing to a device that was signed out, and nothing of
  somebody who was blocked in the meantime.
"""

import logging
from collections.abc import Iterable, Sequence

import orjson
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils import translation

from accounts import queries as accounts_queries
from accounts.models import User
from accounts.push import queries as push_queries
from accounts.push import sending
from interactions.events import PushWanted
from interactions.kinds import BY_VALUE
from interactions.models import Notification, NotificationReader
from interactions.notifying import wording
from interactions.queries.notifications import Item, unread_among
from socialsite.core import db
from socialsite.core.client import web_push
from socialsite.core.events import publish
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.text.cuts import cut

logger = logging.getLogger(__name__)

# Notifications of one fold that are pushed: the newest. All are on the page.
MOST = 3
TRIES = 6
# Somebody waits for an answer to these; a device may save its battery with the others.
PROMPT = ("commented", "replied", "mentioned")
BODY_MAX = 300  # characters, far more than devices show


def request(reader: NotificationReader, groups: Iterable[Notification]) -> None:
    """Ask for a push of these groups, in the transaction that makes them unread."""
    chosen = [group for group in groups if BY_VALUE[group.kind].name not in reader.not_pushed]
    if not chosen or not web_push.is_on() or not push_queries.any_of(reader.pk):
        return
    chosen.sort(key=lambda group: group.position, reverse=True)
    publish(PushWanted(reader.pk, [group.pk for group in chosen[:MOST]]))


def deliver(user_id: int, ids: list[int], devices: list[int] | None, tries: int) -> None:
    """Push notifications to a person's devices, and publish again what has to wait."""
    if not web_push.is_on():
        return
    waiting, seconds = list[int](), 0
    for device_id in push_queries.live(user_id, devices).values_list("pk", flat=True):
        result = _deliver_to(user_id, device_id, ids)
        if not result.done:
            waiting.append(device_id)
            seconds = max(seconds, result.again_seconds)
    if not waiting:
        return
    if tries + 1 >= TRIES:
        logger.warning("push of user %s given up after %d tries", user_id, tries + 1)
        return
    _postpone(PushWanted(user_id, ids, waiting, tries + 1), seconds)


@db.atomic
def _postpone(event: PushWanted, seconds: int) -> None:
    publish(event, after_seconds=seconds)


def _deliver_to(user_id: int, device_id: int, ids: Sequence[int]) -> sending.Result:
    """Send the notifications to one device, the oldest first; stop at the first that must wait.

    A notification that was sent before one that has to wait is sent again with it. It has the same
    tag, so the device shows it once.
    """
    for ident in reversed(ids):
        device = push_queries.live(user_id, [device_id]).first()
        if device is None:
            break
        language = accounts_queries.language_of(user_id) or device.language
        text = _text(user_id, ident, language or settings.LANGUAGE_CODE)
        if text is None:
            continue
        content, urgency = text
        if not buckets.take(budgets.PUSH_SENT, user_id).allowed:
            logger.info("push budget of user %s used up; not sent", user_id)
            break
        result = sending.send(device, content, topic=f"n{ident}", urgency=urgency)
        if not result.done:
            return result
    return sending.DONE


def _text(user_id: int, ident: int, language: str) -> tuple[bytes, str] | None:
    """Return the message of a notification and its urgency; None if it may not be shown now."""
    items = unread_among(user_id, [ident])
    if not items:
        return None
    username = User.objects.values_list("username", flat=True).get(pk=user_id)
    with translation.override(language):
        return _message(items[0], username), "normal" if items[0]["kind"] in PROMPT else "low"


def _message(item: Item, username: str) -> bytes:
    """Return what the service worker shows, in the active language; see `static/worker/sw.js`."""
    words = cut(item["subject"]["preview"], BODY_MAX)
    why = wording.reason(item)
    message = {
        "title": wording.sentence(item).striptags(),
        "body": f"{why}: {words}" if why and words else why or words,
        "tag": f"n{item['id']}",
        "icon": static("img/app-192.png"),
        "url": wording.address(item, username) or reverse("notifications"),
        "lang": translation.get_language(),
    }
    packed = orjson.dumps(message)
    return packed if len(packed) <= web_push.PLAIN_MAX else orjson.dumps(message | {"body": ""})
