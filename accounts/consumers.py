"""`/ws/session/`: hints to one signed-in device, and the kick.

- It joins the person's group first, then checks the token, then accepts: a revocation in between is
  either seen by the check or arrives as a kick (T7). Messages are hints: it looks itself before it
  passes one on, every RECHECK_SECONDS, and when the token's time is over. Without the channel layer
  it lives by its own looks, and goes on trying to join.
- 4001: signed out, log in again; a message before it and the close reason say why. 4002: get a new
  access token, or a new ticket, and come back. 1013: the site cannot say now; come back later. How
  often to come back is the page's business.
- Hints that may have been lost, while it was not joined, Redis did not answer or nobody could find
  the person, are made up for by one of each kind, when all has been well for a while.
- What the browser sends is ignored.
- A socket ends once. After our close, or when the browser is gone, nothing more is sent: servers
  raise at it. What is on its way just then is dropped in one place (`_send`).
- 4008: too many sockets of one person or address, too many new ones, or too many frames; the
  reason is the name of the budget. This process counts them, and needs no Redis for that.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from channels.layers import get_channel_layer
from channels.utils import await_many_dispatch

from accounts import authentication, cache, endings, handshake, networks, sockets, tokens
from accounts.endings import EXPIRED, Ending
from accounts.handshake import Handshake
from accounts.tokens import Principal
from socialsite.core import budgets, local, redis
from socialsite.core.budgets import Budget
from socialsite.core.errors import (
    AppError,
    BannedAccessToken,
    ExpiredJwt,
    InvalidToken,
    NotAuthenticated,
    Unavailable,
)

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

SIGNED_OUT, REAUTHENTICATE, TRY_LATER, TOO_BIG, TOO_MUCH = 4001, 4002, 1013, 1009, 4008
RECHECK_SECONDS = 4.0
# How long a socket waits for the channel layer, and for an answer about its token.
JOIN_SECONDS = 1.0
CHECK_SECONDS = 3.0
FRAME_MAX = 1024
UNSAID = Ending("")
# Has pages ask for all that they may have missed a hint of.
MAKE_UP = ({"type": "new_posts", "count": 0}, {"type": "notification"})


class _TooMuch(Exception):
    """A budget of sockets has nothing left."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        super().__init__(budget.name)


