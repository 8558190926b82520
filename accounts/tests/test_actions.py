"""Accounts and sign-ins: permissions, revocation, concurrency."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from operator import methodcaller
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts import actions, cache, finding, queries, tokens
from accounts.credentials import passwords
from accounts.models import Role, TokenBatch, TokenVersion, User
from accounts.request_auth import authentication
from accounts.tests.browsers import log_in
from socialsite.core import redis
from socialsite.core.errors import (
    AppError,
    BannedAccessToken,
    BannedRefreshToken,
    DuplicatedUser,
    InvalidInput,
    InvalidToken,
    PasswordNotCorrected,
    RegMatchError,
    Unavailable,
    UserBanned,
    UserNotFound,
)
from socialsite.core.events import relay
from socialsite.core.models import Event, Media
from socialsite.core.positions import Position
from socialsite.tests.support.waiting import LIMIT

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"


def pending_events() -> list[str]:
    return list(Event.objects.order_by("id").values_list("type", flat=True))


def is_alive(access: str) -> bool:
    try:
        authentication.by_access(access)[1]
    except BannedAccessToken:
        return False
    return True


def can_refresh(refresh: str) -> bool:
    try:
        actions.refresh(refresh)
    except BannedRefreshToken:
        return False
    return True


# --- people -------------------------------------------------------------------------------------
def test_registering_makes_a_person_with_a_hashed_password_and_publishes_it(db) -> None:
    user = actions.register("Alice1", "爱丽丝们", PASSWORD, email="a@example.org")
    user.refresh_from_db()
    assert (user.username, user.username_key, user.nickname) == ("Alice1", "alice1", "爱丽丝们")
    assert user.roles == Role.MEMBER
    assert PASSWORD not in user.password
    assert pending_events() == ["UserRegistered"]
    assert PASSWORD not in str(list(Event.objects.values()))


@pytest.mark.parametrize("name", ["Alice1", "ALICE1", "alice1"])
def test_a_username_is_taken_in_any_case(name, make_user) -> None:
    make_user("aLice1")
    with pytest.raises(DuplicatedUser) as caught:
        actions.register(name, "SomeNick", PASSWORD)
    assert "username" in (caught.value.fields or {})
    assert User.objects.count() == 1


def test_the_constraint_refuses_a_name_taken_after_the_check(make_user, monkeypatch) -> None:
    make_user("alice1")
    monkeypatch.setattr(queries, "any_by_name", lambda username: None)
    with pytest.raises(DuplicatedUser):
        actions.register("Alice1", "SomeNick", PASSWORD)
    assert User.objects.count() == 1


def test_two_people_may_have_one_nickname(make_user) -> None:
    assert make_user(nickname="SameNick").nickname == make_user(nickname="SameNick").nickname


def test_a_registration_that_breaks_rules_writes_nothing(db) -> None:
    with pytest.raises(RegMatchError) as caught:
        actions.register("abc", "1234", "short")
    assert set(caught.value.fields or {}) == {"username", "nickname", "password"}
    assert (User.objects.count(), pending_events()) == (0, [])


def test_editing_a_profile_changes_the_given_fields_and_publishes_it_once(user) -> None:
    actions.edit_profile(user, nickname="NewNick")
    changed = actions.edit_profile(user, bio="I am here.")
    assert (changed.nickname, changed.nickname_key, changed.bio) == (
        "NewNick",
        "newnick",
        "I am here.",
    )
    with pytest.raises(RegMatchError):
        actions.edit_profile(user, nickname="no")
    with pytest.raises(InvalidInput):
        actions.edit_profile(user, bio="x" * 201)
    assert pending_events().count("ProfileChanged") == 2
    actions.edit_profile(changed, nickname="NewNick", bio="I am here.")
    assert pending_events().count("ProfileChanged") == 2


def test_a_picture_of_one_s_own_can_be_the_avatar_and_no_other(user, make_user) -> None:
    mine, theirs = (
        Media.objects.create(
            owner_id=owner.pk, name=name, thumb_name=f"t{name}", width=1, height=1, size=1
        )
        for owner, name in ((user, "a.jpg"), (make_user(), "b.jpg"))
    )
    actions.edit_profile(user, avatar=mine.pk)
    user.refresh_from_db()
    assert queries.cards([user.pk])[user.pk]["avatar"] == user.avatar == "/media/ta.jpg"
    with pytest.raises(InvalidInput) as caught:
        actions.edit_profile(user, avatar=theirs.pk)
    assert list(caught.value.fields or {}) == ["avatar"]
    actions.edit_profile(user, avatar=0)
    assert queries.cards([user.pk])[user.pk]["avatar"] == ""


def test_a_hash_that_is_there_already_is_not_made_again(monkeypatch, db) -> None:
    hashed = passwords.hash_password(PASSWORD)
    monkeypatch.setattr(passwords, "make_password", None)
    user = actions.register("alice1", "SomeNick", PASSWORD, password_hash=hashed)
    monkeypatch.undo()
    assert log_in("alice1", PASSWORD)[0] == user
    with pytest.raises(RegMatchError):
        actions.register("alice2", "SomeNick", "short", password_hash=hashed)


def test_last_seen_is_written_at_most_once_in_five_minutes(user, django_assert_num_queries) -> None:
    access = actions.sign_in(user, "chrome").access
    with django_assert_num_queries(1):
        authentication.by_access(access)  # reads the floors; records no presence
    long_ago = timezone.now() - timedelta(minutes=6)
    User.objects.update(last_seen=long_ago)
    TokenVersion.objects.update(last_seen=long_ago)
    with cache.fenced(user.pk):
        authentication.by_access(access)
    for row in (User.objects.get(), TokenVersion.objects.get()):
        assert timezone.now() - row.last_seen < timedelta(seconds=5)


def test_one_query_reads_the_rest_of_a_person_known_by_token(
    user, django_assert_num_queries
) -> None:
    person = User.known(user.pk)
    with django_assert_num_queries(0):
        assert (person, person.pk) == (user, user.pk)
    with django_assert_num_queries(1):
        assert (person.username, person.nickname) == (user.username, user.nickname)
        assert person.is_active
        assert not person.is_staff


# --- signing in ---------------------------------------------------------------------------------
def test_login_takes_the_name_in_any_case_and_returns_a_live_pair(make_user) -> None:
    user = make_user("alice1")
    found, pair = log_in("ALICE1", PASSWORD, "chrome", "Mozilla/5.0", "127.0.0.1")
    assert found == user
    assert authentication.by_access(pair.access)[1].user_id == user.pk
    row = TokenVersion.objects.get()
    assert (row.client, row.user_agent, row.address) == ("chrome", "Mozilla/5.0", "127.0.0.1")


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("alice1", "wrong.pass1"),
        ("alice1", ""),
        ("alice1", PASSWORD + "\n"),
        ("alice1", "RIGHT.PASS1"),
        ("alice1", "x" * 100_000),
        ("nobody1", PASSWORD),
        ("alice1 ", PASSWORD),
        ("alice1\n", PASSWORD),
        ("àlice1", PASSWORD),
        ("", PASSWORD),
        ("%", PASSWORD),
    ],
)
def test_a_wrong_name_and_a_wrong_password_are_the_same_answer(name, password, make_user) -> None:
    make_user("alice1")
    with pytest.raises(PasswordNotCorrected) as caught:
        log_in(name, password)
    assert caught.value.fields is None


def test_hashes_that_run_at_once_are_bounded(monkeypatch) -> None:
    running: list[int] = []
    most: list[int] = []
    asked: list[int] = []
    lock, all_asked, slots = threading.Lock(), threading.Event(), passwords._slots

    def acquire(timeout: float) -> bool:
        asked.append(1)
        if len(asked) == 12:
            all_asked.set()
        return slots.acquire(timeout=timeout)

    def slow(raw: str) -> str:
        with lock:
            running.append(1)
            most.append(len(running))
        assert all_asked.wait(LIMIT)
        with lock:
            running.pop()
        return raw

    monkeypatch.setattr(passwords, "make_password", slow)
    monkeypatch.setattr(passwords, "WAIT_SECONDS", LIMIT)
    gate = SimpleNamespace(acquire=acquire, release=slots.release)
    monkeypatch.setattr(passwords, "_slots", gate)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(passwords.hash_password, ["x"] * 24))
    assert max(most) == passwords.CONCURRENT_HASHES


def test_a_wait_too_long_for_a_hash_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(passwords, "_slots", threading.BoundedSemaphore(1))
    with passwords._slot(), pytest.raises(Unavailable):
        passwords.hash_password(PASSWORD)


def test_a_second_login_of_a_client_ends_the_first_and_no_other(user) -> None:
    first = actions.sign_in(user, "chrome")
    phone = actions.sign_in(user, "android")
    second = actions.sign_in(user, "chrome")
    assert [is_alive(pair.access) for pair in (first, phone, second)] == [False, True, True]
    assert [can_refresh(pair.refresh) for pair in (first, phone, second)] == [False, True, True]


def test_logging_out_ends_both_tokens_of_that_client_only(user) -> None:
    chrome, phone = actions.sign_in(user, "chrome"), actions.sign_in(user, "android")
    assert actions.log_out(user, "chrome")
    assert [is_alive(chrome.access), is_alive(phone.access)] == [False, True]
    assert [can_refresh(chrome.refresh), can_refresh(phone.refresh)] == [False, True]
    again = actions.sign_in(user, "chrome")
    assert is_alive(again.access)
    assert can_refresh(again.refresh)


def test_a_late_log_out_leaves_a_newer_sign_in_alone(user) -> None:
    old = tokens.decode_access(actions.sign_in(user, "chrome").access)
    new = actions.sign_in(user, "chrome")
    assert not actions.log_out(user, "chrome", old.version)
    assert is_alive(new.access)
    assert not actions.log_out(user, "edge")


# --- refresh ------------------------------------------------------------------------------------
def test_a_refresh_gives_a_live_pair_of_the_same_version(user) -> None:
    pair = actions.sign_in(user, "chrome")
    found, fresh = actions.refresh(pair.refresh)
    assert found == user
    assert fresh.refresh != pair.refresh
    assert is_alive(fresh.access)
    assert is_alive(pair.access)
    assert tokens.decode_access(fresh.access).version == tokens.decode_access(pair.access).version


def test_the_previous_token_gets_the_same_successor_until_that_is_used(user) -> None:
    first = actions.sign_in(user, "chrome").refresh
    second = actions.refresh(first)[1].refresh
    assert [actions.refresh(first)[1].refresh for _ in range(3)] == [second] * 3
    third = actions.refresh(second)[1].refresh
    assert third != second
    assert actions.refresh(second)[1].refresh == third


def test_within_ten_seconds_of_that_use_it_still_gets_it(user, clock, real_lifetimes) -> None:
    first = actions.sign_in(user, "chrome").refresh
    second = actions.refresh(first)[1].refresh
    actions.refresh(second)
    clock.now += 10_000
    assert actions.refresh(first)[1].refresh == second
    clock.now += 1
    with pytest.raises(BannedRefreshToken):
        actions.refresh(first)


def test_reuse_of_an_older_token_ends_that_device_and_no_other(user) -> None:
    phone = actions.sign_in(user, "android")
    used = [actions.sign_in(user, "chrome").refresh]
    for _ in range(3):
        used.append(actions.refresh(used[-1])[1].refresh)
    access = actions.refresh(used[-1])[1].access
    with pytest.raises(BannedRefreshToken):
        actions.refresh(used[0])
    assert not is_alive(access)
    assert not can_refresh(used[-1])
    assert is_alive(phone.access)
    assert can_refresh(phone.refresh)
    reason = Event.objects.filter(type="TokensRevoked").latest("id").payload["reason"]
    assert reason == "reuse"


def test_a_token_of_an_ended_sign_in_does_not_end_the_new_one(user) -> None:
    old = actions.sign_in(user, "chrome")
    new = actions.sign_in(user, "chrome")
    assert not can_refresh(old.refresh)
    assert is_alive(new.access)
    assert can_refresh(new.refresh)


def test_an_access_token_is_no_refresh_token(user) -> None:
    with pytest.raises(InvalidToken):
        actions.refresh(actions.sign_in(user).access)


def test_a_refresh_trusts_no_cache(user) -> None:
    pair = actions.sign_in(user, "chrome")
    actions.log_out(user, "chrome")
    redis.call(lambda connection: connection.flushdb())
    cache._raise(user.pk, "fill", {f"access:{user.pk}": 0, f"access:{user.pk}:chrome": 0})
    assert not can_refresh(pair.refresh)


# --- revocation ---------------------------------------------------------------------------------
def test_a_ban_ends_all_sign_ins_and_is_revealed_only_after_the_right_password(make_user) -> None:
    user = make_user("alice1")
    pairs = [actions.sign_in(user, client) for client in ("chrome", "android")]
    actions.ban(user)
    assert [is_alive(pair.access) for pair in pairs] == [False, False]
    assert [can_refresh(pair.refresh) for pair in pairs] == [False, False]
    with pytest.raises(UserBanned):
        log_in("alice1", PASSWORD)
    with pytest.raises(PasswordNotCorrected):
        log_in("alice1", "wrong.pass1")
    with pytest.raises(UserBanned):
        actions.sign_in(user)
    assert pending_events().count("UserBanned") == 1
    actions.ban(user)
    assert pending_events().count("UserBanned") == 1


def test_after_an_unban_new_tokens_live_and_old_ones_stay_dead(make_user) -> None:
    user = make_user("alice1")
    old = actions.sign_in(user, "chrome")
    actions.ban(user)
    actions.unban(user)
    assert not is_alive(old.access)
    assert not can_refresh(old.refresh)
    _, new = log_in("alice1", PASSWORD, "chrome")
    assert is_alive(new.access)
    assert can_refresh(new.refresh)


def test_new_roles_end_access_only_and_the_refresh_brings_the_roles_of_now(user) -> None:
    pair = actions.sign_in(user, "chrome")
    actions.promote(user, Role.MEMBER | Role.ADMIN)
    assert not is_alive(pair.access)
    _, fresh = actions.refresh(pair.refresh)
    assert is_alive(fresh.access)
    assert tokens.decode_access(fresh.access).roles == Role.MEMBER | Role.ADMIN
    actions.promote(user, Role.MEMBER | Role.ADMIN)
    assert is_alive(fresh.access)
    assert pending_events().count("RolesChanged") == 1


def test_a_revocation_is_felt_in_redis_right_after_the_commit(
    user, django_capture_on_commit_callbacks
) -> None:
    pair = actions.sign_in(user, "chrome")
    redis.call(lambda connection: connection.flushdb())
    assert is_alive(pair.access)
    with django_capture_on_commit_callbacks(execute=True):
        actions.log_out(user, "chrome")
    assert redis.call(lambda c: c.get(f"access:{user.pk}:chrome")) == b"1"
    with django_capture_on_commit_callbacks(execute=True):
        actions.ban(user)
    assert redis.call(lambda c: c.get(f"access:{user.pk}")) == b"1"


def test_before_the_commit_readers_are_sent_to_the_database(
    user, django_capture_on_commit_callbacks, real_lifetimes
) -> None:
    pair = actions.sign_in(user, "chrome")
    for revoke in (lambda: actions.log_out(user, "chrome"), lambda: actions.ban(user)):
        redis.call(lambda connection: connection.flushdb())
        with django_capture_on_commit_callbacks():  # nothing runs on commit
            revoke()
        key = f"fence:{user.pk}"
        assert 0 < redis.call(methodcaller("pttl", key)) <= 5000
        assert not is_alive(pair.access)


def test_the_event_raises_the_floors_again_when_the_process_died_after_the_commit(
    user, django_capture_on_commit_callbacks
) -> None:
    actions.sign_in(user, "chrome")
    with django_capture_on_commit_callbacks():  # nothing runs on commit
        actions.log_out(user, "chrome")
    redis.call(lambda connection: connection.flushdb())
    while relay.relay():
        pass
    assert redis.call(lambda c: c.get(f"access:{user.pk}:chrome")) == b"1"
    assert pending_events() == []


def test_numbers_start_at_one_and_rise_by_one(user) -> None:
    first = tokens.decode_access(actions.sign_in(user, "chrome").access)
    second = tokens.decode_access(actions.sign_in(user, "chrome").access)
    actions.promote(user, 3)
    third = tokens.decode_access(actions.sign_in(user, "chrome").access)
    numbers = [(token.version, token.batch) for token in (first, second, third)]
    assert numbers == [(1, 1), (2, 1), (3, 2)]
    assert TokenBatch.objects.values_list("access_floor", "refresh_floor").get() == (1, 0)


def test_a_rolled_back_ban_bans_nobody(user) -> None:
    pair = actions.sign_in(user)
    with transaction.atomic():
        actions.ban(user)
        transaction.set_rollback(True)
    assert is_alive(pair.access)
    assert "UserBanned" not in pending_events()


# --- reads --------------------------------------------------------------------------------------
def test_closed_and_banned_accounts_are_not_found_and_have_no_card(make_user) -> None:
    banned, closed, fine = make_user("banned1"), make_user("closed1"), make_user("fine1")
    actions.ban(banned)
    User.objects.filter(pk=closed.pk).update(deleted_at=timezone.now())
    for person in (banned, closed):
        with pytest.raises(UserNotFound):
            queries.by_id(person.pk)
        with pytest.raises(UserNotFound):
            queries.by_name(person.username)
    assert set(queries.cards([banned.pk, closed.pk, fine.pk])) == {fine.pk}


def test_cards_are_read_in_one_query(make_user, django_assert_num_queries) -> None:
    ids = [make_user().pk for _ in range(5)]
    with django_assert_num_queries(1):
        found = queries.cards(ids)
    assert set(found) == set(ids)
    assert set(found[ids[0]]) == {"id", "username", "nickname", "avatar", "bio"}
    with django_assert_num_queries(0):
        assert queries.cards([]) == {}


def test_people_are_found_by_any_part_of_either_name_page_by_page(make_user) -> None:
    made = [make_user(f"search{n}", nickname=f"林同学{n}甲") for n in range(5)]
    other = make_user("other1", nickname="SearchMe")
    inside = make_user("zsearch1", nickname="zzzzz")
    make_user("zother1", nickname="zzzzz")
    everybody = [*made, other, inside]
    for text, people in (("SEARCH", everybody), ("@search3", [made[3]]), ("同学", made)):
        seen, cursor = [], None
        while True:
            page = finding.people(text, cursor, 2)
            seen += [int(card["id"]) for card in page.items]
            if page.next is None:
                break
            cursor = Position.decode(page.next)
        assert seen == [person.pk for person in reversed(people)]


@pytest.mark.parametrize("text", ["", "  ", "@", "%", "_", "\\", "sea%", "'", "x" * 500, "\x00"])
def test_a_search_takes_any_text_literally(text, make_user) -> None:
    make_user("search1", nickname="SearchMe")
    assert finding.people(text).items == []


# --- real transactions in real threads ----------------------------------------------------------
def at_once(*calls: Callable[..., Any]) -> list[Any]:
    """Run calls in threads that start together; returns results and errors in their order."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return call()
        except AppError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
