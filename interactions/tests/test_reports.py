"""Reports: each once, visible to staff only; the queue, and every way to end a case."""

from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import actions as accounts_actions
from accounts.models import AuditEntry, Role, User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from feeds.models import Post
from interactions import actions
from interactions.models import Case, Comment, Outcome, Report, ReportedKind
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import errors
from socialsite.core.rate_limits import buckets, budgets

pytestmark = pytest.mark.django_db

V1 = "/api/v1/"
POST, COMMENT, USER = ReportedKind
QUEUE = "/admin/interactions/case/"


@pytest.fixture
def author(make_user):
    return make_user("author1")


@pytest.fixture
def me(make_user):
    return make_user("reporter1", nickname="Whistle")


@pytest.fixture
def staff(make_user) -> User:
    return accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def things(author, make_post) -> dict[str, int]:
    """Reportable objects of the author, by type."""
    post = make_post(author, content="for sale")
    return {
        "post": post.pk,
        "comment": actions.comment(author, post.pk, "buy it").pk,
        "user": author.pk,
    }


def send(client: Any, kind: str, ident: Any, **values: str) -> Any:
    body = {"type": kind, "id": str(ident), "reason": "spam", **values}
    return client.post(f"{V1}reports", body, format="json")


def case(kind: int, ident: int) -> Case:
    return Case.objects.get(kind=kind, subject_id=ident)


def open_counts() -> list[tuple[int, int]]:
    """Return for each case its stored and its true number of open reports."""
    return [
        (one.open_count, Report.objects.filter(case=one, is_open=True).count())
        for one in Case.objects.all()
    ]


# --- reporting ----------------------------------------------------------------------------------
def test_each_thing_is_reported_once_until_its_case_is_closed(
    mine, api_for, make_user, things, author, staff
) -> None:
    other = api_for(make_user())
    for kind, ident in things.items():
        first = send(mine, kind, ident)
        assert (first.status_code, first.json()) == (
            201,
            {"type": kind, "id": str(ident), "reason": "spam"},
        )
        assert send(mine, kind, ident, reason="abuse").status_code == 200
        assert send(other, kind, ident, reason="other", words="I do not like it").status_code == 201
        found = case(ReportedKind[kind.upper()], ident)
        assert (found.open_count, found.reasons) == (2, {"spam": 1, "other": 1})
        assert found.owner_id == author.pk
        actions.dismiss_reports(staff, found.pk)
        assert send(mine, kind, ident).status_code == 201
    assert open_counts() == [(1, 1)] * 3


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"reason": "boring"}, "reason"),
        ({"reason": "other"}, "words"),
        ({"reason": "other", "words": " \n"}, "words"),
        ({"words": "x" * 501}, "words"),
        ({"type": "message"}, "type"),
        ({"id": "x"}, "id"),
    ],
)
def test_errors_show_at_their_field(mine, things, values, field) -> None:
    answer = send(mine, **{"kind": "post", "ident": things["post"]} | values)
    assert (answer.status_code, set(answer.json()["fields"])) == (400, {field})
    assert not Case.objects.exists()


def test_hidden_objects_cannot_be_reported_and_look_like_missing_ones(
    mine, me, api, author, things, make_user, api_for
) -> None:
    assert send(api, "post", things["post"]).status_code == 401
    relations_actions.block(author, me)
    for kind, ident in things.items():
        hidden, nothing = send(mine, kind, ident), send(mine, kind, 12345)
        assert (hidden.status_code, hidden.json()) == (404, nothing.json())
    gone = api_for(make_user())
    actions.delete_comment(author, things["comment"])
    assert send(gone, "comment", things["comment"]).status_code == 404
    assert not Case.objects.exists()


def test_people_may_report_blocked_people_but_not_themselves(
    mine, me, author, things, api_for
) -> None:
    relations_actions.block(me, author)
    assert send(mine, "user", author.pk).status_code == 201
    own = api_for(author)
    for kind, ident in things.items():
        assert send(own, kind, ident).status_code == 403


def test_reports_have_a_budget(mine, me, things) -> None:
    buckets.take(budgets.REPORT, me.pk, cost=budgets.REPORT.capacity - 2)
    answers = [send(mine, "post", things["post"]) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 200, 429]
    assert int(answers[2].headers["Retry-After"]) > 0


