"""`/ws/session/`: live hints to one signed-in device, and its sign-out.

- A socket first joins the person's group, then checks the token, then accepts. So a revocation in
  between is either seen by the check or arrives as a kick (T7). The token is checked again before
  each hint, every RECHECK_SECONDS, and at its expiry. Without the channel layer, the socket polls
  the token's state and keeps trying to join.
- 4001: signed out, log in again; a message before it and the close reason say why. 4002: fetch a
  new access token or ticket, then reconnect. 1013: the site cannot answer now; reconnect later. The
  page decides how often to reconnect.
- Hints may be lost while the socket was not joined, Redis did not answer, or the person was not
  marked as online. After a stable period the socket sends one hint of each kind instead.
- Messages from the browser are ignored.
- A socket ends once. After our close, or when the browser is gone, nothing more is sent, since the
  server would raise. `_send` is the one place that drops late messages.
- 4008: too many sockets of one person or address, too many new ones, or too many frames; the reason
  is the name of the budget. This process counts them without Redis.
"""

import asyncio
import dataclasses
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from channels.layers import get_channel_layer
from channels.utils import await_many_dispatch

from accounts import cache, live_hint_types, live_hints, sign_out_reasons, tokens
from accounts.live import checks, handshake
from accounts.live.close_codes import (
    REAUTHENTICATE,
    SIGNED_OUT,
    TOO_BIG,
    TOO_MUCH,
    TRY_LATER,
)
from accounts.live.handshake import Handshake
from accounts.live.measures import Measures
from accounts.sign_out_reasons import EXPIRED, Ending
from accounts.tokens import Principal
from socialsite.core.errors import (
    AppError,
    BannedAccessToken,
    ExpiredJwt,
    InvalidToken,
    NotAuthenticated,
    Unavailable,
)
from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import budgets, local
from socialsite.core.rate_limits.budget import Budget

logger = logging.getLogger(__name__)

R = TypeVar("R")

RECHECK_SECONDS = 4.0
MOMENTS = 40  # within that time at which regular checks are made
# How long a socket waits for the channel layer, and for the check of its token.
JOIN_SECONDS = 1.0
CHECK_SECONDS = 3.0
FRAME_MAX = 1024
UNSAID = Ending("")


