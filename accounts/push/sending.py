"""One push to one device: what its push service answers decides about the next one."""

import logging
from typing import NamedTuple

from accounts.models import PushSubscription
from accounts.push import actions
from socialsite.core import db
from socialsite.core.http import web_push
from socialsite.core.http.web_push import Outcome

logger = logging.getLogger(__name__)

# Pauses after failures: 30 s, 2 min, 8 min … an hour at most, also if the service says more.
PAUSE_SECONDS, PAUSE_MAX = 30, 3600
# Failed requests in a row after which a subscription is deleted.
FAILURES_MAX = 20


class Result(NamedTuple):
    """Whether the message is done with; otherwise the seconds until it may be tried again."""

    done: bool
    again_seconds: int = 0


DONE = Result(done=True)


def send(device: PushSubscription, text: bytes, *, topic: str, urgency: str) -> Result:
    """Send a message to a device. A device whose service failed lately has to wait."""
    waits = (device.wait_until - db.now_ms()) // 1000
    if waits > 0:
        return Result(done=False, again_seconds=int(waits) + 1)
    keys = web_push.keys_of(device.p256dh, device.auth)
    sent = web_push.send(device.endpoint, keys, text, topic=topic, urgency=urgency)
    if sent.outcome is Outcome.SENT:
        actions.delivered(device)
        return DONE
    host = web_push.host_of(device.endpoint)
    if sent.outcome is Outcome.GONE:
        logger.info("push endpoint at %s is gone (%s); deleted", host, sent.reason)
        actions.delete(device)
        return DONE
    seconds = pause(device.failures, sent.seconds)
    actions.failed(device, seconds, FAILURES_MAX)
    if sent.outcome is Outcome.REFUSED:
        logger.warning("push refused by %s (%s); not sent", host, sent.reason)
        return DONE
    logger.info("push to %s failed (%s); next one in %d s", host, sent.reason, seconds)
    return Result(done=False, again_seconds=seconds)


def pause(failures: int, told: int | None) -> int:
    """Return the seconds to wait after a failure: those the service says, within bounds."""
    own = PAUSE_SECONDS * 4 ** min(failures, 4)
    return min(PAUSE_MAX, max(own, told or 0))
