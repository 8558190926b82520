"""Remove secrets from every log record when it is created, whichever library logs it.

A record contains addresses, headers and errors as they arrived, and with them credentials: links of
e-mails, tokens, tickets, passwords. `install` redacts them in every logger of the process, also in
tracebacks. `deploy.services.service` does the same with the output of other programs.

Each pattern begins with fixed characters and reads the following text once, so that a hostile text
costs only its length.
"""

import contextlib
import logging
import re
from collections.abc import Mapping
from typing import Any

GONE = "[redacted]"

_NAMES = (
    "access|refresh|token|ticket|password|passwd|secret|otp|authorization|cookie|known|csrf"
    "|sessionid|recovery|confirmation"
)
_SLASH = r"(?:/|%2f)"
# The links of e-mails; the pages behind the token contain no secret.
_LINK = re.compile(
    rf"({_SLASH}(?:recover|email){_SLASH})(?!(?:choose|confirm)(?:$|[^\w-]))[^\s\"'?#&<>]+", re.I
)
# ticket=…, "token": "…", password='…', also at the end of a longer name (csrfmiddlewaretoken=…).
_FIELD = re.compile(
    rf"((?:{_NAMES})(?:\"|'|%22)?\s?(?:=|:|%3d)\s?(?:b(?=[\"']))?)"
    r"(?:\"[^\"]*\"|'[^']*'|(?:bearer |basic )?[^\s&;,\"'<>)}\]]+)",
    re.I,
)
_BEARER = re.compile(r"\b(bearer|basic)\s[^\s\"',;]+", re.I)
# user:password@ of an address.
_USERINFO = re.compile(r"(://[^\s:/@\"']*:)[^\s/@\"']+@")
# Anything that may be a JSON Web Token; a run of these characters is scanned once.
_RUN = re.compile(r"[A-Za-z0-9_.-]{40,}")
_JWT_BEGINS = "eyJ"


def redact(text: str) -> str:
    """Return a text without the secrets in it."""
    text = _LINK.sub(rf"\1{GONE}", text)
    text = _FIELD.sub(rf"\1{GONE}", text)
    text = _BEARER.sub(rf"\1 {GONE}", text)
    text = _USERINFO.sub(rf"\1{GONE}@", text)
    return _RUN.sub(_without_jwt, text)


def _without_jwt(found: re.Match[str]) -> str:
    run = found[0]
    at = run.find(_JWT_BEGINS)
    return run[:at] + GONE if at >= 0 and run.count(".", at) >= 2 else run


def install() -> None:
    """Redact every log record of this process; calling it again changes nothing."""
    make = logging.getLogRecordFactory()
    if getattr(make, "redacts", False):
        return

    def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
        made = make(*args, **kwargs)
        # logging itself reports a message that does not fit its arguments, later.
        with contextlib.suppress(TypeError, ValueError, KeyError):
            _clean(made)
        return made

    record.redacts = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(record)


_formatter = logging.Formatter()


def _clean(record: logging.LogRecord) -> None:
    """Redact the arguments of a record, its message and its traceback."""
    # Some formatters (uvicorn's for requests) read arguments by position, so they keep their
    # places.
    if isinstance(record.args, tuple):
        record.args = tuple(_clean_value(value) for value in record.args)
    elif isinstance(record.args, Mapping):
        record.args = {name: _clean_value(value) for name, value in record.args.items()}
    message = record.getMessage()
    clean = redact(message)
    if clean != message:
        record.msg, record.args = clean, None
    if record.exc_info and record.exc_info[0] is not None:
        # Formatters use this text where there is one.
        record.exc_text = redact(_formatter.formatException(record.exc_info))


def _clean_value(value: object) -> object:
    return redact(value) if isinstance(value, str) else value
