"""Two-factor authentication: one-time codes at log-in, in the settings, over the API."""

import base64
import re
import time
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import signing
from django.db import connection
from django.test import Client
from django.utils import timezone
from django_otp import oath
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts import actions
from accounts.credentials import two_factor
from accounts.models import AuditEntry, Failures, TokenVersion, User
from accounts.tests.sign_in.authenticator import App
from accounts.views import two_factor as two_factor_pages
from relations.tests.helpers import at_once
from socialsite.core.errors import (
    BannedAccessToken,
    InvalidInput,
    OtpNotCorrected,
    OtpRequired,
    PasswordNotCorrected,
)

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
LOGIN = "/api/v1/auth/login"
TWO_FACTOR_API = "/api/v1/auth/totp"
PAGE = "/settings/two-factor"


@pytest.fixture(autouse=True)
def _clock(monkeypatch) -> None:
    """Freeze the clock of django-otp, so that no test crosses the end of a time step."""
    now = time.time()
    monkeypatch.setattr(oath, "time", lambda: now)


def begin(user: User) -> App:
    """Begin the set-up on a signed-in device."""
    actions.sign_in(user, "linux")
    return App(actions.begin_two_factor(user, PASSWORD).secret)


def turn_on(user: User) -> tuple[App, list[str]]:
    """Turn the second factor on, with the code of the step before the current one."""
    app = begin(user)
    return app, actions.confirm_two_factor(user, app.code(-1), "linux")


def clear_failures() -> None:
    Failures.objects.all().delete()


def log_in(api, otp: str | None = None, **extra):
    body = {"username": "alice1", "password": PASSWORD} | extra
    return api.post(LOGIN, body | ({} if otp is None else {"otp": otp}), format="json")


# --- codes --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("steps", "taken"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_a_clock_may_be_wrong_by_one_step(steps, taken, alice) -> None:
    app, _codes = turn_on(alice)
    TOTPDevice.objects.update(last_t=-1)
    if taken:
        actions.check_two_factor(alice, app.code(steps))
    else:
        with pytest.raises(OtpNotCorrected):
            actions.check_two_factor(alice, app.code(steps))


def test_a_code_counts_once_and_none_before_it_afterwards(alice) -> None:
    app, _codes = turn_on(alice)
    TOTPDevice.objects.update(last_t=-1)
    actions.check_two_factor(alice, app.code())
    for steps in (0, -1):
        with pytest.raises(OtpNotCorrected):
            actions.check_two_factor(alice, app.code(steps))
    actions.check_two_factor(alice, app.code(1))


def test_the_code_that_turned_it_on_counts_no_second_time(alice) -> None:
    app = begin(alice)
    code = app.code()
    actions.confirm_two_factor(alice, code, "linux")
    with pytest.raises(OtpNotCorrected):
        actions.check_two_factor(alice, code)


@pytest.mark.parametrize("write", ["{0[0]} {0[1]}", " {0[0]}{0[1]} ", "{0[0]}-{0[1]}", "full"])
def test_a_code_may_be_written_as_people_write_it(write, alice) -> None:
    app, _codes = turn_on(alice)
    code = app.code()
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in code)
    text = wide if write == "full" else write.format((code[:3], code[3:]))
    actions.check_two_factor(alice, text)


@pytest.mark.parametrize(
    "code", ["", "0", "12345", "1234567", "²²²²²²", "-12345", "abcdef", "x" * 99]
)
def test_nonsense_is_a_wrong_code(code, alice) -> None:
    turn_on(alice)
    with pytest.raises(OtpNotCorrected):
        actions.check_two_factor(alice, code)