def test_the_page_reports_without_javascript_and_loses_nothing_typed(me, things, author) -> None:
    browser = browser_of(me)
    for kind, ident in things.items():
        address = f"/report/{kind}/{ident}"
        assert 'value="spam"' in browser.get(address).content.decode()
        wrong = browser.post(address, {"reason": "", "words": "my words"})
        assert (wrong.status_code, "my words" in wrong.content.decode()) == (422, True)
        answer = browser.post(address, {"reason": "abuse", "words": "my words"})
        assert (answer.status_code, answer["Location"]) == (303, f"{address}?sent")
        assert "Thank you" in browser.get(answer["Location"]).content.decode()
    assert {report.words for report in Report.objects.all()} == {"my words"}
    menu = browser.get(f"/posts/{things['post']}/menu").content.decode()
    assert f"/report/post/{things['post']}" in menu
    assert f"/report/user/{author.pk}" in browser.get(f"/@{author.username}").content.decode()
    assert (
        f"/report/post/{things['post']}"
        not in browser_of(author).get(f"/posts/{things['post']}/menu").content.decode()
    )
    for address in (f"/report/post/{12345}", "/report/message/1"):
        assert browser.get(address).status_code == 404
    assert "/login" in Client().get(f"/report/post/{things['post']}")["Location"]


def test_the_page_names_what_is_reported_and_offers_a_block_afterwards(me, things, author) -> None:
    browser = browser_of(me)
    pages = {
        "post": (f"/posts/{things['post']}", True),
        "comment": (f"/comments/{things['comment']}/replies#comment-{things['comment']}", True),
        "user": (f"/@{author.username}", False),
    }
    for kind, (page, has_words) in pages.items():
        address = f"/report/{kind}/{things[kind]}"
        for answer in (browser.get(address), browser.post(address, {"reason": ""})):
            html = answer.content.decode()
            quote = html.partition("<blockquote")[2].partition("</blockquote>")[0]
            assert f"@{author.username}" in quote
            assert ("reported-words" in quote) == has_words
            assert f'href="{page}" data-testid="report-cancel"' in html
        browser.post(address, {"reason": "abuse"})
        sent = browser.get(f"{address}?sent").content.decode()
        assert f'href="/@{author.username}/block?next=/"' in sent
    browser.post(f"/@{author.username}/block", {"block": "1"})
    for kind, ident in things.items():
        sent = browser.get(f"/report/{kind}/{ident}?sent").content.decode()
        assert "Thank you" in sent
        assert author.username not in sent


def test_the_reporter_is_never_revealed_to_the_reported(
    mine, me, author, things, drain, api_for
) -> None:
    for kind, ident in things.items():
        send(mine, kind, ident, words="Whistle was here")
    drain()
    theirs = api_for(author)
    paths = ("notifications", "feed", f"posts/{things['post']}", "users/me")
    texts = [theirs.get(V1 + path).content.decode() for path in paths]
    texts.append(browser_of(author).get("/").content.decode())
    for text in texts:
        assert not [word for word in ("Whistle", me.username, str(me.pk)) if word in text]


# --- staff --------------------------------------------------------------------------------------
def test_members_do_nothing_with_the_queue(mine, me, author, things) -> None:
    for kind, ident in things.items():
        send(mine, kind, ident)
    assert browser_of(me).get(QUEUE).status_code == 302
    for found in Case.objects.all():
        for act in (actions.dismiss_reports, actions.delete_reported, actions.ban_reported):
            with pytest.raises(errors.Forbidden):
                act(me, found.pk)
    assert open_counts() == [(1, 1)] * 3
    author.refresh_from_db()
    assert author.banned_at is None
    assert not AuditEntry.objects.filter(action__in=("ban", "delete_post")).exists()


def test_staff_without_a_required_second_factor_may_not_act(mine, staff, things, settings) -> None:
    settings.STAFF_TOTP = True
    for kind, ident in things.items():
        send(mine, kind, ident)
    for found in Case.objects.all():
        for act in (actions.dismiss_reports, actions.delete_reported, actions.ban_reported):
            with pytest.raises(errors.TwoFactorNeeded):
                act(staff, found.pk)
    assert open_counts() == [(1, 1)] * 3