class TestAtOnce:
    """Races on MariaDB."""

    ROUNDS = 20

    def test_two_first_logins_of_a_client_leave_one_alive(self, make_user) -> None:
        for _ in range(self.ROUNDS):
            user = make_user()
            pairs = at_once(*[lambda user=user: actions.sign_in(user, "chrome")] * 3)
            assert sorted(is_alive(pair.access) for pair in pairs) == [False, False, True]
            assert sorted(can_refresh(pair.refresh) for pair in pairs) == [False, False, True]

    def test_two_registrations_of_a_name_create_one(self, db) -> None:
        for number in range(self.ROUNDS):
            names = [f"alice{number}", f"ALICE{number}", f"Alice{number}"]
            found = at_once(
                *[lambda name=name: actions.register(name, "SomeNick", PASSWORD) for name in names]
            )
            assert sum(isinstance(one, User) for one in found) == 1
            assert sum(isinstance(one, DuplicatedUser) for one in found) == 2

    def test_tabs_that_refresh_at_once_get_the_same_token(self, make_user) -> None:
        user = make_user()
        refresh = actions.sign_in(user, "chrome").refresh
        for _ in range(self.ROUNDS):
            found = at_once(*[lambda refresh=refresh: actions.refresh(refresh)] * 4)
            assert len({pair.refresh for _, pair in found}) == 1
            refresh = found[0][1].refresh
        assert is_alive(found[0][1].access)

    def test_a_refresh_beside_a_ban_leaves_no_live_token(self, make_user) -> None:
        for _ in range(self.ROUNDS):
            user = make_user()
            refresh = actions.sign_in(user, "chrome").refresh
            found, _banned = at_once(
                lambda r=refresh: actions.refresh(r), lambda u=user: actions.ban(u)
            )
            if not isinstance(found, BannedRefreshToken):
                assert not is_alive(found[1].access)
                assert not can_refresh(found[1].refresh)

    def test_a_refresh_beside_new_roles_never_carries_the_old_ones_alive(self, make_user) -> None:
        for _ in range(self.ROUNDS):
            user = make_user()
            refresh = actions.sign_in(user, "chrome").refresh
            (_, pair), _promoted = at_once(
                lambda r=refresh: actions.refresh(r), lambda u=user: actions.promote(u, 5)
            )
            if is_alive(pair.access):
                assert tokens.decode_access(pair.access).roles == 5
            assert can_refresh(pair.refresh)

    def test_bumps_at_once_lose_no_number(self, make_user) -> None:
        user = make_user()
        at_once(*[lambda n=n: actions.promote(user, n) for n in (3, 5, 7)] * 2)
        batch = TokenBatch.objects.get(pk=user.pk)
        changes = Event.objects.filter(type="RolesChanged").count()
        assert batch.batch == 1 + changes
        assert batch.access_floor == changes
