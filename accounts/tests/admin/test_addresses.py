"""IP addresses: which staff see them whole, and when they are erased."""

import logging
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import actions, addresses
from accounts.models import AuditEntry, Role, TokenVersion, User
from accounts.tasks import erase_addresses
from socialsite.tests.browser.scraper import scrape

pytestmark = pytest.mark.django_db

MODERATOR, ADMIN = Role.MEMBER | Role.MODERATOR, Role.MEMBER | Role.ADMIN
V4, V6 = "203.0.113.77", "2001:db8:1:2::77"
NETWORK_V4, NETWORK_V6 = "203.0.113.0/24", "2001:db8:1::/48"
TRAIL, DEVICES = "/admin/accounts/auditentry/", "/admin/accounts/tokenversion/"


@pytest.fixture
def staff(make_user: Any) -> Callable[[int], Client]:
    """Return a function that creates a staff member and returns their browser."""

    def make(roles: int) -> Client:
        browser = Client()
        user = actions.promote(make_user(), roles)
        pair = actions.sign_in(user, "chrome")
        browser.cookies["access"], browser.cookies["refresh"] = pair
        return browser

    return make


@pytest.fixture
def person(make_user: Any) -> User:
    """A person who signed in and acted by IPv4 and IPv6."""
    user = make_user("person1")
    for client, address in (("ios", V4), ("android", V6)):
        actions.sign_in(user, client, "", address)
        actions.kick(user, client, address=address)
    return user


def pages(person: User) -> list[str]:
    """Return all admin pages that show addresses."""
    rows = TokenVersion.objects.filter(user=person).exclude(address="").order_by("pk")
    entries = AuditEntry.objects.exclude(address="").order_by("pk")
    return [
        f"/admin/accounts/user/{person.pk}/change/",
        TRAIL,
        *(f"{TRAIL}{entry.pk}/change/" for entry in entries),
        *(f"{DEVICES}{row.pk}/change/" for row in rows),
    ]


# --- who sees them ------------------------------------------------------------------------------
@pytest.mark.once
def test_moderators_see_networks_and_admins_see_addresses(staff: Any, person: User) -> None:
    moderator, admin = staff(MODERATOR), staff(ADMIN)
    for page in (*pages(person), DEVICES):
        for browser, own, other in (
            (moderator, (NETWORK_V4, NETWORK_V6), (V4, V6)),
            (admin, (V4, V6), (NETWORK_V4, NETWORK_V6)),
        ):
            answer = browser.get(page)
            assert answer.status_code == 200
            text = answer.content.decode()
            assert not [address for address in other if address in text], page
            assert page == DEVICES or [address for address in own if address in text], page


@pytest.mark.once
def test_moderators_find_out_no_address_by_a_filter(staff: Any, person: User) -> None:
    moderator = staff(MODERATOR)
    for page in (TRAIL, DEVICES):
        for lookup in ("address", "address__startswith", "address_at__gt", "network"):
            answer = moderator.get(page, {lookup: V4})
            refused = answer.status_code == 400 or answer.headers["Location"].endswith("?e=1")
            assert refused, (page, lookup)


@pytest.mark.once
@pytest.mark.parametrize("page", [TRAIL, DEVICES])
def test_moderators_find_out_no_address_by_the_order_or_by_a_search(
    staff: Any, person: User, page: str
) -> None:
    moderator = staff(MODERATOR)

    def rows(**query: str) -> list[str]:
        text = moderator.get(page, query).content.decode()
        return re.findall(r'<t[dh] class="field-(?:created_at|user).*?</tr>', text, re.DOTALL)

    links = re.findall(r'column-(\w+)"', moderator.get(page).content.decode())
    sortable = re.findall(r"sortable column-(\w+)", moderator.get(page).content.decode())
    assert links
    assert not {"address", "network"} & set(sortable)
    assert rows()
    if page == TRAIL:
        column = str(1 + links.index("network"))
        assert rows(o=column) == rows(o=f"-{column}") == rows()
    assert rows(q=V4) == []


@pytest.mark.once
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (V4, NETWORK_V4),
        (V6, NETWORK_V6),
        (f"::ffff:{V4}", NETWORK_V4),
        ("fe80::1%eth0", "fe80::/48"),
        ("", ""),
        ("no address", ""),
    ],
)
def test_an_address_is_masked_to_its_network(address: str, shown: str) -> None:
    assert addresses.masked(address) == shown


def test_moderators_see_their_own_devices_whole(make_user: Any) -> None:
    moderator = actions.promote(make_user(), MODERATOR)
    browser = Client()
    pair = actions.sign_in(moderator, "chrome", "", V4)
    browser.cookies["access"], browser.cookies["refresh"] = pair
    assert V4 in browser.get("/settings/devices").content.decode()


