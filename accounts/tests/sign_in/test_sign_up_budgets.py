"""Budgets of new accounts of one place, and of mails that are requested and sent."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail as outgoing
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions, tasks
from accounts.mail import messages
from accounts.models import User
from accounts.sign_in import challenge, flow, guarded
from accounts.tests.sign_in.addresses import AWAY, HOME, request_from
from accounts.tests.sign_in.solving import solve
from socialsite.core.errors import DuplicatedUser, InvalidInput, RateLimited, RegMatchError
from socialsite.core.http import ip_addresses
from socialsite.core.models import Allowance, Event
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate
from socialsite.tests.standstill import Clock

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
MINUTE = 60_000
REGISTER = "/api/v1/auth/register"


@pytest.fixture(autouse=True)
def _easy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(challenge, "MAXIMUM", 50)


def body(number: int, **more: str) -> dict[str, str]:
    """Return the form of a new person, with the task that is needed in the end."""
    person = {"username": f"new{number:05}", "nickname": "爱丽丝们", "password": PASSWORD}
    return {**person, "challenge": solve(), **more}


def sign_ups(numbers: range, address: str = HOME, **more: str) -> list[int]:
    """Sign up as API clients do; returns the statuses."""
    client = APIClient(REMOTE_ADDR=address)
    return [
        client.post(REGISTER, body(number, **more), format="json").status_code for number in numbers
    ]


# --- accounts -----------------------------------------------------------------------------------
def test_twenty_of_seventy_sign_ups_from_one_address_pass(clock: Clock) -> None:
    assert sign_ups(range(70)) == [201] * 20 + [429] * 50
    assert User.objects.count() == 20
    client = APIClient(REMOTE_ADDR=HOME)
    answer = client.post(REGISTER, body(99), format="json")
    assert (answer.json()["code"], answer["Retry-After"]) == (11, "60")
    clock.now += MINUTE
    assert sign_ups(range(100, 103)) == [201, 429, 429]


def test_the_page_explains_it_and_shows_the_input(clock: Clock) -> None:
    sign_ups(range(20))
    answer = Client(REMOTE_ADDR=HOME).post("/register", body(99, email="me@example.org"))
    page = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"]) == (429, "60")
    assert "Too many attempts. Please wait" in page
    for text in ("new00099", "爱丽丝们", "me@example.org"):
        assert f'value="{text}"' in page
    assert PASSWORD not in page


def test_pages_and_api_share_the_budget(clock: Clock) -> None:
    browser = Client(REMOTE_ADDR=HOME)
    for number in range(12):
        assert browser.post("/register", body(number)).status_code == 303
        browser.cookies.clear()
    assert sign_ups(range(20, 30)) == [201] * 8 + [429] * 2


def test_another_address_has_its_own_budget_but_a_network_has_one_for_all(
    clock: Clock, settings: Any
) -> None:
    settings.BUDGETS = {"sign_up_network": Rate(25, 60)}
    assert sign_ups(range(21)) == [201] * 20 + [429]
    assert sign_ups(range(30, 37), "192.0.2.8") == [201] * 5 + [429] * 2
    assert sign_ups(range(40, 43), AWAY) == [201] * 3
    assert sign_ups(range(50, 71), "2001:db8:0:1::1") == [201] * 20 + [429]
    assert sign_ups(range(80, 81), "2001:db8:0:1:ffff::") == [429]
    assert sign_ups(range(90, 96), "2001:db8:0:2::1") == [201] * 5 + [429]
    assert sign_ups(range(96, 97), "2001:db8:1::1") == [201]


@pytest.mark.parametrize(
    ("address", "client", "network"),
    [
        ("192.0.2.7", "192.0.2.7", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("", "", ""),
        ("unix:", "", ""),
    ],
)
def test_addresses_are_grouped_by_network(address: str, client: str, network: str) -> None:
    request = request_from(address)
    assert (ip_addresses.client_of(request), ip_addresses.network_of(request)) == (client, network)


def test_a_refused_sign_up_uses_none_of_it_up(make_user: Any, clock: Clock) -> None:
    make_user("alice1")
    for number in range(30):
        name, error = [("alice1", DuplicatedUser), ("a", RegMatchError)][number % 2]
        with pytest.raises(error):
            flow.sign_up(request_from(), name, "SomeNick", PASSWORD, "other")
    assert sign_ups(range(21)) == [201] * 20 + [429]


def test_without_redis_it_is_enforced(clock: Clock, dead_redis: Any) -> None:
    with dead_redis():
        assert sign_ups(range(25)) == [201] * 20 + [429] * 5


def test_zero_lifts_it(clock: Clock, settings: Any) -> None:
    settings.BUDGETS = {"sign_up": None}
    assert sign_ups(range(25)) == [201] * 25


# --- mails --------------------------------------------------------------------------------------
def test_seventy_sign_ups_with_seventy_strangers_addresses_send_no_seventy_mails(
    clock: Clock, settings: Any, deliver: Callable[[], list[Any]]
) -> None:
    settings.BUDGETS = {"sign_up": None, "sign_up_network": None}
    client = APIClient(REMOTE_ADDR=HOME)
    statuses = [
        client.post(REGISTER, body(n, email=f"a{n}@example.org"), format="json").status_code
        for n in range(70)
    ]
    assert statuses == [201] * 20 + [429] * 50
    assert len(deliver()) == 20
    assert sign_ups(range(90, 91)) == [201]  # an account needs no address


def test_sign_up_recovery_and_changes_of_address_share_the_budget_of_the_asker(
    clock: Clock, make_user: Any
) -> None:
    request, user = request_from(), make_user("alice1")
    for number in range(7):
        guarded.request_recovery(request, f"r{number}@example.org")
        guarded.change_email(request, user, f"c{number}@example.org", PASSWORD)
        if number < 6:
            name = f"new{number:05}"
            flow.sign_up(request, name, "SomeNick", PASSWORD, "other", f"s{number}@example.org")
    for ask in (
        lambda: guarded.request_recovery(request, "x@example.org"),
        lambda: guarded.change_email(request, user, "x@example.org", PASSWORD),
        lambda: flow.sign_up(request, "other1", "SomeNick", PASSWORD, "other", "x@example.org"),
    ):
        with pytest.raises(RateLimited):
            ask()
    guarded.change_email(request, user, "", PASSWORD)  # this requests no mail
    clock.now += 2 * MINUTE
    guarded.request_recovery(request, "x@example.org")


def test_a_person_has_one_budget_for_all_addresses(clock: Clock, make_user: Any) -> None:
    user = make_user()

    def ask(number: int) -> None:
        request = request_from(f"203.0.113.{number}")
        guarded.change_email(request, user, f"c{number}@example.org", PASSWORD)

    for number in range(20):
        ask(number)
    with pytest.raises(RateLimited):
        ask(20)


def test_a_network_has_one_budget_of_mails_for_all_its_addresses(
    clock: Clock, settings: Any
) -> None:
    settings.BUDGETS = {"mail_network": Rate(25, 60)}

    def asked(address: str) -> int:
        """Ask 20 times; returns the number of admitted requests."""
        client, body = APIClient(REMOTE_ADDR=address), {"email": "a@example.org"}
        answers = [client.post("/api/v1/auth/recover", body, format="json") for _ in range(20)]
        return [answer.status_code for answer in answers].count(204)

    assert [asked(f"192.0.2.{n}") for n in (1, 2, 3)] == [20, 5, 0]
    assert [asked(f"2001:db8:0:{n}::1") for n in (1, 2, 3)] == [20, 5, 0]
    assert [asked(address) for address in ("198.51.100.1", "2001:db8:1::1")] == [20, 20]


def test_the_default_of_a_network_leaves_most_of_the_site_to_others() -> None:
    network, site = budgets.MAIL_NETWORK, budgets.MAIL_SITE
    assert network.capacity * 5 <= site.capacity
    assert network.hourly * 5 <= site.hourly


def test_requests_that_send_no_mail_use_no_budget(clock: Clock) -> None:
    for _ in range(30):
        with pytest.raises(InvalidInput):
            guarded.request_recovery(request_from(), "nonsense")
    for number in range(20):
        guarded.request_recovery(request_from(), f"a{number}@example.org")


def test_a_recipient_gets_three_mails_of_a_kind_then_four_an_hour(
    clock: Clock, make_user: Any, deliver: Callable[[], list[Any]]
) -> None:
    make_user("alice1", email="alice@example.org")
    Event.objects.all().delete()
    for _ in range(5):
        actions.request_recovery("Alice@example.org")
    assert len(deliver()) == 3
    clock.now += 15 * MINUTE
    actions.request_recovery("alice@EXAMPLE.org")
    actions.request_recovery("alice@example.org")
    assert len(deliver()) == 1
    # A stranger who requested all of these cannot block the person's other kinds of links.
    actions.change_email(make_user(), "alice@example.org", PASSWORD)
    assert len(deliver()) == 1


def test_mails_for_addresses_that_nobody_has_use_up_nothing_of_the_site(
    clock: Clock, make_user: Any, settings: Any
) -> None:
    settings.BUDGETS = {"mail_site": Rate(3, 1), "notice_site": Rate(3, 1)}
    user = make_user("alice1", email="alice@example.org")
    mute = make_user("mute111")
    for number in range(9):
        assert messages.send("recovery", 0, f"nobody{number}@example.org", "") == 0
        assert messages.send("confirm_email", 10**9, f"nobody{number}@example.org", "") == 0
        assert messages.send("password_changed", mute.pk, "", "") == 0
    assert not Allowance.objects.exists()
    assert messages.send("recovery", 0, "alice@example.org", "") == 1
    assert messages.send("password_changed", user.pk, "", "") == 1


def test_each_mail_of_one_recovery_takes_from_the_budgets(
    clock: Clock, make_user: Any, settings: Any
) -> None:
    settings.BUDGETS = {"mail_site": Rate(5, 60)}
    for number, spelling in enumerate(("Alice@example.org", "alice@Example.org")):
        make_user(f"alice{number}", email=spelling)
    assert messages.send("recovery", 0, "alice@example.org", "en") == 2
    # the budget has one left of three
    assert messages.send("recovery", 0, "alice@example.org", "en") == 0
    for name in ("bobby", "carol"):
        make_user(f"{name}1", email=f"{name}@example.org")
        assert messages.send("recovery", 0, f"{name}@example.org", "en") == 1
    make_user("David1", email="David@example.org")
    make_user("David2", email="david@example.org")
    with pytest.raises(messages.Later):
        messages.send("recovery", 0, "david@example.org", "en")
    assert len(outgoing.outbox) == 4


def test_links_for_a_foreign_address_use_no_budget_of_its_owner(
    clock: Clock, make_user: Any, deliver: Callable[[], list[Any]]
) -> None:
    stranger, owner = make_user("stranger1"), make_user("alice1")
    for _ in range(9):
        actions.change_email(stranger, "alice@example.org", PASSWORD)
    assert len(deliver()) == 3
    actions.change_email(owner, "Alice@example.org", PASSWORD)
    (message,) = deliver()
    assert "@alice1" in message.body


def test_many_accounts_together_send_ten_mails_of_a_kind_to_an_address_then_ten_an_hour(
    clock: Clock, make_user: Any, settings: Any, deliver: Callable[[], list[Any]]
) -> None:
    people = [make_user() for _ in range(13)]
    for number, user in enumerate(people):
        actions.change_email(user, f"{'aA'[number % 2]}lice@example.org", PASSWORD)
    assert len(deliver()) == 10
    clock.now += 6 * MINUTE
    for user in people[:2]:
        actions.change_email(user, "alice@example.org", PASSWORD)
    assert len(deliver()) == 1
    settings.BUDGETS = {"mail_mailbox": None}
    actions.change_email(people[-1], "alice@example.org", PASSWORD)
    assert len(deliver()) == 1


def test_requests_of_strangers_do_not_silence_notices(
    clock: Clock, make_user: Any, settings: Any, deliver: Callable[[], list[Any]]
) -> None:
    settings.BUDGETS = {"mail_site": Rate(3, 1)}
    user = make_user("alice1", email="alice@example.org")
    Event.objects.all().delete()
    for _ in range(9):
        actions.request_recovery("alice@example.org")
    assert len(deliver()) == 3
    actions.set_password(user, "other.pass2")
    assert [message.subject for message in deliver()] == ["Your password was changed"]
    actions.remove_email(user, "other.pass2")
    assert [message.subject for message in deliver()] == ["Your e-mail address was changed"]


def test_an_account_gets_five_notices_of_one_kind_at_once(
    clock: Clock, make_user: Any, deliver: Callable[[], list[Any]]
) -> None:
    user, other = (make_user(email="alice@example.org") for _ in range(2))
    Event.objects.all().delete()
    for _ in range(8):
        actions.set_password(user, "other.pass2")
    assert len(deliver()) == 5
    actions.set_password(other, "other.pass2")
    assert len(deliver()) == 1
    actions.remove_email(user, "other.pass2")
    assert len(deliver()) == 1


@pytest.mark.parametrize(
    ("row", "kind"), [("mail_site", "recovery"), ("notice_site", "password_changed")]
)
def test_a_mail_too_many_for_the_site_is_sent_later(
    row: str, kind: str, clock: Clock, make_user: Any, settings: Any
) -> None:
    settings.BUDGETS = {row: Rate(1, 60)}
    alice, bobby = (make_user(f"{n}1", email=f"{n}@example.org") for n in ("alice", "bobby"))
    assert messages.send(kind, alice.pk, "alice@example.org", "en") == 1
    with pytest.raises(messages.Later) as caught:
        messages.send(kind, bobby.pk, "bobby@example.org", "en")
    assert caught.value.seconds == 60
    clock.now += MINUTE
    assert messages.send(kind, bobby.pk, "bobby@example.org", "en") == 1


def test_the_task_tries_again_when_the_site_may_send_more(
    clock: Clock, make_user: Any, settings: Any, deliver: Callable[[], list[Any]]
) -> None:
    settings.BUDGETS = {"mail_site": Rate(1, 10)}
    make_user("alice1", email="alice@example.org")
    Event.objects.all().delete()
    actions.request_recovery("alice@example.org")
    actions.request_recovery("alice@example.org")
    assert len(deliver()) == 1
    event = Event.objects.get()
    assert event.available_at == clock.now + 6 * MINUTE
    assert (event.payload["tries"], event.payload["counted"]) == (1, False)
    clock.now = event.available_at
    assert len(deliver()) == 1
    assert not Event.objects.exists()


def test_a_mail_that_is_too_much_for_the_site_is_given_up_in_the_end(
    clock: Clock,
    make_user: Any,
    monkeypatch: pytest.MonkeyPatch,
    deliver: Callable[[], list[Any]],
    caplog: Any,
) -> None:
    def refuse(*args: object, counted: bool, detail: object) -> int:
        assert not counted
        raise messages.Later(1)

    monkeypatch.setattr(messages, "send", refuse)
    began = clock.now
    actions.request_recovery("alice@example.org")
    for _ in range(tasks.LATER_TRIES - 1):
        deliver()
        clock.now = Event.objects.get().available_at
    assert clock.now - began == 10_230_000
    assert "given up" not in caplog.text
    deliver()
    assert not Event.objects.exists()
    assert "given up" in caplog.text
    assert "alice@" not in caplog.text


def test_a_mail_that_waited_for_the_site_has_all_its_tries_at_the_mail_server(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: bool) -> int:
        raise OSError

    monkeypatch.setattr(messages, "send", refuse)
    tasks.send_mail("recovery", 0, "alice@example.org", "en", tries=8, counted=False)
    event = Event.objects.get()
    assert event.available_at == clock.now + 10_000
    assert (event.payload["tries"], event.payload["counted"]) == (1, True)
