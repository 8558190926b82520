"""What could not be done while Redis was down, and is done when it is back."""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from socialsite.core.redis.circuit_breaker import RedisDown

Message = Sequence[Any]


class Backlog:
    """Keys to delete and messages to send as soon as Redis answers.

    Above LIMIT keys the whole database is flushed; messages above MESSAGES_LIMIT are dropped. Equal
    messages are sent once.
    """

    LIMIT = 50_000
    MESSAGES_LIMIT, MESSAGES_EACH = 10_000, 1_000
    PAUSE_SECONDS = 0.5
    # Subscribers reconnect later than clients: the channel layer sleeps for a second.
    LISTENERS_SECONDS = 2.0

    def __init__(
        self,
        call: Callable[[Callable[[Any], object]], object],
        send: Callable[[Sequence[Message]], object],
    ) -> None:
        self._call, self._send = call, send
        self._lock = threading.Lock()
        self._keys: set[str] = set()
        self._messages: dict[Message, None] = {}
        self._thread: threading.Thread | None = None

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, keys: Iterable[str] = (), messages: Iterable[Message] = ()) -> None:
        with self._lock:
            self._keys.update(keys)
            for message in messages:
                if len(self._messages) < self.MESSAGES_LIMIT:
                    self._messages[message] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._collect, daemon=True)
                self._thread.start()

    def settle(self, connection: Any) -> None:
        with self._lock:
            keys = list(self._keys)
            if len(keys) > self.LIMIT:
                connection.flushdb()
            elif keys:
                connection.delete(*keys)
            self._keys.clear()

    def clear(self) -> None:
        """Drop everything; the thread ends by itself."""
        with self._lock:
            self._keys.clear()
            self._messages.clear()
            self._thread = None

    def _collect(self) -> None:
        while True:
            time.sleep(self.PAUSE_SECONDS)
            if self._is_over():
                return
            with contextlib.suppress(RedisDown):
                self._call(lambda connection: connection.ping())
                if self._messages:
                    time.sleep(self.LISTENERS_SECONDS)
                    self._send_messages()

    def _is_over(self) -> bool:
        with self._lock:
            if self._thread is threading.current_thread() and not (self._keys or self._messages):
                self._thread = None
            return self._thread is not threading.current_thread()

    def _send_messages(self) -> None:
        while some := list(itertools.islice(self._messages, self.MESSAGES_EACH)):
            self._send(some)
            with self._lock:
                for message in some:
                    self._messages.pop(message, None)
