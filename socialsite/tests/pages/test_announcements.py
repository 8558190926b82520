"""Announcements: shown in their span of time, until a reader dismisses them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions
from accounts.models import AuditEntry, Role, User
from accounts.tests.browsers import browser_of
from relations.tests.helpers import at_once
from socialsite.core import site
from socialsite.core.errors import Forbidden, NotFound
from socialsite.core.models import Announcement, AnnouncementDismissal, SiteSettings
from socialsite.core.site import announcements
from socialsite.tests.support.answers import assert_error

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
V1 = "/api/v1/"
ADD = "/admin/core/announcement/add/"
CHINESE: dict[str, Any] = {"HTTP_ACCEPT_LANGUAGE": "zh-hans"}
HOUR = timedelta(hours=1)


def announced(text: str = "Backup tonight", chinese: str = "", **more: Any) -> Announcement:
    now = timezone.now()
    span: dict[str, datetime] = {"starts_at": now - HOUR, "ends_at": now + HOUR}
    row = Announcement(text_en=text, text_zh_hans=chinese, **span | more)
    actions.save_announcement(row)
    return row


def page(address: str, client: Client | None = None, **more: Any) -> str:
    return (client or Client()).get(address, **more).content.decode()


def texts(api: APIClient) -> list[str]:
    return [one["text"] for one in api.get(f"{V1}announcements").json()["items"]]


# --- what is shown ------------------------------------------------------------------------------
def test_it_is_shown_in_its_span_of_time(browser: Client) -> None:
    now = timezone.now()
    row = announced(starts_at=now + HOUR, ends_at=now + 2 * HOUR)
    for place in ("/", "/search", "/settings/profile"):
        assert "Backup tonight" not in page(place, browser), place
    row.starts_at = now - HOUR
    actions.save_announcement(row)
    for place in ("/", "/search", "/settings/profile", "/about"):
        assert "Backup tonight" in page(place, browser), place
    row.ends_at = now
    actions.save_announcement(row)
    assert "Backup tonight" not in page("/", browser)


def test_time_alone_begins_and_ends_it(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    row = announced(starts_at=timezone.now() + HOUR, ends_at=timezone.now() + 2 * HOUR)
    assert "Backup tonight" not in page("/", browser)
    for minutes, shown in ((59, False), (61, True), (119, True), (121, False)):
        then = (row.starts_at - HOUR + timedelta(minutes=minutes)).timestamp()
        monkeypatch.setattr("time.time", lambda then=then: then)
        assert ("Backup tonight" in page("/", browser)) is shown, minutes


def test_announcements_of_later_days_take_no_place_of_those_of_now(browser: Client) -> None:
    announced("Now")
    now = timezone.now()
    for number in range(site.ANNOUNCEMENTS):
        start = now + timedelta(days=2 + number)
        announced(f"Later {number}", starts_at=start, ends_at=start + HOUR)
    assert ">Now</p>" in page("/", browser)


def test_the_most_and_longest_are_shown_and_the_process_knows_the_site(browser: Client) -> None:
    for _ in range(site.ANNOUNCEMENTS + 1):
        announced("😀" * Announcement.TEXT_MAX, "😀" * Announcement.TEXT_MAX)
    actions.change_site({"description_en": "😀" * SiteSettings.WORDS_MAX, "name": "Garden"})
    assert page("/", browser).count('data-testid="announcement"') == site.ANNOUNCEMENTS
    assert site.known().name == "Garden"


def test_guests_see_what_is_for_them(api: APIClient, browser: Client) -> None:
    announced("For members")
    announced("For all", for_guests=True)
    assert texts(api) == ["For all"]
    guest = page("/search")
    assert "For all" in guest
    assert "For members" not in guest
    assert "/dismiss" not in guest
    for text in ("For all", "For members"):
        assert text in page("/search", browser)
    # Neither pages on the way in nor error pages that must not ask the database have any.
    assert "For all" not in page("/login")


def test_the_language_is_that_of_the_reader_or_the_other(browser: Client) -> None:
    announced("Backup at https://example.org <b>now</b>", "今晚备份")
    assert "今晚备份" in page("/search", browser, **CHINESE)
    shown = page("/search", browser)
    assert '<a href="https://example.org"' in shown
    assert "&lt;b&gt;now" in shown
    announced("Only English")
    assert '<div class="announcement" data-testid="announcement" lang="en">' in page(
        "/search", browser, **CHINESE
    )


# --- dismissing ---------------------------------------------------------------------------------
def test_a_dismissed_one_is_gone_on_all_devices_and_for_nobody_else(
    api: APIClient, make_user: Make
) -> None:
    user, other = make_user(), make_user()
    row, second = announced("One"), announced("Two")
    browser = browser_of(user)
    assert f'formaction="/announcements/{row.pk}/dismiss"' in page("/search", browser)
    for _ in range(2):
        gone = browser.post(f"/announcements/{row.pk}/dismiss", {"next": "/search?q=x"})
        assert (gone.status_code, gone["Location"]) == (303, "/search?q=x")
    assert AnnouncementDismissal.objects.count() == 1
    for place in ("/", "/search"):
        shown = page(place, browser)
        assert ">One</p>" not in shown
        assert ">Two</p>" in shown
    assert ">One</p>" in page("/", browser_of(other))
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {actions.sign_in(user, 'firefox').access}")
    assert texts(api) == ["Two"]
    for _ in range(2):
        assert api.post(f"{V1}announcements/{second.pk}/dismiss").status_code == 204
    assert texts(api) == []
    # A change does not bring it back.
    row.text_en = "One, later"
    actions.save_announcement(row)
    assert texts(api) == []


def test_a_dismissed_one_stays_away_however_many_came_and_went(make_user: Make) -> None:
    user = make_user()
    announcements.dismiss(user.pk, announced("Long ago").pk)
    for _ in range(site.ANNOUNCEMENTS + 1):
        row = announced()
        announcements.dismiss(user.pk, row.pk)
        row.ends_at = timezone.now()
        actions.save_announcement(row)
    browser = browser_of(user)
    assert "Long ago" not in page("/", browser)
    row.ends_at = timezone.now() + HOUR
    actions.save_announcement(row)
    assert "Backup tonight" not in page("/", browser)


def test_what_is_not_shown_cannot_be_dismissed(api: APIClient, make_user: Make) -> None:
    now = timezone.now()
    later = announced(starts_at=now + HOUR, ends_at=now + 2 * HOUR)
    over = announced(starts_at=now - 2 * HOUR, ends_at=now - HOUR)
    assert_error(api.post(f"{V1}announcements/{over.pk}/dismiss"), 401, "NOT_AUTHENTICATED")
    user = make_user()
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {actions.sign_in(user, 'chrome').access}")
    for ident in (later.pk, over.pk, 999_999):
        assert_error(api.post(f"{V1}announcements/{ident}/dismiss"), 404, "NOT_FOUND")
    assert_error(api.post(f"{V1}announcements/x/dismiss"), 400, "INVALID_INPUT", "id")
    assert Client().post(f"/announcements/{over.pk}/dismiss").status_code == 401
    assert not AnnouncementDismissal.objects.exists()


def test_dismissals_are_read_along_and_cost_nothing_without_an_announcement(
    browser: Client, round_trips: list[int]
) -> None:
    def cost(place: str) -> tuple[int, int]:
        browser.get(place)
        round_trips.clear()
        with CaptureQueriesContext(connection) as queries:
            browser.get(place)
        return len(round_trips), len(queries)

    places = ("/settings/profile", "/", "/notifications")
    for place in places:
        browser.get(place)
    without = {place: cost(place) for place in places}
    announced()
    # Home reads its badge before it knows that there is an announcement.
    more = {"/settings/profile": 0, "/": 1, "/notifications": 0}
    for place, (trips, queries) in without.items():
        assert cost(place) == (trips + more[place], queries), place


def test_without_redis_the_database_tells(
    browser: Client, dead_redis: Callable[[], AbstractContextManager[None]]
) -> None:
    row = announced()
    with dead_redis():
        assert "Backup tonight" in page("/search", browser)
        assert browser.post(f"/announcements/{row.pk}/dismiss").status_code == 303
        assert "Backup tonight" not in page("/search", browser)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")
def test_it_is_dismissed_many_times_and_deleted_at_once(make_user: Make) -> None:
    users = [make_user() for _ in range(4)]
    for _ in range(6):
        row = announced()
        found: list[str] = []

        def dismiss(user: User, row: Announcement = row, found: list[str] = found) -> None:
            try:
                announcements.dismiss(user.pk, row.pk)
            except NotFound:
                found.append("gone")

        acts = [partial(dismiss, user) for user in (*users, users[0])]
        at_once([*acts, partial(actions.delete_announcement, Announcement.objects.get())])
        assert not AnnouncementDismissal.objects.exists()
        assert site.current().announcements == []


# --- staff --------------------------------------------------------------------------------------
def test_admins_write_and_delete_them(make_user: Make) -> None:
    admin = actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    browser = browser_of(admin)
    values = {
        "text_en": "Backup\u0007 tonight",
        **{"starts_at_0": "2026-01-01", "starts_at_1": "10:00:00"},
        **{"ends_at_0": "2100-01-01", "ends_at_1": "10:00:00"},
    }
    wrong: dict[str, str]
    for wrong in (
        {"text_en": " "},
        {"text_en": "x" * 501},
        {"ends_at_0": "2026-01-01"},
        {"ends_at_0": ""},
        {"starts_at_0": "99999-01-01"},
    ):
        refused = browser.post(ADD, values | wrong)
        assert refused.status_code == 200, wrong
        assert "errorlist" in refused.content.decode()
    assert browser.post(ADD, values).status_code == 302
    row = Announcement.objects.get()
    assert row.text_en == "Backup tonight"
    assert "Backup tonight" in page("/", browser)
    change = f"/admin/core/announcement/{row.pk}/"
    assert "Backup tonight" in page(f"{change}change/", browser)
    assert browser.post(f"{change}change/", values | {"text_en": "Done"}).status_code == 302
    assert ">Done</p>" in page("/", browser)
    for user in (make_user(), actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)):
        assert browser_of(user).post(f"{change}delete/", {"post": "yes"}).status_code in (302, 403)
        with pytest.raises(Forbidden):
            actions.save_announcement(row, user)
        with pytest.raises(Forbidden):
            actions.delete_announcement(row, user)
    announcements.dismiss(admin.pk, row.pk)
    assert browser.post(f"{change}delete/", {"post": "yes"}).status_code == 302
    assert not Announcement.objects.exists()
    assert site.current().announcements == []
    announced("One")
    chosen = {"action": "delete_selected", "_selected_action": str(announced("Two").pk)}
    assert browser.post("/admin/core/announcement/", chosen | {"post": "yes"}).status_code == 302
    assert [row.text_en for row in Announcement.objects.all()] == ["One"]
    noted = AuditEntry.objects.filter(actor=admin).values_list("action", flat=True)
    assert [*noted.order_by("id")] == [
        *("announce", "announce"),
        *("delete_announcement", "delete_announcement"),
    ]