class _TooMuch(Exception):
    """A WebSocket budget is used up."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        super().__init__(budget.name)


class SessionConsumer(AsyncJsonWebsocketConsumer):
    """One socket of one device."""

    principal: Principal | None = None
    # Result of the last check; the number of good looks left before lost hints are made up for;
    # whether all sockets of the person may have missed hints.
    found: bool | None = True
    looks_left = 0
    missed_by_all = False
    # `is_ending`: the socket is being closed, handle nothing more. Closed: send nothing more.
    is_ending = False
    is_closed = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve as Channels does, but without a channel of its own in Redis, which may be down.

        Everything is sent to the person's group, so an in-process queue is enough.
        """
        self.scope, self.base_send = scope, partial(self._send, send)
        self.channel_layer = get_channel_layer()
        self.channel_name = uuid4().hex
        self.channel_layer.channels[self.channel_name] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._entered: list[tuple[Budget, str]] = []
        self._frames = local.Bucket()
        self._measures = Measures()
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
            self._measures.ended()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a message without Channels' thread that cleans up database connections first.

        A socket that is ending only handles its disconnect. During an update messages may come that
        only a newer version of the site knows.
        """
        if self.is_ending and message["type"] != "websocket.disconnect":
            return
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            logger.info("message of a newer version ignored: %s", message["type"])
        else:
            await handler(message)

    async def _send(self, send: Callable[[Any], Awaitable[None]], message: dict[str, Any]) -> None:
        """Pass a message to the server; drop it after the close, and when the browser is gone."""
        if self.is_closed:
            return
        if message["type"] == "websocket.close":
            self.is_ending = self.is_closed = True
        self._measures.sends(message)
        try:
            await send(message)
        except (OSError, RuntimeError) as error:
            self.is_ending = self.is_closed = True
            logger.info("browser gone; WebSocket message dropped: %r", error)

    async def close(self, code: int | bool | None = None, reason: str | None = None) -> None:
        """Close the socket, unless it is already being closed."""
        if not self.is_ending:
            self.is_ending = True
            await super().close(code, reason)

    async def connect(self) -> None:
        """Join, check, accept. A refused device is accepted too, to receive the close code."""
        shown = Handshake()
        try:
            self._count()
            shown = handshake.read(self.scope)
            principal = await self._principal(shown)
            self._enter(budgets.SOCKETS, str(principal.user_id))
            self.principal = principal
            joined = await self._join()
            await _in_time(checks.check(self.principal))
        except handshake.ForeignPage:
            await self.close()
        except _TooMuch as refusal:
            await self.accept()
            await self.close(TOO_MUCH, refusal.budget.name)
        except AppError as error:
            await self.accept()
            await self._refuse(error, shown.refresh)
        except Exception:
            # An outage of Redis or MySQL must not cause an endless loop.
            logger.exception("WebSocket not opened")
            await self.accept()
            await self.close(TRY_LATER)
        else:
            await self.accept()
            self.scope["headers"].clear()  # they would stay in memory with the socket
            self._tasks.append(asyncio.create_task(self._watch(self.principal)))
            if not joined:
                logger.warning("channel layer unavailable; polling token state")
                self._tasks.append(asyncio.create_task(self._retry_join()))

    async def disconnect(self, code: int) -> None:
        """Leave the group. Presence expires by itself, as the person may have other sockets."""
        self.is_ending = self.is_closed = True
        if self.principal is not None:
            try:
                async with asyncio.timeout(JOIN_SECONDS):
                    await self.channel_layer.group_discard(self._group, self.channel_name)
            except Exception as error:
                logger.info("group of the channel layer not left; membership expires: %s", error)

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any
    ) -> None:
        """Ignore messages from the browser; close the socket when there are too many."""
        self._measures.receives()
        if self._frames.take(budgets.FRAME):
            await self.close(TOO_MUCH, budgets.FRAME.name)
        elif len(text_data or bytes_data or "") > FRAME_MAX:
            await self.close(TOO_BIG)

    async def session_message(self, event: dict[str, Any]) -> None:
        """Forward a hint, if the token is still valid."""
        if self.principal is not None and await self._is_still_valid(self.principal):
            await self.send_json(event["message"])

    async def session_kick(self, event: dict[str, Any]) -> None:
        """Close if the kick covers this device's token; a newer sign-in stays open."""
        principal = self.principal
        if principal is None or event["client"] not in (None, principal.client):
            return
        number = principal.batch if event["client"] is None else principal.version
        if self.is_ending or number > event["floor"]:
            return
        if event["access_only"] or event["spared"] == principal.client:
            await self.close(REAUTHENTICATE)
        else:
            await self._sign_out(Ending(event["reason"], event["by"]))
        self._measures.revoked_by_message(event.get("committed_at"))

    def _count(self) -> None:
        """Count the socket for its address. Raises _TooMuch."""
        address = ip_addresses.client(handshake.address_of(self.scope))
        if local.take(budgets.HANDSHAKE, address):
            raise _TooMuch(budgets.HANDSHAKE)
        self._enter(budgets.SOCKETS_ADDRESS, address)

    def _enter(self, budget: Budget, owner: str) -> None:
        if not local.enter(budget, owner):
            raise _TooMuch(budget)
        self._entered.append((budget, owner))

    @property
    def _group(self) -> str:
        return live_hints.group(self.principal.user_id if self.principal else 0)

    async def _join(self) -> bool:
        """Join the person's group; False when the channel layer does not answer in time."""
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                await self.channel_layer.group_add(self._group, self.channel_name)
        except Exception as error:
            logger.info("group of the channel layer not joined: %r", error)
            return False
        return True

    async def _retry_join(self) -> None:
        while not await self._join():
            await asyncio.sleep(RECHECK_SECONDS)
        self.looks_left = 1

    async def _watch(self, principal: Principal) -> None:
        """Check the token every RECHECK_SECONDS, and at the moment of its expiry."""
        while not self.is_ending:
            left = principal.expires - time.time()
            await asyncio.sleep(max(0.0, min(_until_check(), left)))
            if not await self._is_still_valid(principal):
                return
            await self._catch_up(principal)

    async def _catch_up(self, principal: Principal) -> None:
        """Make pages fetch what is new, once the site is stable again after a possible loss."""
        if self.found is None:
            self.looks_left = 2  # the channel layer may still be down until the next one
        elif not self.found:
            self.looks_left, self.missed_by_all = 1, True
        elif self.looks_left:
            self.looks_left -= 1
            if not self.looks_left:
                to_all, self.missed_by_all = self.missed_by_all, False
                for hint in live_hint_types.catch_up():
                    if to_all:
                        await database_sync_to_async(live_hints.push)([principal.user_id], hint)
                    else:
                        await self.send_json(hint)

    async def _is_still_valid(self, principal: Principal) -> bool:
        """Check token and presence; close and return False when the device must be signed out."""
        try:
            self.found = await _in_time(checks.check(principal))
        except AppError as error:
            is_open = not self.is_ending
            await self._refuse(error)
            if is_open and isinstance(error, BannedAccessToken):
                self._measures.revoked_by_check()
            return False
        except Exception:
            # An error never means "allowed".
            logger.exception("token of a WebSocket not checked; closing it")
            await self.close(TRY_LATER)
            return False
        self._measures.is_valid()
        return True

    async def _refuse(self, error: AppError, refresh: str = "") -> None:
        """Close with the code that tells the device how to recover."""
        if isinstance(error, Unavailable):
            await self.close(TRY_LATER)
            return
        try:
            ending = await _in_time(database_sync_to_async(_why)(error, self.principal, refresh))
        except Exception:
            logger.exception("sign-out reason not read")
            ending = None  # the next request will learn why
        if ending is None:
            await self.close(REAUTHENTICATE)
        else:
            await self._sign_out(ending)

    async def _sign_out(self, ending: Ending) -> None:
        """Send the reason, and close; if two tasks call this at once, the first one does it."""
        if self.is_ending:
            return
        self.is_ending = True
        if ending.reason:
            await self.send_json({"type": live_hint_types.KICKED, **ending._asdict()})
        await super().close(SIGNED_OUT, ending.reason or None)

    async def _principal(self, shown: Handshake) -> Principal:
        """Read the credential. Raises ExpiredJwt, InvalidToken, NotAuthenticated, Unavailable."""
        if shown.ticket:
            return await _in_time(database_sync_to_async(_redeem)(shown.ticket))
        if not shown.access:
            # A browser with a live refresh token gets a new pair from any page.
            raise ExpiredJwt if shown.refresh else NotAuthenticated
        return tokens.decode_access(shown.access)


