"""E-mail addresses and password recovery: links, what they reveal, what they end."""

import re
import time
from datetime import datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import mail as outgoing
from django.core.signing import TimestampSigner
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_otp import oath

from accounts import actions, email_rules, tasks
from accounts.mail import links
from accounts.mail import messages as mail
from accounts.models import AuditEntry, User
from accounts.tests.sign_in.authenticator import App
from accounts.tests.sign_in.mails import link_in, token_in
from relations.tests.helpers import at_once
from socialsite.core.errors import (
    AppError,
    InvalidInput,
    NotFound,
    PasswordNotCorrected,
    RegMatchError,
    WrongLink,
)
from socialsite.core.events import enqueue, relay
from socialsite.core.models import Event
from socialsite.core.rate_limits import budgets

pytestmark = pytest.mark.django_db

PASSWORD, NEW = "right.pass1", "other.pass2"
ADDRESS = "alice@example.org"


@pytest.fixture
def alice(make_user) -> User:
    """A person with an address, who wants no mails about sign-ins; those about it are sent."""
    user = make_user("alice1", email=ADDRESS)
    actions.choose_mails(user, 0)
    Event.objects.all().delete()
    return user


def let_pass(monkeypatch: pytest.MonkeyPatch, **time: float) -> None:
    """Make links this much older."""
    later = timedelta(**time)
    now, unsign = PasswordResetTokenGenerator._now, TimestampSigner.unsign
    monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda self: now(self) + later)

    def unsign_later(self: Any, value: str, max_age: Any) -> str:
        return unsign(self, value, max_age - later.total_seconds())

    monkeypatch.setattr(TimestampSigner, "unsign", unsign_later)


# --- addresses ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "address", [ADDRESS, " a.b+c@example.co.uk ", "Alice@EXAMPLE.org", "a@b.cn", "x@例子.中国"]
)
def test_valid_addresses_are_accepted(address) -> None:
    assert email_rules.mistakes(address) == []


@pytest.mark.parametrize(
    "address",
    [
        "",
        "alice",
        "alice@",
        "@example.org",
        "alice@localhost@example.org",
        "a b@example.org",
        "alice@example.org\n",
        "alice@example.org\nBcc: victim@example.org",
        "alice@example.org\r\nSubject: x",
        "alice@example.org, bob@example.org",
        "Alice <alice@example.org>",
        "alice@exa mple.org",
        "a" * 64 + "@" + "b" * 60 + "." + "c" * 60 + "." + "d" * 60 + ".example.org.example",
        "\x00@example.org",
    ],
)
def test_other_texts_are_no_addresses(address) -> None:
    assert email_rules.mistakes(address)


def test_an_address_counts_once_its_link_was_opened(make_user, deliver) -> None:
    user = make_user("alice1")
    actions.change_email(user, " Alice@Example.ORG ", PASSWORD)
    user.refresh_from_db()
    assert user.email == ""
    (message,) = deliver()
    assert message.to == ["Alice@example.org"]
    assert "@alice1" in message.body
    actions.confirm_email(link_in(message))
    user.refresh_from_db()
    assert (user.email, user.email_key) == ("Alice@example.org", "alice@example.org")
    assert AuditEntry.objects.filter(action="email", subject_id=user.pk).count() == 1


def test_a_link_to_confirm_works_once(make_user, deliver) -> None:
    user = make_user()
    actions.change_email(user, ADDRESS, PASSWORD)
    token = link_in(deliver()[0])
    actions.confirm_email(token)
    with pytest.raises(WrongLink):
        actions.confirm_email(token)
    actions.change_email(user, "new@example.org", PASSWORD)
    actions.confirm_email(link_in(deliver()[0]))
    with pytest.raises(WrongLink):
        actions.confirm_email(token)


