"""`/ws/session/`: messages, and closes with their time and reason."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from accounts import actions, cache, live_hints, sign_out_reasons, tokens
from accounts.events import TokensRevoked
from accounts.live import checks, consumers
from accounts.models import User
from accounts.request_auth import authentication
from accounts.tests.live.talk import Socket, claims_of, in_thread, run, until
from socialsite.core import redis
from socialsite.core.errors import BannedAccessToken

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.embedded]


@pytest.fixture
def quick(monkeypatch) -> None:
    """Make sockets check their token often."""
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.1)


@pytest.fixture
def deaf(monkeypatch) -> None:
    """A channel layer that loses every message."""
    monkeypatch.setattr(live_hints, "_send", lambda user_ids, event: None)


@pytest.mark.parametrize("way", ["by_cookie", "by_bearer"])
def test_a_push_arrives_at_every_socket_of_the_person_and_nobody_else(way, user, make_user) -> None:
    other = make_user()
    pairs = [actions.sign_in(user, "chrome"), actions.sign_in(user, "android")]
    strange = actions.sign_in(other)

    async def scenario() -> None:
        mine = [getattr(Socket, way)(pair.access) for pair in pairs]
        theirs = Socket.by_cookie(strange.access)
        for socket in (*mine, theirs):
            assert await socket.open()
        await in_thread(live_hints.push, [user.pk, 1], {"type": "new_posts", "count": 1})
        for socket in mine:
            assert await socket.receive() == {"type": "new_posts", "count": 1}
        await in_thread(live_hints.push, [other.pk], {"type": "new_posts", "count": 2})
        assert await theirs.receive() == {"type": "new_posts", "count": 2}  # and nothing before it
        for socket in (*mine, theirs):
            await socket.leave()

    run(scenario)


def test_a_push_to_a_thousand_people_is_one_round_trip(monkeypatch, db) -> None:
    seen: list[object] = []
    call = redis.call
    monkeypatch.setattr(redis, "call", lambda function: (seen.append(function), call(function))[1])
    live_hints.push(range(1000), {"type": "new_posts"})
    assert len(seen) == 1


def test_a_push_never_raises(monkeypatch, user) -> None:
    def down(function):
        raise redis.RedisDown("cut off")

    monkeypatch.setattr(redis, "call", down)
    live_hints.push([user.pk], {"type": "new_posts"})
    live_hints.push([user.pk], {"type": "new_posts", "count": object()})
    live_hints.push([user.pk], {"type": object()})
    assert live_hints.online([user.pk]) == live_hints.all_online() == set()


def test_failed_messages_are_sent_once_when_redis_is_back(user, dead_redis, monkeypatch) -> None:
    pair = actions.sign_in(user)
    monkeypatch.setattr(redis.backlog, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(redis.backlog, "LISTENERS_SECONDS", 0.05)
    monkeypatch.setattr(redis.backlog, "MESSAGES_EACH", 1)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        with dead_redis():
            assert live_hints.anyone_perhaps_online()
            assert live_hints.perhaps_online([user.pk, 5]) == {user.pk, 5}
            for count in (1, 1, 2):
                await in_thread(live_hints.push, [user.pk], {"type": "new_posts", "count": count})
            assert await socket.is_silent()
        assert await socket.receive() == {"type": "new_posts", "count": 1}
        assert await socket.receive() == {"type": "new_posts", "count": 2}
        assert await socket.is_silent()
        await socket.leave()

    run(scenario)


def test_messages_beyond_the_backlog_limit_are_dropped(monkeypatch, dead_redis) -> None:
    monkeypatch.setattr(redis.backlog, "MESSAGES_LIMIT", 3)
    with dead_redis():
        live_hints.push([1, 2], {"type": "new_posts"})
        live_hints.push([2, 3, 4], {"type": "new_posts"})
    assert [channel[-1] for _, channel, _ in redis.backlog._messages] == ["1", "2", "3"]


# --- kicks --------------------------------------------------------------------------------------
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0 Safari/537.36"


@pytest.mark.parametrize(
    ("act", "reason", "by"),
    [
        (lambda user: actions.sign_in(user, "chrome", WINDOWS), "login", "Chrome, Windows"),
        (lambda user: actions.log_out(user, "chrome"), "logout", ""),
        (
            lambda user: actions.kick(user, "chrome", by="Android"),
            "kicked",
            "Android",
        ),
        (lambda user: change_password(user, "android"), "password", "Android"),
        (lambda user: actions.set_password(user, "left.pass2"), "password", ""),
        (actions.force_offline, "forced", ""),
        (actions.ban, "ban", ""),
    ],
)
@pytest.mark.parametrize("way", ["by a message", "by its own look"])
def test_a_socket_is_closed_with_the_reason(way, act, reason, by, user, monkeypatch) -> None:
    pair = actions.sign_in(user, "chrome")
    actions.sign_in(user, "android")
    if way == "by its own look":
        monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.1)
        monkeypatch.setattr(live_hints, "_send", lambda user_ids, event: None)
        if reason == "password":
            by = ""  # not stored for all clients together

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await in_thread(act, user)
        assert await socket.receive() == {"type": "kicked", "reason": reason, "by": by}
        assert await socket.code() == (4001, reason)

    run(scenario)


def change_password(user: User, client: str) -> tokens.TokenPair:
    return actions.change_password(user, client, "right.pass1", "left.pass2", by="Android")


@pytest.mark.parametrize("way", ["by a message", "by its own look", "at the door"])
def test_the_changer_of_a_password_reconnects_with_the_new_pair(way, user, monkeypatch) -> None:
    pair = actions.sign_in(user, "android")
    if way != "by a message":
        monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.1)
        monkeypatch.setattr(live_hints, "_send", lambda user_ids, event: None)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access, pair.refresh)
        if way == "at the door":
            await in_thread(change_password, user, "android")
            assert await socket.open()
        else:
            assert await socket.open()
            await in_thread(change_password, user, "android")
        assert await socket.code() == (4002, "")
        await in_thread(actions.sign_in, user, "android")
        late = Socket.by_cookie(pair.access, pair.refresh)
        assert await late.open()
        assert (await late.code())[0] == 4001

    run(scenario)


def test_a_kick_of_one_device_leaves_the_others_and_a_newer_sign_in_alone(user) -> None:
    chrome, phone = actions.sign_in(user, "chrome"), actions.sign_in(user, "android")

    async def scenario() -> None:
        old, other = Socket.by_cookie(chrome.access), Socket.by_cookie(phone.access)
        assert await old.open()
        assert await other.open()
        pair = await in_thread(actions.sign_in, user, "chrome")
        new = Socket.by_cookie(pair.access)
        assert await new.open()
        assert (await old.code())[0] == 4001
        await in_thread(live_hints.kick, TokensRevoked(user.pk, "chrome", 1, "login", False))
        assert await new.is_silent()
        assert await other.is_silent()
        await new.leave()
        await other.leave()

    run(scenario)


def test_new_roles_make_the_socket_come_back_with_a_new_token(user) -> None:
    pair = actions.sign_in(user, "chrome")

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await in_thread(actions.promote, user, 3)
        assert await socket.code() == (4002, "")

    run(scenario)


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda user: actions.log_out(user, "chrome"), 4001),
        (actions.ban, 4001),
        (lambda user: actions.promote(user, 3), 4002),
    ],
)
def test_without_messages_the_socket_polls(act, code, user, quick, deaf) -> None:
    pair = actions.sign_in(user, "chrome")

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await in_thread(act, user)
        assert (await socket.code())[0] == code

    run(scenario)


def test_a_socket_polls_at_least_every_five_seconds(real_lifetimes) -> None:
    assert consumers.RECHECK_SECONDS <= 5


def test_nothing_is_passed_on_to_a_dead_token(user, monkeypatch) -> None:
    pair = actions.sign_in(user, "chrome")
    send = live_hints._send

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        monkeypatch.setattr(live_hints, "_send", lambda user_ids, event: None)
        await in_thread(actions.log_out, user, "chrome")
        monkeypatch.setattr(live_hints, "_send", send)
        await in_thread(live_hints.push, [user.pk], {"type": "new_posts", "count": 1})
        assert await socket.receive() == {"type": "kicked", "reason": "logout", "by": ""}
        assert (await socket.code())[0] == 4001

    run(scenario)


@pytest.mark.parametrize("first", ["the revocation", "the check"])
def test_a_revocation_while_the_socket_opens_is_never_missed(first, user, monkeypatch) -> None:
    pair = actions.sign_in(user, "chrome")
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 60)
    look = checks.check_all

    def late(principals: Sequence[tokens.Principal]) -> list[checks.Outcome]:
        found = look(principals) if first == "the check" else []
        actions.log_out(user, "chrome")
        return found or look(principals)

    monkeypatch.setattr(checks, "check_all", late)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        assert (await socket.code())[0] == 4001

    run(scenario)


def test_a_socket_closes_the_moment_its_token_is_over(user) -> None:
    """The next regular check would be an hour later."""
    claims = claims_of(actions.sign_in(user)) | {"expires": time.time() + 1}
    ticket = cache.store_ticket(claims)

    async def scenario() -> float:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        assert await socket.code() == (4002, "")
        return time.time()

    assert consumers.RECHECK_SECONDS >= 3600
    assert claims["expires"] <= run(scenario)


def test_frames_from_the_browser_are_ignored_and_many_are_refused(user) -> None:
    pair = actions.sign_in(user)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        for text in ("{", "null", '{"type":"session.kick"}', "x" * 1024):
            await socket.send(text)
        assert await socket.is_silent()
        await socket.send("x" * 1025)
        assert (await socket.code())[0] == 1009

    run(scenario)


def test_presence_is_noted_and_runs_out(user, make_user, monkeypatch) -> None:
    pair, other = actions.sign_in(user), make_user()

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await socket.leave()

    assert live_hints.all_online() == set()
    run(scenario)
    assert live_hints.all_online() == live_hints.online([user.pk, other.pk]) == {user.pk}
    now = live_hints._now_ms()
    monkeypatch.setattr(live_hints, "_now_ms", lambda: now + live_hints.ONLINE_MS + 1000)
    assert live_hints.all_online() == live_hints.online([user.pk, other.pk]) == set()


def test_presence_lasts_while_the_socket_is_open(user, quick) -> None:
    pair = actions.sign_in(user)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await sync_to_async(redis.call)(lambda connection: connection.delete(live_hints.ONLINE))
        await until(lambda: live_hints.online([user.pk]) == {user.pk})
        await socket.leave()

    run(scenario)


# --- what is dead or hangs ----------------------------------------------------------------------
async def refuse(*args: Any) -> None:
    raise ConnectionError("no channel layer")


async def hang(*args: Any) -> None:
    await asyncio.sleep(3600)


@pytest.mark.parametrize("trouble", [refuse, hang])
def test_without_a_channel_layer_a_socket_polls_the_token_state(
    trouble, user, quick, monkeypatch
) -> None:
    pair = actions.sign_in(user, "chrome")
    monkeypatch.setattr(consumers, "JOIN_SECONDS", 0.2)

    async def scenario() -> None:
        layer = get_channel_layer()._get_layer()
        for name in ("group_add", "group_discard"):
            monkeypatch.setattr(layer, name, trouble)
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        assert await socket.is_silent()
        await in_thread(actions.log_out, user, "chrome")
        assert await socket.code() == (4001, "logout")
        assert layer.channels == {}

    run(scenario)


def test_a_socket_joins_when_the_channel_layer_is_back(user, quick, monkeypatch) -> None:
    pair = actions.sign_in(user, "chrome")

    async def scenario() -> None:
        layer = get_channel_layer()._get_layer()
        with monkeypatch.context() as patch:
            patch.setattr(layer, "group_add", refuse)
            socket = Socket.by_cookie(pair.access)
            assert await socket.open()
        # Hints in the meantime are lost, so the page fetches what is new.
        assert await socket.receive() == {"type": "new_posts", "count": 0}
        assert await socket.receive() == {"type": "notification"}
        assert await socket.is_silent()
        await in_thread(live_hints.push, [user.pk], {"type": "new_posts", "count": 1})
        assert await socket.receive() == {"type": "new_posts", "count": 1}
        await socket.leave()

    run(scenario)


async def clear_presence(user: User, dead_redis: Any, monkeypatch: Any) -> None:
    await in_thread(redis.call, lambda connection: connection.delete(live_hints.ONLINE))


async def let_presence_expire(user: User, dead_redis: Any, monkeypatch: Any) -> None:
    long_ago = {str(user.pk): time.time() * 1000 - live_hints.ONLINE_MS - 1}
    await in_thread(redis.call, lambda connection: connection.zadd(live_hints.ONLINE, long_ago))


async def do_without_redis(user: User, dead_redis: Any, monkeypatch: Any) -> None:
    """Both devices check their token without an answer from Redis."""
    look, unknown = checks.check_all, set[str]()

    def watched(principals: Sequence[tokens.Principal]) -> list[checks.Outcome]:
        found = look(principals)
        pairs = zip(principals, found, strict=True)
        unknown.update(one.client for one, outcome in pairs if outcome is None)
        return found

    with monkeypatch.context() as patch, dead_redis():
        patch.setattr(checks, "check_all", watched)
        await until(lambda: unknown == {"chrome", "android"})


@pytest.mark.parametrize("loss", [clear_presence, let_presence_expire, do_without_redis])
def test_pages_fetch_news_once_after_a_gap_in_presence(
    loss, user, quick, dead_redis, monkeypatch
) -> None:
    """On each device, also on the one that finds the presence recorded by the other."""
    pairs = [actions.sign_in(user, "chrome"), actions.sign_in(user, "android")]

    async def scenario() -> None:
        mine = [Socket.by_cookie(pair.access) for pair in pairs]
        for socket in mine:
            assert await socket.open()
        assert await mine[0].is_silent()
        await loss(user, dead_redis, monkeypatch)
        for socket in mine:
            assert await socket.receive() == {"type": "new_posts", "count": 0}
            assert await socket.receive() == {"type": "notification"}
        for socket in mine:
            assert await socket.is_silent()
            await socket.leave()

    run(scenario)


def broken(*args: Any) -> None:
    raise ConnectionError("no database")


@pytest.mark.parametrize("trouble", ["broken", "stuck"])
@pytest.mark.parametrize("when", ["at the door", "later"])
def test_without_an_answer_a_socket_is_closed_not_trusted(
    when, trouble, user, quick, monkeypatch
) -> None:
    pair, over = actions.sign_in(user), threading.Event()
    look = broken if trouble == "broken" else lambda principals: over.wait(25)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        if when == "later":
            assert await socket.open()
        monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.3)
        monkeypatch.setattr(checks, "check_all", look)
        if when == "at the door":
            assert await socket.open()
        assert (await socket.end())[0] == 1013
        assert not over.is_set()
        over.set()
        await socket.leave()

    run(scenario)


def test_without_a_known_reason_the_client_reconnects(user, quick, monkeypatch) -> None:
    pair = actions.sign_in(user, "chrome")

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        monkeypatch.setattr(sign_out_reasons, "of", broken)
        monkeypatch.setattr(live_hints, "_send", lambda user_ids, event: None)
        await in_thread(actions.log_out, user, "chrome")
        assert await socket.code() == (4002, "")

    run(scenario)


def test_polls_of_many_are_one_round_trip_and_no_query(
    make_user, monkeypatch, django_assert_num_queries
) -> None:
    principals = [tokens.decode_access(actions.sign_in(make_user()).access) for _ in range(3)]
    checks.check_all(principals)
    seen: list[object] = []
    call = redis.call
    monkeypatch.setattr(redis, "call", lambda function: (seen.append(function), call(function))[1])
    with django_assert_num_queries(0):
        assert checks.check_all(principals) == [True] * 3
    assert len(seen) == 1


def test_sockets_that_ask_together_are_checked_together_each_with_its_own_outcome(
    make_user, monkeypatch
) -> None:
    """More than fit into one check; one of them is signed out, and one cannot be read."""
    monkeypatch.setattr(checks, "MOST", 4)
    people = [make_user() for _ in range(6)]
    pairs = [actions.sign_in(person, "chrome") for person in people]
    principals = [tokens.decode_access(pair.access) for pair in pairs]
    actions.log_out(people[1], "chrome")
    look, sizes, admit = checks.check_all, [], authentication.admit

    def counted(some: Sequence[tokens.Principal]) -> list[checks.Outcome]:
        sizes.append(len(some))
        return look(some)

    def refusing(principal: tokens.Principal, floors: Any) -> None:
        if principal.user_id == people[4].pk:
            raise ConnectionError("no database")
        admit(principal, floors)

    monkeypatch.setattr(checks, "check_all", counted)
    monkeypatch.setattr(authentication, "admit", refusing)

    async def scenario() -> list[Any]:
        answers = (checks.check(principal) for principal in principals)
        return await asyncio.gather(*answers, return_exceptions=True)

    found = run(scenario)
    assert sizes == [4, 2]
    assert [isinstance(one, Exception) for one in found] == [False, True, False, False, True, False]
    assert isinstance(found[1], BannedAccessToken)
    assert isinstance(found[4], ConnectionError)
