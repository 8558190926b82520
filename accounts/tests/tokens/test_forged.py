"""Two thousand forged tokens over HTTP, and some over WebSocket: each refused with the right code.

A seed makes failures reproducible. A forged token costs neither a query nor a round trip.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import actions, tokens
from accounts.tests.live.talk import Socket, run
from accounts.tests.tokens import forgery
from accounts.tests.tokens.forgery import FAMILIES, Forger, Forgery
from accounts.tokens import decoding
from socialsite.core import redis
from socialsite.core.errors import InvalidInput
from socialsite.core.runtime import service_keys

SEED = 20261121
OVER_HTTP = 2000
OVER_SOCKETS = 500
ME = "/api/v1/users/me"


@pytest.fixture
def live(db, make_user, settings) -> list[tokens.TokenPair]:
    """Pairs of two people, signed by each key of the ring; all keys are valid at once."""
    people = [make_user(), make_user()]
    found = []
    ring = forgery.ring()
    for number, client in enumerate(("chrome", "android", "edge")):
        settings.JWT_KEYS = [*ring[number:], *ring[:number]]
        found += [actions.sign_in(person, client) for person in people]
    settings.JWT_KEYS = ring
    redis.call(lambda connection: connection.flushdb())
    return found


@pytest.fixture
def forge(live) -> Callable[[str, int], list[Forgery]]:
    """Return a function that forges this number of tokens of a pretended kind."""
    tokens_of = {kind: [getattr(pair, kind) for pair in live] for kind in ("access", "refresh")}

    def make(kind: str, count: int) -> list[Forgery]:
        other = "refresh" if kind == "access" else "access"
        return Forger(tokens_of[kind], tokens_of[other], f"{SEED} {kind}").make(count)

    return make


def bearer(text: str) -> str:
    """Return a header as a server passes it on: bytes as Latin-1."""
    return f"Bearer {text}".encode().decode("latin-1")


def test_the_live_tokens_are_taken(live, api) -> None:
    """Shows that the forgeries below derive from valid tokens, of every key."""
    algorithms = set()
    for pair in live:
        assert api.get(ME, HTTP_AUTHORIZATION=bearer(pair.access)).status_code == 200
        algorithms.add(forgery.opened(pair.access)[0]["alg"])
    assert algorithms == {"EdDSA", "RS256", "HS256"}
    for pair in live:
        answer = api.post("/api/v1/auth/refresh", {"refresh": pair.refresh}, format="json")
        assert answer.status_code == 200


@pytest.mark.once
def test_two_thousand_forged_tokens_are_refused_over_http(live, forge, api, monkeypatch) -> None:
    round_trips, call = [], redis.call
    monkeypatch.setattr(
        redis, "call", lambda function: (round_trips.append(function), call(function))[1]
    )
    wrong: list[Any] = []
    asked: Counter[Any] = Counter()
    api.raise_request_exception = False

    def judge(one: Forgery, way: str, response) -> None:
        asked[one.family] += 1
        body, expected = response.json(), (401, one.code)
        if way == "body" and (len(one.token) > decoding.MAX_LENGTH or "\0" in one.token):
            expected = (400, InvalidInput.code)  # no valid text at all
        if (response.status_code, body.get("code")) != expected:
            wrong.append((one.family, way, one.token[:300], response.status_code, body))

    share = OVER_HTTP * 3 // 4
    access, refresh = forge("access", share), forge("refresh", OVER_HTTP - share)
    with CaptureQueriesContext(connection) as queries:
        for number, one in enumerate(access):
            if number % 2 and one.plain:
                judge(one, "cookie", api.get(ME, HTTP_COOKIE=f"access={one.token}"))
            else:
                judge(one, "bearer", api.get(ME, HTTP_AUTHORIZATION=bearer(one.token)))
        for one in refresh:
            answer = api.post("/api/v1/auth/refresh", {"refresh": one.token}, format="json")
            judge(one, "body", answer)
    assert wrong == []
    assert (len(queries), round_trips) == (0, [])
    assert set(asked) == set(FAMILIES)
    assert min(asked.values()) >= 40
    assert asked.total() == OVER_HTTP


def test_forged_cookies_make_a_guest_of_the_visitor_of_a_page(forge, api) -> None:
    """The access token is checked first, then the refresh token."""
    pairs = zip(forge("access", 150), forge("refresh", 150), strict=True)
    plain = [(one.token, other.token) for one, other in pairs if one.plain and other.plain]
    assert len(plain) >= 100
    for access, refresh in plain:
        answer = api.get("/settings/blocked", HTTP_COOKIE=f"access={access}; refresh={refresh}")
        assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/login")


def test_forged_tokens_are_not_active(forge, api, settings) -> None:
    settings.SERVICE_KEYS = service_keys.read(["k" * 32])
    api.credentials(HTTP_AUTHORIZATION="Bearer " + "k" * 32)
    for one in forge("access", 150) + forge("refresh", 150):
        if "\0" not in one.token:
            answer = api.post("/api/v1/auth/introspect", {"token": one.token}, format="json")
            assert answer.json()["active"] is (one.family == "the_other_kind"), one


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_five_hundred_forged_tokens_are_refused_by_the_socket(live, forge) -> None:
    wrong: list[Any] = []
    codes: Counter[Any] = Counter()

    async def scenario() -> None:
        for pair in live:
            socket = Socket.by_bearer(pair.access)
            assert await socket.open()
            assert await socket.is_silent()
            await socket.leave()
        for number, one in enumerate(forge("access", OVER_SOCKETS)):
            way = Socket.by_cookie if number % 2 and one.plain else Socket.by_bearer
            socket = way(one.token)
            code = (await socket.code())[0] if await socket.open() else 0
            codes[code] += 1
            if code != (4002 if one.code == 6 else 4001):
                wrong.append((one.family, way.__name__, one.token[:300], code))

    run(scenario)
    assert wrong == []
    assert codes[4001] > 400
    assert codes[4002] > 10