@pytest.mark.parametrize("change", ["recovery", "command", "ban", "another", "dropped", "a day"])
def test_a_link_to_confirm_dies_with(change, make_user, deliver, monkeypatch) -> None:
    user = make_user(email="old@example.org")
    actions.change_email(user, ADDRESS, PASSWORD)
    token = link_in(deliver()[0])
    if change == "recovery":
        actions.recover(links.for_recovery(user), NEW)
    elif change == "command":
        actions.set_password(user, NEW)
    elif change == "ban":
        actions.ban(user)
    elif change == "another":
        actions.change_email(user, "new@example.org", PASSWORD)
    elif change == "dropped":
        actions.drop_waiting_email(user)
    else:
        let_pass(monkeypatch, hours=24, seconds=1)
    with pytest.raises(WrongLink):
        actions.confirm_email(token)
    user.refresh_from_db()
    assert user.email == "old@example.org"


def test_a_new_password_voids_the_link_and_keeps_the_address_waiting(make_user, deliver) -> None:
    """Whoever knew the old password may have entered the address; its owner sends a new link."""
    user = make_user()
    actions.change_email(user, ADDRESS, PASSWORD)
    token = link_in(deliver()[0])
    actions.sign_in(user, "chrome")
    actions.change_password(user, "chrome", PASSWORD, NEW)
    actions.send_confirmation_again(user)
    (message,) = deliver()
    assert message.to == [ADDRESS]
    with pytest.raises(WrongLink):
        actions.confirm_email(token)
    actions.confirm_email(link_in(message))
    with pytest.raises(WrongLink):
        actions.confirm_email(link_in(message))
    user.refresh_from_db()
    assert (user.email, user.email_waiting) == (ADDRESS, "")
    with pytest.raises(NotFound):
        actions.send_confirmation_again(user)


def test_no_mail_is_sent_for_an_address_that_waits_no_more(make_user, deliver) -> None:
    user = make_user()
    actions.change_email(user, ADDRESS, PASSWORD)
    actions.drop_waiting_email(user)
    assert deliver() == []


def test_a_link_to_confirm_is_good_for_a_day(make_user, deliver, monkeypatch) -> None:
    user = make_user()
    actions.change_email(user, ADDRESS, PASSWORD)
    let_pass(monkeypatch, hours=23, minutes=59)
    actions.confirm_email(link_in(deliver()[0]))


def test_no_link_is_good_for_the_other_thing(alice) -> None:
    with pytest.raises(WrongLink):
        actions.confirm_email(links.for_recovery(alice))
    with pytest.raises(WrongLink):
        actions.recover(links.for_email(alice, "new@example.org"), NEW)


@pytest.mark.parametrize(
    "token", ["", "-", "x", "1-", "zzzzzzzzzzzzzz-1-2", "zzzzzzzzzzzzzzzz-x", "é-1", "a" * 4000]
)
def test_an_invalid_link_is_refused(token, alice) -> None:
    with pytest.raises(WrongLink):
        actions.recover(token, NEW)
    with pytest.raises(WrongLink):
        actions.confirm_email(token)


def test_another_persons_link_changed_to_mine_is_wrong(alice, make_user) -> None:
    other = make_user()
    mine, theirs = links.for_recovery(alice), links.for_recovery(other)
    crossed = mine.partition("-")[0] + "-" + theirs.partition("-")[2]
    with pytest.raises(WrongLink):
        actions.recover(crossed, NEW)


def test_the_old_address_gets_a_mail_about_change_and_removal(alice, deliver) -> None:
    actions.change_email(alice, "new@example.org", PASSWORD)
    actions.confirm_email(link_in(deliver()[0]))
    (message,) = deliver()
    assert (message.to, "no longer" in message.body) == ([ADDRESS], True)
    actions.remove_email(alice, PASSWORD)
    (message,) = deliver()
    assert message.to == ["new@example.org"]
    alice.refresh_from_db()
    assert (alice.email, alice.email_key) == ("", "")


def test_setting_and_removing_need_the_password(alice, deliver) -> None:
    for act in (
        lambda: actions.change_email(alice, "new@example.org", "wrong.pass1"),
        lambda: actions.remove_email(alice, "wrong.pass1"),
    ):
        with pytest.raises(PasswordNotCorrected):
            act()
    assert deliver() == []
    alice.refresh_from_db()
    assert alice.email == ADDRESS
    with pytest.raises(InvalidInput):
        actions.change_email(alice, ADDRESS, PASSWORD)


