"""The first page of the admin: tiles, what moderators do not see, and charts of the last days."""

import itertools
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import actions as accounts_actions
from accounts.models import Role, SignUpRequest, User
from accounts.tests.browsers import browser_of, text_of
from feeds import actions as feeds_actions
from feeds.models import FeedCheck, Post, SearchCheck
from interactions import actions
from interactions.models import Case, Report, ReportedKind
from interactions.models import CountCheck as InteractionCheck
from relations.models import CountCheck
from socialsite import tasks
from socialsite.core import db
from socialsite.core.models import DayCount, Event
from socialsite.core.staff_home import tiles as core_tiles
from socialsite.staff_home.charts import LEAST, chart, top_of
from socialsite.staff_home.contents import DAYS, TILES
from socialsite.tests.standstill import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
TILE = re.compile(
    r'<li class="tile (\w+)">\s*<h3>(?:<a href="([^"]*)">)?([^<]*)(?:</a>)?</h3>'
    r'\s*<p><strong class="figure">([^<]*)</strong> ([^<]*)</p>'
)
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
CHECKS = (
    "Wrong counts of follows",
    "Wrong counts of likes",
    "Wrong places in feeds",
    "Wrong posts in search",
)


@pytest.fixture
def admin(make_user: Make) -> User:
    return accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)


@pytest.fixture
def moderator(make_user: Make) -> User:
    return accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


def page_of(user: User) -> str:
    return text_of(browser_of(user).get("/admin/"))


def tiles(user: User) -> dict[str, tuple[str, str, str]]:
    """Return title → (state, value, text) of the tiles that a person sees."""
    found = TILE.findall(page_of(user))
    return {
        title: (state, unescape(value), unescape(text).replace("\xa0", " "))
        for state, _address, title, value, text in found
    }


def waits(number: int, since: timedelta = timedelta()) -> None:
    """Let people wait for a decision."""
    for one in range(number):
        SignUpRequest.objects.create(
            state=SignUpRequest.State.WAITING,
            username=f"waits{one}",
            username_key=f"waits{one}",
            nickname="Waits",
            changed_at=timezone.now() - since,
        )


# --- tiles --------------------------------------------------------------------------------------
def test_a_new_site_is_calm(admin: User) -> None:
    found = tiles(admin)
    assert found["Open cases"] == ("calm", "0", "No report is open.")
    assert found["Sign-ups that wait"] == ("calm", "0", "Nobody waits for a decision.")
    assert found["Failed events"] == ("calm", "0", "No event failed.")
    for title in CHECKS:
        assert found[title] == ("unknown", "–", "There was no check yet.")
    assert not [title for title, (state, *_) in found.items() if state == "calls"]


def test_moderators_see_the_work_and_not_the_machine(admin: User, moderator: User) -> None:
    assert list(tiles(moderator)) == ["Open cases", "Appeals", "Sign-ups that wait"]
    wanted = [str(tile.title) for tile in TILES if str(tile.title) != "Disk of other data"]
    assert list(tiles(admin)) == wanted
    assert 'class="chart"' in page_of(moderator)


def test_open_cases_are_counted_with_the_age_of_the_oldest_report(
    moderator: User, make_user: Make, make_post: Make
) -> None:
    posts = [make_post(make_user()).pk for _ in range(3)]
    for post in posts:
        for _ in range(2):
            actions.report(make_user(), ReportedKind.POST, post, "spam")
    for post, hours in zip(posts, (50, 30, 1), strict=True):
        case = Case.objects.get(subject_id=post)
        Report.objects.filter(case=case).update(created_at=db.now_ms() - hours * HOUR_MS)
    state, value, text = tiles(moderator)["Open cases"]
    assert (state, value, text) == ("calls", "3", "The oldest open report came 2 days ago.")
    actions.dismiss_reports(moderator, Case.objects.get(subject_id=posts[0]).pk)
    _state, value, text = tiles(moderator)["Open cases"]
    assert (value, text) == ("2", "The oldest open report came 1 day ago.")
    assert 'href="/admin/interactions/case/"' in page_of(moderator)


