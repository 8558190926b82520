"""The admin: staff's view and acts, by the site's own sign-in, and the audit trail."""

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.contrib.admin import site
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts import actions
from accounts.credentials import two_factor
from accounts.models import AuditEntry, Passkey, Role, TokenBatch, TokenVersion, User
from accounts.request_auth import authentication
from feeds import actions as feeds_actions
from feeds.models import RecommendedAuthor
from interactions import actions as interactions_actions
from relations.tests.helpers import at_once
from socialsite.core.errors import (
    AppError,
    BannedAccessToken,
    BannedRefreshToken,
    Forbidden,
    TwoFactorNeeded,
)
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
MODERATOR, ADMIN = Role.MEMBER | Role.MODERATOR, Role.MEMBER | Role.ADMIN


@pytest.fixture
def make_staff(make_user):
    """Return a function that creates a person with roles."""

    def make(roles: int = ADMIN, name: str | None = None) -> User:
        return actions.promote(make_user(name), roles)

    return make


def notes() -> list[tuple]:
    """Return the audit trail without the entries of `make_staff`: (actor, act, subject)."""
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


def test_acts_of_a_command_are_noted_without_an_actor(alice) -> None:
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


ACTS: dict[str, Callable[[User, User], object]] = {
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
def test_each_role_has_its_powers(mine, theirs, make_staff) -> None:
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
def test_two_admins_who_act_on_each_other_leave_one(name, make_staff) -> None:
    for _ in range(10):
        one, two = make_staff(), make_staff()
        results = at_once(
            [lambda a=one, b=two: ACTS[name](a, b), lambda a=two, b=one: ACTS[name](a, b)]
        )
        errors = [result for result in results if isinstance(result, Exception)]
        assert [type(error) for error in errors] == [Forbidden], results
        left = User.objects.filter(pk__in=[one.pk, two.pk], banned_at=None, roles=ADMIN)
        assert left.count() == 1


def test_deletions_by_staff_are_noted_and_those_by_authors_are_not(
    alice, make_user, make_staff, make_post, api_for
) -> None:
    moderator, other = make_staff(MODERATOR), make_user()
    own, post, under = make_post(alice), make_post(alice), make_post(alice)
    mine, theirs = (interactions_actions.comment(other, under.pk, "words") for _ in range(2))
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


# --- pages --------------------------------------------------------------------------------------
PAGES = [
    "",
    "accounts/user/",
    "accounts/tokenversion/",
    "accounts/tokenbatch/",
    "accounts/auditentry/",
    "core/event/",
    "core/video/",
    "feeds/post/",
    "interactions/comment/",
]
PEOPLE = "/admin/accounts/user/"


@pytest.fixture
def admin(browser: Client, alice: User) -> Client:
    """The same browser, with alice as admin."""
    actions.promote(alice, ADMIN)
    return browser


def act(browser: Client, action: str, *people: User, **data):
    chosen = {"action": action, "_selected_action": [person.pk for person in people]}
    return browser.post(PEOPLE, chosen | {"confirmed": "yes"} | data, follow=True)


def test_guests_are_sent_to_the_site_s_login_and_members_are_refused(client, alice) -> None:
    to_login = client.get("/admin/", follow=True)
    assert to_login.redirect_chain[-1][0] == "/login?next=%2Fadmin%2F"
    client.post("/login", {"username": "alice1", "password": PASSWORD})
    assert client.get("/admin/", follow=True).status_code == 403


@pytest.mark.parametrize("role", ["moderator", "admin"])
def test_staff_see_the_admin_by_the_site_s_own_credential(role, browser, alice) -> None:
    call_command("promote", "Alice1", "--role", role)
    actions.sign_in(alice, "android")
    for page in PAGES:
        response = browser.get(f"/admin/{page}")
        assert response.status_code == 200, page
        assert "sessionid" not in response.cookies
    page = browser.get(f"{PEOPLE}{alice.pk}/change/").content.decode()
    alice.refresh_from_db()
    assert alice.password not in page
    assert "password" not in page.lower()
    assert ("field-email" in page) == (role == "admin")
    assert browser.get(f"{PEOPLE}?q=ali&state=open").status_code == 200
    assert browser.get(f"{PEOPLE}add/").status_code == 403


@pytest.mark.parametrize(
    "page", ["otp_totp/totpdevice/", "otp_static/staticdevice/", "auth/group/"]
)
def test_no_page_shows_or_changes_second_factors_or_groups(page, admin) -> None:
    assert admin.get(f"/admin/{page}").status_code == 404


def test_passwords_are_changed_in_the_settings(admin) -> None:
    for page in ("password_change/", "password_change/done/"):
        assert admin.get(f"/admin/{page}")["Location"] == "/settings/password"


@pytest.mark.parametrize("path", ["accounts/user", "accounts/auditentry", "accounts/tokenversion"])
def test_nothing_is_added_changed_or_deleted_by_hand(path, admin, alice) -> None:
    ident = {
        "accounts/user": alice.pk,
        "accounts/auditentry": AuditEntry.objects.get().pk,
        "accounts/tokenversion": TokenVersion.objects.get().pk,
    }[path]
    assert admin.get(f"/admin/{path}/{ident}/change/").status_code == 200
    for address in ("add/", f"{ident}/delete/", f"{ident}/change/"):
        assert admin.post(f"/admin/{path}/{address}", {"nickname": "Mallory"}).status_code == 403
    assert "delete_selected" not in admin.get(f"/admin/{path}/").content.decode()


@pytest.mark.parametrize("way", ["kicked", "forced", "banned", "demoted", "password"])
def test_staff_who_lose_the_role_are_out_at_their_next_request(
    way, admin, alice, make_staff
) -> None:
    target = make_staff(Role.MEMBER)
    assert admin.get("/admin/").status_code == 200
    match way:
        case "kicked":
            actions.log_out(alice, "other")
        case "forced":
            actions.force_offline(alice, make_staff())
        case "banned":
            actions.ban(alice)
        case "demoted":
            actions.promote(alice, Role.MEMBER)
        case "password":
            actions.set_password(alice, "other.pass2")
    for page in PAGES:
        assert admin.get(f"/admin/{page}").status_code == 302, page
    answer = admin.post(
        PEOPLE, {"action": "ban", "_selected_action": [target.pk], "confirmed": "yes"}
    )
    assert (answer.status_code, answer["Location"][:13]) == (302, "/admin/login/")
    target.refresh_from_db()
    assert target.is_active


# --- acts by page -------------------------------------------------------------------------------
def test_the_admin_confirms_before_it_acts(admin, make_user) -> None:
    one, two = make_user(), make_user()
    data = {"action": "ban", "_selected_action": [one.pk, two.pk]}
    page = admin.post(PEOPLE, data).content.decode()
    assert f"@{one.username}" in page
    assert f"@{two.username}" in page
    assert 'name="confirmed" value="yes"' in page
    assert User.objects.filter(banned_at=None).count() == 3


def test_the_admin_bans_and_lifts_bans_through_the_actions(admin, alice, make_user) -> None:
    person = make_user()
    pair = actions.sign_in(person)
    page = act(admin, "ban", person, alice).content.decode()
    assert "You may not do this to 1." in page
    person.refresh_from_db()
    alice.refresh_from_db()
    assert (person.is_active, alice.is_active) == (False, True)
    with pytest.raises(BannedRefreshToken):
        actions.refresh(pair.refresh)
    act(admin, "unban", person)
    person.refresh_from_db()
    assert person.is_active
    assert Event.objects.filter(type__in=["UserBanned", "UserUnbanned"]).count() == 2
    assert [note[1] for note in notes()] == ["ban", "unban"]


def test_force_offline_ends_all_sign_ins_and_lets_in_again(admin, alice, make_user) -> None:
    person = make_user()
    old = [actions.sign_in(person, client) for client in ("chrome", "android")]
    act(admin, "force_offline", person)
    for pair in old:
        with pytest.raises(BannedAccessToken):
            authentication.by_access(pair.access)
        with pytest.raises(BannedRefreshToken):
            actions.refresh(pair.refresh)
    assert authentication.by_access(actions.sign_in(person, "chrome").access)
    assert notes() == [(alice.pk, "force_offline", "user", person.pk)]
    assert TokenBatch.objects.get(pk=person.pk).ended == "forced"


def test_a_moderator_bans_members_but_no_staff(browser, alice, make_user, make_staff) -> None:
    actions.promote(alice, MODERATOR)
    member, other = make_user(), make_staff(MODERATOR)
    act(browser, "ban", member, other)
    banned = User.objects.filter(banned_at__isnull=False)
    assert list(banned) == [member]


def test_an_act_begun_on_a_person_s_page_leads_back_there(admin, make_user) -> None:
    person = make_user()
    page = admin.get(f"{PEOPLE}{person.pk}/change/").content.decode()
    assert f'name="_selected_action" value="{person.pk}"' in page
    answer = act(admin, "ban", person, back=str(person.pk))
    assert answer.redirect_chain == [(f"{PEOPLE}{person.pk}/change/", 302)]
    assert act(admin, "unban", person, back="//evil.example").redirect_chain == [(PEOPLE, 302)]


def test_an_admin_gives_and_takes_roles_silently(admin, alice, make_user) -> None:
    person = make_user()
    pair = actions.sign_in(person, "chrome")
    roles = f"{PEOPLE}{person.pk}/roles/"
    assert 'name="moderator"' in admin.get(roles).content.decode()
    answer = admin.post(roles, {"moderator": "on"})
    assert answer["Location"] == f"{PEOPLE}{person.pk}/change/"
    person.refresh_from_db()
    assert person.roles == MODERATOR
    with pytest.raises(BannedAccessToken):
        authentication.by_access(pair.access)
    user, _pair = actions.refresh(pair.refresh)
    assert user.roles == MODERATOR
    assert re.search(r'name="moderator"[^>]* checked', admin.get(roles).content.decode())
    admin.post(roles, {})
    person.refresh_from_db()
    assert person.roles == Role.MEMBER
    assert [note[:2] for note in notes()] == [(alice.pk, "roles")] * 2


def test_nobody_changes_their_own_roles_and_moderators_none(admin, alice, make_user) -> None:
    person = make_user()
    page = admin.post(f"{PEOPLE}{alice.pk}/roles/", {}, follow=True).content.decode()
    assert "You may not do this." in page
    alice.refresh_from_db()
    assert alice.roles == ADMIN
    actions.promote(alice, MODERATOR)
    for method in (admin.get, admin.post):
        assert method(f"{PEOPLE}{person.pk}/roles/", {"admin": "on"}).status_code == 403
    person.refresh_from_db()
    assert person.roles == Role.MEMBER
    assert "roles/" not in admin.get(f"{PEOPLE}{person.pk}/change/").content.decode()
    assert admin.get(f"{PEOPLE}1/roles/").status_code == 403


def test_roles_of_nobody_are_not_found(admin) -> None:
    assert admin.get(f"{PEOPLE}1/roles/").status_code == 404


def test_the_page_of_a_person_shows_how_many_passkeys_they_have(admin, alice, make_user) -> None:
    person = make_user()
    for owner, name in ((person, "a"), (person, "b"), (alice, "c")):
        Passkey.objects.create(user=owner, credential_hash=name, credential_id=b"", public_key=b"")
    page = admin.get(f"{PEOPLE}{person.pk}/change/").content.decode()
    assert re.search(r'field-passkeys.*?class="readonly">2<', page, re.DOTALL)


def test_the_page_of_a_person_shows_devices_and_why_they_ended(admin, alice, make_user) -> None:
    person = make_user()
    actions.sign_in(person, "chrome", "Mozilla/5.0 (X11; Linux) Chrome/142.0", "203.0.113.7")
    actions.sign_in(person, "android")
    actions.log_out(person, "android")
    address = f"{PEOPLE}{person.pk}/change/"
    page = admin.get(address).content.decode()
    assert page.count('data-live="yes"') == page.count('data-live="no"') == 1
    for text in ("203.0.113.7", "signed in", "logged out"):
        assert text in page
    row = TokenVersion.objects.get(user=person, client="chrome")
    for secret in (row.refresh_jti, row.previous_jti):
        assert not secret or secret not in page
    TokenVersion.objects.filter(pk=row.pk).update(refresh_iat=1)
    assert "expired" in admin.get(address).content.decode()
    actions.force_offline(person, alice)
    page = admin.get(address).content.decode()
    assert "forced offline" in page
    assert 'data-live="yes"' not in page


def test_the_pages_take_as_many_queries_for_many_as_for_few(
    admin, alice, make_user, make_staff
) -> None:
    person = make_user()
    pages = [PEOPLE, f"{PEOPLE}{person.pk}/change/", "/admin/accounts/auditentry/"]

    def fill(count: int) -> None:
        for number in range(count):
            other = make_staff()
            actions.force_offline(person, other)
            actions.ban(make_user(), other)
            actions.sign_in(person, ("chrome", "android", "ios", "edge", "linux")[number % 5])

    def queries(page: str) -> int:
        with CaptureQueriesContext(connection) as found:
            assert admin.get(page).status_code == 200
        return len(found)

    fill(1)
    for page in pages:
        admin.get(page)
    few = [queries(page) for page in pages]
    fill(5)
    assert [queries(page) for page in pages] == few


def test_the_trail_is_found_by_person_and_by_act(admin, alice, make_user) -> None:
    one, two = make_user("person1"), make_user("person2")
    actions.ban(one, alice, "203.0.113.1")
    actions.unban(one, alice)
    actions.ban(two, alice)
    trail = "/admin/accounts/auditentry/"

    def rows(**query: str) -> int:
        page = admin.get(trail, query).content.decode()
        return page.count('class="field-created_at')

    assert rows() == 4
    assert [rows(q=text) for text in ("person1", "@Person2", str(one.pk), "alice1")] == [2, 1, 2, 4]
    assert [rows(q=text) for text in ("nobody1", "x'", "1", "9" * 30)] == [0, 0, 0, 0]
    assert [rows(act=name) for name in ("ban", "unban", "roles", "email")] == [2, 1, 1, 0]
    assert rows(q="person1", act="ban") == 1
    page = admin.get(trail, {"q": "person1", "act": "ban"}).content.decode()
    for text in ("203.0.113.1", "@person1", "@alice1", f"{PEOPLE}{one.pk}/change/", "banned"):
        assert text in page
    page = admin.get(trail).content.decode()
    assert "a command on the server" in page
    assert "from: member, to: member admin" in page
    order = [page.index(text) for text in ("@person2", "@person1", "a command on the server")]
    assert order == sorted(order)


@pytest.mark.once
@pytest.mark.parametrize("text", ["9" * 5000, 'person1 "1 ' * 500], ids=["digits", "words"])
def test_a_long_search_is_cut(admin, make_user, text) -> None:
    make_user("person1")
    request = RequestFactory().get("/admin/")
    searched = [model for model, one in site._registry.items() if one.get_search_fields(request)]
    assert len(searched) > 9
    for model in searched:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        with CaptureQueriesContext(connection) as found:
            assert admin.get(address, {"q": text}).status_code == 200
        assert len(found) < 30
        assert max(len(query["sql"]) for query in found) < 12_000


@pytest.mark.parametrize("text", ["JOSE\u0301", "jose", "PERSON0", "\uff20Person0"])
def test_people_are_found_as_in_other_searches(admin, make_user, settings, text) -> None:
    settings.NAME_POLICY = "open"
    found = [make_user("Person01", nickname="José One"), make_user("Person02", nickname="Jo")]
    page = admin.get("/admin/accounts/user/", {"q": text}).text
    shown = [person for person in found if f">{person.username}<" in page]
    assert shown == (found if "0" in text else found[:1])


def test_recommending_somebody_is_noted(admin, alice, make_user) -> None:
    one, two = make_user(), make_user()
    page = "/admin/feeds/recommendedauthor/"
    for person in (one, two):
        assert admin.post(f"{page}add/", {"author": person.pk}).status_code == 302
    rows = [row.pk for row in RecommendedAuthor.objects.order_by("author_id")]
    admin.post(f"{page}{rows[0]}/delete/", {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [rows[1]], "post": "yes"}
    admin.post(page, chosen)
    assert not RecommendedAuthor.objects.exists()
    acts = [("recommend", one), ("recommend", two), ("unrecommend", one), ("unrecommend", two)]
    assert notes() == [(alice.pk, name, "user", person.pk) for name, person in acts]


@pytest.mark.parametrize("index", [{}, {"index": "0"}])
@pytest.mark.parametrize("junk", ["abc", "9" * 23, str(2**63), "-1", "²", "", "1.5", "\0"])
def test_chosen_rows_that_are_no_ids_are_passed_over(junk, index, admin, make_user) -> None:
    person = make_user()
    data = {"action": "ban", "confirmed": "yes"} | index
    answer = admin.post(PEOPLE, data | {"_selected_action": [junk]}, follow=True)
    assert answer.status_code == 200
    answer = admin.post(PEOPLE, data | {"_selected_action": [junk, person.pk]}, follow=True)
    assert answer.status_code == 200
    person.refresh_from_db()
    assert person.banned_at


def test_devices_are_filtered_by_kind_without_reading_all_clients(admin, make_user) -> None:
    person = make_user()
    for client in ("ios", "ios:abcdefghijklmnop", "android:abcdefghijklmnop"):
        TokenVersion.objects.create(user=person, client=client)
    page = "/admin/accounts/tokenversion/"
    with CaptureQueriesContext(connection) as queries:
        text = admin.get(page).content.decode()
    assert "abcdefghijklmnop" in text
    assert "?kind=ios:" not in text
    assert not [query for query in queries if "DISTINCT" in query["sql"]]
    found = {
        kind: admin.get(page, {"kind": kind}).content.decode().count('class="field-client')
        for kind in ("ios", "android", "edge")
    }
    assert found == {"ios": 2, "android": 1, "edge": 0}


def test_an_admin_revives_dead_events_and_a_moderator_does_not(browser, alice) -> None:
    dead = Event.objects.create(
        aggregate_type="x", aggregate_id=1, type="Nothing", payload={}, dead=True, attempts=12
    )
    data = {"action": "retry", "_selected_action": [dead.pk]}
    for role, is_dead in ((Role.MODERATOR, True), (Role.ADMIN, False)):
        actions.promote(alice, Role.MEMBER | role)
        browser.post("/admin/core/event/", data)
        dead.refresh_from_db()
        assert dead.dead == is_dead


def test_promote_names_people_and_roles_that_exist(alice) -> None:
    call_command("promote", "alice1")
    alice.refresh_from_db()
    assert alice.roles == Role.MEMBER | Role.ADMIN
    for arguments in (["nobody1"], ["alice1", "--role", "king"]):
        with pytest.raises(CommandError):
            call_command("promote", *arguments)


# --- the second factor of staff -----------------------------------------------------------------
def give_factor(user: User) -> None:
    device = two_factor.new_device(user)
    device.confirmed = True
    device.save()


@pytest.mark.parametrize("role", [MODERATOR, ADMIN])
def test_staff_without_a_required_second_factor_see_no_admin_page(
    role, browser, alice, make_user, settings
) -> None:
    person = make_user()
    actions.promote(alice, role)
    settings.STAFF_TOTP = True
    for page in PAGES:
        answer = browser.get(f"/admin/{page}", follow=True)
        wanted = urlencode({"next": f"/admin/{page}"})
        assert answer.redirect_chain[-1] == (f"/settings/two-factor?{wanted}", 302)
        assert "This site requires two-factor" in answer.content.decode()
    data = {"action": "ban", "_selected_action": [person.pk], "confirmed": "yes"}
    assert browser.post(PEOPLE, data).status_code == 302
    person.refresh_from_db()
    assert person.is_active
    assert browser.get("/search").status_code == 200
    give_factor(alice)
    for page in PAGES:
        assert browser.get(f"/admin/{page}").status_code == 200


def test_staff_without_a_required_second_factor_have_no_powers_over_the_api(
    alice, make_user, make_post, api_for, settings
) -> None:
    other = make_user()
    actions.promote(alice, MODERATOR)
    settings.STAFF_TOTP = True
    staff = api_for(alice)
    post, own = make_post(other), make_post(alice)
    comment = interactions_actions.comment(other, post.pk, "words")
    for path in (f"/api/v1/comments/{comment.pk}", f"/api/v1/posts/{post.pk}"):
        answer = staff.delete(path)
        assert (answer.status_code, answer.json()["code"]) == (403, 27)
    with pytest.raises(TwoFactorNeeded):
        actions.ban(other, alice)
    assert staff.delete(f"/api/v1/posts/{own.pk}").status_code == 204
    give_factor(alice)
    for path in (f"/api/v1/comments/{comment.pk}", f"/api/v1/posts/{post.pk}"):
        assert staff.delete(path).status_code == 204


def test_members_pay_nothing_for_the_question(alice, make_user, make_post, settings) -> None:
    post = make_post(make_user())
    me = User.objects.get(pk=alice.pk)
    counts = []
    for asked in (False, True):
        settings.STAFF_TOTP = asked
        with CaptureQueriesContext(connection) as found, pytest.raises(Forbidden):
            feeds_actions.delete(me, post.pk)
        counts.append(len(found))
    assert counts[0] == counts[1]


def test_an_admin_resets_somebody_else_s_second_factor_only(admin, alice, make_user) -> None:
    person = make_user()
    give_factor(person)
    give_factor(alice)
    act(admin, "reset_two_factor", person, alice)
    assert [two_factor.is_on(user) for user in (person, alice)] == [False, True]
    assert notes() == [(alice.pk, "otp_reset", "user", person.pk)]
    give_factor(person)
    actions.promote(alice, MODERATOR)
    act(admin, "reset_two_factor", person)
    assert two_factor.is_on(person)


def test_a_command_resets_the_second_factor_of_the_last_admin(alice) -> None:
    give_factor(alice)
    call_command("reset_second_factor", "Alice1")
    assert not two_factor.is_on(alice)
    assert AuditEntry.objects.get().actor is None
    for name in ("alice1", "nobody1"):
        with pytest.raises(CommandError):
            call_command("reset_second_factor", name)
