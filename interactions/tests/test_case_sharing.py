"""How staff share the work on cases: notes and assignment, and who may do this."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts.models import Role, User
from accounts.tests.browsers import browser_of, text_of
from interactions import actions
from interactions.models import Case, CaseNote, ReportedKind
from interactions.tests.case_pages import QUEUE, address_of, page_of, queries_of
from socialsite.core import errors

pytestmark = pytest.mark.django_db

POST, COMMENT, USER = ReportedKind


@pytest.fixture
def author(make_user: Any) -> User:
    return make_user("author1")


@pytest.fixture
def staff(make_user: Any) -> User:
    return accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def browser(staff: User) -> Client:
    return browser_of(staff)


# --- notes --------------------------------------------------------------------------------------
def test_staff_write_notes_for_each_other(browser, staff, case_of, author, make_post) -> None:
    case = case_of(POST, make_post(author).pk)
    address = f"{QUEUE}{case.pk}/note/"
    assert f'action="{address}"' in page_of(browser, case)
    for words in ("first", " <b>second</b>\r\nline\x01 "):
        answer = browser.post(address, {"words": words})
        assert (answer.status_code, answer["Location"]) == (302, f"{address_of(case)}#notes")
    assert CaseNote.objects.latest("pk").words == "<b>second</b>\nline"
    notes = page_of(browser, case).partition('id="notes"')[2]
    assert "&lt;b&gt;second&lt;/b&gt;<br>line" in notes
    assert notes.index("second") < notes.index("first")
    assert f'/admin/accounts/user/{staff.pk}/change/">{staff}</a> 20' in notes


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        ("", "Write the note first."),
        (" \n\u200b", "Write the note first."),
        ("x" * 1001, "At most 1000 characters."),
        ("a\x00b", "Null characters are not allowed."),
    ],
)
def test_a_wrong_note_is_refused_and_stays_typed(
    words, mistake, browser, case_of, author, make_post
) -> None:
    case = case_of(POST, make_post(author).pk)
    answer = browser.post(f"{QUEUE}{case.pk}/note/", {"words": words})
    page = text_of(answer, 422)
    assert mistake in page
    assert words[:1000].strip() in page
    assert not CaseNote.objects.exists()


def test_a_note_may_have_a_thousand_characters(staff, case_of, author, make_post) -> None:
    case = case_of(POST, make_post(author).pk)
    assert actions.note_case(staff, case.pk, "😀" * 1000).words == "😀" * 1000
    with pytest.raises(errors.NotFound):
        actions.note_case(staff, 12345, "about nothing")


def test_notes_cost_no_query_a_row(browser, case_of, author, make_post, staff) -> None:
    case, counts = case_of(POST, make_post(author).pk), []
    for _ in range(2):
        for number in range(3):
            actions.note_case(staff, case.pk, f"note {number}")
        counts.append(queries_of(browser, address_of(case)))
    assert counts[0] == counts[1]


# --- assignment ---------------------------------------------------------------------------------
def act(browser: Client, name: str, *cases: Case, **more: Any) -> str:
    form = {"action": name, "_selected_action": [case.pk for case in cases], **more}
    return text_of(browser.post(f"{QUEUE}?state=all", form, follow=True))


def names(browser: Client, query: str) -> set[int]:
    """Return the ids of the cases in the list."""
    page = text_of(browser.get(f"{QUEUE}?{query}"))
    return {int(ident) for ident in re.findall(r'name="_selected_action" value="(\d+)"', page)}


def test_staff_take_cases_and_give_them_back(
    browser, staff, case_of, author, make_post, make_user
) -> None:
    other = accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    cases = [case_of(POST, make_post(author).pk) for _ in range(3)]
    first, second, third = cases
    assert "Done for 2." in act(browser, "take", first, second)
    assert "There was nothing to do." in act(browser_of(other), "take", second)
    assert "Done for 1." in act(browser_of(other), "take", third)
    assert names(browser, "assignee=mine") == {first.pk, second.pk}
    assert names(browser, "assignee=nobody") == set()
    assert names(browser, "") == {case.pk for case in cases}
    assert "Done for 1." in act(browser, "give_back", first, third)
    assert names(browser, "assignee=nobody") == {first.pk}
    assert "Done for 1." in act(browser, "take_over", third, back=third.pk)
    assert names(browser, "assignee=mine") == {second.pk, third.pk}
    assert str(staff) in text_of(browser.get(QUEUE))


def test_the_page_of_a_case_offers_to_take_it(
    browser, case_of, author, make_post, make_user
) -> None:
    case = case_of(POST, make_post(author).pk)

    def offered() -> list[str]:
        return re.findall(r'name="action" value="(take\w*|give\w+)"', page_of(browser, case))

    assert offered() == ["take"]
    assert 'id="case-history"' in act(browser, "take", case, back=case.pk)
    assert offered() == ["give_back"]
    other = accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    actions.take_case(other, case.pk, over=True)
    assert offered() == ["take_over"]
    actions.dismiss_reports(other, case.pk)
    assert offered() == []


def test_the_assignee_of_a_closed_case_stays_until_it_is_reported_again(
    browser, staff, case_of, author, make_post, make_user
) -> None:
    case = case_of(POST, make_post(author).pk)
    actions.take_case(staff, case.pk)
    actions.report(make_user(), POST, case.subject_id, "spam")
    case.refresh_from_db()
    assert case.assignee == staff  # it was open
    actions.dismiss_reports(
        accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR), case.pk
    )
    case.refresh_from_db()
    assert (case.open_count, case.assignee) == (0, staff)
    for change in (actions.take_case, actions.give_back_case):
        assert not change(staff, case.pk)
    actions.report(make_user(), POST, case.subject_id, "spam")
    case.refresh_from_db()
    assert (case.open_count, case.assignee) == (1, None)


# --- permissions --------------------------------------------------------------------------------
def share(actor: User, case: Case) -> list[Any]:
    return [
        lambda: actions.take_case(actor, case.pk),
        lambda: actions.give_back_case(actor, case.pk),
        lambda: actions.note_case(actor, case.pk, "words"),
    ]


def test_members_neither_see_nor_share_cases(case_of, author, make_post) -> None:
    case = case_of(POST, make_post(author, content="secret words").pk)
    member = browser_of(author)
    for path in (address_of(case), f"{QUEUE}{case.pk}/note/"):
        answer = member.get(path)
        assert (answer.status_code, "secret" in answer.content.decode()) == (302, False)
    assert member.post(f"{QUEUE}{case.pk}/note/", {"words": "mine"}).status_code == 302
    for change in share(author, case):
        with pytest.raises(errors.Forbidden):
            change()
    case.refresh_from_db()
    assert case.assignee is None
    assert not CaseNote.objects.exists()


def test_staff_without_a_required_second_factor_share_nothing(
    staff, case_of, author, make_post, settings
) -> None:
    case = case_of(POST, make_post(author).pk)
    settings.STAFF_TOTP = True
    for change in share(staff, case):
        with pytest.raises(errors.TwoFactorNeeded):
            change()


def test_a_note_needs_the_token_of_a_form(staff, browser, case_of, author, make_post) -> None:
    case = case_of(POST, make_post(author).pk)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    assert strict.post(f"{QUEUE}{case.pk}/note/", {"words": "mine"}).status_code == 403
    assert not CaseNote.objects.exists()


def test_a_note_about_no_case_is_not_found(browser) -> None:
    assert browser.post(f"{QUEUE}12345/note/", {"words": "mine"}).status_code == 404
