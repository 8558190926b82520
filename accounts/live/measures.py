"""What a socket counts: messages, the reason of its end, the delay of a revocation."""

import functools
import time
from collections.abc import Mapping
from typing import Any

from accounts import sign_out_reasons
from accounts.live.close_codes import REAUTHENTICATE, SIGNED_OUT, TOO_BIG, TOO_MUCH, TRY_LATER
from socialsite.core.telemetry.instruments import (
    REVOCATIONS,
    SOCKET_MESSAGES,
    SOCKETS_CLOSED,
    SOCKETS_OPEN,
)

# By the close code; the sign-out reason says more about SIGNED_OUT.
REASONS = {
    TOO_BIG: "message_too_big",
    TRY_LATER: "try_later",
    REAUTHENTICATE: "reauthenticate",
    TOO_MUCH: "too_much",
}
LEFT, REFUSED = "left", "refused"
SENT, RECEIVED = SOCKET_MESSAGES.labels("sent"), SOCKET_MESSAGES.labels("received")


class Measures:
    """The counts of one socket."""

    def __init__(self) -> None:
        self._valid_at = time.monotonic()
        self._is_open = False
        self._reason = LEFT

    def sends(self, message: Mapping[str, Any]) -> None:
        """Count a message to the server."""
        match message["type"]:
            case "websocket.accept":
                self._is_open = True
                SOCKETS_OPEN.inc()
            case "websocket.send":
                SENT.inc()
            case "websocket.close":
                self._reason = _reason(message) if self._is_open else REFUSED

    def receives(self) -> None:
        """Count a message from the browser."""
        RECEIVED.inc()

    def revoked_by_message(self, committed_at: object) -> None:
        """Measure a revocation that a message announced; clocks of two machines may differ."""
        if isinstance(committed_at, int | float):
            REVOCATIONS.labels("message").observe(max(0.0, time.time() - committed_at))

    def revoked_by_check(self) -> None:
        """Measure a revocation that a check found: at most the time since the last good check."""
        REVOCATIONS.labels("check").observe(time.monotonic() - self._valid_at)

    def is_valid(self) -> None:
        """Note that a check found the sign-in valid."""
        self._valid_at = time.monotonic()

    def ended(self) -> None:
        """Count the end."""
        if self._is_open:
            SOCKETS_OPEN.dec()
        SOCKETS_CLOSED.labels(self._reason).inc()


def _reason(message: Mapping[str, Any]) -> str:
    code, text = message.get("code", 0), message.get("reason")
    if code == SIGNED_OUT:
        return text if text in _sign_out_reasons() else sign_out_reasons.REVOKED
    return REASONS.get(code, REFUSED)


@functools.cache
def _sign_out_reasons() -> frozenset[str]:
    return frozenset(reason for reason, _words in sign_out_reasons.words(""))
