"""Log records that anybody can cause, and the limit on their number."""

import logging
import time
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from socialsite.core.runtime import logs
from socialsite.core.runtime.logs import Sparing

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