def test_a_recovery_code_lets_in_once_however_it_is_written(alice) -> None:
    _app, codes = turn_on(alice)
    assert len(set(codes)) == 10
    assert all(re.fullmatch(r"[a-hj-km-np-z2-9]{5}-[a-hj-km-np-z2-9]{5}", code) for code in codes)
    actions.check_two_factor(alice, codes[0].upper().replace("-", " "), "203.0.113.9")
    assert AuditEntry.objects.get(action="otp_recovery").address == "203.0.113.9"
    with pytest.raises(OtpNotCorrected):
        actions.check_two_factor(alice, codes[0])
    assert two_factor.codes_left(alice) == 9
    actions.check_two_factor(alice, codes[1])


def test_codes_are_of_one_person(alice, make_user) -> None:
    other = make_user()
    app, codes = turn_on(alice)
    turn_on(other)
    for code in (app.code(), codes[0]):
        with pytest.raises(OtpNotCorrected):
            actions.check_two_factor(other, code)


def test_new_recovery_codes_replace_the_old_ones(alice) -> None:
    app, codes = turn_on(alice)
    new = actions.renew_recovery_codes(alice, codes[0])
    assert not set(new) & set(codes)
    with pytest.raises(OtpNotCorrected):
        actions.check_two_factor(alice, codes[1])
    actions.check_two_factor(alice, new[0])
    with pytest.raises(OtpNotCorrected):
        actions.renew_recovery_codes(alice, "000000")
    assert app


