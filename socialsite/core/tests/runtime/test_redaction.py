"""Secrets are removed from texts and from the records of every logger, in linear time."""

import io
import logging
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialsite.core.runtime import redaction
from socialsite.core.runtime.redaction import GONE, redact

pytestmark = [pytest.mark.once, pytest.mark.embedded]

SECRET = "c4n4ry-" + "k" * 40
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJ1aWQiOjF9" * 3 + "." + "s1gn4tur3" * 4


@pytest.mark.parametrize(
    "text",
    [
        "Forbidden (CSRF token missing.): /recover/{}",
        'GET /email/{} HTTP/1.1" 403',
        "https://site.example/recover/{}?x=1",
        "/login?next=%2Frecover%2F{}",
        "/login?next=%2femail%2f{}&x=1",
        "GET /ws/session/?ticket={} HTTP/1.1",
        "/search?q=1&token={}&x",
        "csrfmiddlewaretoken={}",
        "{{'token': '{}', 'a': 1}}",
        '{{"refresh": "{}"}}',
        '{{"new_password":"{} with blanks"}}',
        "password={}",
        "Authorization: Bearer {}",
        "{{'Authorization': 'Bearer {}'}}",
        "(b'authorization', b'Bearer {}')",
        "Cookie: access={}; refresh={}; __Host-access={}",
        "redis://:{}@127.0.0.1:6379/0",
        "mysql://site:{}@127.0.0.1/x is gone",
    ],
)
def test_credentials_are_redacted(text: str) -> None:
    clean = redact(text.format(*[SECRET] * 3))
    assert SECRET not in clean
    assert "with blanks" not in clean
    assert GONE in clean


@pytest.mark.parametrize("text", ["{}", "token {} was refused", "x={}&y", '"{}"', "<{}>", "a.{}"])
def test_a_json_web_token_is_redacted_anywhere(text: str) -> None:
    clean = redact(text.format(JWT))
    assert "s1gn4tur3" not in clean
    assert GONE in clean


@pytest.mark.parametrize(
    "text",
    [
        "GET /recover/choose HTTP/1.1",
        "/email/confirm",
        "/recover",
        "/settings/email",
        "event 7 PostPublished failed, attempt 2",
        "retrying the transaction of sign_in: (1213, 'Deadlock found')",
        "a.b.c " + "d" * 60 + ".html",
        "feeds.migrations.0001_squashed_0021_videos",
        "http://127.0.0.1:8000/ is up",
    ],
)
def test_harmless_text_is_unchanged(text: str) -> None:
    assert redact(text) == text


@pytest.fixture
def logged() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger as a library would use, with a handler of its own."""
    redaction.install()
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    logger = logging.getLogger("some.library")
    logger.addHandler(handler)
    yield logger, out
    logger.removeHandler(handler)


def test_every_record_is_clean_whoever_formats_it(
    logged: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, out = logged
    logger.warning("Forbidden: /recover/%s", SECRET)
    logger.warning("%(path)s", {"path": f"/email/{SECRET}"})
    logger.warning(f"ticket={SECRET}")
    logger.warning("token=%s and %d", SECRET, 7)
    try:
        raise ValueError(f"GET /recover/{SECRET}")
    except ValueError:
        logger.exception("100 %% of /email/%s", SECRET)
    assert SECRET not in out.getvalue()
    assert out.getvalue().count(GONE) == 7, out.getvalue()
    assert "ValueError: GET /recover/[redacted]" in out.getvalue()
    assert "100 % of" in out.getvalue()


def test_records_with_structured_arguments_are_unchanged(
    logged: tuple[logging.Logger, io.StringIO],
) -> None:
    record = logging.getLogRecordFactory()(
        "uvicorn.access", 20, "x", 1, '%s - "%s %s HTTP/%s" %d',
        ("1.2.3.4", "GET", f"/recover/{SECRET}", "1.1", 200), None,
    )  # fmt: skip
    _client, _method, path, *_rest = record.args or ()
    assert path == "/recover/[redacted]"


def test_a_message_that_does_not_fit_its_arguments_is_left_to_logging() -> None:
    redaction.install()
    record = logging.getLogRecordFactory()("x", 20, "x", 1, "%d of %s", ("none",), None)
    assert record.msg == "%d of %s"


PIECES = (
    *("/recover/", "/email/", "%2f", "token", "token=", "token:", '"token": "', "bearer ", "eyJ"),
    *("eyJ.", "://", "://a:", "@", "'", '"', " ", ".", "-", "&", "Authorization: Bearer ", "=b'"),
)


@settings(max_examples=8)  # `make chaos ARGS=linear` tries more
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3))
def test_the_time_grows_with_the_length(pieces: list[str]) -> None:
    def cost(length: int) -> float:
        unit = "".join(pieces)
        text = (unit * (length // len(unit) + 1))[:length]
        best = float("inf")
        for _ in range(3):
            began = time.thread_time()  # of this thread alone, whatever else runs
            redact(text)
            best = min(best, time.thread_time() - began)
        return best

    # The shorter text takes 20 ms, unless nothing in it is looked at twice.
    length = 25_000
    while length < 200_000 and cost(length) < 0.02:
        length *= 2
    # Four times the text: 16 times the time if it were quadratic.
    assert cost(4 * length) < 9 * max(cost(length), 0.005)
