"""`/ws/session/`: hints to one signed-in device, and the kick.

- It joins the person's group first, then checks the token, then accepts: a revocation in between is
  either seen by the check or arrives as a kick (T7). Messages are hints: it looks itself before it
  passes one on, every RECHECK_SECONDS, and when the token's time is over.
- 4001: signed out, log in again. 4002: get a new access token, or a new ticket, and come back. 1013:
  the site cannot say now; come back later. How often to come back is the page's business.
- What the browser sends is ignored.
"""

import asyncio
import contextlib
import logging
import time
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import DatabaseError

from accounts import authentication, cache, handshake, sockets, tokens
from accounts.tokens import Principal
from socialsite.core import redis
from socialsite.core.errors import (
    AppError,
    BannedAccessToken,
    ExpiredJwt,
    NotAuthenticated,
    Unavailable,
)

logger = logging.getLogger(__name__)

SIGNED_OUT, REAUTHENTICATE, TRY_LATER, TOO_BIG = 4001, 4002, 1013, 1009
RECHECK_SECONDS = 4.0
FRAME_MAX = 1024


class SessionConsumer(AsyncJsonWebsocketConsumer):
    """One socket of one device."""

    principal: Principal | None = None
    _watch: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Join, check, accept; a refused device is accepted too, so that it sees the code."""
        try:
            self.principal = await self._credential()
        except handshake.ForeignPage:
            await self.close()
            return
        except AppError as error:
            await self.accept()
            await self._refuse(error)
            return
        try:
            await self.channel_layer.group_add(
                sockets.group(self.principal.user_id), self.channel_name
            )
            await database_sync_to_async(_look)(self.principal)
        except AppError as error:
            await self.accept()
            await self._refuse(error)
            return
        except Exception:
            # Neither Redis nor MySQL may turn this into an endless loop of ours.
            logger.exception("a socket could not be opened")
            await self.close(TRY_LATER)
            return
        await self.accept()
        self._watch = asyncio.create_task(self._keep_watch())

    async def disconnect(self, code: int) -> None:
        """Leave; presence runs out by itself, as there may be other sockets of this person."""
        if self._watch is not None:
            self._watch.cancel()
        if self.principal is not None:
            # The layer forgets the channel anyway when it cannot be told.
            with contextlib.suppress(Exception):
                await self.channel_layer.group_discard(
                    sockets.group(self.principal.user_id), self.channel_name
                )

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any
    ) -> None:
        """Ignore what the browser says; refuse to be made to read much of it."""
        if len(text_data or bytes_data or "") > FRAME_MAX:
            await self.close(TOO_BIG)

    async def session_message(self, event: dict[str, Any]) -> None:
        """Pass on a hint, if the token still lives."""
        if await self._still_welcome():
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
            await self._sign_out(event["reason"])

    async def _keep_watch(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            if not await self._still_welcome():
                return

    async def _still_welcome(self) -> bool:
        """Check token and presence; close and return False when the device must go."""
        principal = self.principal
        if principal is None:
            return False
        try:
            await database_sync_to_async(_look)(principal)
        except AppError as error:
            await self._refuse(error)
            return False
        except Exception:
            # Never "allowed" for want of an answer.
            logger.exception("a socket could not be checked")
            await self.close(TRY_LATER)
            return False
        return True

    async def _refuse(self, error: AppError) -> None:
        """Close with the code that says what the device can do about it."""
        match error:
            case Unavailable():
                await self.close(TRY_LATER)
            case ExpiredJwt():
                await self.close(REAUTHENTICATE)
            case BannedAccessToken() if await self._can_refresh():
                await self.close(REAUTHENTICATE)
            case _:
                await self._sign_out("revoked" if self.principal else "")

    async def _can_refresh(self) -> bool:
        """True when only access was revoked, and when nobody can say: a page request will."""
        if self.principal is None:
            return False
        try:
            return await database_sync_to_async(_refresh_lives)(self.principal)
        except DatabaseError:
            return True

    async def _sign_out(self, reason: str) -> None:
        if reason:
            await self.send_json({"type": "kicked", "reason": reason})
        await self.close(SIGNED_OUT, reason or None)

    async def _credential(self) -> Principal:
        """Read who asks; ForeignPage, ExpiredJwt, InvalidToken, NotAuthenticated, Unavailable."""
        found = handshake.read(self.scope)
        if found.ticket:
            return await database_sync_to_async(_redeem)(found.ticket)
        if not found.access:
            # A browser that still has its refresh token gets a new pair from any page.
            raise ExpiredJwt if found.refresh else NotAuthenticated
        return tokens.decode_access(found.access)


def _redeem(ticket: str) -> Principal:
    """Return whose ticket this is; ExpiredJwt for a bad one, as a new one is the remedy."""
    claims = cache.take_ticket(ticket)
    if claims is None:
        raise ExpiredJwt
    return Principal(**claims)


def _look(principal: Principal) -> None:
    """Check the token's time and floors and note the presence, in one round trip to Redis."""
    if principal.expires <= time.time():
        raise ExpiredJwt
    batch = redis.Batch()
    floors = cache.ask(batch, principal.user_id, principal.client)
    sockets.heartbeat(batch, principal.user_id)
    batch.run()
    authentication.admit(principal, cache.resolve(floors, principal.user_id, principal.client))


def _refresh_lives(principal: Principal) -> bool:
    """True when only access tokens were revoked: the device gets new ones by its refresh token."""
    floors = cache.stored_floors(principal.user_id, principal.client, "refresh")
    return (
        floors is not None and principal.batch > floors.batch and principal.version > floors.version
    )