def test_signing_up_with_an_address_sends_a_link(api, client, deliver) -> None:
    body = {"username": "alice1", "nickname": "爱丽丝们", "password": PASSWORD, "email": ADDRESS}
    assert api.post("/api/v1/auth/register", body, format="json").status_code == 201
    body["username"] = "alice2"
    assert client.post("/register", body).status_code == 303
    assert {user.email for user in User.objects.all()} == {""}
    messages = deliver()
    assert [message.to for message in messages] == [[ADDRESS]] * 2
    for message in messages:
        actions.confirm_email(link_in(message))
    assert {user.email for user in User.objects.all()} == {ADDRESS}


def test_a_bad_address_refuses_the_sign_up_and_none_is_fine(api, client) -> None:
    body = {"username": "alice1", "nickname": "爱丽丝们", "password": PASSWORD, "email": "nonsense"}
    answer = api.post("/api/v1/auth/register", body, format="json")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["email"])
    page = client.post("/register", body)
    assert (page.status_code, "not an e-mail address" in page.content.decode()) == (400, True)
    assert api.post("/api/v1/auth/register", body | {"email": ""}, format="json").status_code == 201
    assert not Event.objects.filter(type="MailWanted").exists()


# --- recovery -----------------------------------------------------------------------------------
def test_one_mail_lists_every_account_of_an_address(make_user, deliver) -> None:
    for name in ("alice1", "alice2", "banned1", "gone11", "other1"):
        make_user(name, email=ADDRESS if name != "other1" else "other@example.org")
    actions.ban(User.objects.get(username="banned1"))
    User.objects.filter(username="gone11").update(deleted_at="2026-01-01T00:00:00Z")
    deliver()
    actions.request_recovery("ALICE@example.org")
    (message,) = deliver()
    assert message.to == [ADDRESS]
    assert re.findall(r"^@(\w+):", message.body, re.M) == ["alice1", "alice2"]
    assert len(re.findall(r"/recover/", message.body)) == 2
    assert message.extra_headers["Auto-Submitted"] == "auto-generated"


def test_a_mail_goes_to_the_address_as_stored_never_to_a_lookalike(make_user, deliver) -> None:
    make_user("mike11", email="mike@example.org")
    deliver()
    with pytest.raises(InvalidInput):
        actions.request_recovery("mıke@example.org")
    actions.request_recovery("MIKE@EXAMPLE.ORG")
    (message,) = deliver()
    assert message.to == ["mike@example.org"]


def test_a_link_sets_the_password_ends_all_sign_ins_and_signs_nobody_in(
    alice, api_for, api, client, deliver
) -> None:
    phone, laptop = api_for(alice, "android"), api_for(alice, "chrome")
    actions.request_recovery(ADDRESS)
    token = link_in(deliver()[0])
    body = {"token": token, "new_password": NEW}
    answer = api.post("/api/v1/auth/recover/confirm", body, format="json")
    assert (answer.status_code, answer.content, answer.cookies) == (204, b"", {})
    for device in (phone, laptop):
        assert device.get("/api/v1/users/me").json()["code"] == 8
    login = {"username": "alice1", "password": NEW}
    assert api.post("/api/v1/auth/login", login, format="json").status_code == 200
    assert AuditEntry.objects.get(action="recover").subject_id == alice.pk
    (message,) = deliver()
    assert message.to == [ADDRESS]
    assert "was changed" in message.body


def test_a_recovery_link_works_once(alice, api) -> None:
    token = links.for_recovery(alice)
    actions.recover(token, NEW)
    body = {"token": token, "new_password": "third.pass3"}
    answer = api.post("/api/v1/auth/recover/confirm", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, 28)


@pytest.mark.parametrize("change", ["password", "email", "ban", "close", "an hour"])
def test_a_recovery_link_dies_with(change, alice, monkeypatch) -> None:
    token = links.for_recovery(alice)
    if change == "password":
        actions.set_password(alice, NEW)
    elif change == "email":
        actions.remove_email(alice, PASSWORD)
    elif change == "ban":
        actions.ban(alice)
    elif change == "close":
        User.objects.filter(pk=alice.pk).update(deleted_at=datetime.now().astimezone())
    else:
        let_pass(monkeypatch, hours=1, seconds=1)
    with pytest.raises(WrongLink):
        actions.recover(token, "third.pass3")


