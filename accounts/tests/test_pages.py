"""Pages of accounts and the cookies."""

import time

import jwt
import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from accounts import actions, cache, devices
from accounts.models import Role, TokenVersion, User
from accounts.request_auth import authentication, cookies
from socialsite.core import redis
from socialsite.core.http import ip_addresses
from socialsite.core.runtime import keys

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36"
NEW = {"username": "alice1", "nickname": "爱丽丝们", "password": PASSWORD}


def expire(client: Client) -> None:
    """Make the access cookie expire."""
    payload = jwt.decode(client.cookies["access"].value, options={"verify_signature": False})
    payload["exp"] = int(time.time()) - 1
    key = settings.JWT_KEYS[0]
    headers = {"kid": keys.parse(key).kid}
    client.cookies["access"] = jwt.encode(payload, key, "HS256", headers)


def is_in(client: Client) -> bool:
    return b'data-testid="logout"' in client.get("/search").content


def test_signing_up_logs_in_and_returns_to_the_requested_page(client) -> None:
    page = client.get("/register?next=/search").content.decode()
    assert 'name="next" value="/search"' in page
    assert "csrfmiddlewaretoken" in page
    response = client.post("/register", NEW | {"next": "/search"}, HTTP_USER_AGENT=CHROME)
    assert (response.status_code, response["Location"]) == (303, "/search")
    assert is_in(client)
    assert TokenVersion.objects.get().client == "chrome"


def test_the_cookies_are_http_only_lax_and_for_the_whole_site(browser) -> None:
    for name in (cookies.ACCESS, cookies.REFRESH):
        cookie = browser.cookies[name]
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
        assert cookie["secure"] == ""
        assert cookie["max-age"] == settings.REFRESH_LIFETIME.total_seconds()


def test_over_https_the_cookies_are_secure(alice, settings) -> None:
    from django.http import HttpResponse

    settings.HTTPS = True
    response = HttpResponse()
    cookies.put(response, actions.sign_in(alice))
    assert all(cookie["secure"] for cookie in response.cookies.values())


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"username": "abc"}, 400, "username"),
        ({"username": "abcd\n"}, 400, "username"),
        ({"nickname": "1234"}, 400, "nickname"),
        ({"password": "short"}, 400, "password"),
        ({"username": ""}, 400, "username"),
        ({"username": "ALICE1"}, 409, "username"),
    ],
)
def test_a_mistake_at_sign_up_shows_at_its_field_with_the_input(
    change, status, field, client, alice
) -> None:
    response = client.post("/register", NEW | {"username": "other1"} | change)
    page = response.content.decode()
    assert response.status_code == status
    assert f'id="err-{field}"' in page
    assert PASSWORD not in page
    assert User.objects.count() == 1
    assert "access" not in response.cookies


@pytest.mark.parametrize("name", ["alice1", "nobody1"])
def test_a_failed_login_reveals_no_reason(name, client, alice) -> None:
    response = client.post("/login", {"username": name, "password": "wrong.pass1"})
    assert response.status_code == 401
    assert "err-all" in response.content.decode()
    assert f'value="{name}"' in response.content.decode()


def test_a_banned_person_is_informed_after_the_right_password(client, alice) -> None:
    actions.ban(alice)
    response = client.post("/login", {"username": "alice1", "password": PASSWORD})
    assert response.status_code == 403
    assert "banned" in response.content.decode()


@pytest.mark.parametrize("data", [{}, {"username": "alice1"}, {"username": "x" * 10_000}])
def test_an_incomplete_or_endless_login_is_refused(data, client, db) -> None:
    assert client.post("/login", data).status_code == 400


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("/search?q=a%20b", "/search?q=a%20b"),
        ("/@alice1", "/@alice1"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("///evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("\\\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("evil.example", "/"),
        ("/\tevil", "/%09evil"),
        ("/a\r\nSet-Cookie: x=y", "/a%0D%0ASet-Cookie:%20x=y"),
        ("http:///evil.example", "/"),
        ("\x00/", "/"),
    ],
)
def test_next_leads_to_this_site_only(wanted, found, client, alice) -> None:
    data = {"username": "alice1", "password": PASSWORD, "next": wanted}
    response = client.post("/login", data)
    assert (response.status_code, response["Location"]) == (303, found)
    assert client.get("/login", {"next": wanted})["Location"] == found


def test_forms_need_their_csrf_token(alice) -> None:
    client = Client(enforce_csrf_checks=True)
    for path in ("/login", "/register", "/logout"):
        response = client.post(path, {"username": "alice1", "password": PASSWORD})
        assert response.status_code == 403
        assert "access" not in response.cookies


@pytest.mark.parametrize("path", ["/login", "/register", "/login/code"])
def test_a_form_from_before_the_log_in_leads_on(path, alice) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get("/login")
    token = {"csrfmiddlewaretoken": client.cookies["csrf"].value}
    data = {"username": "alice1", "password": PASSWORD, "next": "/drafts"}
    assert client.post("/login", data | token).status_code == 303
    second = client.post(path, data | token)
    assert (second.status_code, second["Location"]) == (303, "/drafts")
    abroad = client.post(path, data | token | {"next": "https://example.com/"})
    assert (abroad.status_code, abroad["Location"]) == (303, "/")
    client.cookies["access"] = client.cookies["refresh"] = "x"
    assert client.post(path, data | token).status_code == 403