def test_sign_ups_that_wait_are_counted_without_those_of_other_states(moderator: User) -> None:
    waits(2, timedelta(hours=5))
    SignUpRequest.objects.create(
        state=SignUpRequest.State.UNCONFIRMED, username="other1", nickname="Other"
    )
    text = "The first person has waited for 5 hours."
    assert tiles(moderator)["Sign-ups that wait"] == ("calls", "2", text)
    assert 'href="/admin/accounts/signuprequest/"' in page_of(moderator)


def test_open_appeals_are_counted(moderator: User, make_user: Make) -> None:
    person = make_user()
    act = accounts_actions.warn(person, moderator)
    accounts_actions.appeal(person, act.pk, "I object")
    state, value, text = tiles(moderator)["Appeals"]
    assert (state, value) == ("calls", "1")
    assert "The first person has waited for" in text
    accounts_actions.undo(act.pk, moderator)
    assert tiles(moderator)["Appeals"] == ("calm", "0", "Nobody waits for a decision.")


def test_no_more_rows_are_counted_than_a_bound(
    moderator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_tiles, "COUNTED_MAX", 3)
    waits(3)
    assert tiles(moderator)["Sign-ups that wait"][1] == "3"
    SignUpRequest.objects.filter(state=SignUpRequest.State.WAITING).delete()
    waits(5)
    with CaptureQueriesContext(connection) as queries:
        assert tiles(moderator)["Sign-ups that wait"][1] == "3+"
    counting = [one["sql"] for one in queries if "accounts_signuprequest" in one["sql"]]
    assert counting
    assert all("LIMIT" in sql for sql in counting)


def test_failed_events_call_for_an_admin(admin: User) -> None:
    Event.objects.create(aggregate_type="x", aggregate_id=1, type="X", payload={}, dead=True)
    Event.objects.create(aggregate_type="x", aggregate_id=2, type="X", payload={})
    state, value, _text = tiles(admin)["Failed events"]
    assert (state, value) == ("calls", "1")


def checks(wrong: int, hours: int = 5, *, fixed: bool = False) -> None:
    """Store a result of each nightly check."""
    at = db.now_ms() - hours * HOUR_MS
    CountCheck.objects.create(
        finished_at=at,
        people=9,
        wrong=wrong,
        following=wrong,
        followers=0,
        friends=0,
        blocked=0,
        fixed=fixed,
    )
    InteractionCheck.objects.create(finished_at=at, rows=9, wrong=wrong, fixed=fixed)
    FeedCheck.objects.create(finished_at=at, viewers=9, pages=9, unsettled=0, differences=wrong)
    SearchCheck.objects.create(finished_at=at, posts=9, wrong=wrong)


def test_the_newest_check_counts(admin: User) -> None:
    checks(7)
    checks(0)
    found = tiles(admin)
    for title in CHECKS:
        assert found[title] == ("calm", "0", "All are right. The check was 5 hours ago.")
    checks(4)
    found = tiles(admin)
    for title in CHECKS:
        assert found[title] == ("calls", "4", "They are wrong. The check was 5 hours ago.")
    checks(4, fixed=True)
    found = tiles(admin)
    for title in CHECKS[:2]:
        assert found[title][2] == "They were wrong and are corrected. The check was 5 hours ago."


def test_an_old_check_calls_even_if_all_was_right(admin: User) -> None:
    checks(0, hours=47)
    assert {tiles(admin)[title][0] for title in CHECKS} == {"calm"}
    for model in (CountCheck, InteractionCheck, FeedCheck, SearchCheck):
        model._default_manager.all().delete()
    checks(0, hours=49)
    assert {tiles(admin)[title][0] for title in CHECKS} == {"calls"}


