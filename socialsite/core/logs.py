"""What the log leaves out."""

import logging
import threading
import time


class OneLine(logging.Filter):
    """Takes the traceback off what Django refuses, such as a wrong Host.

    Anybody can send such a request as often as they like, and nothing of ours is at fault.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, those of refused requests without a traceback."""
        if record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
        return True


class Sparing(logging.Filter):
    """Lets few of the records through that anybody can have written at will, as warnings.

    These are requests that Django refuses, and answers of 503 that are no unexpected error. What
    failed behind a 503 has an error of its own in the log, which always passes.
    """

    AT_MOST, SECONDS = 10, 60

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._begun: dict[str, float] = {}
        self._seen: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Let a record pass, or count it; the next to pass says how many were left out."""
        kind = _kind(record)
        if not kind:
            return True
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        with self._lock:
            left_out = self._renewed(kind)
            self._seen[kind] += 1
            passes = self._seen[kind] <= self.AT_MOST
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more like this were left out)"
            record.args = None
        return passes

    def _renewed(self, kind: str) -> int:
        """Begin a new minute when one is over; returns how many records it left out."""
        now = time.monotonic()
        if kind in self._begun and now - self._begun[kind] < self.SECONDS:
            return 0
        left_out = self._seen.get(kind, 0) - self.AT_MOST
        self._begun[kind], self._seen[kind] = now, 0
        return max(0, left_out)


def _kind(record: logging.LogRecord) -> str:
    """Return what a record is one of; "" for those that always pass."""
    if record.name.startswith("django.security."):
        return record.name
    busy = getattr(record, "status_code", 0) == 503 and not record.exc_info
    return record.name if busy and record.name == "django.request" else ""
