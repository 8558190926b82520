"""Roles of one's own: what each right opens, and that nobody gives more than they have."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from accounts import actions, queries
from accounts.models import AuditEntry, Role, StaffAct, StaffRole, User
from accounts.tests.browsers import browser_of
from interactions import actions as interactions_actions
from interactions.models import Case, ReportedKind
from relations.tests.helpers import at_once
from socialsite.core.errors import Forbidden, InvalidInput, NotFound
from socialsite.core.rights import ALL, MODERATOR, READING, Right

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
PEOPLE, ROLES = "/admin/accounts/user/", "/admin/accounts/staffrole/"
# The pages of the admin that a right opens, of those that not everybody of staff sees.
PAGES = {
    Right.CASES: "interactions/case",
    Right.APPEALS: "accounts/appeal",
    Right.SIGN_UPS: "accounts/signuprequest",
    Right.TAGS: "feeds/tag",
    Right.SITE: "core/announcement",
    Right.OPERATION: "core/event",
    Right.ROLES: "accounts/staffrole",
}


@pytest.fixture
def make_holder(make_user: Make) -> Make:
    """Return a function that creates a person with a role of these rights."""

    def make(rights: int, name: str = "Helpers") -> User:
        role = actions.save_role(name, rights)
        return actions.promote(make_user(), Role.MEMBER | role.bit)

    return make


@pytest.fixture
def admin_user(make_user: Make) -> User:
    return actions.promote(make_user("admin1"), Role.MEMBER | Role.ADMIN)


def acts_of(actor: User) -> list[str]:
    return list(
        AuditEntry.objects.filter(actor=actor).order_by("pk").values_list("action", flat=True)
    )


# --- what a right opens -------------------------------------------------------------------------
@pytest.mark.parametrize("right", PAGES)
def test_a_right_opens_its_pages_and_no_others(right: Right, make_holder: Make) -> None:
    browser = browser_of(make_holder(right))
    index = browser.get("/admin/").content.decode()
    for other, page in PAGES.items():
        is_open = other == right or (other in (Right.TAGS, Right.OPERATION) and right & READING)
        assert browser.get(f"/admin/{page}/").status_code == (200 if is_open else 403), page
        assert (f'href="/admin/{page}/"' in index) is bool(is_open), page


def test_an_act_needs_its_right(make_holder: Make, make_user: Make, make_post: Make) -> None:
    content, people = make_holder(Right.CONTENT), make_holder(Right.PEOPLE, "Wardens")
    author = make_user()
    post = make_post(author)
    with pytest.raises(Forbidden):
        actions.warn(author, content, "", actions.Grounds("spam", "Please stop."))
    with pytest.raises(Forbidden):
        interactions_actions.dismiss_reports(content, 1)
    with pytest.raises(Forbidden):
        actions.change_site({"contact": "a@example.org"}, people)
    api = "/api/v1/posts/"
    assert browser_of(people).delete(f"{api}{post.pk}").status_code == 403
    assert not queries.moderates(people, Right.CONTENT)
    actions.limit(author, people)
    act = actions.warn(author, people, "", actions.Grounds("spam", "Please stop."))
    with pytest.raises(Forbidden):
        actions.undo(act.pk, content)
    assert acts_of(content) == []
    assert acts_of(people) == ["limit", "warn"]


def test_granting_an_appeal_needs_the_right_to_appeals_alone(
    make_holder: Make, make_user: Make
) -> None:
    judge, warden = make_holder(Right.APPEALS), make_holder(Right.PEOPLE, "Wardens")
    other = actions.promote(make_user(), warden.roles)
    person = make_user()
    actions.ban(person, warden)
    actions.limit(person, warden)
    ban, limit = (StaffAct.objects.get(user=person, kind=kind).pk for kind in ("ban", "limit"))
    for one in (ban, limit):
        actions.appeal(person, one, "I did not do it.")
    with pytest.raises(Forbidden):
        actions.grant_appeal(ban, "", other)
    with pytest.raises(Forbidden):
        actions.unban(person, judge)
    actions.grant_appeal(ban, "You are right.", judge)
    person.refresh_from_db()
    assert person.banned_at is None
    with pytest.raises(Forbidden):
        actions.refuse_appeal(limit, "", other)


def test_the_buttons_of_a_case_are_those_of_the_rights(
    make_holder: Make, make_user: Make, make_post: Make
) -> None:
    post = make_post(make_user())
    interactions_actions.report(make_user(), ReportedKind.POST, post.pk, "spam", "")
    case = Case.objects.get()
    rights = {
        Right.CASES: {"take", "dismiss"},
        Right.CASES | Right.CONTENT: {"take", "dismiss", "delete_reported", "note"},
        Right.CASES | Right.PEOPLE: {"take", "dismiss", "warn", "limit", "suspend", "ban"},
    }
    every = set().union(*rights.values())
    for number, (right, shown) in enumerate(rights.items()):
        browser = browser_of(make_holder(right, f"Role {number}"))
        page = browser.get(f"/admin/interactions/case/{case.pk}/change/").content.decode()
        assert {name for name in every if f'value="{name}"' in page} == shown
        for name in every - shown:
            data = {"action": name, "_selected_action": case.pk, "confirmed": "1", "words": "No."}
            browser.post("/admin/interactions/case/", data)
    case.refresh_from_db()
    post.refresh_from_db()
    assert (case.open_count, post.is_removed, post.author.limited_at) == (1, False, None)


def test_addresses_are_for_those_with_the_right(make_holder: Make, make_user: Make) -> None:
    person = make_user()
    User.objects.filter(pk=person.pk).update(email="hidden@example.org")
    few, more = make_holder(Right.PEOPLE), make_holder(Right.PEOPLE | Right.ADDRESSES, "Trusted")
    page = f"{PEOPLE}{person.pk}/change/"
    assert "hidden@example.org" not in browser_of(few).get(page).content.decode()
    assert "hidden@example.org" in browser_of(more).get(page).content.decode()


def test_a_right_taken_from_a_role_is_lost_at_once(make_holder: Make, make_user: Make) -> None:
    holder, person = make_holder(Right.PEOPLE | Right.CASES), make_user()
    browser = browser_of(holder)
    assert browser.get("/admin/interactions/case/").status_code == 200
    bit = StaffRole.objects.get().bit
    actions.save_role("Helpers", Right.CASES, bit=bit)
    with pytest.raises(Forbidden):
        actions.limit(person, holder)
    actions.save_role("Helpers", Right.PEOPLE, bit=bit)
    assert browser.get("/admin/interactions/case/").status_code == 403


def test_only_admins_act_on_people_with_a_role(
    make_holder: Make, make_user: Make, admin_user: User
) -> None:
    holder = make_holder(Right.TAGS)
    moderator = actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    with pytest.raises(Forbidden):
        actions.ban(holder, moderator)
    actions.ban(holder, admin_user)
    assert User.objects.get(pk=holder.pk).rights == 0


# --- nobody gives more than they have -----------------------------------------------------------
def test_a_giver_gives_and_takes_what_they_have(make_holder: Make, make_user: Make) -> None:
    giver = make_holder(Right.ROLES | Right.TAGS | Right.CASES)
    tags, people = actions.save_role("Tags", Right.TAGS), actions.save_role("Wardens", Right.PEOPLE)
    person = make_user()
    actions.promote(person, Role.MEMBER | tags.bit, giver)
    assert User.objects.get(pk=person.pk).rights == Right.TAGS
    for bit in (people.bit, Role.MODERATOR, Role.ADMIN):
        with pytest.raises(Forbidden):
            actions.promote(person, Role.MEMBER | bit, giver)
    actions.promote(person, Role.MEMBER, giver)
    actions.promote(person, Role.MEMBER | people.bit)
    with pytest.raises(Forbidden):
        actions.promote(person, Role.MEMBER, giver)
    with pytest.raises(Forbidden):
        actions.promote(giver, Role.MEMBER | tags.bit, giver)
    assert acts_of(giver) == ["roles", "roles"]


def test_all_rights_do_not_make_an_admin(
    make_holder: Make, make_user: Make, admin_user: User
) -> None:
    giver = make_holder(ALL)
    person = make_user()
    with pytest.raises(Forbidden):
        actions.promote(person, Role.MEMBER | Role.ADMIN, giver)
    with pytest.raises(Forbidden):
        actions.promote(admin_user, Role.MEMBER, giver)
    actions.promote(person, Role.MEMBER | Role.MODERATOR, giver)
    with pytest.raises(Forbidden):
        actions.ban(person, giver)  # only admins act on staff


RIGHTS = st.integers(0, ALL)


@given(mine=RIGHTS, had=RIGHTS, given_=RIGHTS)
def test_no_sequence_of_gifts_exceeds_the_giver(mine: int, had: int, given_: int) -> None:
    mine |= Right.ROLES
    StaffRole.objects.all().delete()
    giver, person = (User.objects.create(username=n, username_key=n, nickname=n) for n in ("", "b"))
    try:
        bits = [
            actions.save_role(n, r or 1).bit for n, r in (("A", mine), ("B", had), ("C", given_))
        ]
        actions.promote(giver, 1 | bits[0])
        actions.promote(person, 1 | bits[1])
        is_allowed = not ((had or 1) | (given_ or 1)) & ~mine
        try:
            actions.promote(person, 1 | bits[2], giver)
            assert is_allowed
        except Forbidden:
            assert not is_allowed
        try:
            actions.save_role("D", given_ or 1, giver)
            assert not (given_ or 1) & ~mine
        except Forbidden:
            assert (given_ or 1) & ~mine
    finally:
        User.objects.filter(pk__in=[giver.pk, person.pk]).delete()


def test_a_role_is_made_and_changed_within_what_one_has(make_holder: Make) -> None:
    giver = make_holder(Right.ROLES | Right.TAGS)
    role = actions.save_role("Tags", Right.TAGS, giver)
    wide = actions.save_role("Wide", Right.TAGS | Right.SITE)
    for name, rights, bit in (
        ("More", Right.SITE, None),
        ("Tags", Right.TAGS | Right.PEOPLE, role.bit),
        ("Wide", Right.TAGS, wide.bit),
    ):
        with pytest.raises(Forbidden):
            actions.save_role(name, rights, giver, bit=bit)
    with pytest.raises(Forbidden):
        actions.delete_role(wide.bit, giver)
    actions.delete_role(role.bit, giver)
    assert acts_of(giver) == ["role", "delete_role"]


# --- roles ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "rights", "field"),
    [
        ("", 1, "name"),
        ("x" * 41, 1, "name"),
        ("Moderator", 1, "name"),
        ("helpers", 1, "name"),
        ("New", 0, "rights"),
        ("New", ALL + 1, "rights"),
    ],
)
def test_a_mistake_is_named(name: str, rights: int, field: str) -> None:
    actions.save_role("Helpers", Right.TAGS)
    with pytest.raises(InvalidInput) as found:
        actions.save_role(name, rights)
    assert list(found.value.fields or {}) == [field]


def test_there_are_as_many_roles_as_bits_and_a_bit_is_used_again(make_user: Make) -> None:
    rows = [actions.save_role(f"Role {number}", 1) for number in range(12)]
    with pytest.raises(InvalidInput):
        actions.save_role("One more", 1)
    actions.delete_role(rows[4].bit)
    assert actions.save_role("One more", 1).bit == rows[4].bit
    every = Role.MEMBER | sum(row.bit for row in rows)
    user = actions.promote(make_user(), every)
    user.refresh_from_db()
    assert user.roles == every


def test_a_role_that_somebody_has_stays(make_holder: Make) -> None:
    holder = make_holder(Right.TAGS)
    bit = StaffRole.objects.get().bit
    with pytest.raises(InvalidInput, match=holder.username):
        actions.delete_role(bit)
    actions.promote(holder, Role.MEMBER)
    actions.delete_role(bit)
    with pytest.raises(NotFound):
        actions.promote(holder, Role.MEMBER | bit)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
def test_a_role_is_not_given_while_it_is_deleted(make_user: Make) -> None:
    for number in range(10):
        role, person = actions.save_role(f"Role {number}", 1), make_user()
        results = at_once(
            [
                lambda r=role: actions.delete_role(r.bit),
                lambda p=person, r=role: actions.promote(p, 1 | r.bit),
            ]
        )
        errors = [type(one) for one in results if isinstance(one, Exception)]
        assert errors in ([InvalidInput], [NotFound]), results
        bits = User.objects.values_list("roles", flat=True).get(pk=person.pk)
        assert bool(bits & role.bit) is StaffRole.objects.filter(pk=role.bit).exists()


def test_the_command_gives_a_role_of_ones_own(alice: User) -> None:
    role = actions.save_role("Tag helpers", Right.TAGS)
    call_command("promote", "alice1", role="tag Helpers")
    alice.refresh_from_db()
    assert alice.roles == Role.MEMBER | role.bit
    with pytest.raises(CommandError, match="There is no role"):
        call_command("promote", "alice1", role="nothing")


# --- pages ---------------------------------------------------------------------------------------
def test_an_admin_makes_changes_gives_and_deletes_a_role(admin_user: User, make_user: Make) -> None:
    browser, person = browser_of(admin_user), make_user()
    answer = browser.post(f"{ROLES}add/", {"name": "Helpers", "chosen": ["1", "32"]})
    assert answer.status_code == 302, answer.content.decode()
    role = StaffRole.objects.get()
    assert role.rights == Right.CASES | Right.TAGS
    page = f"{PEOPLE}{person.pk}/roles/"
    assert "Helpers" in browser.get(page).content.decode()
    browser.post(page, {f"role_{role.bit}": "on"})
    person.refresh_from_db()
    assert person.roles == Role.MEMBER | role.bit
    listed = browser.get(ROLES).content.decode()
    assert f"@{person.username}" in listed
    assert "Hide tags" in listed
    assert "Helpers" in browser.get(f"{PEOPLE}{person.pk}/change/").content.decode()
    answer = browser.post(f"{ROLES}{role.bit}/delete/", {"post": "yes"}, follow=True)
    assert "Take the role away" in answer.content.decode()
    browser.post(f"{ROLES}{role.bit}/change/", {"name": "Tag helpers", "chosen": ["32"]})
    assert User.objects.get(pk=person.pk).rights == Right.TAGS
    browser.post(page, {})
    browser.post(f"{ROLES}{role.bit}/delete/", {"post": "yes"})
    assert not StaffRole.objects.exists()
    assert acts_of(admin_user) == ["role", "roles", "role", "roles", "delete_role"]


def test_the_form_of_a_role_says_what_is_wrong(admin_user: User) -> None:
    browser = browser_of(admin_user)
    actions.save_role("Helpers", 1)
    page = browser.post(f"{ROLES}add/", {"name": "helpers"}).content.decode()
    assert "There is a role of this name already." in page
    page = browser.post(f"{ROLES}add/", {"name": "New"}).content.decode()
    assert "Choose at least one right." in page
    assert StaffRole.objects.count() == 1


def test_the_forms_offer_what_the_viewer_may_give(make_holder: Make, make_user: Make) -> None:
    giver = make_holder(Right.ROLES | Right.TAGS)
    wide = actions.save_role("Wide", Right.SITE)
    browser, person = browser_of(giver), make_user()
    page = browser.get(f"{ROLES}add/").content.decode()
    assert 'value="32"' in page
    assert 'value="64"' not in page
    assert browser.post(f"{ROLES}add/", {"name": "More", "chosen": ["64"]}).status_code == 200
    assert browser.get(f"{ROLES}{wide.bit}/change/").status_code == 200
    assert browser.post(f"{ROLES}{wide.bit}/change/", {"name": "Mine"}).status_code == 403
    data = {f"role_{wide.bit}": "on", "moderator": "on", "admin": "on"}
    browser.post(f"{PEOPLE}{person.pk}/roles/", data)
    person.refresh_from_db()
    assert person.roles == Role.MEMBER
    wide.refresh_from_db()
    assert wide.name == "Wide"


def test_moderators_see_no_roles(make_user: Make) -> None:
    moderator = actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    assert moderator.rights == MODERATOR
    assert browser_of(moderator).get(ROLES).status_code == 403
    assert browser_of(moderator).get(f"{ROLES}add/").status_code == 403
