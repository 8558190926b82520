"""The rows that say which servers of the cache are trusted; times are those of the database."""

import math
from collections.abc import Collection
from typing import Any, NamedTuple

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, IntegrityError

from socialsite.core import db

# A server that missed deletions is left alone for so long: it may be away from one writer only.
REST_MS = 5_000
# After this time another process may empty a server that one claimed.
CLAIM_MS = 15_000
# Rows of servers that are no masters any more are kept for a day.
KEPT_MS = 86_400_000


class Row(NamedTuple):
    """One server, by its replication id."""

    replid: str
    is_trusted: bool


def _model() -> Any:
    return apps.get_model("core", "CacheServer")  # the models depend on this package


def _rows() -> Any:
    """Return all rows of the primary, never those of a replica."""
    return _model().objects.using(DEFAULT_DB_ALIAS)


def read() -> list[Row]:
    """Return all rows."""
    model = _model()
    rows = _rows().values_list("replid", "state")
    return [Row(replid, state == model.State.TRUSTED) for replid, state in rows]


def claim(replid: str, token: str) -> bool:
    """Let the holder of a token empty a server; False if another one does, or it must rest."""
    model, now = _model(), db.now_ms()
    new = {"state": model.State.CLAIMED, "token": token, "changed_ms": now}
    rows = _rows().filter(replid=replid)
    if not rows.exists():
        try:
            _rows().create(replid=replid, **new)
        except IntegrityError:
            return False
        return True
    rested = rows.filter(state=model.State.DISTRUSTED, changed_ms__lte=now - REST_MS)
    abandoned = rows.filter(state=model.State.CLAIMED, changed_ms__lte=now - CLAIM_MS)
    return bool(rested.update(**new) or abandoned.update(**new))


def trust(replid: str, token: str) -> bool:
    """Trust a server that the holder of a token has emptied; False if it lost the claim."""
    model = _model()
    rows = _rows().filter(replid=replid, state=model.State.CLAIMED, token=token)
    return bool(rows.update(state=model.State.TRUSTED, token="", changed_ms=db.now_ms()))


def distrust(keep: Collection[str]) -> float:
    """Distrust all servers but some; return the seconds since one of them was last trusted.

    Infinity if none is known. It reads first: while nothing changes, nothing is written.
    """
    model = _model()
    others = _rows().exclude(replid__in=keep)
    trusted = others.exclude(state=model.State.DISTRUSTED)
    if trusted.exists():
        trusted.update(state=model.State.DISTRUSTED, token="", changed_ms=db.now_ms())
    newest = others.order_by("-changed_ms").values_list("changed_ms", flat=True).first()
    return math.inf if newest is None else max(0, db.now_ms() - newest) / 1000


def forget() -> None:
    """Delete the rows of servers that were distrusted long ago."""
    model = _model()
    old = _rows().filter(changed_ms__lt=db.now_ms() - KEPT_MS)
    old.exclude(state=model.State.TRUSTED).delete()
