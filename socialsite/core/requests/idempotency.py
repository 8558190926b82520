"""`Idempotency-Key`: a creating request that is repeated with the same key has one effect.

- The key, the effect, and the status and id of the created object commit in one transaction, so a
  crash between them is impossible. A concurrent repeat waits on the unique key and then reads the
  row of the first request. A key lives for 24 hours.
- The response itself is not stored. A repeat reads the created object again, with the same
  visibility check as every other reader: the status is that of the first response, the body is
  current. If the object was deleted or hidden meanwhile, the repeat gets the 404 that reading it
  gets. Nothing is created again, and `Idempotency-Replayed: true` is sent in both cases.
"""

import functools
import hashlib
from collections.abc import Callable
from typing import IO, Any, NamedTuple, cast

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from socialsite.core import db
from socialsite.core.errors import IdempotencyConflict, InvalidInput, NotFound, UserNotFound
from socialsite.core.http import api
from socialsite.core.http.json import dumps
from socialsite.core.models import IdempotencyKey
from socialsite.core.rate_limits import buckets
from socialsite.core.rate_limits.budget import Budget

REPLAYED = "Idempotency-Replayed"


class Created(NamedTuple):
    """The response of a creating request, and the id by which `Show` finds the object again."""

    ident: int
    response: Response


View = Callable[..., Created]
# Return the current body of the created object as its creator sees it; raises NotFound,
# UserNotFound. The type of the request is the one that the view takes.
Show = Callable[[Any, int], dict[str, Any]]


def idempotent(
    show: Show, budget: Budget | None = None
) -> Callable[[View], Callable[..., Response]]:
    """Return a decorator for a POST method of an API view; without the header nothing changes.

    The wrapped method must answer with plain data and touch the database only: it runs inside the
    transaction of the key. A token of the budget is taken before it runs, but not for a repeat,
    which only gets the response that it missed. Raises IdempotencyConflict if the key was used for
    another request.
    """
    return functools.partial(_wrapped, show, budget)


def _wrapped(show: Show, budget: Budget | None, view: View) -> Callable[..., Response]:
    @functools.wraps(view)
    def run(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        def spend() -> None:
            if budget is not None:
                self.headers.update(buckets.spend(budget, owner).headers())

        owner = int(request.user.pk or 0)
        key = request.headers.get("Idempotency-Key")
        if key is None:
            spend()
            return view(self, request, *args, **kwargs).response
        if not (0 < len(key) <= IdempotencyKey.KEY_MAX and key.isascii() and key.isprintable()):
            message = _("1 to %(max)s printable ASCII characters.") % {
                "max": IdempotencyKey.KEY_MAX
            }
            raise InvalidInput(fields={"Idempotency-Key": [message]})
        fingerprint = _fingerprint(request)
        stored = _stored(owner, key, fingerprint)
        if stored is not None:
            return _again(show, request, stored)
        spend()
        try:
            return _first(owner, key, fingerprint, lambda: view(self, request, *args, **kwargs))
        except _KeyTaken:
            stored = _stored(owner, key, fingerprint)
            if stored is None:
                raise IdempotencyConflict from None
            return _again(show, request, stored)

    if budget is not None:
        run.budget = budget  # type: ignore[attr-defined]
    return run


def _always(_ident: int) -> bool:
    return True


def once(
    owner: int, key: str, act: Callable[[], int], is_there: Callable[[int], bool] = _always
) -> int:
    """Run the effect of a page's form, which returns the id of what it creates.

    A repeat with the same key (`form_keys.effect_of`) changes nothing and returns that id, while
    `is_there` says that the object exists: who deletes it and sends the form again wants it anew.
    Without a key each request has its effect.
    """
    if not key:
        return act()
    row = _row_of(owner, key)
    if row is not None and is_there(row.made_id):
        return row.made_id
    try:
        return _recorded(owner, key, act, row)
    except _KeyTaken:
        made = made_by(owner, key, is_there)
    if made is None:
        raise IdempotencyConflict
    return made


def made_by(owner: int, key: str, is_there: Callable[[int], bool] = _always) -> int | None:
    """Return the id of what a form with this key created.

    None if the form did not arrive before, or if the object is gone.
    """
    row = _row_of(owner, key) if key else None
    return row.made_id if row is not None and is_there(row.made_id) else None


def _row_of(owner: int, key: str) -> IdempotencyKey | None:
    return IdempotencyKey.objects.filter(user_id=owner, key=key).first()


@db.atomic
def _recorded(owner: int, key: str, act: Callable[[], int], stale: IdempotencyKey | None) -> int:
    if stale is not None:
        IdempotencyKey.objects.filter(pk=stale.pk).delete()
    row = _new_row(owner, key, key.rpartition(":")[2])
    row.made_id = act()
    row.save(update_fields=["made_id"])
    return row.made_id


class _KeyTaken(Exception):
    """Another request committed the same key first."""


@db.atomic
def _first(owner: int, key: str, fingerprint: str, act: Callable[[], Created]) -> Response:
    row = _new_row(owner, key, fingerprint)
    made = act()
    row.status, row.made_id = made.response.status_code, made.ident
    row.save(update_fields=["status", "made_id"])
    return made.response


def _new_row(owner: int, key: str, fingerprint: str) -> IdempotencyKey:
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(user_id=owner, key=key, fingerprint=fingerprint)
    except IntegrityError:
        raise _KeyTaken from None


def _stored(owner: int, key: str, fingerprint: str) -> IdempotencyKey | None:
    row = _row_of(owner, key)
    if row is not None and row.fingerprint != fingerprint:
        raise IdempotencyConflict
    return row


def _again(show: Show, request: Request, row: IdempotencyKey) -> Response:
    """Return the current response for the object that the first request created."""
    headers = {REPLAYED: "true"}
    try:
        return Response(show(request, row.made_id), status=row.status, headers=headers)
    except (NotFound, UserNotFound) as gone:
        headers |= api.error_headers(gone)
        return Response(gone.envelope(), status=gone.status, headers=headers)


def _digest(file: IO[bytes]) -> str:
    """Return the hash of an uploaded file, which is not read into memory."""
    file.seek(0)
    digest = hashlib.file_digest(cast("Any", file), "sha256").hexdigest()
    file.seek(0)
    return digest


def _fingerprint(request: Request) -> str:
    files = {name: _digest(file) for name, file in request.FILES.items()}
    data = cast("dict[str, Any]", request.data)
    body = {name: value for name, value in data.items() if name not in files}
    parts = dumps([request.method, request.path, sorted(body.items()), sorted(files.items())])
    return hashlib.sha256(parts).hexdigest()