def _until_check() -> float:
    """Return the pause before the next regular check, in seconds; at most RECHECK_SECONDS.

    Checks of many sockets fall on the same moments, so they are made together.
    """
    tick, now = RECHECK_SECONDS / MOMENTS, time.monotonic()
    latest = now + RECHECK_SECONDS
    return latest - latest % tick - now


async def _in_time(answer: Awaitable[R]) -> R:
    """Wait for an answer of Redis or MySQL. Raises TimeoutError when they hang."""
    async with asyncio.timeout(CHECK_SECONDS):
        return await answer


def _redeem(ticket: str) -> Principal:
    """Return the principal of a ticket. Raises ExpiredJwt for a bad one, since a new one helps."""
    claims = cache.redeem_ticket(ticket)
    if claims is None:
        raise ExpiredJwt
    # During an update a newer version may have written more.
    known = {field.name for field in dataclasses.fields(Principal)}
    return Principal(**{name: value for name, value in claims.items() if name in known})


def _why(error: AppError, principal: Principal | None, refresh: str) -> Ending | None:
    """Return why a device was signed out; None when it only needs a new access token.

    For a browser whose access token has expired, the refresh token decides.
    """
    match error:
        case BannedAccessToken() if principal is not None:
            return sign_out_reasons.of(principal)
        case ExpiredJwt() if refresh:
            try:
                return sign_out_reasons.of(tokens.decode_refresh(refresh))
            except ExpiredJwt:
                return Ending(EXPIRED)
            except InvalidToken:
                return UNSAID
        case ExpiredJwt():
            return None
        case _:
            return UNSAID
