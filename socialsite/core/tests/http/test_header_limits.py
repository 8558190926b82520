"""Headers are bounded before anything parses them."""

import io
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.messages import constants
from django.contrib.messages.storage.base import Message
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponse
from django.test import RequestFactory

from socialsite import asgi, wsgi
from socialsite.core.http.server import header_limits

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("content-type", "application/json; charset=utf-8", "application/json; charset=utf-8"),
        ("content-type", "a/b; x=" + ";" * 9000, "a/b; x=" + ";" * 249),
        ("authorization", "Bearer " + "x" * 2000, "Bearer " + "x" * 2000),
        ("x-any", "x" * 9000, "x" * 8192),
        ("cookie", "access=a.b.c; refresh=d.e.f", "access=a.b.c; refresh=d.e.f"),
        ("cookie", 'access=a.b.c; theirs="\\054"; refresh=d', "access=a.b.c; refresh=d"),
        ("cookie", "access=a; b=" + "x" * 9000, "access=a"),
        ("cookie", "x" * 9000, ""),
        ("cookie", "\\" * 9000, ""),
    ],
)
def test_header_values_are_bounded(name: str, value: str, read: str) -> None:
    assert header_limits.bounded(name, value) == read


def test_both_entries_bound_headers_before_django_sees_them(monkeypatch) -> None:
    seen: list[dict[str, Any]] = []

    def answer(environ: dict[str, Any], _start: Any) -> list[bytes]:
        seen.append(environ)
        return []

    monkeypatch.setattr(wsgi, "django_application", answer)
    environ = {"CONTENT_TYPE": "x" * 9000, "HTTP_COOKIE": "a=\\; b=c", "HTTP_X_ANY": "x" * 9000}
    wsgi.application({**environ, "wsgi.input": io.BytesIO()}, lambda *_: None)
    assert len(seen[0]["CONTENT_TYPE"]) == header_limits.SHORTER["content-type"]
    assert seen[0]["HTTP_COOKIE"] == " b=c"
    assert len(seen[0]["HTTP_X_ANY"]) == header_limits.HEADER_MAX

    async def app(scope: dict[str, Any], _receive: Any, _send: Any) -> None:
        seen.append(scope)

    sent = [
        (b"Content-Type", b"x" * 9000),
        (b"cookie", b"a=\\; b=\xe4"),
        (b"x-any", b"\xff" * 9000),
    ]
    for kind in ("http", "websocket"):
        async_to_sync(header_limits.Bounded(app))({"type": kind, "headers": sent}, None, None)
        read = dict(seen[-1]["headers"])
        assert len(read[b"Content-Type"]) == header_limits.SHORTER["content-type"]
        assert read[b"cookie"] == b" b=\xe4"
        assert read[b"x-any"] == b"\xff" * header_limits.HEADER_MAX
        # Django joins headers that are sent in parts.
        async_to_sync(header_limits.Bounded(app))({"type": kind, "headers": sent * 50}, None, None)
        parts = [value for name, value in seen[-1]["headers"] if name == b"Content-Type"]
        assert len(b",".join(parts)) <= header_limits.SHORTER["content-type"]
    assert isinstance(asgi.application, header_limits.Bounded)


def test_messages_of_the_admin_make_a_cookie_without_backslashes() -> None:
    storage: Any = CookieStorage(RequestFactory().get("/"))
    response = HttpResponse()
    storage._store([Message(constants.INFO, 'It is "done", 好; \\ <b>')], response)
    cookie = response.cookies.output(header="").strip()
    assert cookie
    assert "\\" not in cookie
