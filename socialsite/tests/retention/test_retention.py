"""Every kind of data is kept for as long as `/privacy` says, and then deleted at night."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Closing, Failures, KeptName, SignIn, SignUpRequest, StaffAct, User
from feeds.models import Draft
from interactions.models import Notification, NotificationReader
from socialsite import retention, tasks
from socialsite.core import ids
from socialsite.core import retention as core_retention
from socialsite.core.models import Export, IdempotencyKey, Import, Media
from socialsite.core.retention import Kept, ms

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

Make = Callable[..., Any]
NAMES = [one.name for one in retention.KEPT]


def _sign_up(state: str) -> Callable[[User, datetime], Any]:
    def make(user: User, at: datetime) -> Any:
        name = f"n{ms(at) % 10**10}"
        return SignUpRequest.objects.create(
            state=state, username=name, username_key=name, changed_at=at
        )

    return make


def _taken(user: User, at: datetime) -> Any:
    ident = ids.first_of(ms(at))
    return StaffAct.objects.create(
        id=ident, kind="take_bio", user=user, taken="words", created_at=at
    )


def _closed(user: User, at: datetime) -> Any:
    name = f"c{ms(at) % 10**10}"
    other = User.objects.create(username=name, username_key=name, nickname=name)
    return Closing.objects.create(user=other, closed_at=at, erase_at=at)


def _notification(user: User, at: datetime) -> Any:
    NotificationReader.objects.get_or_create(user=user)
    return Notification.objects.create(user=user, kind=1, subject_id=ms(at), touched_at=ms(at))


# How a row of each kind is made whose time begins at a moment.
MAKERS: dict[str, Callable[[User, datetime], Any]] = {
    "addresses": lambda user, at: SignIn.objects.create(
        user=user, client="ios", address="203.0.113.7", address_at=at
    ),
    "sign-ins": lambda user, at: SignIn.objects.create(
        id=ids.first_of(ms(at)), user=user, client="ios"
    ),
    "failed attempts": lambda user, at: Failures.objects.create(key=str(at), last_at=ms(at)),
    "sign-ups: unconfirmed": _sign_up("unconfirmed"),
    "sign-ups: waiting": _sign_up("waiting"),
    "sign-ups: refused": _sign_up("refused"),
    "taken parts": _taken,
    "closed accounts": _closed,
    "names": lambda user, at: KeptName.objects.create(
        digest=str(at), until=at + timedelta(days=365)
    ),
    "drafts": lambda user, at: Draft.objects.create(
        author=user, created_at=ms(at), updated_at=ms(at)
    ),
    "notifications": _notification,
    "uploads": lambda user, at: Media.objects.create(
        owner_id=user.pk, name=f"ab/{ms(at)}.jpg", width=1, height=1, size=1, created_at=at
    ),
    "archives": lambda user, at: Export.objects.create(
        owner_id=user.pk, state="ready", due_at=0, created_at=ms(at), finished_at=ms(at)
    ),
    "imports": lambda user, at: Import.objects.create(
        owner_id=user.pk, kind="follows", state="done", due_at=0, created_at=ms(at)
    ),
    "repeated requests": lambda user, at: IdempotencyKey.objects.create(
        user_id=user.pk, key=str(at), fingerprint="f", created_at=at
    ),
}


def kept(name: str) -> Kept:
    return next(one for one in retention.KEPT if one.name == name)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_old_goes_and_what_is_young_stays(name: str, make_user: Make) -> None:
    row, user, now = kept(name), make_user(), timezone.now()
    limit = timedelta(days=row.days())
    old = MAKERS[name](user, now - limit - timedelta(hours=1))
    young = MAKERS[name](user, now - limit + timedelta(hours=1))

    def found() -> set[Any]:
        return {one.pk for rows in row.old(timezone.now() - limit) for one in rows}

    assert old.pk in found()
    assert young.pk not in found()
    if row.delete is None:
        return
    tasks.apply_retention()
    assert found() == set()
    model = type(young)
    assert model._default_manager.filter(pk=young.pk).exists()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_too_long_is_reported(
    name: str, make_user: Make, caplog: pytest.LogCaptureFixture
) -> None:
    row, user = kept(name), make_user()
    age = timedelta(days=row.days()) + core_retention.GRACE
    MAKERS[name](user, timezone.now() - age + timedelta(hours=1))
    assert row.overdue() == 0
    MAKERS[name](user, timezone.now() - age - timedelta(hours=1))
    assert row.overdue() == 1
    stuck = Kept(row.name, row.title, row.days, row.old)
    core_retention.apply([stuck])
    assert f"1 rows are kept too long: {name}" in caplog.text


def test_one_kind_that_fails_does_not_keep_the_others(
    make_user: Make, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> int:
        raise RuntimeError("broken")

    title = retention.KEPT[0].title
    row = kept("sign-ins")
    MAKERS["sign-ins"](make_user(), timezone.now() - timedelta(days=row.days() + 1))
    core_retention.apply([Kept("broken", title, lambda: 1, lambda _: [], broken), row])
    assert not SignIn.objects.exists()
    assert "old data was not deleted: broken" in caplog.text


def test_the_page_about_privacy_shows_the_table(client: Client, settings: Any) -> None:
    settings.IP_DAYS = 0
    page = client.get("/privacy").content.decode()
    for one in retention.KEPT:
        assert str(one.title) in page
    assert "<td>90 days</td>" in page
    assert "<td>not stored</td>" in page
    assert 'data-testid="kept"' not in client.get("/rules").content.decode()
