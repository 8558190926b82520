"""Few short calls at once wait for the bucket: a server that hangs must not take all threads.

A process has four threads for requests, and a call waits for up to a minute until it gives up.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext_lazy as _

from socialsite.core.errors import Unavailable

AT_ONCE = 2
# A caller waits so long for a place, and not at all for calls that have taken longer themselves.
PATIENCE_SECONDS = 3.0
RETRY_SECONDS = 30


class Down(Unavailable):
    """The server does not do what it is asked for."""

    message = _("The store of pictures and videos does not answer. Please try again soon.")

    def __init__(self) -> None:
        super().__init__(retry_after=RETRY_SECONDS)


class NoAnswer(Down):
    """The server does not answer, or no place is free since it does not answer other calls."""


class Places:
    """AT_ONCE places; one while the last call found no answer."""

    def __init__(self) -> None:
        self.is_down = False
        self._began = list[float]()
        self._changed = threading.Condition()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note whether the block ends without NoAnswer."""
        is_down = False
        try:
            yield
        except NoAnswer:
            is_down = True
            raise
        finally:
            self.is_down = is_down

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do the same, and hold a place for the block. Raises NoAnswer if none is free."""
        began = self._take()
        try:
            with self.noted():
                yield
        finally:
            with self._changed:
                self._began.remove(began)
                self._changed.notify_all()

    def _take(self) -> float:
        latest = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while len(self._began) >= (1 if self.is_down else AT_ONCE):
                until = min(latest, max(self._began) + PATIENCE_SECONDS)
                seconds = until - time.monotonic()
                if self.is_down or seconds <= 0 or not self._changed.wait(seconds):
                    raise NoAnswer
            self._began.append(time.monotonic())
            return self._began[-1]