def test_the_room_on_the_disk_and_the_size_of_the_database_are_shown(
    admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "MEDIA_MIN_FREE_PERCENT", 0)
    found = tiles(admin)
    state, value, text = found["Disk of uploads"]
    assert state == "calm"
    assert re.fullmatch(r"[\d.]+ [MGTP]B", value.replace("\xa0", " "))
    assert re.fullmatch(r"of [\d.]+ [MGTP]B are free\.", text)
    assert found["Size of the database"][1] != "0\xa0bytes"
    monkeypatch.setattr(settings, "MEDIA_MIN_FREE_PERCENT", 100)
    state, _value, text = tiles(admin)["Disk of uploads"]
    assert (state, text) == ("calls", "Uploads are refused until there is more space.")


def test_a_missing_folder_is_unknown_and_the_page_is_there(
    admin: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "MEDIA_ROOT", tmp_path / "missing")
    found = tiles(admin)
    unknown = ("unknown", "?", "This is unknown at the moment.")
    assert found["Disk of uploads"] == unknown
    assert found["Disk of other data"][0] == "calm"  # nobody knows that it is the same disk
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "gone")
    assert tiles(admin)["Disk of other data"] == unknown
    assert tiles(admin)["Open cases"][1] == "0"


def test_the_page_needs_no_redis(admin: User, dead_redis: Make) -> None:
    browser = browser_of(admin)
    with dead_redis():
        assert "Open cases" in text_of(browser.get("/admin/"))


# --- numbers by day -----------------------------------------------------------------------------
def numbers(kind: str) -> dict[str, int]:
    """Return the days that have a number other than 0."""
    rows = DayCount.objects.filter(kind=kind).exclude(number=0)
    return {str(day): number for day, number in rows.values_list("day", "number")}


@pytest.fixture
def midnight(clock: Clock) -> datetime:
    """The end of yesterday; the database's clock shows a minute later."""
    found = datetime(2027, 1, 15, tzinfo=UTC)
    clock.now = round(found.timestamp() * 1000) + 60_000
    return found


def test_posts_are_counted_by_the_day_of_their_publication(
    author: User, clock: Clock, midnight: datetime
) -> None:
    end, now = clock.now - 60_000, clock.now
    made = []
    for at in (end - 2 * DAY_MS, end - DAY_MS - 1, end - DAY_MS, end - 1, end):
        clock.now = at
        made.append(feeds_actions.publish(author, content=f"at {at}"))
    clock.now = now
    feeds_actions.delete(author, made[3].pk)
    assert Post.objects.filter(is_deleted=True).count() == 1
    tasks.count_days()
    assert numbers("posts") == {"2027-01-13": 2, "2027-01-14": 2}
    tasks.count_days()
    assert numbers("posts") == {"2027-01-13": 2, "2027-01-14": 2}


def test_accounts_are_counted_by_the_day_when_they_were_made(
    make_user: Make, midnight: datetime
) -> None:
    moments = [
        midnight - timedelta(days=1, microseconds=1),
        midnight - timedelta(days=1),
        midnight - timedelta(microseconds=1),
        midnight,
    ]
    for moment in moments:
        User.objects.filter(pk=make_user().pk).update(created_at=moment)
    tasks.count_days()
    assert numbers("sign_ups") == {"2027-01-13": 1, "2027-01-14": 2}


def test_reports_are_counted_whether_or_not_their_case_is_closed(
    make_user: Make, make_post: Make, moderator: User, clock: Clock, midnight: datetime
) -> None:
    end, now = clock.now - 60_000, clock.now
    posts = [make_post(make_user()).pk for _ in range(4)]
    for post, at in zip(posts, (end - DAY_MS - 1, end - DAY_MS, end - 1, end), strict=True):
        clock.now = at
        actions.report(make_user(), ReportedKind.POST, post, "spam")
    clock.now = now
    actions.dismiss_reports(moderator, Case.objects.get(subject_id=posts[1]).pk)
    tasks.count_days()
    assert numbers("reports") == {"2027-01-13": 1, "2027-01-14": 2}


