"""Endpoints for other services: public keys and introspection (RFC 7517, RFC 7662)."""

import base64
import time
from typing import Any
from urllib.parse import quote

import jwt
import pytest
from django.db import OperationalError, connection
from rest_framework.test import APIClient

from accounts import actions
from accounts.models import TokenBatch, TokenVersion
from accounts.request_auth import token_introspection
from accounts.tests.tokens.named_forgeries import OTHER_KEY, forge, forgeries
from socialsite.core import redis
from socialsite.core.errors import AppError
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.runtime import keys, service_keys

pytestmark = pytest.mark.django_db

INTROSPECT = "/api/v1/auth/introspect"
JWKS = "/.well-known/jwks.json"
INACTIVE = {"active": False}
KEY, OTHER = "k" * 31 + "+", "%2B" * 12


@pytest.fixture
def user(make_user):
    return make_user("alice1")


@pytest.fixture(autouse=True)
def _services(settings) -> None:
    settings.SERVICE_KEYS = service_keys.read([f"shop:{KEY}", OTHER])


@pytest.fixture
def api() -> APIClient:
    """A service that sends its key."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {KEY}")
    return client


@pytest.fixture
def ask(api):
    """Return a function that introspects a token and returns the response's body."""

    def run(token: str):
        response = api.post(INTROSPECT, {"token": token}, format="json")
        assert response.status_code == 200
        assert response["Cache-Control"] == "no-store"
        return response.json()

    return run


def claims_of(token: str):
    return jwt.decode(token, options={"verify_signature": False})


# --- introspection ------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["access", "refresh"])
def test_a_live_token_is_active_with_its_claims(kind, user, pair, ask) -> None:
    token = getattr(pair, kind)
    named = {"active": True, "sub": str(user.pk), "username": "alice1"}
    assert ask(token) == claims_of(token) | named
    assert ("rol" in ask(token)) is (kind == "access")


def test_a_form_is_taken_too(pair, api) -> None:
    """Clients of RFC 7662 send forms."""
    form = {"token": pair.access, "token_type_hint": "refresh_token"}
    kind = "application/x-www-form-urlencoded"
    body = "&".join(f"{name}={value}" for name, value in form.items())
    assert api.generic("POST", INTROSPECT, body, content_type=kind).json()["active"] is True


def basic(name: str, key: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{key}".encode()).decode()


@pytest.mark.parametrize(
    "shown",
    [
        f"Bearer {KEY}",
        f"bearer  {KEY} ",
        f"Bearer {OTHER}",
        basic("shop", KEY),
        basic("shop", quote(KEY, safe="")),  # encoded as in RFC 6749
        basic("", OTHER),
        basic("anything", OTHER),
    ],
)
def test_a_service_shows_its_key_in_either_way(shown, pair) -> None:
    answer = APIClient().post(
        INTROSPECT, {"token": pair.access}, format="json", HTTP_AUTHORIZATION=shown
    )
    assert (answer.status_code, answer.json()["active"]) == (200, True)


def refused(shown: str | None, **more: Any):
    """Return the response to this credential and a meaningless token."""
    headers = more if shown is None else more | {"HTTP_AUTHORIZATION": shown}
    return APIClient().post(INTROSPECT, {"token": "x"}, format="json", **headers)


@pytest.mark.parametrize(
    "shown",
    [
        None,
        "",
        "Bearer",
        "Bearer nonsense",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY} {KEY}",
        KEY,
        f"Token {KEY}",
        basic("shop", KEY + "x"),
        basic("wiki", KEY),
        basic("", KEY),
        basic("shop", ""),
        "Basic x",
        "Basic é",
        "Basic " + base64.b64encode(b"\xff\xfe").decode(),
        "Basic " + base64.b64encode(b"shop").decode(),
    ],
)
def test_without_a_right_key_nothing_is_revealed(shown, db) -> None:
    answer = refused(shown)
    assert (answer.status_code, answer.json()["code"]) == (401, 14)
    assert answer["WWW-Authenticate"] == 'Bearer realm="services", Basic realm="services"'