class SessionConsumer(AsyncJsonWebsocketConsumer):
    """One socket of one device."""

    principal: Principal | None = None
    # What the last look said (`_look`); how many good ones it takes until hints that may have gone
    # past are made up for, and whether they may have gone past all sockets of the person.
    found: bool | None = True
    looks_left = 0
    missed_by_all = False
    # Something closes the socket: nothing else is done for it. It is closed: nothing is sent.
    is_ending = False
    is_closed = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve as Channels does, but without a channel of its own on Redis, which may be dead.

        Everything is sent to the person's group, so the queue here is all that a socket needs.
        """
        self.scope, self.base_send = scope, partial(self._send, send)
        self.channel_layer = get_channel_layer()
        self.channel_name = uuid4().hex
        self.channel_layer.channels[self.channel_name] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._entered: list[tuple[Budget, str]] = []
        self._frames = local.Bucket()
        inbox = partial(self.channel_layer.receive, self.channel_name)
        try:
            await await_many_dispatch([receive, inbox], self.dispatch)
        except StopConsumer:
            pass
        finally:
            for task in self._tasks:
                task.cancel()
            for budget, owner in self._entered:
                local.leave(budget, owner)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a message; here, no thread is asked to tidy up database connections first.

        A socket that ends is only left any more.
        """
        if not self.is_ending or message["type"] == "websocket.disconnect":
            await getattr(self, get_handler_name(message))(message)

    async def _send(self, send: Callable[[Any], Awaitable[None]], message: dict[str, Any]) -> None:
        """Give a message to the server; drop it after the close, and when the browser is gone."""
        if self.is_closed:
            return
        if message["type"] == "websocket.close":
            self.is_ending = self.is_closed = True
        try:
            await send(message)
        except (OSError, RuntimeError) as error:
            self.is_ending = self.is_closed = True
            logger.info("a browser went away before its socket got a message: %r", error)

    async def close(self, code: int | bool | None = None, reason: str | None = None) -> None:
        """Close the socket, unless something else is about to."""
        if not self.is_ending:
            self.is_ending = True
            await super().close(code, reason)

    async def connect(self) -> None:
        """Join, check, accept; a refused device is accepted too, so that it sees the code."""
        shown = Handshake()
        try:
            self._count()
            shown = handshake.read(self.scope)
            principal = await self._principal(shown)
            self._enter(budgets.SOCKETS, str(principal.user_id))
            self.principal = principal
            joined = await self._join()
            await _ask(_look, self.principal)
        except handshake.ForeignPage:
            await self.close()
        except _TooMuch as refusal:
            await self.accept()
            await self.close(TOO_MUCH, refusal.budget.name)
        except AppError as error:
            await self.accept()
            await self._refuse(error, shown.refresh)
        except Exception:
            # Neither Redis nor MySQL may turn this into an endless loop of ours.
            logger.exception("a socket could not be opened")
            await self.accept()
            await self.close(TRY_LATER)
        else:
            await self.accept()
            self._tasks.append(asyncio.create_task(self._keep_watch(self.principal)))
            if not joined:
                logger.warning("a socket lives by its own looks: no channel layer")
                self._tasks.append(asyncio.create_task(self._keep_joining()))

    async def disconnect(self, code: int) -> None:
        """Leave; presence runs out by itself, as there may be other sockets of this person."""
        self.is_ending = self.is_closed = True
        if self.principal is not None:
            try:
                async with asyncio.timeout(JOIN_SECONDS):
                    await self.channel_layer.group_discard(self._group, self.channel_name)
            except Exception as error:
                logger.info("a socket leaves without telling the channel layer: %s", error)

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any
    ) -> None:
        """Ignore what the browser says; refuse to be made to read much of it."""
        if self._frames.take(budgets.FRAME):
            await self.close(TOO_MUCH, budgets.FRAME.name)
        elif len(text_data or bytes_data or "") > FRAME_MAX:
            await self.close(TOO_BIG)

    async def session_message(self, event: dict[str, Any]) -> None:
        """Pass on a hint, if the token still lives."""
        if self.principal is not None and await self._still_welcome(self.principal):
            await self.send_json(event["message"])

    async def session_kick(self, event: dict[str, Any]) -> None:
        """Close if the kick means this device's token; a newer sign-in stays."""
        principal = self.principal
        if principal is None or event["client"] not in (None, principal.client):
            return
        number = principal.batch if event["client"] is None else principal.version
        if number > event["floor"]:
            return
        if event["access_only"] or event["spared"] == principal.client:
            await self.close(REAUTHENTICATE)
        else:
            await self._sign_out(Ending(event["reason"], event["by"]))

    def _count(self) -> None:
        """Count the socket as one of its address. Raises _TooMuch."""
        address = networks.client(handshake.address_of(self.scope))
        if local.take(budgets.HANDSHAKE, address):
            raise _TooMuch(budgets.HANDSHAKE)
        self._enter(budgets.SOCKETS_ADDRESS, address)

    def _enter(self, budget: Budget, owner: str) -> None:
        if not local.enter(budget, owner):
            raise _TooMuch(budget)
        self._entered.append((budget, owner))

    @property
    def _group(self) -> str:
        return sockets.group(self.principal.user_id if self.principal else 0)

    async def _join(self) -> bool:
        """Join the person's group; False when the layer does not do that in time."""
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                await self.channel_layer.group_add(self._group, self.channel_name)
        except Exception as error:
            logger.info("a socket could not join the channel layer: %r", error)
            return False
        return True

    async def _keep_joining(self) -> None:
        while not await self._join():
            await asyncio.sleep(RECHECK_SECONDS)
        self.looks_left = 1

    async def _keep_watch(self, principal: Principal) -> None:
        """Look every RECHECK_SECONDS, and the moment the token's time is over."""
        while not self.is_ending:
            left = principal.expires - time.time()
            await asyncio.sleep(max(0.0, min(RECHECK_SECONDS, left)))
            if not await self._still_welcome(principal):
                return
            await self._make_up(principal)

    async def _make_up(self, principal: Principal) -> None:
        """Have pages ask what is new, if hints may have gone past and none does any more."""
        if self.found is None:
            self.looks_left = 2  # with the next one, the channel layer may still be deaf
        elif not self.found:
            self.looks_left, self.missed_by_all = 1, True
        elif self.looks_left:
            self.looks_left -= 1
            if not self.looks_left:
                to_all, self.missed_by_all = self.missed_by_all, False
                for hint in MAKE_UP:
                    if to_all:
                        await database_sync_to_async(sockets.push)([principal.user_id], hint)
                    else:
                        await self.send_json(hint)

    async def _still_welcome(self, principal: Principal) -> bool:
        """Check token and presence; close and return False when the device must go."""
        try:
            self.found = await _ask(_look, principal)
        except AppError as error:
            await self._refuse(error)
            return False
        except Exception:
            # Never "allowed" for want of an answer.
            logger.exception("a socket could not be checked")
            await self.close(TRY_LATER)
            return False
        return True

    async def _refuse(self, error: AppError, refresh: str = "") -> None:
        """Close with the code that says what the device can do about it."""
        if isinstance(error, Unavailable):
            await self.close(TRY_LATER)
            return
        try:
            ending = await _ask(_why, error, self.principal, refresh)
        except Exception:
            logger.exception("why a sign-in ended could not be found out")
            ending = None  # the next request will say
        if ending is None:
            await self.close(REAUTHENTICATE)
        else:
            await self._sign_out(ending)

    async def _sign_out(self, ending: Ending) -> None:
        """Say why, and close; of two that find out at the same time, the first does."""
        if self.is_ending:
            return
        self.is_ending = True
        if ending.reason:
            await self.send_json({"type": "kicked", **ending._asdict()})
        await super().close(SIGNED_OUT, ending.reason or None)

    async def _principal(self, shown: Handshake) -> Principal:
        """Read the credential; ExpiredJwt, InvalidToken, NotAuthenticated, Unavailable."""
        if shown.ticket:
            return await _ask(_redeem, shown.ticket)
        if not shown.access:
            # A browser that still has its refresh token gets a new pair from any page.
            raise ExpiredJwt if shown.refresh else NotAuthenticated
        return tokens.decode_access(shown.access)


