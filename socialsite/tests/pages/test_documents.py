"""The longer texts of the site: their versions, and the terms that people accept."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts import actions, queries
from accounts.models import AuditEntry, Role, TokenVersion, User
from accounts.tests.browsers import browser_of
from relations.tests.helpers import at_once
from socialsite.core import site
from socialsite.core.errors import Forbidden, TermsNotAccepted
from socialsite.core.models import SiteDocument
from socialsite.core.site.documents import Kind
from socialsite.tests.support.answers import assert_error

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
V1 = "/api/v1/"
ADD = "/admin/core/sitedocument/add/"
CHINESE: dict[str, Any] = {"HTTP_ACCEPT_LANGUAGE": "zh-hans"}
NEW = {"username": "newcomer", "nickname": "Newcomer", "password": "right.pass1"}
PASSWORD = "right.pass1"


def written(kind: Kind, english: str = "", chinese: str = "", *, needed: bool = False) -> int:
    columns = {"text_en": english, "text_zh_hans": chinese}
    return actions.publish_document(kind, columns, is_needed=needed).version


def page(address: str, client: Client | None = None, **more: Any) -> str:
    return (client or Client()).get(address, **more).content.decode()


# --- texts --------------------------------------------------------------------------------------
def test_a_new_site_says_what_it_is_and_links_to_nothing_else() -> None:
    actions.change_site({"name": "Garden", "contact": "hello@example.org"})
    shown = page("/about")
    assert "Garden" in shown
    assert 'href="mailto:hello@example.org"' in shown
    for kind in ("rules", "terms", "privacy"):
        assert f'href="/{kind}"' not in shown
        assert "have not written this text" in page(f"/{kind}")
        assert Client().get(f"/{kind}?version=1").status_code == 404


@pytest.mark.parametrize("kind", list(Kind))
def test_a_text_is_shown_in_the_language_of_the_reader_or_in_the_other(kind: Kind) -> None:
    written(kind, "# Be kind\n\n**Always.**")
    assert "<strong>Always.</strong>" in page(f"/{kind}")
    assert '<div lang="en"><div class="prose"' in page(f"/{kind}", **CHINESE)
    written(kind, "Be kind", "请友善")
    assert "请友善" in page(f"/{kind}", **CHINESE)
    assert "请友善" not in page(f"/{kind}")
    for place in ("/search", "/about"):
        assert f'href="/{kind}"' in page(place)


def test_every_version_stays_readable_and_a_text_can_be_withdrawn() -> None:
    assert [written(Kind.RULES, text) for text in ("First", "Second")] == [1, 2]
    assert "Second" in page("/rules")
    old = page("/rules?version=1")
    assert "First" in old
    assert "This is an old version" in old
    assert '<meta name="robots" content="noindex">' in old
    assert "This is an old version" not in page("/rules?version=2")
    assert written(Kind.RULES) == 3
    assert "have not written this text" in page("/rules")
    assert 'href="/rules"' not in page("/about")
    assert "Second" in page("/rules?version=2")
    assert written(Kind.RULES, "Third") == 4
    assert "Third" in page("/rules")
    for wrong in ("0", "9", "-1", "x", "1e1", "99999999999999999999", "١"):
        assert Client().get(f"/rules?version={wrong}").status_code == 404, wrong


def test_what_staff_write_is_no_html() -> None:
    written(Kind.ABOUT, '<script>alert(1)</script> [x](javascript:alert(1)) "><img onerror=x>')
    shown = page("/about")
    assert "&lt;script&gt;" in shown
    assert 'href="javascript:' not in shown
    assert "<img onerror" not in shown


def test_the_api_tells_the_rules_and_what_must_be_accepted(api: APIClient) -> None:
    told = api.get(f"{V1}site").json()
    assert (told["rules"], told["terms"]) == ("", 0)
    written(Kind.RULES, "Be kind", "请友善")
    written(Kind.TERMS, "Ours")
    told = api.get(f"{V1}site", **CHINESE).json()
    assert (told["rules"], told["terms"]) == ("请友善", 0)
    written(Kind.TERMS, "Ours", needed=True)
    written(Kind.TERMS, "Ours, without a mistake")
    assert api.get(f"{V1}site").json()["terms"] == 3


# --- terms --------------------------------------------------------------------------------------
def test_nobody_signs_up_without_accepting_the_terms(api: APIClient) -> None:
    written(Kind.TERMS, "Ours", needed=True)
    shown = page("/register")
    assert '<input type="checkbox" name="terms" value="1" required>' in shown
    register = partial(api.post, f"{V1}auth/register", format="json")
    terms: dict[str, Any]
    for terms in ({}, {"terms": 0}, {"terms": 2}, {"terms": False}):
        assert_error(register(NEW | terms), 403, "TERMS_NOT_ACCEPTED", "terms")
    for terms in ({"terms": -1}, {"terms": "x"}, {"terms": 2**40}, {"terms": None}):
        assert_error(register(NEW | terms), 400, "INVALID_INPUT", "terms")
    refused = Client().post("/register", NEW)
    assert refused.status_code == 403
    assert 'aria-invalid="true" aria-describedby="err-terms"' in refused.content.decode()
    assert not User.objects.filter(username=NEW["username"]).exists()
    mistaken = Client().post("/register", NEW | {"nickname": "", "terms": "1"})
    assert 'name="terms" value="1" required checked>' in mistaken.content.decode()

    client = Client()
    assert client.post("/register", NEW | {"terms": "1"})["Location"] == "/welcome"
    assert client.get("/").status_code == 200
    assert client.cookies["terms"].value == "1"
    assert register(NEW | {"username": "another1", "terms": True}).status_code == 201
    for name in (NEW["username"], "another1"):
        user = User.objects.get(username=name)
        (noted,) = AuditEntry.objects.filter(action="terms", subject_id=user.pk)
        assert (user.terms_accepted, noted.actor_id, noted.detail) == (1, user.pk, {"version": 1})


def test_terms_that_were_on_the_page_of_sign_up_are_enough_unless_newer_ones_are_needed() -> None:
    written(Kind.TERMS, "Ours", needed=True)
    written(Kind.TERMS, "Ours, without a mistake")
    assert Client().post("/register", NEW | {"terms": "1"}).status_code == 303
    assert User.objects.get(username=NEW["username"]).terms_accepted == 1
    written(Kind.TERMS, "Very different", needed=True)
    other = NEW | {"username": "another1", "terms": "2"}
    assert Client().post("/register", other).status_code == 403


def test_new_terms_are_shown_once_before_the_next_page(make_user: Make) -> None:
    user = make_user()
    browser = browser_of(user)
    assert browser.get("/").status_code == 200
    written(Kind.TERMS, "Ours", needed=True)
    for place in ("/", "/search?q=x", f"/@{user.username}", "/settings/devices"):
        asked = browser.get(place)
        assert asked.status_code == 303, place
        assert asked["Location"].startswith("/terms/accept"), place
    assert browser.get("/search", HTTP_HX_REQUEST="true").status_code == 200
    for free in ("/about", "/terms", "/rules", "/privacy", "/terms/accept"):
        assert browser.get(free).status_code == 200, free
    assert Client().get("/search").status_code == 200
    shown = page("/terms/accept?next=/search", browser)
    assert "Ours" in shown
    assert "before" not in shown
    accepted = browser.post("/terms/accept", {"version": "1", "next": "/search"})
    assert (accepted.status_code, accepted["Location"]) == (303, "/search")
    with CaptureQueriesContext(connection) as asking:
        assert browser.get("/search").status_code == 200
    assert not [one for one in asking if "terms_accepted" in one["sql"]]
    # Another browser of this person asks the account once.
    second = browser_of(user)
    assert second.get("/search").status_code == 200
    assert second.cookies["terms"].value == "1"
    assert AuditEntry.objects.filter(action="terms").count() == 1


def test_who_read_older_terms_is_shown_the_newer_ones(make_user: Make) -> None:
    browser = browser_of(make_user())
    written(Kind.TERMS, "Ours", needed=True)
    assert "Ours" in page("/terms/accept", browser)
    written(Kind.TERMS, "Newer", needed=True)
    again = browser.post("/terms/accept", {"version": "1"})
    assert again.status_code == 200
    assert "Newer" in again.content.decode()
    for wrong in ("", "x", "3", "9" * 30):
        assert browser.post("/terms/accept", {"version": wrong}).status_code == 200, wrong
    assert browser.get("/").status_code == 303
    assert browser.post("/terms/accept", {"version": "2"})["Location"] == "/"
    assert browser.get("/").status_code == 200
    # A correction asks nobody; another text of the terms does, and links to the one before.
    written(Kind.TERMS, "Newer, without a mistake")
    assert browser.get("/").status_code == 200
    written(Kind.TERMS, "Different", needed=True)
    assert 'href="/terms?version=2"' in page("/terms/accept", browser)
    # Nobody needs to accept what the site withdrew.
    written(Kind.TERMS)
    assert browser.get("/").status_code == 200
    assert browser.get("/terms/accept")["Location"] == "/"


def test_a_cookie_of_another_person_does_not_count(make_user: Make) -> None:
    written(Kind.TERMS, "Ours", needed=True)
    users = make_user(), make_user()
    actions.accept_terms(users[0], 1)
    browser = Client()
    names = [{"username": user.username, "password": PASSWORD} for user in users]
    browser.post("/login", names[0])
    assert browser.get("/").status_code == 200
    browser.post("/logout")
    browser.post("/login", names[1])
    assert browser.get("/").status_code == 303


def test_clients_of_the_api_accept_with_the_log_in(api: APIClient, make_user: Make) -> None:
    user = make_user()
    log_in = partial(api.post, f"{V1}auth/login", format="json")
    values = {"username": user.username, "password": PASSWORD, "client": "chrome"}
    assert log_in(values).status_code == 200
    written(Kind.TERMS, "Ours", needed=True)
    before = TokenVersion.objects.values().get(user=user)
    assert_error(log_in(values), 403, "TERMS_NOT_ACCEPTED", "terms")
    assert TokenVersion.objects.values().get(user=user) == before  # nobody was signed in
    wrong = log_in(values | {"password": "wrong.pass1", "terms": 1})
    assert_error(wrong, 401, "PASSWORD_NOT_CORRECTED")
    assert queries.terms_accepted(user.pk) == 0
    assert log_in(values | {"terms": True}).status_code == 200
    assert queries.terms_accepted(user.pk) == 1
    assert log_in(values).status_code == 200


def test_without_needed_terms_a_log_in_asks_for_none(api: APIClient, make_user: Make) -> None:
    user = make_user()
    written(Kind.TERMS, "Ours", needed=True)
    actions.accept_terms(user, 1)
    written(Kind.TERMS)
    values = {"username": user.username, "password": PASSWORD, "client": "chrome"}
    assert api.post(f"{V1}auth/login", values, format="json").status_code == 200
    assert api.post(f"{V1}auth/register", NEW | {"terms": True}, format="json").status_code == 201


# --- staff --------------------------------------------------------------------------------------
def test_admins_publish_versions_and_change_none(make_user: Make) -> None:
    admin = actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    browser = browser_of(admin)
    assert f"{ADD}?kind=terms" in page("/admin/core/sitedocument/", browser)
    values = {"kind": "terms", "text_en": "Ours\u0007 \r\n\r\nSecond", "is_needed": "on"}
    assert browser.post(ADD, values).status_code == 302
    row = SiteDocument.objects.get()
    assert (row.kind, row.version, row.text_en) == ("terms", 1, "Ours \n\nSecond")
    assert site.current().terms_needed == 1
    (noted,) = AuditEntry.objects.filter(action="document")
    assert (noted.actor_id, noted.detail) == (admin.pk, {"text": "terms", "version": 1})
    form = page(f"{ADD}?kind=terms", browser)
    assert "Ours" in form
    change = f"/admin/core/sitedocument/{row.pk}/change/"
    assert "Second" in page(change, browser)
    assert browser.post(change, values | {"text_en": "Else"}).status_code == 403
    assert browser.post(f"/admin/core/sitedocument/{row.pk}/delete/").status_code == 403
    for wrong in ({"kind": "other"}, {"kind": ""}, {"text_en": "x" * 50_001}):
        assert browser.post(ADD, values | wrong).status_code == 200, wrong
    assert browser.get(f"{ADD}?kind=other").status_code == 200
    assert SiteDocument.objects.count() == 1
    for user in (make_user(), actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)):
        assert browser_of(user).get(ADD).status_code in (302, 403)
        with pytest.raises(Forbidden):
            actions.publish_document(Kind.ABOUT, {"text_en": "Mine"}, user)


def test_the_longest_texts_in_chinese_fit_into_the_form(make_user: Make) -> None:
    browser = browser_of(actions.promote(make_user(), Role.MEMBER | Role.ADMIN))
    text = "规" * SiteDocument.TEXT_MAX
    values = {"kind": "rules", "text_en": text, "text_zh_hans": text}
    assert browser.post(ADD, values).status_code == 302
    assert SiteDocument.objects.get().text_zh_hans == text


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")
def test_versions_published_at_once_are_all_kept_and_the_last_counts() -> None:
    for number in range(4):  # the first time there is no row
        at_once([partial(written, Kind.TERMS, f"Text {one}", needed=True) for one in range(3)])
        found = sorted(SiteDocument.objects.values_list("version", flat=True))
        assert found == list(range(1, 3 * number + 4))
        assert (site.current().terms, site.current().terms_needed) == (found[-1], found[-1])


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")
def test_terms_accepted_twice_at_once_are_noted_once(make_user: Make) -> None:
    user = make_user()
    written(Kind.TERMS, "Ours", needed=True)
    at_once([partial(actions.accept_terms, user, 1) for _ in range(3)])
    assert AuditEntry.objects.filter(action="terms").count() == 1
    with pytest.raises(TermsNotAccepted):
        actions.accept_terms(user, 2)
