"""The circuit breaker: after a failure, callers do not wait for Redis again for BREAK_SECONDS."""

import threading
import time

from socialsite.core.telemetry.instruments import REDIS_DOWN, REDIS_FAILURES

BREAK_SECONDS = 2.0


class RedisDown(Exception):
    """Redis does not answer, answers with an error, or was found so a moment ago."""


class Breaker:
    """Opens for BREAK_SECONDS after a failure; then one caller tries, and the others stay out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open_until = 0.0
        # Whether the last failure took a time-out.
        self._is_slow = False

    @property
    def open_until(self) -> float:
        """When (monotonic) it lets the next caller try; 0 if the last call succeeded."""
        return self._open_until

    def let_through(self) -> None:
        """Let the next call try, unless the last failure took a time-out.

        A connection that is refused costs nothing, and the server may be back for others already.
        """
        with self._lock:
            if self._open_until and not self._is_slow:
                self._open_until = min(self._open_until, time.monotonic())

    def check(self) -> None:
        """Raise RedisDown while it is open."""
        if not self._open_until:
            return
        with self._lock:
            now = time.monotonic()
            if now < self._open_until:
                REDIS_FAILURES.labels("circuit_open").inc()
                raise RedisDown("circuit open")
            if self._open_until:
                self._open_until = now + BREAK_SECONDS  # ours to try; its success resets

    def trip(self, *, is_slow: bool = False) -> None:
        """Open."""
        REDIS_FAILURES.labels("no_answer").inc()
        REDIS_DOWN.set(1)
        with self._lock:
            self._is_slow = is_slow
            self._open_until = time.monotonic() + BREAK_SECONDS

    def reset(self) -> None:
        if self._open_until:
            REDIS_DOWN.set(0)
        self._open_until = 0.0


breaker = Breaker()
