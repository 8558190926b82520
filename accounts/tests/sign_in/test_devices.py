"""Devices: names, the list, kicks, CLIENT_POLICY, deleted rows."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions, devices, queries, sign_out_reasons
from accounts.actions import clients
from accounts.models import AuditEntry, TokenBatch, TokenVersion, User
from accounts.request_auth import authentication, cookies
from accounts.tokens import TokenPair, decode_access
from socialsite.core.errors import AppError, BannedAccessToken, BannedRefreshToken, NotFound
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
DEVICES, LOGIN = "/api/v1/auth/devices", "/api/v1/auth/login"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)"
LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
CHROME_MAC = f"{MAC} Chrome/142.0.0.0 Safari/537.36"
CHROME_LINUX = f"{LINUX} Chrome/142.0.0.0 Safari/537.36"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Mobile/15E148 MicroMessenger/8.0.53"
)


@pytest.fixture
def per_device(settings) -> None:
    settings.CLIENT_POLICY = "device"


def alive(pair: TokenPair) -> tuple[bool, bool]:
    """Return whether access and refresh token are accepted."""
    found = []
    for function, token in (
        (authentication.by_access, pair.access),
        (actions.refresh, pair.refresh),
    ):
        try:
            function(token)
            found.append(True)
        except (BannedAccessToken, BannedRefreshToken):
            found.append(False)
    return found[0], found[1]


ALIVE, DEAD = (True, True), (False, False)


def bearer(pair: TokenPair) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {pair.access}")
    return client


def listed(user: User, client: str = "") -> list[str]:
    return [device["client"] for device in queries.devices(user.pk, client)]


def row(user: User, client: str) -> TokenVersion:
    return TokenVersion.objects.get(user=user, client=client)


def revocations() -> list[tuple]:
    told = Event.objects.filter(type="TokensRevoked").order_by("id")
    return [(one.payload["client"], one.payload["reason"], one.payload["by"]) for one in told]


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "user_agent", "name"),
    [
        ("chrome", CHROME_MAC, "Chrome, macOS"),
        ("chrome:abcdefgh", CHROME_LINUX, "Chrome, Linux"),
        ("ios", PHONE, "WeChat, iOS"),
        ("other", f"{CHROME_LINUX} OPR/124.0.0.0", "Opera, Linux"),
        ("android", "okhttp/4.12.0", "Android"),
        ("android", "MyApp/2.0 (Android 14; Pixel 8)", "Android"),
        ("windows", "MyApp/2.0 (Windows NT 10.0)", "Windows"),
        ("other", "curl/8.5.0", "curl"),
        ("other", "", "Another device"),
        ("other", "<script>alert(1)</script>/1", "Another device"),
        ("edge", "", "Edge"),
    ],
)
def test_a_device_has_its_common_name(client, user_agent, name) -> None:
    assert devices.name_of(client, user_agent) == name


@pytest.mark.parametrize(
    "user_agent", ["(" * 300, "Mozilla/5.0 " + "a/" * 144, "\x00\x7f\xff" * 100]
)
def test_an_odd_name_is_short_and_does_no_harm(user_agent) -> None:
    assert len(devices.name_of("other", user_agent)) <= TokenVersion.ENDED_BY_MAX


# --- the list -----------------------------------------------------------------------------------


def test_the_list_shows_who_is_signed_in_and_which_device_asks(alice) -> None:
    actions.sign_in(alice, "ios", PHONE, "198.51.100.7")
    here = actions.sign_in(alice, "chrome", CHROME_MAC, "203.0.113.9")
    TokenVersion.objects.filter(client="ios").update(last_seen=timezone.now() - timedelta(days=3))
    found = bearer(here).get(DEVICES).json()
    assert found["next"] is None
    mine, phone = found["items"]
    assert mine.pop("last_seen") > phone.pop("last_seen")
    assert mine == {
        "client": "chrome",
        "kind": "chrome",
        "name": "Chrome, macOS",
        "address": "203.0.113.9",
        "current": True,
    }
    assert phone == {
        "client": "ios",
        "kind": "ios",
        "name": "WeChat, iOS",
        "address": "198.51.100.7",
        "current": False,
    }


@pytest.mark.parametrize(
    "end",
    [
        lambda user: actions.log_out(user, "ios"),
        lambda user: actions.kick(user, "ios"),
        lambda user: actions.change_password(user, "chrome", PASSWORD, "other.pass2"),
        lambda user: TokenVersion.objects.filter(client="ios").update(refresh_iat=1),
    ],
    ids=["logout", "kick", "password", "expired"],
)
def test_signed_out_devices_are_not_listed(end, alice) -> None:
    actions.sign_in(alice, "ios")
    actions.sign_in(alice, "chrome")
    end(alice)
    assert listed(alice) == ["chrome"]


def test_a_change_of_roles_signs_nobody_out_of_the_list(alice) -> None:
    actions.sign_in(alice, "ios")
    actions.promote(alice, 3)
    assert listed(alice) == ["ios"]


def test_the_list_costs_one_query_however_many_there_are(
    alice, per_device, django_assert_num_queries
) -> None:
    for number in range(12):
        actions.sign_in(alice, f"chrome:device{number:03}", CHROME_LINUX)
    with django_assert_num_queries(1):
        assert len(queries.devices(alice.pk, "")) == 12


def test_nobody_sees_the_devices_of_others(alice, make_user, api) -> None:
    actions.sign_in(alice, "ios")
    bob = actions.sign_in(make_user("bobby1"), "chrome")
    assert [one["client"] for one in bearer(bob).get(DEVICES).json()["items"]] == ["chrome"]
    assert api.get(DEVICES).json()["code"] == 14
    assert api.delete(DEVICES).json()["code"] == 14
    assert api.delete(f"{DEVICES}/ios").json()["code"] == 14


# --- kicks --------------------------------------------------------------------------------------


def test_a_kick_ends_one_device_and_names_the_other(alice) -> None:
    phone, tablet = actions.sign_in(alice, "ios"), actions.sign_in(alice, "android")
    here = actions.sign_in(alice, "chrome")
    answer = bearer(here).delete(f"{DEVICES}/ios", HTTP_USER_AGENT=CHROME_MAC)
    assert (answer.status_code, answer.content) == (204, b"")
    assert [alive(pair) for pair in (phone, tablet, here)] == [DEAD, ALIVE, ALIVE]
    assert (row(alice, "ios").ended, row(alice, "ios").ended_by) == ("kicked", "Chrome, macOS")
    assert revocations() == [("ios", "kicked", "Chrome, macOS")]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor_id, entry.detail) == ("kick", alice.pk, {"clients": ["ios"]})


def test_a_kicked_device_may_sign_in_again(alice) -> None:
    actions.sign_in(alice, "ios")
    actions.kick(alice, "ios", by="Chrome")
    again = actions.sign_in(alice, "ios")
    assert alive(again) == ALIVE
    assert row(alice, "ios").ended == "kicked"  # nobody was signed in: the older reason stays
    assert revocations() == [("ios", "kicked", "Chrome")]


@pytest.mark.parametrize(
    "end", [actions.force_offline, lambda user: actions.set_password(user, "a.b.c.1")]
)
def test_a_sign_in_after_all_were_ended_has_a_number_of_its_own(end, alice) -> None:
    old = decode_access(actions.sign_in(alice, "ios").access)
    end(alice)
    new = actions.sign_in(alice, "ios")
    assert alive(new) == ALIVE
    assert decode_access(new.access).version > old.version
    assert sign_out_reasons.of(old) is not None
    assert [client for client, _reason, _by in revocations()] == [None]


@pytest.mark.parametrize("client", ["edge", "ios:abcdefgh", "nothing", "ios ", "IOS", "ios\n", "é"])
def test_a_kick_without_a_sign_in_finds_nobody(client, alice) -> None:
    phone = actions.sign_in(alice, "ios")
    answer = bearer(actions.sign_in(alice, "chrome")).delete(f"{DEVICES}/{quote(client)}")
    assert (answer.status_code, answer.json()["code"]) == (404, 17)
    assert alive(phone) == ALIVE


def test_the_device_of_another_person_is_not_there(alice, make_user) -> None:
    bob = make_user("bobby1")
    phone = actions.sign_in(bob, "ios")
    answer = bearer(actions.sign_in(alice, "chrome")).delete(f"{DEVICES}/ios")
    assert (answer.status_code, answer.json()["code"]) == (404, 17)
    assert alive(phone) == ALIVE


def test_kicking_twice_finds_nobody(alice) -> None:
    actions.sign_in(alice, "ios")
    actions.kick(alice, "ios")
    with pytest.raises(NotFound):
        actions.kick(alice, "ios")


def test_kicking_oneself_is_logging_out(alice) -> None:
    here = actions.sign_in(alice, "chrome")
    assert bearer(here).delete(f"{DEVICES}/chrome").status_code == 204
    assert alive(here) == DEAD
    assert revocations() == [("chrome", "logout", "")]


def test_kicking_all_others_leaves_the_tokens_of_this_device(alice) -> None:
    others = [actions.sign_in(alice, name) for name in ("ios", "android", "edge")]
    actions.log_out(alice, "edge")
    here = actions.sign_in(alice, "chrome")
    answer = bearer(here).delete(DEVICES, HTTP_USER_AGENT=CHROME_MAC)
    assert (answer.status_code, answer.content) == (204, b"")
    assert alive(here) == ALIVE
    assert [alive(pair) for pair in others] == [DEAD] * 3
    assert revocations()[1:] == [
        ("ios", "kicked", "Chrome, macOS"),
        ("android", "kicked", "Chrome, macOS"),
    ]
    assert row(alice, "edge").ended == "logout"
    assert bearer(here).delete(DEVICES).status_code == 204  # no other device left
    assert AuditEntry.objects.get().detail == {"clients": ["ios", "android"]}


def test_a_cookie_alone_kicks_nobody(alice) -> None:
    phone = actions.sign_in(alice, "ios")
    browser = Client(enforce_csrf_checks=True)
    browser.cookies[cookies.ACCESS] = actions.sign_in(alice, "chrome").access
    for address in (DEVICES, f"{DEVICES}/ios"):
        answer = browser.delete(address)
        assert (answer.status_code, answer.json()["code"]) == (403, 19)
    assert alive(phone) == ALIVE


def test_logging_out_where_nobody_is_signed_in_changes_nothing(alice) -> None:
    actions.sign_in(alice, "ios")
    actions.kick(alice, "ios", by="Chrome")
    before = row(alice, "ios")
    assert not actions.log_out(alice, "ios")
    assert (row(alice, "ios").version, row(alice, "ios").ended) == (before.version, "kicked")


# --- CLIENT_POLICY ------------------------------------------------------------------------------


def login(client: str = "chrome", **more) -> TokenPair:
    body = {"username": "alice1", "password": PASSWORD, "client": client, **more}
    answer = APIClient().post(LOGIN, body, format="json").json()
    return TokenPair(answer["access"], answer["refresh"])


def test_by_type_a_second_login_of_the_kind_ends_the_first(alice) -> None:
    first, phone = login(), login("ios")
    answer = APIClient().post(
        LOGIN,
        {"username": "alice1", "password": PASSWORD, "client": "chrome"},
        format="json",
        HTTP_USER_AGENT=CHROME_MAC,
    )
    assert answer.status_code == 200
    assert [alive(pair) for pair in (first, phone)] == [DEAD, ALIVE]
    assert revocations() == [("chrome", "login", "Chrome, macOS")]
    assert (row(alice, "chrome").ended, row(alice, "chrome").ended_by) == ("login", "Chrome, macOS")


@pytest.mark.parametrize("device", ["abcdefgh", "no", "", None, "white space here"])
def test_by_type_the_id_of_a_device_means_nothing(device, alice) -> None:
    assert decode_access(login(device=device).access).client == "chrome"


def test_by_device_two_of_one_kind_live_beside_each_other(alice, per_device) -> None:
    first, second = login(device="desktop-1"), login(device="desktop-2")
    again = login(device="desktop-1")
    assert [alive(pair) for pair in (first, second, again)] == [DEAD, ALIVE, ALIVE]
    assert sorted(listed(alice)) == ["chrome:desktop-1", "chrome:desktop-2"]


def test_by_device_each_login_without_an_id_is_a_device_of_its_own(alice, per_device) -> None:
    pairs = [login(), login(device=None), login(device="")]
    assert [alive(pair) for pair in pairs] == [ALIVE] * 3
    assert len({decode_access(pair.access).client for pair in pairs}) == 3


def test_by_device_one_device_is_one_sign_in_whatever_it_calls_itself(alice, per_device) -> None:
    first, second = login("android", device="my-tablet"), login("linux", device="my-tablet")
    assert [alive(pair) for pair in (first, second)] == [DEAD, ALIVE]


@pytest.mark.parametrize(
    "device", ["short12", "x" * 41, "with space", "a:bcdefgh", "é" * 9, "a" * 300]
)
def test_by_device_a_malformed_id_is_refused(device, alice, per_device) -> None:
    body = {"username": "alice1", "password": PASSWORD, "device": device}
    answer = APIClient().post(LOGIN, body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert set(answer.json()["fields"]) == {"device"}


def test_an_unknown_kind_is_refused_in_both(alice, settings) -> None:
    for policy in ("type", "device"):
        settings.CLIENT_POLICY = policy
        for client in ("fridge", "chrome:abcdefgh", ""):
            body = {"username": "alice1", "password": PASSWORD, "client": client}
            answer = APIClient().post(LOGIN, body, format="json")
            assert (answer.status_code, answer.json()["code"]) == (400, 13)


def test_by_device_signing_up_takes_the_id_too(db, per_device) -> None:
    body = {"username": "carol1", "nickname": "Carol", "password": PASSWORD, "device": "my-tablet"}
    answer = APIClient().post("/api/v1/auth/register", body, format="json")
    assert decode_access(answer.json()["access"]).client == "other:my-tablet"


def test_by_device_a_client_is_kicked_by_its_whole_name(alice, per_device) -> None:
    first, second = login(device="desktop-1"), login(device="desktop-2")
    assert bearer(second).delete(f"{DEVICES}/chrome:desktop-1").status_code == 204
    assert [alive(pair) for pair in (first, second)] == [DEAD, ALIVE]


def browse(client: Client) -> str:
    """Log in by the page; returns the `cli` of the sign-in."""
    data = {"username": "alice1", "password": PASSWORD}
    response = client.post("/login", data, HTTP_USER_AGENT=CHROME_LINUX)
    assert response.status_code == 303
    return decode_access(client.cookies[cookies.ACCESS].value).client


def test_by_device_a_browser_has_the_same_id_after_a_log_out(alice, per_device) -> None:
    one, other = Client(), Client()
    first = browse(one)
    cookie = one.cookies[cookies.DEVICE]
    assert first == f"chrome:{cookie.value}"
    assert devices.ID.fullmatch(cookie.value)
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert cookie["max-age"] == cookies.LONGEST
    one.post("/logout")
    assert browse(one) == first
    assert browse(other) != first
    assert sorted(listed(alice)) == sorted(
        [first, decode_access(other.cookies["access"].value).client]
    )


def test_by_device_a_forged_id_is_replaced(alice, per_device) -> None:
    browser = Client()
    browser.cookies[cookies.DEVICE] = "a:b/../c"
    assert devices.ID.fullmatch(devices.id_of(browse(browser)))
    assert browser.cookies[cookies.DEVICE].value == devices.id_of(listed(alice)[0])


def test_by_type_a_browser_gets_no_id(alice) -> None:
    browser = Client()
    assert browse(browser) == "chrome"
    assert cookies.DEVICE not in browser.cookies


def test_a_living_site_goes_from_types_to_devices_and_back(alice, settings) -> None:
    old = login()
    settings.CLIENT_POLICY = "device"
    first, second = login(device="desktop-1"), login(device="desktop-2")
    assert [alive(pair) for pair in (old, first, second)] == [ALIVE] * 3
    settings.CLIENT_POLICY = "type"
    assert [alive(pair) for pair in (old, first, second)] == [ALIVE] * 3
    phone = login("ios")
    assert sorted(listed(alice)) == ["chrome", "chrome:desktop-1", "chrome:desktop-2", "ios"]
    newest = login()  # the next sign-in of the kind ends all of that kind
    assert [alive(pair) for pair in (old, first, second)] == [DEAD] * 3
    assert [alive(pair) for pair in (phone, newest)] == [ALIVE] * 2
    assert sorted(listed(alice)) == ["chrome", "ios"]


# --- bounds -------------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch, per_device) -> None:
    """At most three sign-ins and five rows."""
    monkeypatch.setattr(clients, "LIVE_MAX", 3)
    monkeypatch.setattr(clients, "ROWS_MAX", 5)


def sign_in(user: User, number: int) -> TokenPair:
    """Sign in a device, a minute after the previous one."""
    pair = actions.sign_in(user, f"chrome:device-{number:02}", CHROME_LINUX)
    seen = timezone.now() - timedelta(days=1) + timedelta(minutes=number)
    TokenVersion.objects.filter(client=f"chrome:device-{number:02}").update(last_seen=seen)
    return pair


def test_one_device_too_many_ends_the_one_not_seen_for_longest(alice, few) -> None:
    pairs = [sign_in(alice, number) for number in range(3)]
    TokenVersion.objects.filter(client="chrome:device-00").update(last_seen=timezone.now())
    sign_in(alice, 3)
    assert [alive(pair) for pair in pairs] == [ALIVE, DEAD, ALIVE]
    assert revocations() == [("chrome:device-01", "limit", "Chrome, Linux")]
    sign_in(alice, 0)  # a signed-in client needs no new place
    assert len(listed(alice)) == 3
    sign_in(alice, 1)  # neither does a client with a row
    assert len(listed(alice)) == 3


def test_the_rows_of_a_person_are_bounded(alice, make_user, few) -> None:
    bob = sign_in(make_user("bobby1"), 0)
    for number in range(12):
        sign_in(alice, number)
    kept = TokenVersion.objects.filter(user=alice).values_list("client", flat=True)
    assert sorted(kept) == [f"chrome:device-{number:02}" for number in range(7, 12)]
    assert alive(bob) == ALIVE


def test_old_tokens_of_a_deleted_device_stay_invalid(alice, few) -> None:
    """The client returns with its old id and gets numbers above all of its old ones."""
    old = []
    for _ in range(4):
        old.append(sign_in(alice, 0))
    for number in range(1, 9):
        sign_in(alice, number)
    assert not TokenVersion.objects.filter(client="chrome:device-00").exists()
    assert [alive(pair) for pair in old] == [DEAD] * 4  # no row means no sign-in
    new = sign_in(alice, 0)
    assert alive(new) == ALIVE
    assert [alive(pair) for pair in old] == [DEAD] * 4
    versions = {decode_access(pair.access).version for pair in old}
    assert decode_access(new.access).version > max(versions)


def test_a_device_ended_by_its_batch_is_deleted_as_safely(alice, few) -> None:
    old = [sign_in(alice, number) for number in range(3)]
    actions.force_offline(alice)
    for number in range(3, 9):
        sign_in(alice, number)
    again = sign_in(alice, 0)
    assert [alive(pair) for pair in old] == [DEAD] * 3
    assert alive(again) == ALIVE
    batch = TokenBatch.objects.get(user=alice)
    assert batch.forgotten >= max(decode_access(pair.access).version for pair in old)


def test_signed_in_devices_are_never_deleted(alice, few, monkeypatch) -> None:
    monkeypatch.setattr(clients, "LIVE_MAX", 9)
    pairs = [sign_in(alice, number) for number in range(8)]
    assert [alive(pair) for pair in pairs] == [ALIVE] * 8


def test_a_warm_cache_never_revives_a_deleted_device(alice, few) -> None:
    """Redis may have the floors of a deleted row for seconds; new numbers lie above them."""
    old = sign_in(alice, 0)
    assert alive(old)[0]  # its floors are cached
    actions.kick(alice, "chrome:device-00")
    for number in range(1, 7):
        sign_in(alice, number)
    new = sign_in(alice, 0)
    assert alive(new) == ALIVE
    with pytest.raises(AppError):
        authentication.by_access(old.access)


def test_a_client_always_fits_its_column_and_its_claim() -> None:
    longest = max(len(f"{kind}:{'x' * 40}") for kind in devices.Client.values)
    assert longest <= TokenVersion.CLIENT_MAX
    field = TokenVersion._meta.get_field("client")
    assert field.max_length is not None
    assert longest <= field.max_length


# --- the page -----------------------------------------------------------------------------------

PAGE = "/settings/devices"


@pytest.fixture
def browser(client: Client, alice: User) -> Client:
    """A browser in which alice is signed in."""
    browse(client)
    return client


def test_the_page_shows_each_device_and_which_one_this_is(browser, alice) -> None:
    actions.sign_in(alice, "ios", PHONE, "198.51.100.7")
    page = browser.get(PAGE).content.decode()
    assert "WeChat, iOS" in page
    assert "198.51.100.7" in page
    assert page.index("Chrome, Linux") < page.index("This device") < page.index("WeChat, iOS")
    assert page.count('name="client"') == 1
    assert 'data-testid="kick-others"' in page


def test_alone_there_is_nothing_to_sign_out(browser) -> None:
    page = browser.get(PAGE).content.decode()
    assert "You are not signed in on any other device." in page
    assert 'name="client"' not in page
    assert "kick-others" not in page


def test_the_page_costs_the_same_however_many_there_are(
    alice, per_device, django_assert_num_queries
) -> None:
    browser = Client()
    browse(browser)
    browser.get(PAGE)
    counts = []
    for more in (1, 8):
        for number in range(more):
            actions.sign_in(alice, f"chrome:device-{more}{number}", CHROME_LINUX)
        with CaptureQueriesContext(connection) as found:
            browser.get(PAGE)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 3


def test_a_button_of_the_page_signs_a_device_out(browser, alice) -> None:
    phone, tablet = actions.sign_in(alice, "ios"), actions.sign_in(alice, "android")
    answer = browser.post(PAGE, {"client": "ios"}, HTTP_USER_AGENT=CHROME_LINUX)
    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    assert [alive(pair) for pair in (phone, tablet)] == [DEAD, ALIVE]
    assert row(alice, "ios").ended_by == "Chrome, Linux"
    assert "The device was signed out." in browser.get(PAGE).content.decode()
    assert "The device was signed out." not in browser.get(PAGE).content.decode()
    browser.post(PAGE, {"client": "ios"})
    assert "signed out already" in browser.get(PAGE).content.decode()


def test_a_button_of_the_page_signs_all_others_out(browser, alice) -> None:
    others = [actions.sign_in(alice, "ios"), actions.sign_in(alice, "android")]
    browser.post(PAGE, {"others": "1"})
    assert [alive(pair) for pair in others] == [DEAD] * 2
    page = browser.get(PAGE).content.decode()
    assert "2 devices were signed out." in page
    assert "You are not signed in on any other device." in page


def test_signing_this_browser_out_is_a_log_out(browser, alice) -> None:
    answer = browser.post(PAGE, {"client": "chrome"})
    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert listed(alice) == []
    assert browser.cookies[cookies.ACCESS].value == ""


@pytest.mark.parametrize("data", [{}, {"client": ""}, {"user": "1", "version": "9"}])
def test_an_empty_form_is_refused(data, browser, alice) -> None:
    phone = actions.sign_in(alice, "ios")
    assert browser.post(PAGE, data).status_code == 400
    assert alive(phone) == ALIVE


def test_only_one_s_own_devices_by_any_name_of_a_field(browser, make_user) -> None:
    bob = make_user("bobby1")
    phone = actions.sign_in(bob, "ios")
    more = {"user": str(bob.pk), "user_id": str(bob.pk), "username": "bobby1"}
    for data in ({"client": "ios"}, {"others": "1"}):
        browser.post(PAGE, data | more)
    assert alive(phone) == ALIVE


def test_another_site_signs_nobody_out(alice) -> None:
    phone = actions.sign_in(alice, "ios")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies[cookies.ACCESS] = actions.sign_in(alice, "chrome").access
    assert strict.post(PAGE, {"client": "ios"}).status_code == 403
    assert alive(phone) == ALIVE


@pytest.mark.parametrize("address", [PAGE, "/settings/password"])
def test_a_guest_is_sent_to_log_in(address, client, db) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer["Location"]) == (
        302,
        f"/login?next={quote(address, safe='')}",
    )
