"""The run of all checks, and the command that prints them."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils.translation import gettext_lazy

from socialsite.core import db
from socialsite.core.models import ScheduledRun
from socialsite.doctor import running
from socialsite.doctor.contents import CHECKS
from socialsite.doctor.findings import ERROR, OK, UNKNOWN, WARNING, Check, Finding, error, warning
from socialsite.management.commands import doctor

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def check(*found: Finding, raises: Exception | None = None, name: str = "one") -> Check:
    """A check that finds this, and then raises."""

    def run() -> Iterator[Finding]:
        yield from found
        if raises:
            raise raises

    return Check(name, gettext_lazy("Keys"), run)


def printed(monkeypatch: Any, *checks: Check, **options: Any) -> tuple[str, int]:
    """Return what the command prints about these checks, and its exit code."""
    monkeypatch.setattr(doctor, "CHECKS", checks)
    out = io.StringIO()
    try:
        call_command("doctor", stdout=out, **options)
    except SystemExit as end:
        return out.getvalue(), int(str(end.code))
    return out.getvalue(), 0


@pytest.fixture
def well(settings: Any) -> Iterator[None]:
    """Services as a deployment has them: the tests' database is not durable, and no worker runs."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    ScheduledRun.objects.update_or_create(name="relay-events", defaults={"last_run": db.now_ms()})
    if not db.is_mysql():
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")
        before = cursor.fetchone()[0]
        cursor.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        yield
        cursor.execute("SET GLOBAL innodb_flush_log_at_trx_commit = %s", [before])


def test_a_good_site_has_no_error_and_nothing_unknown(well: None, settings: Any) -> None:
    settings.MEDIA_MIN_FREE_PERCENT = 0
    found = [one for _, findings in running.run(CHECKS, 250.0) for one in findings]
    bad = [one for one in found if one.level in (ERROR, UNKNOWN) and one.check != "disk"]
    assert bad == []
    assert {one.check for one in found} == {one.name for one in CHECKS}


def test_every_problem_has_advice(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path / "none"
    found = [one for _, findings in running.run(CHECKS, 250.0) for one in findings]
    assert all(one.advice for one in found if one.level in (WARNING, ERROR))


def test_a_check_that_raises_is_unknown_and_ends_nothing() -> None:
    reason = RuntimeError("no answer from redis://:secret@host:6379")
    broken, next_one = check(warning("Kept.", "Do."), raises=reason), check(error("Bad.", "Do."))
    (_, first), (_, second) = running.run([broken, next_one])
    assert [one.level for one in first] == [WARNING, UNKNOWN]
    assert "RuntimeError: no answer from" in first[1].text
    assert "secret" not in first[1].text
    assert [one.level for one in second] == [ERROR]


def test_a_reason_that_several_checks_have_is_told_once() -> None:
    checks = [check(raises=OSError("no route")) for _ in range(2)]
    first, second = (findings[0] for _, findings in running.run(checks))
    assert "no route" in first.text
    assert (second.text, second.level) == (
        "This could not be checked either, for the same reason.",
        UNKNOWN,
    )


def test_checks_after_the_end_of_the_time_are_not_started() -> None:
    ((_, found),) = running.run([check(error("Bad.", "Do."))], seconds=0.0)
    assert [one.level for one in found] == [UNKNOWN]
    assert "too long" in found[0].text


@pytest.mark.parametrize(
    ("level", "usual", "strict"), [(OK, 0, 0), (UNKNOWN, 0, 0), (WARNING, 0, 1), (ERROR, 1, 1)]
)
def test_the_exit_code_says_whether_somebody_must_act(
    monkeypatch: Any, level: str, usual: int, strict: int
) -> None:
    one = check(Finding(level, "It is so.", "Do this."))
    text, code = printed(monkeypatch, one)
    assert code == usual
    assert printed(monkeypatch, one, strict=True)[1] == strict
    assert f"{level:<7} It is so." in text
    assert "→ Do this." in text


def test_json_has_every_finding(monkeypatch: Any) -> None:
    text, code = printed(monkeypatch, check(error("Bad.", "Do.")), check(name="two"), json=True)
    assert json.loads(text) == {
        "level": ERROR,
        "findings": [{"level": ERROR, "text": "Bad.", "advice": "Do.", "check": "one"}],
    }
    assert code == 1


def test_the_command_speaks_english(monkeypatch: Any, settings: Any) -> None:
    settings.LANGUAGE_CODE = "zh-hans"
    assert printed(monkeypatch, check(warning("It.", "Do.")))[0].startswith("Keys ")


def test_a_mail_is_sent_on_demand_only(
    monkeypatch: Any, settings: Any, mailoutbox: list[Any]
) -> None:
    printed(monkeypatch, check(warning("It.", "Do.")))
    assert mailoutbox == []
    text, _code = printed(monkeypatch, check(), mail="me@example.org")
    assert [mail.to for mail in mailoutbox] == [["me@example.org"]]
    assert "me@example.org" in text
