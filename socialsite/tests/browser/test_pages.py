"""Every page renders, in both languages; bad addresses get a page, never a 500."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template import engines
from django.test import Client

from accounts.tests.browsers import browser_of
from socialsite.tests.browser.scraper import scrape

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


@pytest.fixture
def site_settings(settings: Any) -> Any:
    """The settings of a site that is only reachable on this machine."""
    settings.SITE_URL, settings.TRUSTED_PROXIES = "http://127.0.0.1:8000", 0
    return settings


def test_every_template_compiles() -> None:
    engine: Any = engines["jinja2"]
    environment = engine.env
    root = Path(settings.BASE_DIR, "templates")
    for path in root.rglob("*.html"):
        environment.get_template(str(path.relative_to(root)))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_page_renders_for_guests_and_members(
    make_user: Make, make_post: Make, language: str
) -> None:
    author, reader = make_user("author7"), make_user("reader7")
    post = make_post(author, content="<script>alert(1)</script> 你好")
    pages = [
        "/",
        "/recommended",
        "/@author7",
        "/@AUTHOR7",
        "/@author7/following",
        "/@author7/followers",
        "/@author7/friends",
        f"/posts/{post.pk}",
        "/search",
        "/search?q=aut",
    ]
    for client in (Client(), browser_of(reader)):
        for page in pages:
            answer = client.get(page, headers={"accept-language": language})
            assert answer.status_code == 200, page
            assert b"<script>alert" not in answer.content
            assert f'lang="{language}"' in answer.content.decode()
    for page in ("/login", "/register"):
        assert Client().get(page, headers={"accept-language": language}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/@nobody9", "/@x", "/posts/1", "/posts/abc", "/?cursor=x", "/media/nothing.webp"],
)
def test_bad_addresses_get_a_page(path: str, make_user: Make) -> None:
    client = browser_of(make_user())
    answer = client.get(path)
    assert 400 <= answer.status_code < 500
    assert b"<html" in answer.content


def test_a_get_of_a_post_only_address_gets_a_page(make_user: Make) -> None:
    answer = browser_of(make_user()).get("/posts")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert b"<html" in answer.content


def test_a_bad_cursor_is_named_on_the_page() -> None:
    page = Client().get("/recommended?cursor=x", headers={"accept-language": "en"})
    assert "This is not a cursor." in page.content.decode()


def test_members_pages_send_guests_to_log_in(make_post: Make, make_user: Make) -> None:
    post = make_post(make_user())
    for path in ("/posts", f"/posts/{post.pk}/like", f"/posts/{post.pk}/comments"):
        assert Client().post(path, {"content": "x"}).status_code in (303, 302, 401)
    assert post.__class__.objects.count() == 1


def test_every_kind_of_response_has_security_headers(make_user: Make) -> None:
    for path in ("/", "/api/v1/feed", "/nothing", "/api/nothing", "/healthz"):
        headers = Client().get(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"], path
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["X-Frame-Options"] == "DENY", path
        assert headers["Cache-Control"] == "no-store", path


def test_pictures_come_from_this_site_alone() -> None:
    for path in ("/", "/nothing", "/api/docs/"):
        policy = Client().get(path).headers["Content-Security-Policy"]
        parts = dict(part.split(" ", 1) for part in policy.split("; "))
        assert parts["img-src"] == "'self' data:", path


def test_answers_of_the_api_are_files_with_a_fixed_name_and_never_pages(make_user: Make) -> None:
    client = browser_of(make_user())
    paths = (
        "feed",
        "nothing",
        "users?q=evil.bat",
        "posts/1",
        "users/by-name/evil.bat",
        "posts;a.bat",
    )
    for path in paths:
        headers = client.get(f"/api/v1/{path}").headers
        assert headers["Content-Disposition"] == 'attachment; filename="api.json"', path
        assert headers["Content-Type"] == "application/json", path
    for page in ("/", "/api/docs/"):
        assert "Content-Disposition" not in client.get(page).headers


def test_the_api_docs_obey_the_content_policy() -> None:
    page = Client().get("/api/docs/").content.decode()
    assert "swagger-ui-bundle" in page
    assert "<style" not in page
    assert re.search(r"<script(?![^>]*\bsrc=)", page) is None


def test_a_form_without_csrf_token_is_refused(make_user: Make) -> None:
    member = browser_of(make_user())
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = member.cookies
    assert strict.post("/posts", {"content": "x"}).status_code == 403
    api = strict.post("/api/v1/posts", {"content": "x"}, content_type="application/json")
    assert (api.status_code, api.json()["code"]) == (403, 19)


def test_metrics_show_waiting_work(make_user: Make, make_post: Make) -> None:
    make_post(make_user())
    assert "socialsite_events_waiting 2.0" in scrape()


def test_metrics_without_the_token_are_for_nobody_wherever_the_request_comes_from(
    site_settings: Any,
) -> None:
    # A proxy on this machine, such as socat, `ssh -R` or nginx's bare proxy_pass, adds no header.
    for address in ("127.0.0.1", "::1", "", "10.0.0.1"):
        assert Client(REMOTE_ADDR=address).get("/metrics").status_code == 404, address
    for header in ("HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA"):
        extra: dict[str, Any] = {header: "127.0.0.1"}
        assert Client().get("/metrics", **extra).status_code == 404, header


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer ", "Bearer x"])
def test_metrics_are_for_nobody_on_a_site_that_has_no_token(site_settings: Any, shown: str) -> None:
    site_settings.METRICS_TOKEN = ""
    assert Client(HTTP_AUTHORIZATION=shown).get("/metrics").status_code == 404


def test_metrics_with_a_token_are_for_whoever_shows_it(site_settings: Any) -> None:
    site_settings.METRICS_TOKEN = "a.metrics.token"
    for wrong in (
        *("", "Bearer", "Bearer ", "Bearer a.metrics.toke", "Bearer a.metrics.token2"),
        *("Basic a.metrics.token", "a.metrics.token", "Bearer ä", "Bearer a.metrics.token x"),
    ):
        assert Client().get("/metrics", HTTP_AUTHORIZATION=wrong).status_code == 404, wrong
    assert Client().get("/metrics").status_code == 404
    site_settings.TRUSTED_PROXIES, site_settings.SITE_URL = 1, "https://site.example"
    scraper = Client(HTTP_AUTHORIZATION="Bearer a.metrics.token", REMOTE_ADDR="10.0.0.1")
    answer = scraper.get("/metrics", HTTP_X_FORWARDED_FOR="10.0.0.1")
    assert answer.status_code == 200
    assert b"socialsite_events_waiting" in answer.content
