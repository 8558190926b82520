"""An error page needs only the settings: no middleware, no database, no Redis."""

import json
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import DisallowedHost, PermissionDenied
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from django.urls import path
from django.utils import translation

from accounts.request_auth import authentication
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from socialsite import urls
from socialsite.core.runtime.logs import OneLine
from socialsite.pages import views


def broken(*_args: object) -> HttpResponse:
    raise ValueError("a mistake of ours")


urlpatterns = [path("broken", broken), *urls.urlpatterns]
handler400, handler403, handler404 = urls.handler400, urls.handler403, urls.handler404
handler500 = urls.handler500

HANDLERS: dict[str, tuple[int, Callable[[HttpRequest], HttpResponseBase]]] = {
    "400": (400, lambda request: views.bad_request(request, DisallowedHost("x"))),
    "400 body": (400, lambda request: views.bad_request(request, MultiPartParserError("x"))),
    "403": (403, lambda request: views.permission_denied(request, PermissionDenied())),
    "404": (404, lambda request: views.not_found(request, Http404())),
    "500": (500, views.server_error),
    "csrf": (403, lambda request: views.csrf_failure(request, "no cookie")),
}
# The last words of each page's title.
TITLES = {
    "en": {400: "did not work", 403: "Not allowed", 404: "not found", 500: "went wrong"},
    "zh-hans": {400: "没有成功", 403: "没有权限", 404: "找不到", 500: "出错"},
}
MIDDLEWARE = [(name,) for name in settings.MIDDLEWARE] + [tuple(settings.MIDDLEWARE)]


@pytest.fixture(params=["redis lives", "redis is dead"])
def redis_or_not(
    request: pytest.FixtureRequest, dead_redis: Callable[[], AbstractContextManager[None]]
) -> AbstractContextManager[None]:
    return dead_redis() if request.param == "redis is dead" else nullcontext()


# Without the mark `django_db` every query of these tests raises.
@pytest.mark.once
@pytest.mark.parametrize("language", TITLES)
@pytest.mark.parametrize("name", HANDLERS)
def test_an_error_page_renders_for_a_request_that_nothing_prepared(
    name: str, language: str, redis_or_not: AbstractContextManager[None]
) -> None:
    status, handler = HANDLERS[name]
    headers = {"accept-language": language, "host": "evil.example"}
    with redis_or_not, translation.override("zh-hans" if language == "en" else "en"):
        page = handler(RequestFactory(headers=headers).get("/somewhere?x=1"))
        envelope = handler(RequestFactory(headers=headers).get("/api/v1/feed"))
    assert (page.status_code, envelope.status_code) == (status, status)
    assert isinstance(page, HttpResponse)
    assert isinstance(envelope, HttpResponse)
    text = page.content.decode()
    assert f'<html lang="{language}"' in text
    assert TITLES[language][status] in text
    assert "evil.example" not in text
    assert json.loads(envelope.content)["detail"] in text


@pytest.mark.once
@pytest.mark.parametrize("missing", MIDDLEWARE)
def test_an_error_page_renders_without_any_of_the_middleware(
    missing: tuple[str, ...], settings: Any
) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name not in missing]
    settings.ROOT_URLCONF = __name__
    client = Client(raise_request_exception=False)
    asked = {"/nothing": 404, "/broken": 500}
    for language in TITLES:
        for address, status in asked.items():
            page = client.get(address, headers={"accept-language": language})
            assert (page.status_code, page.headers["Content-Type"][:9]) == (status, "text/html")
            assert f'<html lang="{language}"' in page.content.decode()
    if "django.middleware.common.CommonMiddleware" not in missing:  # it checks the Host
        page = client.get("/", headers={"host": "evil.example"})
        assert (page.status_code, b"<html" in page.content) == (400, True)


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["evil.example", "a b", "[", "localhost:x", "x" * 300, ""])
def test_a_wrong_host_gets_a_page_or_an_envelope(host: str, make_user: Any) -> None:
    headers = {"host": host, "referer": "http://testserver/", "hx-current-url": "http://x/"}
    for client in (Client(), browser_of(make_user())):
        for page in (
            client.get("/", headers=headers),
            client.get("/", headers={"host": host}),
            client.post("/posts", {"content": "words"}, headers=headers),
        ):
            assert (page.status_code, b"<html" in page.content) == (400, True)
            assert page.headers["Content-Security-Policy"]
        answer = client.get("/api/v1/feed", headers={"host": host})
        assert (answer.status_code, answer.json()["code"]) == (400, 13)


@pytest.mark.django_db
def test_an_error_page_of_a_member_renders_without_the_database(
    make_user: Any, monkeypatch: pytest.MonkeyPatch, redis_or_not: AbstractContextManager[None]
) -> None:
    browser = browser_of(make_user())
    browser.raise_request_exception = False

    def fail(*args: Any) -> None:
        raise OperationalError(2002, "no server")

    monkeypatch.setattr(authentication, "by_access", fail)
    with redis_or_not:
        for address in ("/nothing", "/posts", "/posts/abc"):
            page = browser.get(address)
            assert (page.status_code, page.headers["Retry-After"]) == (503, "3")
            assert b"<html" in page.content


@pytest.mark.django_db
def test_an_error_page_of_a_member_never_becomes_another_error(
    make_user: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    browser = browser_of(make_user())

    monkeypatch.setattr(authentication, "by_access", broken)
    page = browser.get("/nothing")
    assert (page.status_code, b"<html" in page.content) == (404, True)
    assert "a mistake of ours" in caplog.text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "status", "there"),
    [
        ("/login/", 301, "/login"),
        ("/login///?next=/a%20b/", 301, "/login?next=/a%20b/"),
        ("/tags/caf%C3%A9/", 301, "/tags/caf%C3%A9"),
        ("/%2Fevil.example/", 404, ""),
        ("/%2Ftags/a/", 404, ""),
        ("/nothing/", 404, ""),
        ("/%2F", 404, ""),
        ("/api/v1/posts/", 404, ""),
        ("/api/nothing/", 404, ""),
    ],
)
def test_a_page_is_found_with_a_slash_at_its_end(address: str, status: int, there: str) -> None:
    for send in (Client().get, Client().head):
        answer = send(address)
        assert (answer.status_code, answer.headers.get("Location", "")) == (status, there)
    assert Client().post(address).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("types", ["text/html", "image/*;q=1", "application/xml, text/plain", "x"])
def test_the_api_answers_in_json_whatever_is_accepted(types: str, make_user: Any) -> None:
    post = feeds_actions.publish(make_user(), content="words #tea").pk
    for address in ("tags", f"posts/{post}", "users/by-name/nobody", "feed", "nothing"):
        answer = Client().get(f"/api/v1/{address}", headers={"accept": types})
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.status_code in (200, 401, 404)
    assert Client().get("/api/schema/", headers={"accept": types}).status_code == 200


@pytest.mark.once
def test_a_refused_request_is_one_line_in_the_log() -> None:
    logging_of_site: Any = settings.LOGGING
    assert logging_of_site["handlers"]["stderr"]["filters"] == ["one_line", "outage", "sparing"]
    try:
        raise DisallowedHost("Invalid HTTP_HOST header: 'x'")
    except DisallowedHost as error:
        trouble = (type(error), error, error.__traceback__)
    for name, lines in (("django.security.DisallowedHost", 1), ("django.request", 4)):
        record = logging.makeLogRecord({"name": name, "msg": "refused", "exc_info": trouble})
        assert OneLine().filter(record)
        assert len(logging.Formatter().format(record).splitlines()) >= lines
        assert ("Traceback" in logging.Formatter().format(record)) is (lines > 1)