def test_people_are_counted_soon_after_their_day_or_never(
    make_user: Make, clock: Clock, midnight: datetime
) -> None:
    User.objects.update(last_seen=midnight - timedelta(days=9))
    for before in (timedelta(days=1, microseconds=1), timedelta(days=1), timedelta(seconds=1)):
        User.objects.filter(pk=make_user().pk).update(last_seen=midnight - before)
    clock.now += HOUR_MS
    tasks.count_days()
    assert not DayCount.objects.filter(kind="people").exists()
    clock.now -= HOUR_MS
    tasks.count_days()
    assert DayCount.objects.filter(kind="people").count() == 1
    assert numbers("people") == {"2027-01-14": 2}
    User.objects.update(last_seen=midnight + timedelta(days=1))
    tasks.count_days()
    assert numbers("people") == {"2027-01-14": 2}


def test_the_schedule_counts_within_the_hour_after_midnight() -> None:
    entry = settings.CELERY_BEAT_SCHEDULE["count-days"]
    assert entry["task"] == tasks.count_days.name
    assert entry["schedule"].hour == {0}


# --- charts -------------------------------------------------------------------------------------
def test_the_charts_and_the_table_show_the_stored_numbers(moderator: User) -> None:
    today = timezone.now().date()
    yesterday, before = today - timedelta(days=1), today - timedelta(days=2)
    for day, number in ((yesterday, 12_345), (before, 0), (today, 77), (today - timedelta(99), 88)):
        DayCount.objects.create(kind="posts", day=day, number=number)
    page = page_of(moderator)
    assert page.count('role="img"') == len(DAYS) == 4
    assert "12,345 in 2 days; most on" in page
    assert f"<title>{yesterday}: 12,345</title>" in page
    assert f"<title>{before}: 0</title>" in page
    row = page[page.index(f"{yesterday:%m-%d}</th>") :]
    assert re.findall(r"<td>([^<]*)</td>", row)[:8] == ["–", "–", "12,345", "–", "–", "–", "0", "–"]
    assert f"{today:%m-%d}</th>" not in page
    assert "77" not in re.findall(r"<td>([^<]*)</td>", page)
    assert "style=" not in page[page.index('class="staff-home"') : page.index("</details>")]


def test_the_number_of_queries_does_not_depend_on_the_rows(
    admin: User, make_user: Make, make_post: Make
) -> None:
    browser = browser_of(admin)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            text_of(browser.get("/admin/"))
        return len(queries)

    cost()
    first = cost()
    waits(5)
    checks(3)
    for _ in range(4):
        actions.report(make_user(), ReportedKind.POST, make_post(make_user()).pk, "spam")
    tasks.count_days()
    assert cost() == first


DAYS_OF_TEST = [date(2027, 1, 1) + timedelta(days=one) for one in range(4)]


def test_bars_are_as_high_as_their_numbers() -> None:
    known = dict(zip(DAYS_OF_TEST, (0, 1, 500), strict=False))
    made = chart("x", "X", DAYS_OF_TEST, known)
    assert made.labels == ["600", "300", "0"]
    assert [bar.height for bar in made.bars] == [0, LEAST, 83, 100]
    assert [bar.known for bar in made.bars] == [True, True, True, False]
    assert all(bar.y + bar.height == made.height for bar in made.bars)
    places = [bar.x for bar in made.bars]
    assert all(one + made.bar <= two for one, two in itertools.pairwise(places))
    assert places[-1] + made.bar <= made.width
    assert made.description == "501 in 3 days; most on 2027-01-03: 500. The table has all."


def test_a_chart_without_numbers_says_so() -> None:
    made = chart("x", "X", DAYS_OF_TEST, {})
    assert (made.description, made.labels) == ("There are no numbers yet.", ["2", "1", "0"])
    assert not any(bar.known for bar in made.bars)


@pytest.mark.parametrize(
    ("most", "top"), [(0, 2), (1, 2), (2, 2), (3, 4), (7, 8), (10, 10), (11, 20), (999, 1000)]
)
def test_an_axis_ends_at_a_round_number(most: int, top: int) -> None:
    assert top_of(most) == top