def test_a_recovery_link_is_good_for_an_hour(alice, monkeypatch) -> None:
    token = links.for_recovery(alice)
    let_pass(monkeypatch, minutes=59)
    actions.recover(token, NEW)


def test_a_broken_rule_does_not_use_the_link_up(alice) -> None:
    token = links.for_recovery(alice)
    for bad in ("short", "password1", "ALICE1"):
        with pytest.raises(RegMatchError) as caught:
            actions.recover(token, bad)
        assert list(caught.value.fields or {}) == ["new_password"]
    actions.recover(token, NEW)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_one_of_many_uses_of_a_link_at_once_succeeds(make_user) -> None:
    user = make_user("alice1", email=ADDRESS)
    token = links.for_recovery(user)
    results = at_once([lambda n=n: actions.recover(token, f"other.pass{n}") for n in range(8)])
    won = [number for number, result in enumerate(results) if isinstance(result, User)]
    assert len(won) == 1
    assert all(isinstance(result, User | WrongLink) for result in results)
    assert actions.check_password("alice1", f"other.pass{won[0]}")


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_links_of_one_address_opened_at_once_store_it_once(make_user) -> None:
    user = make_user()
    actions.change_email(user, "a0@example.org", PASSWORD)
    tokens = [links.for_email(user, "a0@example.org") for _ in range(6)]
    results = at_once([lambda one=one: actions.confirm_email(one) for one in tokens])
    assert results.count(actions.Confirmed.ADDRESS) == 1


