"""Few calls at once wait for the bucket: a server that hangs must not take all threads.

A process has four threads for requests, and a call waits for up to a minute until it gives up.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 2
# A caller waits so long for a place, and not at all for calls that have taken longer themselves.
PATIENCE_SECONDS = 3.0


class NoPlace(Exception):
    """The server does not answer other calls."""


class Places:
    """AT_ONCE places; one while the last call found no answer."""

    def __init__(self) -> None:
        self._is_down = False
        self._began = list[float]()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, failure: type[Exception]) -> Iterator[None]:
        """Hold a place for the block, in which this error means no answer. Raises NoPlace."""
        began, is_down = self._take(), False
        try:
            yield
        except failure:
            is_down = True
            raise
        finally:
            with self._changed:
                self._is_down = is_down
                self._began.remove(began)
                self._changed.notify_all()

    def _take(self) -> float:
        latest = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while len(self._began) >= (1 if self._is_down else AT_ONCE):
                until = min(latest, max(self._began) + PATIENCE_SECONDS)
                seconds = until - time.monotonic()
                if self._is_down or seconds <= 0 or not self._changed.wait(seconds):
                    raise NoPlace
            self._began.append(time.monotonic())
            return self._began[-1]
