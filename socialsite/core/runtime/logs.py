"""The two formats of log lines, and filters that keep strangers from flooding the log.

Both formats show the id of the request (`request_ids`). A line break in a message is escaped, so
that nobody can make up lines; a traceback of the format `line` has several, all indented.
"""

import json
import logging
import threading
import time
from datetime import UTC, datetime

import orjson

from socialsite.core.runtime import request_ids
from socialsite.core.runtime.redaction import redact

# Where the site logs answers of 5xx, and slow ones.
REQUESTS = "socialsite.requests"
DATABASE_OUTAGE = "outage of the database"
# Errors of MySQL's client and server: no connection, or the server ended it, as when it stops,
# or it is a node of Galera that was cut off from the others.
UNREACHABLE = (2002, 2003, 2005, 2006, 2013, 1053, 1047)
LINE = "%(asctime)s %(levelname)s %(request)s %(name)s: %(message)s"
_BREAKS = {ord(mark): repr(mark)[1:-1] for mark in "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"}


class Line(logging.Formatter):
    """One line of text for each record."""

    def __init__(self) -> None:
        super().__init__(LINE)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with an indented traceback: its texts may be those of a stranger."""
        return super().format(record).replace("\n", "\n    ")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (name of the library)
        """Return the line without the traceback."""
        shown = {
            **record.__dict__,
            "message": record.message.translate(_BREAKS),
            "request": request_ids.current() or "-",  # Django puts an HttpRequest there
        }
        return LINE % shown


class Json(logging.Formatter):
    """One JSON object for each record: a line, with the traceback."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        """Return the object."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        body = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request": request_ids.current() or None,
            "role": self._role,
        }
        # Redaction has left its text there, which OneLine may have removed.
        text = record.exc_text or (self.formatException(record.exc_info) if record.exc_info else "")
        if text:
            body["exception"] = text
        try:
            return orjson.dumps(body).decode()
        except TypeError:  # half of a surrogate pair, as in the name of a file
            return json.dumps(body)


class OneLine(logging.Filter):
    """Drops the traceback of requests that Django refuses, such as one with a wrong Host.

    Anybody can send such requests in any number, and they are not a fault of the site.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every record, but records of refused requests without their traceback."""
        if record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
        return True


class Outage(logging.Filter):
    """Shows the text of the error instead of its traceback while the database does not answer.

    Every request and every task fails then, at whatever statement is its first one.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every record."""
        error = record.exc_info[1] if record.exc_info else None
        if is_outage(error):
            record.msg, record.args = f"{record.getMessage()}: {redact(repr(error))}", None
            record.exc_info = record.exc_text = None
            record.is_outage = True
        return True


def is_outage(error: BaseException | None) -> bool:
    """Return whether an error says that the database cannot be reached or has closed everything."""
    from django.db import OperationalError  # settings import this module

    return isinstance(error, OperationalError) and error.args[:1] in [(n,) for n in UNREACHABLE]


class Sparing(logging.Filter):
    """Limits the records that anybody can cause at will, which are warnings.

    They come from requests that Django refuses, from 503 answers that are no unexpected error, and
    from slow requests. The failure behind a 503 is logged as an error of its own, which always
    passes, unless the database does not answer at all.
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
        if kind != DATABASE_OUTAGE:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
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
    if hasattr(record, "is_outage"):
        return DATABASE_OUTAGE
    if record.name.startswith("django.security."):
        return record.name
    status = getattr(record, "status_code", 0)
    busy = status == 503 and not record.exc_info and record.name == "django.request"
    # Slow answers and 503, but not 500.
    caused = record.name == REQUESTS and status != 500
    return record.name if busy or caused else ""
