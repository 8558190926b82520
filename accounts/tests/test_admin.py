"""The admin: what staff see and do, by the site's own credential, and the audit trail (T9, T10)."""

import pytest
from django.db import connection, transaction

from accounts import actions
from accounts.models import AuditEntry, Role, User
from interactions import actions as interactions
from relations.tests.helpers import at_once
from socialsite.core.errors import AppError, Forbidden

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
MODERATOR, ADMIN = Role.MEMBER | Role.MODERATOR, Role.MEMBER | Role.ADMIN


@pytest.fixture
def alice(make_user) -> User:
    return make_user("alice1")


@pytest.fixture
def make_staff(make_user):
    """Return a function that makes somebody with roles."""

    def make(roles: int = ADMIN, name: str | None = None) -> User:
        return actions.promote(make_user(name), roles)

    return make


def notes() -> list[tuple]:
    """The trail but for what `make_staff` left in it: who, what, to whom."""
    rows = AuditEntry.objects.exclude(actor=None).order_by("id")
    return list(rows.values_list("actor_id", "action", "subject_type", "subject_id"))


# --- acts of staff ------------------------------------------------------------------------------
def test_every_act_on_a_person_is_noted_once_with_who_and_from_where(alice, make_staff) -> None:
    admin = make_staff()
    acts = {
        "ban": lambda: actions.ban(alice, admin, "203.0.113.9"),
        "unban": lambda: actions.unban(alice, admin, "203.0.113.9"),
        "force_offline": lambda: actions.force_offline(alice, admin, "203.0.113.9"),
        "roles": lambda: actions.promote(alice, MODERATOR, admin, "203.0.113.9"),
    }
    for act in acts.values():
        act()
    assert notes() == [(admin.pk, name, "user", alice.pk) for name in acts]
    assert set(AuditEntry.objects.filter(actor=admin).values_list("address", flat=True)) == {
        "203.0.113.9"
    }
    last = AuditEntry.objects.latest("id")
    assert last.detail == {"from": ["member"], "to": ["member", "moderator"]}
    for name in ("unban", "roles"):  # nothing to change
        acts[name]()
    assert len(notes()) == 4


def test_what_a_command_does_is_noted_without_an_actor(alice) -> None:
    actions.promote(alice, ADMIN)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject_id) == (None, "roles", alice.pk)


def test_an_act_that_fails_leaves_no_note(alice, make_staff) -> None:
    admin = make_staff()

    @transaction.atomic
    def fail() -> None:
        actions.ban(alice, admin)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    alice.refresh_from_db()
    assert (alice.is_active, notes()) == (True, [])


ACTS = {
    "ban": actions.ban,
    "unban": actions.unban,
    "force_offline": actions.force_offline,
    "roles": lambda user, actor: actions.promote(user, MODERATOR, actor),
}
ALLOWED = {
    (MODERATOR, Role.MEMBER): {"ban", "unban", "force_offline"},
    (ADMIN, Role.MEMBER): set(ACTS),
    (ADMIN, MODERATOR): set(ACTS),
    (ADMIN, ADMIN): set(ACTS),
}


@pytest.mark.parametrize("theirs", [Role.MEMBER, MODERATOR, ADMIN])
@pytest.mark.parametrize("mine", [Role.MEMBER, MODERATOR, ADMIN])
def test_who_may_do_what_to_whom(mine, theirs, make_staff) -> None:
    me = make_staff(mine)
    allowed = set()
    for name, act in ACTS.items():
        other = make_staff(theirs)
        try:
            act(other, me)
            allowed.add(name)
        except Forbidden:
            pass
    assert allowed == ALLOWED.get((mine, theirs), set())


@pytest.mark.parametrize("name", ACTS)
def test_nobody_acts_on_themselves(name, make_staff) -> None:
    me = make_staff()
    with pytest.raises(Forbidden):
        ACTS[name](me, me)


def test_a_role_lost_a_moment_ago_gives_no_power(alice, make_staff) -> None:
    me = make_staff()
    stale = User.objects.get(pk=me.pk)
    actions.promote(me, Role.MEMBER)
    assert stale.is_superuser
    with pytest.raises(Forbidden):
        actions.ban(alice, stale)


def test_a_banned_admin_has_no_power(alice, make_staff) -> None:
    me, other = make_staff(), make_staff()
    actions.ban(me, other)
    with pytest.raises(Forbidden):
        actions.force_offline(alice, me)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
@pytest.mark.parametrize("name", ["ban", "roles"])
def test_of_two_admins_who_act_on_each_other_one_is_left(name, make_staff) -> None:
    for _ in range(10):
        one, two = make_staff(), make_staff()
        results = at_once(
            [lambda a=one, b=two: ACTS[name](a, b), lambda a=two, b=one: ACTS[name](a, b)]
        )
        errors = [result for result in results if isinstance(result, Exception)]
        assert [type(error) for error in errors] == [Forbidden], results
        left = User.objects.filter(pk__in=[one.pk, two.pk], banned_at=None, roles=ADMIN)
        assert left.count() == 1


def test_what_staff_delete_is_noted_what_people_delete_is_not(
    alice, make_user, make_staff, make_post, api_for
) -> None:
    moderator, other = make_staff(MODERATOR), make_user()
    own, post, under = make_post(alice), make_post(alice), make_post(alice)
    mine, theirs = (interactions.comment(other, under.pk, "words") for _ in range(2))
    assert api_for(alice).delete(f"/api/v1/posts/{own.pk}").status_code == 204
    assert api_for(other).delete(f"/api/v1/comments/{mine.pk}").status_code == 204
    assert notes() == []
    staff = api_for(moderator)
    assert staff.delete(f"/api/v1/posts/{post.pk}").status_code == 204
    assert staff.delete(f"/api/v1/comments/{theirs.pk}").status_code == 204
    assert notes() == [
        (moderator.pk, "delete_post", "post", post.pk),
        (moderator.pk, "delete_comment", "comment", theirs.pk),
    ]
    assert AuditEntry.objects.latest("id").address == "127.0.0.1"
    with pytest.raises(AppError):
        actions.ban(moderator, alice)
