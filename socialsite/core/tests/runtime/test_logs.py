"""Log records that anybody can cause, and the limit on their number."""

import io
import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from socialsite.core.runtime import logs, redaction, request_ids
from socialsite.core.runtime.logs import Json, Line, Outage, Sparing

pytestmark = pytest.mark.once


def record(name: str, **extra: Any) -> logging.LogRecord:
    found = logging.LogRecord(name, logging.ERROR, __file__, 1, "%s here", ("something",), None)
    found.__dict__.update(extra)
    return found


@pytest.mark.parametrize(
    ("name", "extra"),
    [("django.security.DisallowedHost", {}), ("django.request", {"status_code": 503})],
)
def test_ten_a_minute_pass_as_warnings_and_the_next_has_the_number_dropped(
    name: str, extra: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, sparing = [100.0], Sparing()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    sent = [record(name, **extra) for _ in range(50)]
    assert [sparing.filter(one) for one in sent] == [True] * 10 + [False] * 40
    assert {one.levelname for one in sent} == {"WARNING"}
    assert sparing.filter(record("django.security.SuspiciousOperation"))
    now[0] += Sparing.SECONDS
    later = [record(name, **extra) for _ in range(2)]
    assert all(sparing.filter(one) for one in later)
    told = [one.getMessage() for one in later]
    assert told == ["something here (40 similar records were dropped)", "something here"]


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("django.request", {"status_code": 500}),
        ("django.request", {"status_code": 503, "exc_info": (ValueError, ValueError(), None)}),
        ("socialsite.core.http.api", {}),
        ("accounts.mail.messages", {"status_code": 503}),
    ],
)
def test_errors_all_pass_as_they_are(name: str, extra: dict[str, Any]) -> None:
    sparing, sent = Sparing(), [record(name, **extra) for _ in range(50)]
    assert all(sparing.filter(one) for one in sent)
    assert {one.levelname for one in sent} == {"ERROR"}


@pytest.mark.django_db
def failed(error: Exception) -> logging.LogRecord:
    try:
        raise error
    except Exception:
        return record("socialsite.core.http.api", exc_info=sys.exc_info())


@pytest.mark.parametrize("code", [2002, 1047])
def test_while_the_database_is_away_ten_lines_a_minute_tell_it_and_no_traceback(code: int) -> None:
    of_site: Any = settings.LOGGING
    names = of_site["handlers"]["stderr"]["filters"]
    assert names.index("outage") < names.index("sparing")
    outage, sparing = Outage(), Sparing()
    sent = [failed(OperationalError(code, "Can't connect")) for _ in range(50)]
    assert sum(outage.filter(one) and sparing.filter(one) for one in sent) == 10
    assert {one.levelname for one in sent} == {"ERROR"}
    said = f'something here: OperationalError({code}, "Can\'t connect")'
    assert Line().format(sent[0]).endswith(said)
    other = failed(OperationalError(1205, "Lock wait timeout"))
    assert outage.filter(other)
    assert sparing.filter(other)
    assert "Traceback" in Line().format(other)


def test_a_traceback_cannot_look_like_other_lines() -> None:
    text = Line().format(failed(ValueError("a name\n2026-01-01 00:00:00,000 INFO - made up")))
    assert [line for line in text.splitlines()[1:] if not line.startswith("    ")] == []


def test_a_flood_of_wrong_hosts_leaves_few_lines() -> None:
    logging_of_site: Any = settings.LOGGING
    names = logging_of_site["handlers"]["stderr"]["filters"]
    handler, written = logging.StreamHandler(), []
    for name in names:
        handler.addFilter(logs.__dict__[logging_of_site["filters"][name]["()"].split(".")[-1]]())
    handler.emit = lambda record: written.append(record.levelname)  # type: ignore[method-assign]
    logger = logging.getLogger("django.security.DisallowedHost")
    logger.addHandler(handler)
    try:
        client = Client(SERVER_NAME="evil.example")
        assert {client.get("/login").status_code for _ in range(30)} == {400}
    finally:
        logger.removeHandler(handler)
    assert written == ["WARNING"] * Sparing.AT_MOST


@pytest.fixture
def written() -> Iterator[Callable[[logging.Formatter], list[str]]]:
    """Log what is difficult with a formatter; return the lines."""
    redaction.install()
    handlers: list[logging.Handler] = []
    logger = logging.getLogger("some.formats")
    logger.propagate = False  # pytest cannot send half a pair to its main process

    def write(formatter: logging.Formatter) -> list[str]:
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace")
        handler = logging.StreamHandler(out)
        handler.setFormatter(formatter)
        handlers.append(handler)
        logger.addHandler(handler)
        with request_ids.within("a" * 32):
            logger.warning("two\nlines of 你\u2028token=%s", "s3cr3t")
            logger.warning("half a pair \ud800", extra={"request": object()})
            try:
                raise ValueError("password=s3cr3t")
            except ValueError:
                logger.exception("a failure")
        logger.warning("no request")
        out.seek(0)
        return out.read().split("\n")[:-1]

    yield write
    for handler in handlers:
        logger.removeHandler(handler)


def test_json_is_one_object_for_each_record(written: Callable[..., list[str]]) -> None:
    found = [json.loads(line) for line in written(Json("http1"))]
    assert [one["message"] for one in found] == [
        *("two\nlines of 你\u2028token=[redacted]", "half a pair \ud800", "a failure"),
        "no request",
    ]
    assert [one["request"] for one in found] == ["a" * 32] * 3 + [None]
    assert {(one["role"], one["logger"]) for one in found} == {("http1", "some.formats")}
    assert [one["level"] for one in found] == ["WARNING", "WARNING", "ERROR", "WARNING"]
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["time"]) for one in found
    )
    assert ["exception" in one for one in found] == [False, False, True, False]
    assert found[2]["exception"].startswith("Traceback")
    assert found[2]["exception"].endswith("ValueError: password=[redacted]")


def test_text_is_one_line_for_each_message(written: Callable[..., list[str]]) -> None:
    found = written(Line())
    assert found[0].endswith(
        f" WARNING {'a' * 32} some.formats: two\\nlines of 你\\u2028token=[redacted]"
    )
    assert found[1].endswith("some.formats: half a pair \\ud800")
    assert found[2].endswith("some.formats: a failure")
    assert found[3].startswith("    Traceback")
    assert found[-2] == "    ValueError: password=[redacted]"
    assert found[-1].endswith(" WARNING - some.formats: no request")


def test_a_refused_request_has_no_traceback_in_json() -> None:
    one = record("django.security.DisallowedHost", exc_info=(ValueError, ValueError(), None))
    logs.OneLine().filter(one)
    assert "exception" not in json.loads(Json("site").format(one))


@pytest.mark.parametrize(("status", "passing"), [(503, 10), (200, 10), (500, 50)])
def test_lines_about_requests_that_anybody_can_cause_are_limited(status: int, passing: int) -> None:
    sparing = Sparing()
    sent = [record(logs.REQUESTS, status_code=status) for _ in range(50)]
    assert sum(sparing.filter(one) for one in sent) == passing