def test_a_signed_in_person_is_no_service(pair) -> None:
    assert refused(f"Bearer {pair.access}").status_code == 401
    browser = APIClient()
    browser.cookies["access"], browser.cookies["refresh"] = pair
    answer = browser.post(INTROSPECT, {"token": pair.access}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (401, 14)


def test_without_a_configured_key_introspection_is_closed(settings, pair) -> None:
    settings.SERVICE_KEYS = []
    for shown in (None, f"Bearer {KEY}", "Bearer ", basic("", "")):
        assert refused(shown).status_code == 401


def test_wrong_keys_have_a_budget_that_a_right_one_does_not_meet(
    pair, ask, settings, dead_redis, clock
) -> None:
    settings.BUDGETS = {"introspect_refused": Rate(2, 60)}
    with dead_redis():
        statuses = [refused("Bearer nonsense").status_code for _ in range(4)]
        assert statuses == [401, 401, 429, 429]
        answer = refused(basic("shop", "nonsense"))
        assert (answer.json()["code"], answer["Retry-After"]) == (11, "60")
        assert ask(pair.access)["active"]
        assert refused(None).status_code == 401  # a missing key does not count as a wrong one
        assert refused("Bearer nonsense", REMOTE_ADDR="203.0.113.5").status_code == 401


def test_each_service_has_a_budget_of_questions(pair, settings) -> None:
    settings.BUDGETS = {"introspect": Rate(2, 60)}

    def statuses(shown: str) -> list[int]:
        return [
            APIClient()
            .post(INTROSPECT, {"token": "x"}, format="json", HTTP_AUTHORIZATION=shown)
            .status_code
            for _ in range(3)
        ]

    assert statuses(f"Bearer {KEY}") == [200, 200, 429]
    assert statuses(f"Bearer {OTHER}") == [200, 200, 429]


def test_the_error_of_a_token_is_not_revealed(pair, ask) -> None:
    wrong = {name: ask(token) for name, token in forgeries(pair).items() if "refresh" not in name}
    assert [name for name, body in wrong.items() if body != INACTIVE] == []
    for token in ("", " ", "x" * 100_000, forge(pair.access, exp=int(time.time()))):
        assert ask(token) == INACTIVE


@pytest.mark.parametrize("data", [{}, {"access": "x"}, {"token": None}, {"token": ["x"]}, []])
def test_a_question_without_a_token_is_malformed(data, api, db) -> None:
    response = api.post(INTROSPECT, data, format="json")
    assert (response.status_code, response.json()["code"]) == (400, 13)
    assert api.get(INTROSPECT).json()["code"] == 18


@pytest.mark.parametrize(
    ("act", "access", "refresh"),
    [
        (lambda user: actions.log_out(user, "chrome"), False, False),
        (lambda user: actions.log_out(user, "edge"), True, True),
        (lambda user: actions.sign_in(user, "chrome"), False, False),
        (lambda user: actions.promote(user, 3), False, True),
        (actions.ban, False, False),
        (lambda user: actions.unban(actions.ban(user)), False, False),
    ],
)
@pytest.mark.parametrize("cache", ["warm", "empty", "dead"])
def test_the_floors_count(act, access, refresh, cache, user, pair, ask, monkeypatch) -> None:
    actions.sign_in(user, "edge")
    assert (ask(pair.access)["active"], ask(pair.refresh)["active"]) == (True, True)
    act(user)
    if cache == "empty":
        redis.call(lambda connection: connection.flushdb())
    elif cache == "dead":

        def down(function):
            raise redis.RedisDown("cut off")

        monkeypatch.setattr(redis, "call", down)
    assert (ask(pair.access)["active"], ask(pair.refresh)["active"]) == (access, refresh)
    if not access:
        assert ask(pair.access) == INACTIVE


def test_a_kick_counts_at_once_where_the_floors_are_cached(user, pair, ask) -> None:
    redis.call(lambda connection: connection.delete(f"fence:{user.pk}"))
    assert ask(pair.access)["active"]
    assert ask(pair.access)["active"]
    actions.log_out(user, "chrome")
    assert ask(pair.access) == INACTIVE


def test_a_refresh_token_is_active_while_an_exchange_would_accept_it(
    user, pair, ask, monkeypatch
) -> None:
    """Checks five generations, with and without the ten seconds of grace."""
    generations = [pair.refresh]
    for _ in range(4):
        generations.append(actions.refresh(generations[-1])[1].refresh)
    assert [ask(token)["active"] for token in generations] == [False, False, True, True, True]
    TokenVersion.objects.update(rotated_at=0)
    assert [ask(token)["active"] for token in generations] == [False, False, False, True, True]
    before = TokenVersion.objects.values().get()
    assert ask(generations[0]) == INACTIVE
    assert TokenVersion.objects.values().get() == before  # introspection ends nothing
    assert actions.refresh(generations[3])[1].refresh == generations[4]
    with pytest.raises(AppError):
        actions.refresh(generations[2])
    assert ask(generations[4]) == INACTIVE  # using it does


def test_asking_notes_no_presence(user, pair, ask) -> None:
    TokenVersion.objects.update(last_seen="2020-01-01T00:00Z")
    assert ask(pair.access)["active"]
    assert TokenVersion.objects.get().last_seen.year == 2020


def test_a_client_that_never_signed_in_and_nobody_are_not_active(user, pair, ask) -> None:
    assert ask(forge(pair.access, cli="android")) == INACTIVE
    assert ask(forge(pair.refresh, cli="android")) == INACTIVE
    for token in pair:
        assert ask(forge(token, uid="1")) == INACTIVE


def test_no_token_of_a_closed_account_is_active(user, pair, ask) -> None:
    type(user).objects.update(deleted_at="2026-01-01T00:00Z")
    assert [ask(token) for token in pair] == [INACTIVE, INACTIVE]


def test_without_the_database_there_is_no_answer(pair, api) -> None:
    def refuse(execute, sql, params, many, context):
        raise OperationalError(2006, "gone away")

    for token in pair:
        with connection.execute_wrapper(refuse):
            response = api.post(INTROSPECT, {"token": token}, format="json")
        assert (response.status_code, response.json()["code"]) == (503, 21)
        assert "Retry-After" in response


def test_it_costs_one_query_for_an_access_token(user, pair, django_assert_num_queries) -> None:
    redis.call(lambda connection: connection.flushdb())
    token_introspection.active_claims(pair.access)
    with django_assert_num_queries(1):
        token_introspection.active_claims(pair.access)
    with django_assert_num_queries(3):
        token_introspection.active_claims(pair.refresh)
    with django_assert_num_queries(0):
        token_introspection.active_claims(forge(pair.access, key=OTHER_KEY))


def test_numbers_of_the_person_stay_with_the_site(pair, ask) -> None:
    """A response contains the token's own claims, never the floors or the device."""
    assert TokenBatch.objects.count() == 1
    told = set(ask(pair.access))
    assert told == set(claims_of(pair.access)) | {"active", "sub", "username"}


# --- public keys --------------------------------------------------------------------------------
def test_public_keys_are_published_and_secrets_are_not(api, db, user, settings) -> None:
    assert api.get(JWKS).json() == {"keys": []}
    ed, rsa = keys.read([keys.new("ed25519"), keys.new("rsa")])
    settings.JWT_KEYS = [ed, settings.JWT_KEYS[0], rsa]
    response = api.get(JWKS)
    published = {key["kid"]: key for key in response.json()["keys"]}
    assert [key["alg"] for key in published.values()] == ["EdDSA", "RS256"]
    assert {key["use"] for key in published.values()} == {"sig"}
    assert not {"d", "p", "q", "k"} & {name for key in published.values() for name in key}
    token = actions.sign_in(user, "edge").access
    key = jwt.PyJWK(published[jwt.get_unverified_header(token)["kid"]])
    assert jwt.decode(token, key, audience="socialsite", issuer="socialsite")["uid"] == str(user.pk)


def test_public_keys_may_be_cached_for_minutes_and_set_no_cookie(api, pair) -> None:
    api.cookies["access"] = api.cookies["refresh"] = "nonsense"
    response = api.get(JWKS)
    assert response["Cache-Control"] == "public, max-age=300"
    assert response["Content-Type"] == "application/json"
    assert not response.cookies
    assert api.post(JWKS).status_code == 405
    assert APIClient().head(JWKS).status_code == 200


def test_public_keys_are_there_without_any_service(
    api, monkeypatch, django_assert_num_queries
) -> None:
    def down(function):
        raise redis.RedisDown("cut off")

    monkeypatch.setattr(redis, "call", down)
    with django_assert_num_queries(0):
        assert api.get(JWKS).json() == {"keys": []}
