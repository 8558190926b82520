"""Writes of push subscriptions: a device subscribes, and its subscription ends with its sign-in.

A device has one subscription, and an endpoint belongs to one device: if somebody else signs in on
the same browser and subscribes, the old row is deleted.
"""

import hashlib

from django.db import IntegrityError
from django.utils.translation import gettext as _

from accounts.actions.clients import live_row
from accounts.actions.revocation import locked_batch
from accounts.events import TokensRevoked
from accounts.models import PushSubscription, User
from accounts.tokens import Principal
from socialsite.core import db
from socialsite.core.client import outgoing, web_push
from socialsite.core.errors import InvalidInput, NotFound

# Devices of one person that receive pushes; the newest ones stay. `clients.LIVE_MAX` is higher.
DEVICES_MAX = 10
# Two devices may subscribe with the same endpoint at once; one of them tries again.
TRIES = 3
# A request waits for this long for the name of an endpoint, and so blocks its thread.
RESOLVE_SECONDS = 1.5


def subscribe(
    user: User,
    principal: Principal,
    endpoint: str,
    p256dh: str,
    auth: str,
    language: str = "",
    *,
    replaces: str | None = None,
) -> None:
    """Send pushes to the requesting device from now on, and to no earlier endpoint of it.

    `replaces` must be the device's present endpoint, otherwise this raises NotFound: a browser that
    renews a subscription does not know whose it was. Raises InvalidInput for an endpoint that the
    site may not send requests to, or for invalid keys; BannedAccessToken if the device was signed
    out in the meantime.
    """
    _check(endpoint, p256dh, auth)
    for attempt in range(TRIES):
        try:
            _subscribe(user, principal, endpoint, p256dh, auth, language, replaces)
            return
        except IntegrityError:
            if attempt == TRIES - 1:
                raise


def _check(endpoint: str, p256dh: str, auth: str) -> None:
    wrong = {}
    try:
        web_push.keys_of(p256dh, auth)
    except ValueError as error:
        wrong["keys"] = [_("Must be the keys of a browser: %(name)s.") % {"name": error}]
    # The name is resolved last, as that may take a while.
    if not _is_allowed(endpoint, resolve=not wrong):
        wrong["endpoint"] = [_("Must be the https address of a push service.")]
    if wrong:
        raise InvalidInput(fields=wrong)


def _is_allowed(endpoint: str, *, resolve: bool) -> bool:
    """Return whether the site may send requests to an endpoint; `resolve` checks its name too."""
    if not endpoint.isascii() or len(endpoint) > web_push.ENDPOINT_MAX:
        return False
    try:
        if resolve:
            outgoing.check(endpoint, deadline=outgoing.Deadline(RESOLVE_SECONDS))
    except outgoing.OutgoingError:
        return False
    return True


@db.atomic
def _subscribe(
    user: User,
    principal: Principal,
    endpoint: str,
    p256dh: str,
    auth: str,
    language: str,
    replaces: str | None,
) -> None:
    batch = locked_batch(user)
    row = live_row(batch, principal.client, principal.version)
    digest = _digest(endpoint)
    own = PushSubscription.objects.filter(user=user)
    if replaces is not None:
        mine = own.filter(client=row.client, endpoint_hash=_digest(replaces))
        if not mine.exists():
            raise NotFound
    own.filter(client=row.client).delete()
    PushSubscription.objects.filter(endpoint_hash=digest).delete()
    newest = own.order_by("-pk").values_list("pk", flat=True)
    own.filter(pk__in=list(newest[DEVICES_MAX - 1 :])).delete()
    PushSubscription.objects.create(
        user=user,
        client=row.client,
        version=row.version,
        batch=batch.batch,
        endpoint=endpoint,
        endpoint_hash=digest,
        p256dh=p256dh,
        auth=auth,
        language=language,
    )


def _digest(endpoint: str) -> str:
    return hashlib.sha256(endpoint.encode()).hexdigest()


def unsubscribe(user: User, client: str) -> None:
    """Send no pushes to a device any more."""
    PushSubscription.objects.filter(user=user, client=client).delete()


def end_revoked(event: TokensRevoked) -> None:
    """Delete the subscriptions of the sign-ins that a revocation ends, in its transaction.

    A spared device continues with a new pair, which has the next batch.
    """
    rows = PushSubscription.objects.filter(user_id=event.user_id)
    if event.client is not None:
        rows.filter(client=event.client).delete()
        return
    if event.spared is not None:
        rows.filter(client=event.spared).update(batch=event.floor + 1)
    rows.filter(batch__lte=event.floor).delete()


def delivered(device: PushSubscription) -> None:
    """Record that the push service accepted a message."""
    if device.failures:
        PushSubscription.objects.filter(pk=device.pk).update(failures=0, wait_until=0)


def failed(device: PushSubscription, seconds: int, most: int) -> None:
    """Pause a device whose push service failed; delete it after `most` failures in a row."""
    if device.failures + 1 >= most:
        delete(device)
        return
    PushSubscription.objects.filter(pk=device.pk).update(
        failures=device.failures + 1, wait_until=db.now_ms() + seconds * 1000
    )


def delete(device: PushSubscription) -> None:
    """Delete a subscription that the push service does not know any more."""
    PushSubscription.objects.filter(pk=device.pk).delete()