def test_logging_in_changes_the_csrf_secret(client, alice) -> None:
    client.get("/login")
    before = client.cookies["csrf"].value
    client.post("/login", {"username": "alice1", "password": PASSWORD})
    assert client.cookies["csrf"].value != before


def test_logging_out_ends_the_tokens_and_the_cookies(browser) -> None:
    stolen = browser.cookies["access"].value, browser.cookies["refresh"].value
    response = browser.post("/logout")
    assert (response.status_code, response["Location"]) == (303, "/")
    assert [browser.cookies[name].value for name in ("access", "refresh")] == ["", ""]
    browser.cookies["access"], browser.cookies["refresh"] = stolen
    assert not is_in(browser)
    assert browser.get("/logout").status_code == 405


def test_a_guest_may_log_out_too(client, db) -> None:
    assert client.post("/logout").status_code == 303


# --- the cookies in time ------------------------------------------------------------------------
def test_a_live_access_cookie_sets_no_cookie(browser) -> None:
    assert not {"access", "refresh"} & set(browser.get("/search").cookies)


@pytest.mark.parametrize("spoil", ["expire", "drop", "garble", "roles"])
def test_a_page_renews_a_dead_access_cookie_by_the_refresh_cookie(spoil, browser, alice) -> None:
    match spoil:
        case "expire":
            expire(browser)
        case "drop":
            del browser.cookies["access"]
        case "garble":
            browser.cookies["access"] = "garbage"
        case "roles":
            actions.promote(alice, Role.MEMBER | Role.MODERATOR)
    old = browser.cookies["refresh"].value
    response = browser.get("/search")
    assert b'data-testid="logout"' in response.content
    assert response.cookies["refresh"].value not in ("", old)
    assert response.cookies["access"]["httponly"]
    assert authentication.by_access(response.cookies["access"].value)[1].user_id == alice.pk


def test_a_form_is_renewed_and_acts_in_one_request(browser) -> None:
    expire(browser)
    assert browser.post("/logout").status_code == 303
    assert TokenVersion.objects.get().access_floor == 1


def test_two_tabs_that_renew_get_the_same_refresh_cookie(browser) -> None:
    expire(browser)
    tabs = [Client(), Client()]
    for tab in tabs:
        tab.cookies["access"] = browser.cookies["access"].value
        tab.cookies["refresh"] = browser.cookies["refresh"].value
    found = {tab.get("/search").cookies["refresh"].value for tab in tabs}
    assert len(found) == 1


def test_dead_cookies_are_cleared_and_the_visitor_is_a_guest(browser, alice) -> None:
    actions.ban(alice)
    response = browser.get("/search")
    assert b'data-testid="logout"' not in response.content
    assert [response.cookies[name].value for name in ("access", "refresh")] == ["", ""]


def test_with_dead_cookies_one_can_log_in_again(browser, alice) -> None:
    actions.log_out(alice, "other")
    response = browser.post("/login", {"username": "alice1", "password": PASSWORD})
    assert response.status_code == 303
    assert is_in(browser)


def test_addresses_without_a_visitor_read_no_cookie(browser, django_assert_num_queries) -> None:
    expire(browser)
    with django_assert_num_queries(0):
        response = browser.get("/healthz")
    assert "refresh" not in response.cookies
    assert "refresh" not in browser.get("/api/v1/users/me").cookies


def test_without_the_database_a_cookie_is_neither_believed_nor_cleared(
    browser, monkeypatch
) -> None:
    def down(*args, **kwargs):
        raise OperationalError("gone away")

    redis.call(lambda connection: connection.flushdb())
    monkeypatch.setattr(cache, "stored_floors", down)
    response = browser.get("/search")
    assert response.status_code == 503
    assert "access" not in response.cookies


def test_somebody_logged_in_does_not_see_the_forms(browser) -> None:
    for path in ("/login", "/register"):
        assert browser.get(path)["Location"] == "/"


@pytest.mark.parametrize(
    ("user_agent", "client"),
    [
        (CHROME, "chrome"),
        (CHROME.replace("Chrome/", "HeadlessChrome/"), "chrome"),
        (CHROME + " Edg/142.0.0.0", "edge"),
        (CHROME + " OPR/120.0", "other"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; rv:140.0) Gecko/20100101 Firefox/140.0", "firefox"),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15", "safari"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_5) AppleWebKit/605.1.15 CriOS/142.0", "ios"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/142.0 Mobile", "android"),
        ("curl/8.5", "other"),
        ("", "other"),
    ],
)
def test_the_kind_of_browser_is_read_from_its_name(user_agent, client) -> None:
    assert devices.browser_of(user_agent) == client


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.9", "127.0.0.1"),
        (1, "6.6.6.6, 203.0.113.9", "203.0.113.9"),
        (2, "6.6.6.6, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (2, "203.0.113.9", "203.0.113.9"),
        (1, "", "127.0.0.1"),
        (1, "nonsense", ""),
        (1, "2001:DB8::1", "2001:db8::1"),
    ],
)
def test_only_our_own_proxies_are_believed_about_the_address(
    proxies, forwarded, address, rf, settings
) -> None:
    settings.TRUSTED_PROXIES = proxies
    assert ip_addresses.address_of(rf.get("/", HTTP_X_FORWARDED_FOR=forwarded)) == address
