"""The page of a case: what staff see there of the reported object, and what they do there."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import actions as accounts_actions
from accounts.models import Role, User
from accounts.tests.browsers import browser_of, text_of
from feeds.models import Post
from interactions import actions
from interactions.models import Case, ReportedKind

pytestmark = pytest.mark.django_db

POST, COMMENT, USER = ReportedKind
QUEUE = "/admin/interactions/case/"


@pytest.fixture
def author(make_user: Any) -> User:
    return make_user("author1")


@pytest.fixture
def reporter(make_user: Any) -> User:
    return make_user("reporter1")


@pytest.fixture
def staff(make_user: Any) -> User:
    return accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def browser(staff: User) -> Client:
    return browser_of(staff)


@pytest.fixture
def case_of(reporter: User) -> Any:
    """Return a function that reports an object and returns its case."""

    def report(kind: ReportedKind, subject_id: int, reason: str = "spam") -> Case:
        actions.report(reporter, kind, subject_id, reason, "my words")
        return Case.objects.get(kind=kind, subject_id=subject_id)

    return report


def address_of(case: Case) -> str:
    return f"{QUEUE}{case.pk}/change/"


def page_of(browser: Client, case: Case) -> str:
    return text_of(browser.get(address_of(case)))


def queries_of(browser: Client, address: str) -> int:
    """Return the number of queries of a page that was seen before."""
    browser.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert browser.get(address).status_code == 200
    return len(queries)


# --- acts ---------------------------------------------------------------------------------------
def test_an_act_from_the_page_of_a_case_returns_to_it(browser, case_of, author, make_post) -> None:
    case = case_of(POST, make_post(author, content="for sale").pk)
    assert f'action="{QUEUE}?state=all"' in page_of(browser, case)
    form = {"action": "delete_reported", "_selected_action": case.pk, "back": case.pk}
    asked = text_of(browser.post(f"{QUEUE}?state=all", form))
    assert f"post {case.subject_id}, @author1: for sale" in asked
    assert f'href="{address_of(case)}"' in asked
    assert "person" not in asked.partition('id="content"')[2]
    done = browser.post(f"{QUEUE}?state=all", form | {"confirmed": "yes"})
    assert (done.status_code, done["Location"]) == (302, address_of(case))
    assert Post.objects.get(pk=case.subject_id).is_deleted
    assert "Done for 1." in page_of(browser, case)


def test_a_closed_case_can_still_lead_to_a_ban(browser, case_of, author, make_post, staff) -> None:
    case = case_of(POST, make_post(author).pk)
    actions.dismiss_reports(staff, case.pk)
    form = {"action": "ban", "_selected_action": case.pk, "back": case.pk, "confirmed": "yes"}
    browser.post(f"{QUEUE}?state=all", form)
    author.refresh_from_db()
    assert author.banned_at is not None


def test_a_confirmation_costs_no_query_a_case(browser, case_of, author, make_post) -> None:
    cases, counts = [], []
    for _ in range(2):
        for _ in range(3):
            post = make_post(author).pk
            cases.append(case_of(POST, post))
            cases.append(case_of(COMMENT, actions.comment(author, post, "buy it").pk))
        form = {"action": "dismiss", "_selected_action": [case.pk for case in cases]}
        browser.post(QUEUE, form)
        with CaptureQueriesContext(connection) as queries:
            text_of(browser.post(QUEUE, form))
        counts.append(len(queries))
    assert counts[0] == counts[1]