@pytest.mark.once
def test_no_address_is_logged(make_user: Any, caplog: pytest.LogCaptureFixture) -> None:
    make_user("person1")
    browser = Client(REMOTE_ADDR=V4, enforce_csrf_checks=True)
    guest = Client(REMOTE_ADDR=V4)
    with caplog.at_level(logging.DEBUG):
        assert browser.post("/login", {"username": "person1"}).status_code == 403
        assert guest.get("/nothing/here").status_code == 404
        for password, status in (("wrong.pass1", 401), ("right.pass1", 303)):
            data = {"username": "person1", "password": password}
            assert guest.post("/login", data).status_code == status
        assert guest.post("/login", b"{", content_type="multipart/form-data").status_code == 400
    assert caplog.records
    assert V4 not in caplog.text
    assert V4 in found()


# --- how long they stay -------------------------------------------------------------------------
def shift(days: float) -> None:
    """Make all stored addresses this many days older."""
    at = timezone.now() - timedelta(days=days)
    TokenVersion.objects.exclude(address="").update(address_at=at)
    AuditEntry.objects.exclude(address="").update(address_at=at)


def found() -> list[str]:
    """Return all stored addresses."""
    return sorted(
        address
        for table in (TokenVersion, AuditEntry)
        for address in table.objects.exclude(address="").values_list("address", flat=True)
    )


def test_addresses_are_erased_after_their_days_and_the_rows_stay(
    settings: Any, person: User
) -> None:
    settings.IP_DAYS = 7
    rows = TokenVersion.objects.count(), AuditEntry.objects.count()
    shift(6.99)
    erase_addresses()
    assert found() == sorted([V4, V6] * 2)
    shift(7.01)
    actions.sign_in(person, "ios", "", "198.51.100.1")
    actions.kick(person, "ios", address="198.51.100.2")
    erase_addresses()
    assert found() == ["198.51.100.1", "198.51.100.2"]
    left = TokenVersion.objects.filter(address="", address_at__isnull=False)
    assert not left.exists()
    assert (TokenVersion.objects.count(), AuditEntry.objects.count()) == (rows[0], rows[1] + 1)


def test_many_are_erased_in_small_steps(monkeypatch: pytest.MonkeyPatch, person: User) -> None:
    monkeypatch.setattr(addresses, "STEP", 1)
    shift(31)
    assert addresses.erase_old() == 2
    assert len(found()) == 2
    erase_addresses()
    assert found() == []


@pytest.mark.parametrize("table", [TokenVersion, AuditEntry])
def test_old_addresses_are_found_by_an_index(person: User, table: Any) -> None:
    columns = connection.introspection.get_constraints(
        connection.cursor(), table._meta.db_table
    ).values()
    assert [one for one in columns if one["index"] and one["columns"] == ["address_at"]]
    old = addresses._old(table).order_by("address_at").values_list("pk", flat=True)[:1]
    assert "address_at" in old.explain()


def test_a_sign_in_meanwhile_stores_the_new_address(person: User) -> None:
    shift(31)
    TokenVersion.objects.filter(client="android").update(address="", address_at=None)

    def sign_in_first(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE") and "token" in sql and not seen:
            seen.append(sql)
            TokenVersion.objects.filter(client="ios").update(
                address="198.51.100.1", address_at=timezone.now()
            )
        return execute(sql, *rest)

    seen: list[str] = []
    with connection.execute_wrapper(sign_in_first):
        erase_addresses()
    assert seen
    assert found() == ["198.51.100.1"]


def test_without_days_no_address_is_stored_and_those_from_before_go(
    settings: Any, person: User
) -> None:
    settings.IP_DAYS = 0
    actions.sign_in(person, "edge", "", V4)
    actions.kick(person, "edge", address=V4)
    assert not TokenVersion.objects.get(client="edge").address
    assert not AuditEntry.objects.latest("pk").address
    erase_addresses()
    assert found() == []


@pytest.mark.once
def test_the_scheduler_of_both_modes_erases_them_every_hour(settings: Any) -> None:
    entry = settings.CELERY_BEAT_SCHEDULE["erase-addresses"]
    assert entry["task"] in current_app.tasks
    assert entry["schedule"] <= timedelta(hours=1)


@pytest.mark.once
def test_metrics_show_how_long_an_address_is_overdue(person: User) -> None:
    def overdue() -> float:
        text = scrape()
        line = re.search(r"^socialsite_ip_addresses_overdue_seconds (\S+)$", text, re.MULTILINE)
        assert line
        return float(line[1])

    assert overdue() == 0
    shift(29)
    assert overdue() == 0
    shift(32)
    assert 2 * 86_400 <= overdue() < 2 * 86_400 + 3600
    erase_addresses()
    assert overdue() == 0
