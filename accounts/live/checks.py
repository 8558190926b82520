"""Token checks of this process's sockets.

Checks that wait at the same moment are made together: one thread, one round trip to Redis. A check
begins after it was asked for, so it sees every revocation committed before.
"""

import asyncio
import time
import weakref
from collections.abc import Sequence

from channels.db import database_sync_to_async

from accounts import cache, live_hints
from accounts.request_auth import authentication
from accounts.tokens import Principal
from socialsite.core import redis
from socialsite.core.errors import ExpiredJwt
from socialsite.core.runtime import request_ids

MOST = 200
# Whether the person was marked as online until now, None when Redis does not say; or an error.
Outcome = bool | None | Exception


class _Queue:
    """The checks that wait in one event loop."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Principal, asyncio.Future[bool | None]]] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, principal: Principal) -> "asyncio.Future[bool | None]":
        answer: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((principal, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return answer

    async def _run(self) -> None:
        request_ids.begin("")  # it works for many sockets
        try:
            while self._waiting:
                some, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await _answer([one for one in some if not one[1].done()])
        finally:
            self._task = None


_queues: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue]" = (
    weakref.WeakKeyDictionary()
)


async def check(principal: Principal) -> bool | None:
    """Check a token, and record that its person is here.

    Returns whether the person was marked as online until now, None when Redis does not say. Raises
    ExpiredJwt, BannedAccessToken, or whatever kept the check from an answer.
    """
    queue = _queues.setdefault(asyncio.get_running_loop(), _Queue())
    return await queue.add(principal)


async def _answer(waiting: Sequence[tuple[Principal, "asyncio.Future[bool | None]"]]) -> None:
    outcomes: Sequence[Outcome]
    try:
        outcomes = await database_sync_to_async(check_all)([one for one, _ in waiting])
    except Exception as error:
        outcomes = [error] * len(waiting)
    for (_, answer), outcome in zip(waiting, outcomes, strict=True):
        if answer.done():  # nobody waits any more
            continue
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)


def check_all(principals: Sequence[Principal]) -> list[Outcome]:
    """Return the outcome of each check.

    All of them take one round trip to Redis; for what Redis lacks, one query and one more.
    """
    batch = redis.Batch()
    asked = [
        (cache.ask(batch, one.user_id, one.client), one.user_id, one.client) for one in principals
    ]
    before = [live_hints.heartbeat(batch, one.user_id) for one in principals]
    batch.run()
    floors = cache.resolve_all(asked)
    return [_outcome(*one) for one in zip(principals, floors, before, strict=True)]


def _outcome(
    principal: Principal, floors: cache.Floors | None, before: redis.Promise[bytes | None]
) -> Outcome:
    try:
        if principal.expires <= time.time():
            raise ExpiredJwt
        authentication.admit(principal, floors)
    except Exception as error:  # it is this socket's; the others have outcomes of their own
        return error
    return live_hints.was_online(before)