async def _ask(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call what talks to Redis and MySQL; TimeoutError when they hang."""
    async with asyncio.timeout(CHECK_SECONDS):
        answer: R = await database_sync_to_async(function)(*args, **kwargs)
    return answer


def _redeem(ticket: str) -> Principal:
    """Return whose ticket this is; ExpiredJwt for a bad one, as a new one is the remedy."""
    claims = cache.take_ticket(ticket)
    if claims is None:
        raise ExpiredJwt
    return Principal(**claims)


def _look(principal: Principal) -> bool | None:
    """Check the token's time and floors and note the presence, in one round trip to Redis.

    Returns whether the person could be found until now, None when Redis does not say.
    """
    if principal.expires <= time.time():
        raise ExpiredJwt
    batch = redis.Batch()
    floors = cache.ask(batch, principal.user_id, principal.client)
    before = sockets.heartbeat(batch, principal.user_id)
    batch.run()
    authentication.admit(principal, cache.resolve(floors, principal.user_id, principal.client))
    return sockets.was_found(before)


def _why(error: AppError, principal: Principal | None, refresh: str) -> Ending | None:
    """Return why a device is signed out; None when all it needs is a new access token.

    Of a browser whose access token is over, the refresh token says so.
    """
    match error:
        case BannedAccessToken() if principal is not None:
            return endings.of(principal)
        case ExpiredJwt() if refresh:
            try:
                return endings.of(tokens.decode_refresh(refresh))
            except ExpiredJwt:
                return Ending(EXPIRED)
            except InvalidToken:
                return UNSAID
        case ExpiredJwt():
            return None
        case _:
            return UNSAID