def test_asking_does_the_same_whether_or_not_somebody_has_the_address(alice, api) -> None:
    seen = []
    for address in (ADDRESS, "nobody@example.org"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            answer = api.post("/api/v1/auth/recover", {"email": address}, format="json")
        shapes = [re.sub(r"'[^']*'|\d+", "?", query["sql"]) for query in queries]
        assert answer.headers.pop("X-Request-ID")  # random
        seen.append((answer.status_code, answer.content, dict(answer.headers), shapes))
    assert seen[0] == seen[1]
    assert (seen[0][0], seen[0][1]) == (204, b"")


def test_no_mail_where_nobody_has_the_address(alice, deliver) -> None:
    actions.request_recovery("nobody@example.org")
    assert deliver() == []


def test_a_password_change_sends_a_mail_to_the_address(alice, make_user, api_for, deliver) -> None:
    actions.sign_in(alice, "chrome")
    actions.change_password(alice, "chrome", PASSWORD, NEW)
    actions.set_password(make_user("bobby1"), NEW)
    (message,) = deliver()
    assert message.to == [ADDRESS]
    assert "@alice1" in message.body
    actions.ban(alice)
    (message,) = deliver()
    assert message.subject == "A decision about your account"


# --- mails --------------------------------------------------------------------------------------
def test_changes_of_two_factor_send_a_mail_to_the_address(
    alice, make_user, deliver, monkeypatch
) -> None:
    now = time.time()
    monkeypatch.setattr(oath, "time", lambda: now)
    told = [
        "was turned on for your account @alice1",
        "A recovery code of your account @alice1",
        "New recovery codes were generated for your account @alice1",
        "was turned off for your account @alice1",
        "was turned on for your account @alice1",
        "Staff removed two-factor sign-in and all passkeys from your account @alice1",
    ]
    for person in (make_user("bobby1"), alice):
        actions.sign_in(person, "linux")
        app = App(actions.begin_two_factor(person, PASSWORD).secret)
        codes = actions.confirm_two_factor(person, app.code(-1), "linux")
        actions.check_two_factor(person, codes[0])
        actions.renew_recovery_codes(person, app.code())
        actions.end_two_factor(person, PASSWORD, app.code(1))
        again = App(actions.begin_two_factor(person, PASSWORD).secret)
        actions.confirm_two_factor(person, again.code(), "linux")
        actions.reset_two_factor(person)
    messages = deliver()
    assert [message.to for message in messages] == [[ADDRESS]] * len(told)
    for message, text in zip(messages, told, strict=True):
        assert text in message.body
        assert not set(codes) & set(message.body.split())


def test_mails_are_in_the_language_of_the_requester(alice, client, deliver) -> None:
    client.cookies["django_language"] = "zh-hans"
    client.post("/recover", {"email": ADDRESS})
    client.cookies["django_language"] = "en"
    client.post("/recover", {"email": ADDRESS})
    chinese, english = deliver()
    assert english.subject == "Set a new password"
    assert chinese.subject == "设置新密码"
    assert "链接" in chinese.body
    for message in (chinese, english):
        assert "%(" not in message.body


def test_an_address_gets_at_most_three_mails_in_a_short_time(alice, deliver) -> None:
    for _ in range(5):
        actions.request_recovery(ADDRESS)
    actions.request_recovery("ALICE@EXAMPLE.ORG")
    assert len(deliver()) == 3
    # Mails that report a change are never held back.
    actions.set_password(alice, NEW)
    assert len(deliver()) == 1


def test_too_many_requests_for_mails_are_refused(api, client, clock) -> None:
    for number in range(budgets.MAIL_ASKER.capacity):
        body = {"email": f"a{number}@example.org"}
        assert api.post("/api/v1/auth/recover", body, format="json").status_code == 204
    answer = api.post("/api/v1/auth/recover", body, format="json")
    assert (answer.status_code, answer["Retry-After"]) == (429, "120")
    assert client.post("/recover", body).status_code == 429


def test_a_mail_that_fails_is_tried_again_and_given_up_in_the_end(
    alice, clock, deliver, monkeypatch, caplog
) -> None:
    calls = []

    def broken(*args: object, **kwargs: object) -> int:
        calls.append(kwargs)
        raise SMTPServerDisconnected

    monkeypatch.setattr(mail, "send", broken)
    actions.request_recovery(ADDRESS)
    for tries in range(1, tasks.MAIL_TRIES + 1):
        deliver()
        assert len(calls) == tries
        if tries < tasks.MAIL_TRIES:
            assert "given up" not in caplog.text
            # Only the outbox has it, and nothing happens before its time.
            assert Event.objects.get().available_at == clock.now + 10_000 * 2 ** (tries - 1)
            clock.now = Event.objects.get().available_at - 1
            deliver()
            assert len(calls) == tries
            clock.now += 1
    assert not Event.objects.exists()
    assert [call["counted"] for call in calls] == [False] + [True] * 5
    assert "given up" in caplog.text
    assert ADDRESS not in caplog.text


def test_a_postponed_mail_survives_the_worker(alice, clock, deliver, monkeypatch) -> None:
    send = mail.send

    def refuse(*args: object, **kwargs: object) -> int:
        raise SMTPServerDisconnected

    monkeypatch.setattr(mail, "send", refuse)
    actions.request_recovery(ADDRESS)
    deliver()
    assert outgoing.outbox == []
    # The task ended without an error, and left the mail to the outbox.
    assert Event.objects.get().attempts == 0
    # Another worker starts, with an empty broker.
    monkeypatch.setattr(mail, "send", send)
    clock.now += 10_000
    assert [message.to for message in deliver()] == [[ADDRESS]]
    assert not Event.objects.exists()


def test_without_a_broker_a_mail_waits_in_the_outbox(alice, monkeypatch) -> None:
    monkeypatch.setattr(enqueue, "send", lambda *args: False)
    actions.request_recovery(ADDRESS)
    relay.relay()
    event = Event.objects.get()
    assert (event.type, event.attempts, event.dead) == ("MailWanted", 1, False)


def test_no_link_stands_in_a_table(alice, deliver) -> None:
    actions.request_recovery(ADDRESS)
    payload = Event.objects.get().payload
    names = {"type", "mailId", "kind", "userId", "address", "language", "tries"}
    assert set(payload) == names | {"counted", "detail"}
    deliver()
    assert not Event.objects.exists()


def test_by_default_mails_are_files_in_the_data_directory(
    alice, client, settings, tmp_path: Path, deliver
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path / "mail")
    assert client.post("/recover", {"email": ADDRESS})["Location"] == "/recover?sent"
    deliver()
    (file,) = (tmp_path / "mail").iterdir()
    raw = file.read_bytes().rpartition(b"\n---")[0]
    message = message_from_bytes(raw, policy=policy.default)
    sender = f"socialsite <{settings.DEFAULT_FROM_EMAIL}>"
    assert (message["To"], message["From"]) == (ADDRESS, sender)
    address = f"/recover/{token_in(message.get_content())}"
    page = client.get(address, follow=True)
    assert 'value="alice1"' in page.content.decode()
    answer = client.post("/recover/choose", {"username": "alice1", "new_password": NEW})
    assert (answer.status_code, answer["Location"]) == (303, "/recover?done")
    assert client.post("/login", {"username": "alice1", "password": NEW}).status_code == 303


# --- API ----------------------------------------------------------------------------------------
def test_the_api_of_ones_address(make_user, api_for, api, deliver) -> None:
    user = make_user("alice1")
    mine = api_for(user)
    path = "/api/v1/auth/email"
    assert mine.get(path).json() == {"email": "", "waiting": ""}
    answer = mine.post(path, {"email": ADDRESS, "password": PASSWORD}, format="json")
    waits = {"email": "", "waiting": ADDRESS}
    assert (answer.status_code, answer.json()) == (202, waits)
    assert mine.delete(f"{path}/waiting").status_code == 204
    assert mine.get(path).json() == {"email": "", "waiting": ""}
    assert deliver() == []
    assert mine.post(f"{path}/waiting").status_code == 404
    mine.post(path, {"email": ADDRESS, "password": PASSWORD}, format="json")
    answer = mine.post(f"{path}/waiting")
    assert (answer.status_code, answer.json()) == (202, waits)
    first, second = deliver()
    assert first.to == second.to == [ADDRESS]
    token = link_in(first)
    assert api.post(f"{path}/confirm", {"token": token}, format="json").status_code == 204
    assert mine.get(path).json() == {"email": ADDRESS, "waiting": ""}
    answer = api.post(f"{path}/confirm", {"token": token}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, 28)
    answer = mine.post(path, {"email": "", "password": PASSWORD}, format="json")
    assert (answer.status_code, answer.json()) == (200, {"email": "", "waiting": ""})
    assert mine.get(path).json() == {"email": "", "waiting": ""}


@pytest.mark.parametrize(
    ("body", "status", "fields"),
    [
        ({"email": "nonsense", "password": PASSWORD}, 400, ["email"]),
        ({"email": "a@example.org\nBcc: b@example.org", "password": PASSWORD}, 400, ["email"]),
        ({"email": "a" * 321, "password": PASSWORD}, 400, ["email"]),
        ({"email": ADDRESS}, 400, ["password"]),
        ({"email": ADDRESS, "password": "wrong.pass1"}, 401, ["password"]),
        ({"email": "", "password": "wrong.pass1"}, 401, ["password"]),
        ({"email": 7, "password": PASSWORD}, 400, ["email"]),
    ],
)
def test_the_email_api_refuses_bad_requests(body, status, fields, make_user, api_for) -> None:
    answer = api_for(make_user()).post("/api/v1/auth/email", body, format="json")
    assert (answer.status_code, list(answer.json()["fields"])) == (status, fields)


@pytest.mark.usefixtures("clock")
def test_wrong_passwords_for_the_address_are_budgeted(alice, api_for) -> None:
    mine = api_for(alice)
    body = {"email": "new@example.org", "password": "wrong.pass1"}
    found = [mine.post("/api/v1/auth/email", body, format="json").status_code for _ in range(6)]
    assert found == [401] * 5 + [429]


def test_the_address_is_in_no_shape_of_a_person(alice, api_for, api) -> None:
    for path in ("users/me", f"users/{alice.pk}", "users/by-name/alice1", "users?q=alice"):
        assert ADDRESS not in api_for(alice).get(f"/api/v1/{path}").content.decode()
    assert ADDRESS not in api.get("/api/v1/users/by-name/alice1").content.decode()


@pytest.mark.parametrize("method", ["get", "post"])
def test_guests_have_no_address_of_their_own(method, api, client) -> None:
    assert getattr(api, method)("/api/v1/auth/email").status_code == 401
    assert getattr(client, method)("/settings/email").status_code in (302, 401)


# --- pages --------------------------------------------------------------------------------------
def test_the_page_of_ones_address(browser, alice, deliver) -> None:
    page = browser.get("/settings/email")
    assert (page.status_code, page["Cache-Control"]) == (200, "no-store")
    assert ADDRESS in page.content.decode()
    form = {"email": "new@example.org", "password": PASSWORD}
    answer = browser.post("/settings/email", form)
    assert (answer.status_code, answer["Location"]) == (303, "/settings/email?sent")
    assert "sent a link" in browser.get("/settings/email?sent").content.decode()
    path = f"/email/{link_in(deliver()[0])}"
    asked = browser.get(path, follow=True)
    assert "new@example.org" in asked.content.decode()
    alice.refresh_from_db()
    assert alice.email == ADDRESS  # a GET changes nothing
    for response in (asked, browser.post(path)):
        assert response.status_code == 200
        assert response["Referrer-Policy"] == "strict-origin"
        assert response["Cache-Control"] == "no-store"
    alice.refresh_from_db()
    assert alice.email == "new@example.org"
    used = browser.post(path)
    assert (used.status_code, "no longer valid" in used.content.decode()) == (400, True)
    void = browser.get(path)  # a void link shows no form first
    assert (void.status_code, "no longer valid" in void.content.decode()) == (400, True)
    answer = browser.post("/settings/email", {"remove": "1", "password": PASSWORD})
    assert answer["Location"] == "/settings/email?removed"
    assert "was removed" in browser.get("/settings/email?removed").content.decode()


def test_an_address_of_the_sign_up_is_shown_and_its_link_sent_again(client, deliver) -> None:
    body = {"username": "alice1", "nickname": "爱丽丝们", "password": PASSWORD, "email": ADDRESS}
    client.post("/register", body)
    deliver()
    assert ADDRESS in client.get("/welcome").content.decode()
    page = client.get("/settings/email").content.decode()
    assert ADDRESS in page
    assert "Waiting for confirmation" in page
    assert client.post("/settings/email", {"again": "1"})["Location"] == "/settings/email?sent"
    (message,) = deliver()
    assert message.to == [ADDRESS]
    form = {"old_password": PASSWORD, "new_password": NEW, "again": NEW}
    changed = client.post("/settings/password", form, follow=True).content.decode()
    assert f"{ADDRESS} still waits" in changed
    assert client.post("/settings/email", {"drop": "1"})["Location"] == "/settings/email?dropped"
    assert ADDRESS not in client.get("/settings/email").content.decode()
    assert client.post("/settings/email", {"again": "1"}).status_code == 303
    assert deliver() == []
    assert client.post(f"/email/{link_in(message)}").status_code == 400


@pytest.mark.usefixtures("clock")
def test_sending_again_has_the_budget_of_mails(client, alice, deliver) -> None:
    client.post("/login", {"username": "alice1", "password": PASSWORD})
    client.post("/settings/email", {"email": "new@example.org", "password": PASSWORD})
    found = [client.post("/settings/email", {"again": "1"}).status_code for _ in range(22)]
    assert found[0] == 303
    assert found[-1] == 429


@pytest.mark.parametrize(
    ("form", "status", "text"),
    [
        ({"email": "new@example.org", "password": ""}, 400, "Please fill this in."),
        ({"email": "", "password": PASSWORD}, 400, "Please fill this in."),
        ({"email": "nonsense", "password": PASSWORD}, 400, "not an e-mail address"),
        ({"email": "new@example.org", "password": "wrong.pass1"}, 401, "not your password"),
        ({"email": "x" * 400, "password": PASSWORD}, 400, "too long"),
        ({"remove": "1", "password": "wrong.pass1"}, 401, "not your password"),
    ],
)
def test_mistakes_on_the_page_of_ones_address_are_shown(form, status, text, browser) -> None:
    page = browser.post("/settings/email", form)
    assert (page.status_code, text in page.content.decode()) == (status, True)
    assert PASSWORD not in page.content.decode()


def test_the_pages_of_the_recovery(client, alice) -> None:
    assert 'href="/recover"' in client.get("/login").content.decode()
    assert client.get("/recover").status_code == 200
    assert client.post("/recover", {"email": "nonsense"}).status_code == 400
    for address in (ADDRESS, "nobody@example.org"):
        assert client.post("/recover", {"email": address})["Location"] == "/recover?sent"
    path = f"/recover/{links.for_recovery(alice)}"
    page = client.get(path, follow=True)
    assert page.status_code == 200
    assert (page["Referrer-Policy"], page["Cache-Control"]) == ("strict-origin", "no-store")
    bad = client.post(path, {"new_password": "short"})
    assert (bad.status_code, "6 to 16" in bad.content.decode()) == (400, True)
    assert client.post(path, {"new_password": NEW})["Location"] == "/recover?done"
    for answer in (client.get(path), client.post(path, {"new_password": NEW})):
        assert answer.status_code == 400
        assert "no longer valid" in answer.content.decode()
        assert 'name="email"' in answer.content.decode()
        assert answer["Referrer-Policy"] == "strict-origin"


@pytest.mark.parametrize(
    ("kind", "page", "form"),
    [
        ("recover", "/recover/choose", {"new_password": NEW}),
        ("email", "/email/confirm", {}),
    ],
)
def test_a_link_redirects_to_a_page_without_the_secret_in_its_address(
    browser, alice, kind: str, page: str, form: dict[str, str]
) -> None:
    if kind == "email":
        actions.change_email(alice, "n@e.example", PASSWORD)
    token = (
        links.for_recovery(alice) if kind == "recover" else links.for_email(alice, "n@e.example")
    )
    answer = browser.get(f"/{kind}/{token}")
    assert (answer.status_code, answer["Location"]) == (303, page)
    assert answer["Cache-Control"] == "no-store"
    (cookie,) = (one for one in answer.cookies.values() if one["path"] == f"/{kind}")
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 1800)
    shown = browser.get(page)
    assert shown.status_code == 200
    assert token not in shown.content.decode()
    assert f'action="{page}"' in shown.content.decode()
    assert browser.post(page, form).status_code in (200, 303)
    for again in (browser.get(page), browser.post(page, form)):  # link and cookie are both used up
        assert (again.status_code, "no longer valid" in again.content.decode()) == (400, True)