# --- at rest ------------------------------------------------------------------------------------
def test_secrets_that_are_stored_stay_readable(settings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a secret of a site", []
    [key] = two_factor._keys("secret")
    assert key.hex() == "d648bb4ea0c276a6545988ae58cdb01940ff3c0e9f0821fc2cfc93da77b442ed"


def test_the_database_reveals_no_codes(alice) -> None:
    app, codes = turn_on(alice)
    device = TOTPDevice.objects.get()
    assert app.key.hex() not in device.key
    assert base64.b32encode(app.key).decode() not in device.key
    stored = set(StaticToken.objects.values_list("token", flat=True))
    assert len(stored) == 10
    assert not stored & {code.replace("-", "") for code in codes}


def test_a_secret_is_bound_to_its_person(alice, make_user) -> None:
    other = make_user()
    app, _codes = turn_on(alice)
    turn_on(other)
    TOTPDevice.objects.filter(user=other).update(key=TOTPDevice.objects.get(user=alice).key)
    with pytest.raises(OtpNotCorrected):
        actions.check_two_factor(other, app.code())


def test_a_replaced_key_still_decrypts(alice, settings) -> None:
    app, codes = turn_on(alice)
    before = settings.SECRET_KEY
    settings.SECRET_KEY = "another-secret-key-of-fifty-characters-or-even-more"
    with pytest.raises(OtpNotCorrected):
        actions.check_two_factor(alice, app.code())
    settings.SECRET_KEY_FALLBACKS = [before]
    actions.check_two_factor(alice, app.code())
    actions.check_two_factor(alice, codes[0])


def test_the_notes_contain_no_secrets(alice) -> None:
    app, codes = turn_on(alice)
    actions.check_two_factor(alice, codes[0])
    actions.renew_recovery_codes(alice, codes[1])
    actions.end_two_factor(alice, PASSWORD, app.code())
    rows = AuditEntry.objects.order_by("id")
    found = list(rows.values_list("action", "detail"))
    assert [action for action, _ in found] == [
        "otp_on",
        "otp_recovery",
        "otp_recovery",
        "otp_codes",
        "otp_off",
    ]
    assert {str(detail) for _, detail in found} == {"{}"}


# --- on and off ---------------------------------------------------------------------------------
def test_it_is_off_until_a_first_code_confirms_it(alice, api) -> None:
    begin(alice)
    assert not two_factor.is_on(alice)
    assert log_in(api).status_code == 200
    with pytest.raises(OtpNotCorrected):
        actions.confirm_two_factor(alice, "000000", "linux")
    assert not two_factor.is_on(alice)


def test_only_the_last_secret_counts_and_only_for_an_hour(alice) -> None:
    first = begin(alice)
    second = App(actions.begin_two_factor(alice, PASSWORD).secret)
    with pytest.raises(OtpNotCorrected):
        actions.confirm_two_factor(alice, first.code(), "linux")
    TOTPDevice.objects.update(created_at=timezone.now() - timedelta(minutes=61))
    with pytest.raises(InvalidInput):
        actions.confirm_two_factor(alice, second.code(), "linux")


def test_turning_it_on_signs_out_the_other_devices(alice) -> None:
    here, there = actions.sign_in(alice, "chrome"), actions.sign_in(alice, "android")
    app = App(actions.begin_two_factor(alice, PASSWORD).secret)
    actions.confirm_two_factor(alice, app.code(), "chrome", by="Chrome, Linux")
    rows = {row.client: row for row in TokenVersion.objects.all()}
    assert (rows["android"].refresh_jti, rows["android"].ended) == ("", "kicked")
    assert rows["android"].ended_by == "Chrome, Linux"
    assert rows["chrome"].refresh_jti
    assert here != there


def test_turning_it_on_does_not_touch_earlier_sign_outs(alice) -> None:
    actions.sign_in(alice, "android")
    actions.force_offline(alice)
    turn_on(alice)
    row = TokenVersion.objects.get(client="android")
    assert (row.ended, row.version) == ("", 1)


def test_a_device_signed_out_meanwhile_cannot_turn_it_on(alice) -> None:
    app = begin(alice)
    actions.set_password(alice, "other.pass2")
    with pytest.raises(BannedAccessToken):
        actions.confirm_two_factor(alice, app.code(), "linux")
    actions.sign_in(alice, "linux")
    version = TokenVersion.objects.get().version
    with pytest.raises(BannedAccessToken):
        actions.confirm_two_factor(alice, app.code(), "linux", version=version - 1)
    assert not two_factor.is_on(alice)
    actions.confirm_two_factor(alice, app.code(), "linux", version=version)


def test_turning_it_off_takes_password_and_code(alice) -> None:
    app, codes = turn_on(alice)
    with pytest.raises(PasswordNotCorrected):
        actions.end_two_factor(alice, "wrong.pass1", app.code())
    with pytest.raises(OtpNotCorrected):
        actions.end_two_factor(alice, PASSWORD, "000000")
    assert two_factor.is_on(alice)
    actions.end_two_factor(alice, PASSWORD, codes[0])
    assert not two_factor.is_on(alice)
    assert not TOTPDevice.objects.exists()
    assert not StaticToken.objects.exists()


def test_one_cannot_begin_while_it_is_on_nor_end_while_it_is_off(alice) -> None:
    with pytest.raises(InvalidInput):
        actions.end_two_factor(alice, PASSWORD, "000000")
    with pytest.raises(InvalidInput):
        actions.renew_recovery_codes(alice, "000000")
    turn_on(alice)
    with pytest.raises(InvalidInput):
        actions.begin_two_factor(alice, PASSWORD)
    with pytest.raises(InvalidInput):
        actions.confirm_two_factor(alice, "000000", "linux")


# --- over the API -------------------------------------------------------------------------------
def test_login_requires_a_code_after_the_right_password_only(alice, api) -> None:
    app, _codes = turn_on(alice)
    wrong = log_in(api, password="wrong.pass1")
    assert (wrong.status_code, wrong.json()["code"]) == (401, 2)
    asked = log_in(api)
    assert (asked.status_code, asked.json()["code"]) == (401, 25)
    assert (log_in(api, "").status_code, log_in(api, " ").json()["code"]) == (401, 25)
    bad = log_in(api, "000000")
    assert (bad.status_code, bad.json()["code"]) == (401, 26)
    assert log_in(api, app.code()).status_code == 200
    assert log_in(api, app.code()).json()["code"] == 26


@pytest.mark.usefixtures("clock")
def test_wrong_codes_use_up_a_budget_that_a_stranger_does_not_reach(alice, api) -> None:
    app, _codes = turn_on(alice)
    for _ in range(5):
        assert log_in(api, "000000").status_code == 401
    refused = log_in(api, app.code())
    assert (refused.status_code, refused.json()["code"]) == (429, 11)
    assert int(refused.headers["Retry-After"]) > 0
    clear_failures()
    for _ in range(4):
        log_in(api, "000000", password="wrong.pass1")
    assert log_in(api, app.code()).status_code == 200


def test_a_banned_person_needs_no_code(alice, api) -> None:
    turn_on(alice)
    actions.ban(alice)
    assert log_in(api).json()["code"] == 3


def test_the_whole_flow_over_the_api(alice, api_for, api) -> None:
    me = api_for(alice)
    assert me.get(TWO_FACTOR_API).json() == {"on": False, "recovery_codes_left": 0}
    wrong = me.post(TWO_FACTOR_API, {"password": "wrong.pass1"}, format="json")
    assert (wrong.status_code, wrong.json()["code"]) == (401, 2)
    begun = me.post(TWO_FACTOR_API, {"password": PASSWORD}, format="json").json()
    url = urlsplit(begun["url"])
    assert (url.scheme, url.netloc, url.path) == ("otpauth", "totp", "/socialsite%3Aalice1")
    assert parse_qs(url.query)["secret"] == [begun["secret"]]
    app = App(begun["secret"])
    bad = me.post(f"{TWO_FACTOR_API}/confirm", {"otp": "000000"}, format="json")
    assert (bad.status_code, bad.json()["code"]) == (401, 26)
    done = me.post(f"{TWO_FACTOR_API}/confirm", {"otp": app.code(-1)}, format="json")
    codes = done.json()["recovery_codes"]
    assert (done.status_code, len(codes)) == (200, 10)
    assert me.get(TWO_FACTOR_API).json() == {"on": True, "recovery_codes_left": 10}
    new = me.post(f"{TWO_FACTOR_API}/recovery-codes", {"otp": app.code()}, format="json")
    assert len(new.json()["recovery_codes"]) == 10
    ending = {"password": PASSWORD, "otp": new.json()["recovery_codes"][0]}
    assert me.delete(TWO_FACTOR_API, ending, format="json").status_code == 204
    assert me.get(TWO_FACTOR_API).json()["on"] is False
    assert log_in(api, client="android").status_code == 200
    again = me.delete(TWO_FACTOR_API, ending, format="json")
    assert (again.status_code, again.json()["code"]) == (400, 13)


def test_guests_have_no_second_factor(api, db) -> None:
    for method, path in [
        ("get", TWO_FACTOR_API),
        ("post", TWO_FACTOR_API),
        ("delete", TWO_FACTOR_API),
        ("post", f"{TWO_FACTOR_API}/confirm"),
        ("post", f"{TWO_FACTOR_API}/recovery-codes"),
    ]:
        assert getattr(api, method)(path).status_code == 401


@pytest.mark.usefixtures("clock")
def test_guesses_of_somebody_signed_in_are_bounded(alice, api_for) -> None:
    turn_on(alice)
    me = api_for(alice)
    answers = [
        me.delete(
            TWO_FACTOR_API, {"password": PASSWORD, "otp": f"{n:06d}"}, format="json"
        ).status_code
        for n in range(8)
    ]
    assert answers == [401] * 5 + [429] * 3


@pytest.mark.usefixtures("clock")
def test_no_right_password_forgives_wrong_codes(alice, api_for) -> None:
    turn_on(alice)
    me = api_for(alice)
    answers = []
    for number in range(8):
        wrong = {"otp": f"{number:06d}"}
        answers.append(
            me.post(f"{TWO_FACTOR_API}/recovery-codes", wrong, format="json").status_code
        )
        right = {"email": "", "password": PASSWORD}
        assert me.post("/api/v1/auth/email", right, format="json").status_code < 300
    assert answers == [401] * 5 + [429] * 3


def test_a_login_from_before_the_second_factor_needs_a_code(alice) -> None:
    checked = actions.check_password("alice1", PASSWORD)
    turn_on(alice)
    proof = actions.Proof(checked.password, code=False)
    with pytest.raises(OtpRequired):
        actions.sign_in(checked, "edge", proof=proof)
    assert actions.sign_in(checked, "edge", proof=proof._replace(code=True))


# --- pages --------------------------------------------------------------------------------------
def enter(client: Client, **extra):
    return client.post("/login", {"username": "alice1", "password": PASSWORD} | extra)


def ticket_of(page) -> str:
    ticket: str = re.findall(r'name="ticket" value="([^"]+)"', page.content.decode())[0]
    return ticket


def is_in(client: Client) -> bool:
    return b'data-testid="logout"' in client.get("/search").content


def test_logging_in_by_page_takes_two_steps(alice, client) -> None:
    app, _codes = turn_on(alice)
    step = enter(client, next="/search")
    page = step.content.decode()
    assert step.status_code == 200
    assert "access" not in step.cookies
    assert 'autocomplete="one-time-code"' in page
    assert 'inputmode="numeric"' in page
    assert PASSWORD not in page
    assert not is_in(client)
    bad = client.post(
        "/login/code", {"ticket": ticket_of(step), "otp": "000000", "next": "/search"}
    )
    assert bad.status_code == 401
    assert 'id="err-otp"' in bad.content.decode()
    data = {"ticket": ticket_of(bad), "otp": app.code(), "next": "/search"}
    done = client.post("/login/code", data)
    assert (done.status_code, done["Location"]) == (303, "/search")
    assert is_in(client)


def test_a_recovery_code_works_in_the_page_too(alice, client) -> None:
    _app, codes = turn_on(alice)
    step = enter(client)
    assert (
        client.post("/login/code", {"ticket": ticket_of(step), "otp": codes[3]}).status_code == 303
    )


def test_a_ticket_alone_does_not_log_in(alice, client) -> None:
    turn_on(alice)
    ticket = ticket_of(enter(client))
    for otp in ("", " ", "abc"):
        assert client.post("/login/code", {"ticket": ticket, "otp": otp}).status_code in (
            200,
            400,
            401,
        )
    assert not is_in(client)


@pytest.mark.parametrize("spoil", ["none", "garbled", "old", "password", "purpose", "person"])
def test_an_invalid_ticket_starts_again(spoil, alice, client, make_user, monkeypatch) -> None:
    app, _codes = turn_on(alice)
    ticket = ticket_of(enter(client))
    match spoil:
        case "none":
            ticket = ""
        case "garbled":
            ticket = ticket[:-1] + ("A" if ticket[-1] != "A" else "B")
        case "old":
            monkeypatch.setattr(two_factor_pages, "TICKET_SECONDS", -1)
        case "password":
            User.objects.update(password="another")
        case "purpose":
            said = signing.loads(ticket, salt="accounts.login-code")
            ticket = signing.dumps(said, salt="accounts.sign_in.known_devices")
        case "person":
            said = signing.loads(ticket, salt="accounts.login-code")
            ticket = signing.dumps(said | {"user": make_user().pk}, salt="accounts.login-code")
    answer = client.post("/login/code", {"ticket": ticket, "otp": app.code()})
    assert answer.status_code == 401
    assert 'name="password"' in answer.content.decode()
    assert "access" not in answer.cookies


def test_the_address_of_the_code_alone_leads_to_the_login(client, db) -> None:
    assert client.get("/login/code")["Location"] == "/login"


def test_the_whole_flow_by_pages(alice, client) -> None:
    enter(client)
    assert 'data-testid="set-up"' in client.get(PAGE).content.decode()
    wrong = client.post(PAGE, {"password": "wrong.pass1"})
    assert wrong.status_code == 401
    assert 'id="err-password"' in wrong.content.decode()
    assert client.post(PAGE, {"password": PASSWORD})["Location"] == PAGE
    page = client.get(PAGE).content.decode()
    assert '<svg viewBox="0 0 ' in page
    assert "style=" not in page
    app = App(re.findall(r'data-testid="secret">([A-Z2-7]{32})<', page)[0])
    bad = client.post(f"{PAGE}/confirm", {"otp": "000000"})
    assert bad.status_code == 401
    assert app.key == App(re.findall(r'data-testid="secret">(\w+)<', bad.content.decode())[0]).key
    done = client.post(f"{PAGE}/confirm", {"otp": app.code(-1)}).content.decode()
    codes = re.findall(r"<li>(\w{5}-\w{5})</li>", done)
    assert len(codes) == 10
    later = client.get(PAGE).content.decode()
    assert not any(code in later for code in codes)
    assert base64.b32encode(app.key).decode() not in later
    fresh = client.post(f"{PAGE}/codes", {"otp": app.code()}).content.decode()
    assert len(re.findall(r"<li>(\w{5}-\w{5})</li>", fresh)) == 10
    again = client.post(f"{PAGE}/codes", {"otp": app.code()})
    assert 'id="err-codes-otp"' in again.content.decode()
    last = app.code(1)
    off = client.post(f"{PAGE}/off", {"password": PASSWORD, "otp": last})
    assert (off.status_code, off["Location"]) == (303, PAGE)
    assert not two_factor.is_on(alice)


def test_the_pages_are_for_people_who_are_signed_in(client, db) -> None:
    assert client.get(PAGE)["Location"] == "/login?next=%2Fsettings%2Ftwo-factor"
    for path in (PAGE, f"{PAGE}/confirm", f"{PAGE}/codes", f"{PAGE}/off"):
        assert client.post(path).status_code == 401
    for path in ("confirm", "codes", "off"):
        assert client.get(f"{PAGE}/{path}").status_code == 405


# --- races --------------------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
class TestAtOnce:
    """Real threads on MariaDB: a code is accepted once."""

    ROUNDS = 10

    @staticmethod
    def outcome(results: list) -> tuple[int, set]:
        errors = [result for result in results if isinstance(result, Exception)]
        return len(results) - len(errors), {type(error) for error in errors}

    @pytest.mark.parametrize("kind", ["app", "recovery"])
    def test_one_code_sent_by_several_logs_in_one(self, kind, make_user) -> None:
        for _ in range(self.ROUNDS):
            user = make_user()
            app, codes = turn_on(user)
            code = app.code() if kind == "app" else codes[0]
            results = at_once([lambda u=user, c=code: actions.check_two_factor(u, c)] * 4)
            assert self.outcome(results) == (1, {OtpNotCorrected}), results

    def test_two_confirmations_at_once_return_recovery_codes_once(self, make_user) -> None:
        for _ in range(self.ROUNDS):
            user = make_user()
            app = begin(user)
            work = lambda u=user, a=app: actions.confirm_two_factor(u, a.code(), "linux")  # noqa: E731
            results = at_once([work, work])
            assert self.outcome(results) == (1, {InvalidInput}), results
            shown = next(result for result in results if isinstance(result, list))
            assert TOTPDevice.objects.filter(user=user, confirmed=True).count() == 1
            assert StaticToken.objects.filter(device__user=user).count() == 10
            actions.check_two_factor(user, shown[0])

    def test_beginning_beside_a_confirmation_leaves_one_state(self, make_user) -> None:
        for _ in range(self.ROUNDS):
            user = make_user()
            app = begin(user)
            confirmed, begun = at_once(
                [
                    lambda u=user, a=app: actions.confirm_two_factor(u, a.code(), "linux"),
                    lambda u=user: actions.begin_two_factor(u, PASSWORD),
                ]
            )
            assert isinstance(confirmed, list) != isinstance(begun, two_factor.SetUp), (
                confirmed,
                begun,
            )
            assert two_factor.is_on(user) == isinstance(confirmed, list)
            assert TOTPDevice.objects.filter(user=user).count() == 1
