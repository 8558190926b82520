"""Send one push to one device; the answer of its push service decides when the next one may go."""

import logging
from typing import NamedTuple

from accounts.models import PushSubscription
from accounts.push import actions
from socialsite.core import db
from socialsite.core.client import web_push
from socialsite.core.client.web_push import Outcome
from socialsite.core.telemetry.instruments import PUSHES

logger = logging.getLogger(__name__)

# Pauses after failures: 30 s, 2 min, 8 min … at most an hour, even if the service asks for more.
PAUSE_SECONDS, PAUSE_MAX = 30, 3600
# Failed requests in a row after which a subscription is deleted.
FAILURES_MAX = 20


class Result(NamedTuple):
    """Whether the message is finished; otherwise the seconds until the next attempt."""

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
    PUSHES.labels(sent.outcome.value).inc()
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


def pause(failures: int, retry_after: int | None) -> int:
    """Return the seconds to wait after a failure: those of the service, within bounds."""
    own = PAUSE_SECONDS * 4 ** min(failures, 4)
    return min(PAUSE_MAX, max(own, retry_after or 0))