def test_the_queue_shows_cases_and_acts_after_asking(mine, staff, things, author, drain) -> None:
    for kind, ident in things.items():
        send(mine, kind, ident, words=f"about the {kind}")
    browser = browser_of(staff)
    page = browser.get(QUEUE).content.decode()
    for word in ("post ", "comment ", "user ", "spam 1", author.username):
        assert word in page
    post, comment = case(POST, things["post"]), case(COMMENT, things["comment"])
    detail = browser.get(f"{QUEUE}{post.pk}/change/").content.decode()
    for word in ("for sale", "about the post", "reporter1", "2 more open"):
        assert word in detail

    def act(name: str, *cases: Case, **more: str) -> str:
        form = {"action": name, "_selected_action": [one.pk for one in cases], **more}
        answer = browser.post(QUEUE, form, follow=True)
        assert answer.status_code == 200
        return answer.content.decode()

    assert "Delete these posts" in act("delete_reported", post, comment)
    assert open_counts() == [(1, 1)] * 3  # only the confirmation page
    assert "Done for 2." in act("delete_reported", post, comment, confirmed="yes")
    assert Post.objects.get(pk=things["post"]).is_removed
    assert Comment.objects.get(pk=things["comment"]).deleted
    assert "Done for 1." in act("ban", case(USER, author.pk), confirmed="yes")
    assert open_counts() == [(0, 0)] * 3
    assert {one.outcome for one in Case.objects.filter(kind__in=(POST, COMMENT))} == {"deleted"}
    assert case(USER, author.pk).outcome == "banned"
    assert set(Case.objects.values_list("closed_by", flat=True)) == {staff.pk}
    notes = AuditEntry.objects.filter(actor=staff).order_by("pk")
    assert [(note.action, note.detail.get("reason")) for note in notes] == [
        ("delete_comment", "spam"),
        ("delete_post", "spam"),
        ("ban", None),
    ]
    drain()
    assert {one.outcome for one in Case.objects.filter(kind__in=(POST, COMMENT))} == {"deleted"}
    assert "nothing to do" in act("delete_reported", post, confirmed="yes")


def test_dismissed_reports_are_noted_and_change_nothing_else(mine, staff, things) -> None:
    send(mine, "post", things["post"])
    found = case(POST, things["post"])
    assert actions.dismiss_reports(staff, found.pk, "203.0.113.9")
    assert not actions.dismiss_reports(staff, found.pk)
    note = AuditEntry.objects.get(action="dismiss_reports")
    assert (note.subject_type, note.subject_id, note.detail) == (
        "post",
        things["post"],
        {"reports": 1},
    )
    assert not Post.objects.get(pk=things["post"]).is_deleted
    assert Report.objects.get().outcome == Outcome.DISMISSED


def test_a_moderator_cannot_ban_an_admin_by_way_of_the_queue(
    mine, staff, make_user, make_post
) -> None:
    admin = accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    send(mine, "user", admin.pk)
    with pytest.raises(errors.Forbidden):
        actions.ban_reported(staff, case(USER, admin.pk).pk)
    assert open_counts() == [(1, 1)]


@pytest.mark.parametrize("how", ["by its author", "by staff", "ban"])
def test_objects_deleted_elsewhere_leave_the_queue(how, mine, staff, author, things, drain) -> None:
    for kind in ("post", "comment"):
        send(mine, kind, things[kind])
    actor = author if how == "by its author" else staff
    if how == "ban":
        accounts_actions.ban(author, staff)
    else:
        actions.delete_comment(actor, things["comment"])
        feeds_actions.delete(actor, things["post"])
    drain()
    outcome = {"by its author": "gone", "by staff": "deleted", "ban": "banned"}[how]
    assert {(one.open_count, one.outcome) for one in Case.objects.all()} == {(0, outcome)}


@pytest.mark.parametrize("kind", ["post", "comment", "user"])
def test_an_object_deleted_while_it_is_reported_opens_no_case(
    kind, me, author, things, drain, monkeypatch
) -> None:
    """Its event has run before there is a case to close."""
    reports = import_module("interactions.actions.reports")
    keep = reports._report

    def store_late(*args: Any) -> bool:
        ends: dict[str, Any] = {
            "post": lambda: feeds_actions.delete(author, things["post"]),
            "comment": lambda: actions.delete_comment(author, things["comment"]),
            "user": lambda: accounts_actions.ban(author),
        }
        ends[kind]()
        drain()
        return keep(*args)

    monkeypatch.setattr(reports, "_report", store_late)
    with pytest.raises(errors.AppError):
        actions.report(me, ReportedKind[kind.upper()], things[kind], "spam")
    assert not Case.objects.exists()


def test_the_queue_costs_no_query_a_row(mine, staff, make_user, make_post) -> None:
    browser, author = browser_of(staff), make_user()
    counts = []
    for _ in range(2):
        for _ in range(3):
            send(mine, "post", make_post(author).pk)
        browser.get(QUEUE)
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(QUEUE).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs real transactions")
def test_many_reports_at_once_open_one_for_each_person(make_user, make_post) -> None:
    people = [make_user() for _ in range(3)]
    post = make_post(make_user()).pk
    staff = accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)

    def report(person: Any) -> None:
        for _ in range(10):
            actions.report(person, POST, post, "spam")

    def dismiss() -> None:
        for _ in range(10):
            for found in Case.objects.all():
                actions.dismiss_reports(staff, found.pk)

    results = at_once([*(lambda person=person: report(person) for person in people * 2), dismiss])
    assert not any(isinstance(result, Exception) for result in results), results
    report(people[0])
    assert all(kept == true for kept, true in open_counts())
    assert Report.objects.filter(reporter=people[0], is_open=True).count() == 1