def test_the_page_of_a_link_is_void_without_its_cookie_or_later(
    client, alice, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/recover/choose").status_code == 400
    client.get(f"/recover/{links.for_recovery(alice)}")
    assert client.get("/recover/choose").status_code == 200
    let_pass(monkeypatch, minutes=29)
    assert client.get("/recover/choose").status_code == 200
    let_pass(monkeypatch, minutes=2)
    assert client.get("/recover/choose").status_code == 400
    client.cookies["recovery"] = links.for_recovery(alice)  # not a cookie that the site set
    assert client.get("/recover/choose").status_code == 400


def test_the_form_of_one_link_does_not_affect_another_link(client, alice, make_user) -> None:
    other = make_user("other1", email=ADDRESS)
    for user in (alice, other):
        client.get(f"/recover/{links.for_recovery(user)}")
    form = {"username": "alice1", "new_password": NEW}
    assert client.post("/recover/choose", form).status_code == 400
    assert client.post("/recover/choose", form | {"username": "other1"}).status_code == 303
    other.refresh_from_db()
    for address in ("a@e.example", "b@e.example"):
        actions.change_email(other, address, NEW)
        client.get(f"/email/{links.for_email(other, address)}")
    assert client.post("/email/confirm", {"address": "a@e.example"}).status_code == 400
    client.get(f"/email/{links.for_email(other, 'b@e.example')}")
    assert client.post("/email/confirm", {"address": "b@e.example"}).status_code == 200


def test_recovery_does_not_go_round_the_second_factor(alice, client, monkeypatch) -> None:
    from accounts.credentials import two_factor

    actions.recover(links.for_recovery(alice), NEW)
    monkeypatch.setattr(two_factor, "is_on", lambda user: True)
    page = client.post("/login", {"username": "alice1", "password": NEW})
    assert page.status_code == 200
    assert 'name="otp"' in page.content.decode()


def test_errors_of_links_have_their_code() -> None:
    assert issubclass(WrongLink, AppError)
    assert (WrongLink.code, WrongLink.status) == (28, 400)
