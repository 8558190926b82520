"""The page of the admin with the findings, and its tile on the staff home."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import gettext_lazy

from accounts import actions
from accounts.models import Role, User
from accounts.tests.browsers import browser_of, text_of
from socialsite.doctor import reports
from socialsite.doctor.findings import Check, Finding, error, ok

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
ADDRESS = "/admin/doctor/"


@pytest.fixture
def admin(make_user: Make) -> User:
    return actions.promote(make_user(), Role.MEMBER | Role.ADMIN)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[list[int]]:
    """Two checks, the second with an error, and a list that grows with each run."""
    found: list[int] = []

    def bad() -> Iterator[Finding]:
        found.append(len(found))
        yield error("The <disk> is full.", "Buy another one.")

    def good() -> Iterator[Finding]:
        yield ok("All is well.")

    checks = (
        Check("keys", gettext_lazy("Keys"), good),
        Check("disk", gettext_lazy("Disk"), bad),
    )
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(reports, "CHECKS", checks)
    reports.forget()
    yield found
    reports.forget()


def test_an_admin_reads_the_findings_with_the_urgent_ones_first(
    admin: User, runs: list[int]
) -> None:
    page = text_of(browser_of(admin).get(ADDRESS))
    assert "The &lt;disk&gt; is full." in page
    assert re.findall(r'<th scope="rowgroup" rowspan="1">(\w+)</th>', page) == ["Disk", "Keys"]
    assert re.findall(r'<td class="level">(\w+)</td>', page) == ["Error", "OK"]
    assert "Buy another one." in page


def test_others_do_not_see_the_page(make_user: Make, runs: list[int]) -> None:
    moderator = actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    assert browser_of(moderator).get(ADDRESS).status_code == 403
    assert browser_of(moderator).post(ADDRESS).status_code == 403
    assert browser_of(make_user()).get(ADDRESS).status_code in (302, 403)
    assert runs == []
    assert ADDRESS not in text_of(browser_of(moderator).get("/admin/"))


def test_a_report_is_kept_until_somebody_checks_again(admin: User, runs: list[int]) -> None:
    browser = browser_of(admin)
    browser.get(ADDRESS)
    browser.get(ADDRESS)
    assert len(runs) == 1
    answer = browser.post(ADDRESS)
    assert (answer.status_code, answer["Location"]) == (302, ADDRESS)
    browser.get(ADDRESS)
    assert len(runs) == 2


def test_a_report_is_old_after_a_minute(runs: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    reports.current()
    monkeypatch.setattr(reports, "KEPT_SECONDS", 0.0)
    reports.current()
    assert len(runs) == 2


def test_each_language_has_its_report(runs: list[int]) -> None:
    for language in ("en", "zh-hans", "en"):
        with translation.override(language):
            reports.current()
    assert len(runs) == 2


def test_the_tile_says_how_many_findings_there_were(admin: User, runs: list[int]) -> None:
    assert reports.figure().value == "–"
    browser_of(admin).get(ADDRESS)
    figure = reports.figure()
    assert (figure.value, figure.state) == ("1", "calls")
    assert figure.text.startswith("Errors: 1, warnings: 0.")
    assert f'<a href="{ADDRESS}">' in text_of(browser_of(admin).get("/admin/"))


def test_only_the_account_of_the_site_reads_the_summary(runs: list[int], tmp_path: Path) -> None:
    reports.current()
    (path,) = tmp_path.iterdir()
    assert path.name == reports.FILE
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_broken_summary_is_no_summary(runs: list[int], tmp_path: Path) -> None:
    for text in ("", "[]", "{}", '{"at": "x", "error": 1, "warning": 1}'):
        (tmp_path / reports.FILE).write_text(text)
        assert reports.figure().value == "–"
