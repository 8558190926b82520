"""The id of the request that this thread or asyncio task works for, which every log line shows.

It begins at the entry points (WSGI, ASGI). Messages of the broker and events of the outbox carry it
to the work that a request leaves behind. Work without a request, such as a task of the schedule,
has an id of its own for each run.

The proxy in front sets `X-Request-ID`; what clients claim counts nowhere.
"""

import contextlib
import os
import random
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from django.conf import settings

HEADER = "X-Request-ID"
# In WSGI, in ASGI, in a message of the broker, and in the payload of an event.
WSGI, ASGI = "HTTP_X_REQUEST_ID", b"x-request-id"
MESSAGE, PAYLOAD = "request_id", "@request"
_FORM = re.compile(r"[0-9a-f]{32}")
# Ids are no secrets. Asking the system for each would let go of the GIL, for which a thread then
# waits among the others.
_dice = random.Random()  # noqa: S311
os.register_at_fork(after_in_child=_dice.seed)
_current: ContextVar[str] = ContextVar("request_id", default="")

Application = Callable[[Any, Any, Any], Any]


def current() -> str:
    """Return the id of the present work; "" outside of requests and tasks."""
    return _current.get()


def new() -> str:
    """Return an id that nobody has."""
    return f"{_dice.getrandbits(128):032x}"


def begin(ident: str) -> None:
    """Give all further work of this thread or asyncio task an id."""
    _current.set(ident)


@contextlib.contextmanager
def within(ident: object) -> Iterator[None]:
    """Work under this id; under the present one if it is none."""
    if not is_id(ident):
        yield
        return
    token = _current.set(str(ident))
    try:
        yield
    finally:
        _current.reset(token)


def is_id(text: object) -> bool:
    """Return whether something has the form of an id."""
    return isinstance(text, str) and _FORM.fullmatch(text) is not None


def of_request(claim: object) -> str:
    """Return the id of a request: that of its header, if only our proxy sets it; or a new one."""
    return str(claim) if settings.TRUSTED_PROXIES and is_id(claim) else new()


class Named:
    """ASGI middleware that gives each request and each WebSocket its id, for as long as it lasts.

    The server makes a task for each, so the id also stands in what the server logs afterwards.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request or socket."""
        found = [value for name, value in scope.get("headers", ()) if name.lower() == ASGI]
        claim = found[0].decode("latin-1") if len(found) == 1 else ""
        begin(of_request(claim))
        await self._application(scope, receive, send)
