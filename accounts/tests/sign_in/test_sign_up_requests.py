"""Sign-ups that wait: what makes an account of them, what ends them, and who decides."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions, addresses, email_rules
from accounts.mail import links
from accounts.models import AuditEntry, Role, SignUpRequest, User
from accounts.tests.browsers import browser_of, text_of
from accounts.tests.sign_in.mails import link_in
from relations.tests.helpers import at_once
from socialsite.core import site
from socialsite.core.errors import (
    AppError,
    DuplicatedUser,
    Forbidden,
    InvalidInput,
    NotFound,
    PasswordNotCorrected,
    RegMatchError,
    WrongLink,
)
from socialsite.core.events import relay
from socialsite.core.models import Event
from socialsite.core.rate_limits.budget import Rate
from socialsite.tasks import apply_retention
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
Deliver = Callable[[], list[Any]]
V1 = "/api/v1/"
PASSWORD, ADDRESS = "right.pass1", "newcomer@example.org"
NEW = {"username": "Newcomer", "nickname": "Newcomer", "password": PASSWORD}
QUEUE = "/admin/accounts/signuprequest/"
BY_APPROVAL, BY_MAIL = {"sign_up": "approval"}, {"email_needed": True}


@pytest.fixture
def admin(make_user: Make) -> User:
    return actions.promote(make_user(), Role.MEMBER | Role.ADMIN)


@pytest.fixture
def moderator(make_user: Make) -> User:
    return actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


def ask(**more: Any) -> Any:
    """Sign up as an API client does."""
    return APIClient().post(f"{V1}auth/register", NEW | more, format="json")


def log_in(password: str = PASSWORD) -> Any:
    body = {"username": "newcomer", "password": password}
    return APIClient().post(f"{V1}auth/login", body, format="json")


def the_request() -> SignUpRequest:
    return SignUpRequest.objects.get()


def no_account() -> bool:
    return not User.objects.filter(username_key="newcomer").exists()


# --- staff decide -------------------------------------------------------------------------------
def test_staff_open_the_account(deliver: Deliver, moderator: User) -> None:
    actions.change_site(BY_APPROVAL)
    answer = ask(reason="I grow\nroses.", email=ADDRESS)
    assert (answer.status_code, answer.json()) == (202, {"state": "waiting"})
    assert no_account()
    assert_error(log_in(), 403, "APPROVAL_PENDING")
    assert_error(log_in("wrong.pass1"), 401, "PASSWORD_NOT_CORRECTED")
    (link,) = deliver()
    assert (link.to, link.subject) == ([ADDRESS], "Confirm your e-mail address")

    row = the_request()
    assert (row.reason, row.nickname) == ("I grow\nroses.", "Newcomer")
    user = actions.approve(row.pk, moderator)
    assert (user.pk, user.username, user.email_waiting) == (row.pk, "Newcomer", ADDRESS)
    assert log_in().status_code == 200
    assert not SignUpRequest.objects.exists()
    told = next(one for one in deliver() if one.subject == "Your account is open")
    assert told.to == [ADDRESS]
    assert "@Newcomer" in told.body
    assert "/login" in told.body
    noted = AuditEntry.objects.get(action="approve")
    assert (noted.actor_id, noted.subject_id) == (moderator.pk, user.pk)
    # The first link is that of the account now.
    assert actions.confirm_email(link_in(link)) == actions.Confirmed.ADDRESS
    assert User.objects.get(pk=user.pk).email == ADDRESS


def test_staff_refuse_with_words(deliver: Deliver, moderator: User) -> None:
    actions.change_site(BY_APPROVAL)
    assert ask(reason="Roses.", email=ADDRESS).status_code == 202
    deliver()
    row = the_request()
    actions.refuse(row.pk, "Sorry: 100 %(name)s is too much.", moderator)
    (told,) = deliver()
    assert (told.to, told.subject) == ([ADDRESS], "Your request for an account")
    assert "Sorry: 100 %(name)s is too much." in told.body
    row = the_request()
    assert (row.state, row.password, row.username_key) == ("refused", "", None)
    assert_error(log_in(), 401, "PASSWORD_NOT_CORRECTED")
    with pytest.raises(NotFound):
        actions.approve(row.pk, moderator)
    with pytest.raises(NotFound):
        actions.refuse(row.pk, "", moderator)
    noted = AuditEntry.objects.get(action="refuse")
    assert (noted.subject_type, noted.subject_id, noted.detail) == ("sign_up", row.pk, {})
    page = text_of(browser_of(moderator).get("/admin/accounts/auditentry/"))
    assert "a sign-up" in page
    assert ask(reason="Roses, please.").status_code == 202  # the name is free


def test_somebody_refused_confirms_no_address(deliver: Deliver) -> None:
    actions.change_site(BY_APPROVAL)
    ask(reason="Roses.", email=ADDRESS)
    (link,) = deliver()
    actions.refuse(the_request().pk, "")
    with pytest.raises(WrongLink):
        actions.confirm_email(link_in(link))
    assert the_request().state == "refused"


def test_only_staff_decide(make_user: Make, moderator: User) -> None:
    actions.change_site(BY_APPROVAL)
    ask(reason="Roses.")
    row, member = the_request(), make_user()
    with pytest.raises(Forbidden):
        actions.approve(row.pk, member)
    with pytest.raises(Forbidden):
        actions.refuse(row.pk, "", member)
    actions.ban(moderator)
    with pytest.raises(Forbidden):
        actions.approve(row.pk, moderator)
    assert no_account()


def test_mails_are_in_the_language_of_the_person(deliver: Deliver) -> None:
    actions.change_site(BY_APPROVAL)
    chinese: dict[str, Any] = {"HTTP_ACCEPT_LANGUAGE": "zh-hans"}
    client = APIClient()
    body = NEW | {"reason": "玫瑰", "email": ADDRESS}
    assert client.post(f"{V1}auth/register", body, format="json", **chinese).status_code == 202
    deliver()
    actions.approve(the_request().pk)
    assert "你的账号已开通" in [one.subject for one in deliver()]


def test_the_name_of_a_request_is_taken(make_user: Make) -> None:
    actions.change_site(BY_APPROVAL)
    assert ask(reason="Roses.").status_code == 202
    assert_error(ask(username="nEwcomer", reason="Me."), 409, "DUPLICATED_USER", "username")
    actions.change_site({"sign_up": "open"})
    assert_error(ask(), 409, "DUPLICATED_USER", "username")
    assert SignUpRequest.objects.count() == 1


def test_an_answer_to_the_question_is_needed() -> None:
    actions.change_site(BY_APPROVAL)
    for reason in ("", " \n "):
        refused = ask(reason=reason)
        assert_error(refused, 400, "REG_MATCH_ERROR", "reason")
    assert ask(reason="x" * 1001).status_code == 400
    with pytest.raises(RegMatchError):
        actions.request_account(*NEW.values(), reason="x" * 1001, needs_approval=True)
    assert not SignUpRequest.objects.exists()
    assert ask(reason="玫" * 1000).status_code == 202


def test_a_name_that_was_taken_meanwhile_opens_no_account(make_user: Make) -> None:
    actions.change_site(BY_APPROVAL)
    ask(reason="Roses.")
    row = the_request()
    User.objects.filter(pk=make_user().pk).update(username_key="newcomer")
    with pytest.raises(AppError) as caught:
        actions.approve(row.pk)
    assert caught.value.name == "DUPLICATED_USER"
    assert the_request().state == "waiting"


# --- the address is confirmed first -------------------------------------------------------------
def test_the_link_opens_the_account(deliver: Deliver) -> None:
    actions.change_site(BY_MAIL)
    refused = ask()
    assert_error(refused, 400, "REG_MATCH_ERROR", "email")
    answer = ask(email=f" {ADDRESS} ")
    assert (answer.status_code, answer.json()) == (202, {"state": "unconfirmed"})
    assert no_account()
    (link,) = deliver()
    assert link.to == [ADDRESS]
    confirm = {"token": link_in(link)}
    assert APIClient().post(f"{V1}auth/email/confirm", confirm, format="json").status_code == 204
    user = User.objects.get(username_key="newcomer")
    assert (user.email, user.email_key, user.email_waiting) == (ADDRESS, ADDRESS, "")
    assert log_in().status_code == 200
    assert deliver() == []
    with pytest.raises(WrongLink):
        actions.confirm_email(link_in(link))


def test_a_log_in_sends_the_link_once_more(deliver: Deliver, settings: Any) -> None:
    actions.change_site(BY_MAIL)
    ask(email=ADDRESS)
    deliver()
    refused = log_in()
    assert_error(refused, 403, "APPROVAL_PENDING")
    assert "open the link" in refused.json()["detail"]
    (link,) = deliver()
    assert_error(log_in("wrong.pass1"), 401, "PASSWORD_NOT_CORRECTED")
    assert deliver() == []
    settings.BUDGETS = settings.BUDGETS | {"mail_asker": Rate(1, 1)}
    assert_error(log_in(), 403, "APPROVAL_PENDING")
    assert deliver() == []
    actions.confirm_email(link_in(link))
    assert log_in().status_code == 200


def test_staff_see_it_once_the_address_is_confirmed(deliver: Deliver, moderator: User) -> None:
    actions.change_site(BY_APPROVAL | BY_MAIL)
    assert ask(email=ADDRESS, reason="Roses.").json() == {"state": "unconfirmed"}
    row = the_request()
    assert "Newcomer" not in text_of(browser_of(moderator).get(QUEUE))
    with pytest.raises(NotFound):
        actions.approve(row.pk, moderator)
    (link,) = deliver()
    assert actions.confirm_email(link_in(link)) == actions.Confirmed.REQUEST
    assert "Newcomer" in text_of(browser_of(moderator).get(QUEUE))
    with pytest.raises(WrongLink):
        actions.confirm_email(link_in(link))
    user = actions.approve(row.pk, moderator)
    assert (user.email, user.email_waiting) == (ADDRESS, "")
    assert [one.subject for one in deliver()] == ["Your account is open"]


def test_an_account_that_needs_an_address_keeps_one(make_user: Make) -> None:
    user = make_user(email=ADDRESS)
    actions.change_site(BY_MAIL)
    with pytest.raises(InvalidInput):
        actions.remove_email(user, PASSWORD)
    assert "remove-email" not in text_of(browser_of(user).get("/settings/email"))
    actions.change_site({"email_needed": False})
    assert "remove-email" in text_of(browser_of(user).get("/settings/email"))
    actions.remove_email(user, PASSWORD)


@pytest.mark.parametrize("mode", ["approval", "invite", "closed"])
def test_staff_decide_if_the_site_became_stricter_meanwhile(mode: str, deliver: Deliver) -> None:
    actions.change_site(BY_MAIL)
    ask(email=ADDRESS)
    actions.change_site({"sign_up": mode})
    assert actions.confirm_email(link_in(deliver()[0])) == actions.Confirmed.REQUEST
    assert no_account()
    assert actions.approve(the_request().pk).email == ADDRESS


def test_staff_decide_if_who_invited_was_banned_meanwhile(
    deliver: Deliver, moderator: User
) -> None:
    actions.change_site({"sign_up": "invite"} | BY_MAIL)
    invite = actions.create_invite(moderator)
    assert ask(email=ADDRESS, invite=invite.code).status_code == 202
    actions.ban(moderator)
    (link,) = [one for one in deliver() if one.to == [ADDRESS]]
    assert actions.confirm_email(link_in(link)) == actions.Confirmed.REQUEST
    assert no_account()


# --- domains ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("allowed", "refused", "address", "fits"),
    [
        ("example.org", "", "a@example.org", True),
        ("example.org", "", "a@MAIL.Example.org", True),
        ("example.org", "", "a@badexample.org", False),
        ("example.org", "", "a@example.org.evil.net", False),
        ("example.org uni.example", "", "a@uni.example", True),
        ("", "example.org", "a@example.org", False),
        ("", "example.org", "a@x.example.org", False),
        ("", "example.org", "a@example.net", True),
        ("example.org", "bad.example.org", "a@bad.example.org", False),
        ("xn--fsqu00a.xn--fiqs8s", "", "a@例子.中国", True),
        ("", "", "a@anything.example", True),
    ],
)
def test_domains_of_addresses(allowed: str, refused: str, address: str, fits: bool) -> None:
    actions.change_site({"domains_allowed": allowed, "domains_refused": refused})
    assert (email_rules.own_mistakes(address) == []) == fits


def test_an_address_of_another_domain_is_refused_at_each_door(make_user: Make) -> None:
    user = make_user()
    actions.change_site({"domains_refused": "example.org"})
    refused = ask(email=ADDRESS)
    assert_error(refused, 400, "REG_MATCH_ERROR", "email")
    with pytest.raises(InvalidInput):
        actions.change_email(user, ADDRESS, PASSWORD)
    actions.change_site(BY_APPROVAL)
    assert_error(ask(email=ADDRESS, reason="Roses."), 400, "REG_MATCH_ERROR", "email")


def test_admins_write_domains_in_lines(admin: User) -> None:
    row, browser = "/admin/core/sitesettings/1/change/", browser_of(admin)
    lines = " @Example.org \r\n例子.中国\r\nedu\r\nexample.org"
    assert browser.post(row, {"domains_allowed": lines}).status_code == 302
    here = site.current()
    assert here.domains_allowed == ["edu", "example.org", "xn--fsqu00a.xn--fiqs8s"]
    for wrong in ("a,b", "a@b.org", "http://example.org", "-", "x" * 5001):
        answer = browser.post(row, {"domains_refused": wrong})
        assert "errorlist" in text_of(answer), wrong
    assert site.current().domains_refused == []


# --- at once ------------------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_two_of_staff_decide_at_once_and_one_decision_counts(make_user: Make) -> None:
    actions.change_site(BY_APPROVAL)
    ask(reason="Roses.")
    row = the_request()
    calls = [lambda: actions.approve(row.pk), lambda: actions.refuse(row.pk, "No.")] * 3
    results = at_once(calls)
    assert sum(isinstance(result, NotFound) for result in results) == 5
    assert User.objects.filter(pk=row.pk).exists() != SignUpRequest.objects.exists()
    relay.relay()


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_link_opened_while_staff_accept_confirms_the_address_in_every_order() -> None:
    actions.change_site(BY_APPROVAL)
    for number in range(4):
        name = f"newcomer{number}"
        ask(username=name, reason="Roses.", email=ADDRESS)
        row = the_request()
        token = links.for_email(row, ADDRESS)
        confirmed, opened = at_once(
            [
                lambda token=token: actions.confirm_email(token),
                lambda pk=row.pk: actions.approve(pk),
            ]
        )
        assert isinstance(opened, User)
        assert isinstance(confirmed, actions.Confirmed)
        user = User.objects.get(username=name)
        assert (user.email, user.email_waiting) == (ADDRESS, "")
        assert not SignUpRequest.objects.exists()


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_of_those_who_ask_for_one_name_at_once_one_gets_it() -> None:
    actions.change_site(BY_APPROVAL)
    results = at_once([lambda: actions.request_account(*NEW.values(), reason="Me.")] * 4)
    assert sum(isinstance(result, SignUpRequest) for result in results) == 1
    assert SignUpRequest.objects.count() == 1


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_an_account_and_a_request_at_once_do_not_share_a_name() -> None:
    actions.change_site(BY_APPROVAL)
    for number in range(8):
        person = (f"newcomer{number}", "Newcomer", PASSWORD)
        results = at_once(
            [
                partial(actions.register, *person),
                partial(actions.request_account, *person, reason="Me.", needs_approval=True),
            ]
        )
        assert sum(isinstance(result, User | SignUpRequest) for result in results) == 1
        assert sum(isinstance(result, DuplicatedUser) for result in results) == 1


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_link_opened_many_times_at_once_opens_one_account() -> None:
    actions.change_site(BY_MAIL)
    ask(email=ADDRESS)
    token = links.for_email(the_request(), ADDRESS)
    results = at_once([lambda: actions.confirm_email(token)] * 5)
    assert results.count(actions.Confirmed.ACCOUNT) == 1
    assert User.objects.filter(username="Newcomer").count() == 1


# --- what is kept -------------------------------------------------------------------------------
def test_old_requests_go(deliver: Deliver) -> None:
    actions.change_site(BY_MAIL)
    ask(email=ADDRESS)
    actions.change_site(BY_APPROVAL | {"email_needed": False})
    ask(username="waiting", reason="Roses.")
    ask(username="refused", reason="Roses.")
    actions.refuse(SignUpRequest.objects.get(username="refused").pk, "")

    def left_after(**time: float) -> set[str]:
        SignUpRequest.objects.update(changed_at=timezone.now() - timedelta(**time))
        apply_retention()
        return set(SignUpRequest.objects.values_list("username", flat=True))

    assert left_after(days=2.9) == {"Newcomer", "waiting", "refused"}
    assert left_after(days=3.1) == {"waiting", "refused"}
    assert left_after(days=7.1) == {"waiting"}
    assert left_after(days=89) == {"waiting"}
    assert left_after(days=91) == set()


def test_the_address_of_a_request_is_erased_in_time(settings: Any) -> None:
    actions.change_site(BY_APPROVAL)
    ask(reason="Roses.")
    assert the_request().address == "127.0.0.1"
    past = timezone.now() - timedelta(days=settings.IP_DAYS, seconds=1)
    SignUpRequest.objects.update(address_at=past)
    addresses.erase_old()
    assert (the_request().address, the_request().address_at) == ("", None)


def test_no_event_carries_what_the_person_wrote(deliver: Deliver) -> None:
    actions.change_site(BY_APPROVAL)
    ask(reason="Roses.", email=ADDRESS)
    actions.refuse(the_request().pk, "Sorry.")
    stored = str(list(Event.objects.values_list("payload", flat=True)))
    assert "Roses" not in stored
    assert "Sorry" not in stored


# --- pages --------------------------------------------------------------------------------------
def test_the_pages_of_somebody_who_asks(deliver: Deliver) -> None:
    actions.change_site(BY_APPROVAL | {"question_en": "Which garden?", "email_needed": True})
    browser = Client()
    page = text_of(browser.get("/register"))
    assert "Which garden?" in page
    assert "Ask for an account" in page
    refused = text_of(browser.post("/register", NEW | {"reason": "Rose" * 200}), 400)
    assert "Rose" * 200 in refused
    answer = browser.post("/register", NEW | {"reason": "The east one.", "email": ADDRESS})
    assert (answer.status_code, answer["Location"]) == (303, "/register/sent?state=unconfirmed")
    assert "Please open your mail" in text_of(browser.get(answer["Location"]))
    assert "open the link" in text_of(browser.post("/login", NEW), 403)
    address = f"/email/{link_in(deliver()[-1])}"
    asked = browser.get(address, follow=True)
    assert ADDRESS in text_of(asked)
    done = text_of(browser.post("/email/confirm", {"address": ADDRESS}))
    assert "We are now looking at your request" in done
    assert "still looking at your request" in text_of(browser.post("/login", NEW), 403)
    assert "Your request is sent" in text_of(browser.get("/register/sent?state=waiting"))


def test_the_page_of_a_link_that_opens_an_account(deliver: Deliver) -> None:
    actions.change_site(BY_MAIL)
    browser = Client()
    assert "E-mail address (optional)" not in text_of(browser.get("/register"))
    browser.post("/register", NEW | {"email": ADDRESS})
    browser.get(f"/email/{link_in(deliver()[0])}")
    done = text_of(browser.post("/email/confirm", {"address": ADDRESS}))
    assert "Your account is open" in done
    assert browser.post("/login", NEW)["Location"] == "/"


# --- the queue of staff -------------------------------------------------------------------------
def test_staff_decide_in_the_admin(admin: User, moderator: User, deliver: Deliver) -> None:
    actions.change_site(BY_APPROVAL)
    names = ("first", "second", "third")
    for name in names:
        ask(username=name, nickname=name, reason=f"I am {name}.", email=f"{name}@example.org")
    deliver()
    rows = {row.username: row.pk for row in SignUpRequest.objects.all()}
    browser = browser_of(moderator)
    page = text_of(browser.get(QUEUE))
    assert page.index("I am first.") < page.index("I am second.")
    assert "first@" not in page
    assert "example.org" in page
    assert "first@example.org" in text_of(browser_of(admin).get(QUEUE))
    one = text_of(browser.get(f"{QUEUE}{rows['first']}/change/"))
    assert "127.0.0.0/24" in one
    assert "right.pass" not in one
    assert "argon2" not in one

    def act(action: str, *who: str, **more: str) -> str:
        body = {"action": action, "_selected_action": [rows[name] for name in who], **more}
        return text_of(browser.post(QUEUE, body, follow=True))

    assert "Are you sure?" in act("accept", "first", "second")
    assert not User.objects.filter(username="first").exists()
    assert "Done for 2." in act("accept", "first", "second", confirmed="yes")
    assert User.objects.filter(username__in=names).count() == 2
    assert "What you tell them" in act("refuse", "third")
    assert "Done for 1." in act("refuse", "third", confirmed="yes", text="Not now.")
    assert "There was nothing to do" in act("refuse", "third", confirmed="yes")
    told = [one.body for one in deliver() if one.to == ["third@example.org"]]
    assert "Not now." in told[0]
    assert "third" in text_of(browser.get(f"{QUEUE}?state=refused"))
    assert "third" in text_of(browser.get(f"{QUEUE}?state=all"))
    assert "third" not in text_of(browser.get(QUEUE))


def test_members_see_no_queue(make_user: Make) -> None:
    assert browser_of(make_user()).get(QUEUE).status_code in (302, 403, 404)


def test_a_wrong_password_costs_the_same_for_each_name(make_user: Make) -> None:
    actions.change_site(BY_APPROVAL)
    ask(reason="Roses.")
    seen = []
    for name in ("newcomer", "nobody123", make_user().username):
        with CaptureQueriesContext(connection) as queries, pytest.raises(PasswordNotCorrected):
            actions.check_password(name, "wrong.pass1")
        seen.append(len(queries))
    assert seen == [2, 2, 2]
