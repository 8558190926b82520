"""Filters that keep requests of strangers from flooding the log."""

import logging
import threading
import time


class OneLine(logging.Filter):
    """Drops the traceback of requests that Django refuses, such as one with a wrong Host.

    Anybody can send such requests in any number, and they are not a fault of the site.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every record, but records of refused requests without their traceback."""
        if record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
        return True


class Sparing(logging.Filter):
    """Limits the records that anybody can cause at will, which are warnings.

    They come from requests that Django refuses, and from 503 answers that are no unexpected error.
    The failure behind a 503 is logged as an error of its own, which always passes.
    """

    AT_MOST, SECONDS = 10, 60

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._begun: dict[str, float] = {}
        self._seen: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass or count a record; the next one that passes says how many were dropped."""
        kind = _kind(record)
        if not kind:
            return True
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        with self._lock:
            left_out = self._renewed(kind)
            self._seen[kind] += 1
            passes = self._seen[kind] <= self.AT_MOST
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} similar records were dropped)"
            record.args = None
        return passes

    def _renewed(self, kind: str) -> int:
        """Start a new minute when one is over; return how many records it dropped."""
        now = time.monotonic()
        if kind in self._begun and now - self._begun[kind] < self.SECONDS:
            return 0
        left_out = self._seen.get(kind, 0) - self.AT_MOST
        self._begun[kind], self._seen[kind] = now, 0
        return max(0, left_out)


def _kind(record: logging.LogRecord) -> str:
    """Return the kind of a record; "" for kinds that always pass."""
    if record.name.startswith("django.security."):
        return record.name
    busy = getattr(record, "status_code", 0) == 503 and not record.exc_info
    return record.name if busy and record.name == "django.request" else ""
