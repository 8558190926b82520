"""Tokens: which are refused and with which code, and the cached floors."""

import time
from operator import methodcaller

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from django.conf import settings

from accounts import actions, cache, tokens
from accounts.models import TokenVersion
from accounts.request_auth import authentication
from accounts.tests.tokens.named_forgeries import BAD_CLAIMS, KEY, KID, OTHER_KEY, forge, forgeries
from accounts.tokens import decoding
from accounts.tokens.keys import key_ring
from socialsite.core import redis
from socialsite.core.errors import BannedAccessToken, ExpiredJwt, InvalidToken
from socialsite.core.runtime import keys

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def test_every_forged_access_token_is_invalid_and_never_an_error_of_ours(pair, api) -> None:
    assert (
        api.get("/api/v1/users/me", HTTP_AUTHORIZATION=f"Bearer {pair.access}").status_code == 200
    )
    wrong = {}
    for name, token in forgeries(pair).items():
        response = api.get("/api/v1/users/me", HTTP_AUTHORIZATION=f"Bearer {token}")
        if (response.status_code, response.json()["code"]) != (401, 15):
            wrong[name] = response.status_code, response.json()
    assert wrong == {}


def test_every_forged_refresh_token_is_invalid(pair, api) -> None:
    wrong = {}
    for name, values in BAD_CLAIMS.items():
        for value in values:
            if name == "rol" or value == "refresh":
                continue
            token = forge(pair.refresh, **{name: value})
            response = api.post("/api/v1/auth/refresh", {"refresh": token}, format="json")
            if (response.status_code, response.json()["code"]) != (401, 15):
                wrong[name, value] = response.status_code, response.json()
    access = api.post("/api/v1/auth/refresh", {"refresh": pair.access}, format="json")
    assert (wrong, access.json()["code"]) == ({}, 15)


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer a b", "bearer x", "BEARER ..."])
def test_a_malformed_bearer_header_is_invalid(header, api, db) -> None:
    assert api.get("/api/v1/users/me", HTTP_AUTHORIZATION=header).json()["code"] == 15


def test_a_text_that_has_no_bytes_is_invalid() -> None:
    with pytest.raises(InvalidToken):
        tokens.decode_access("\ud800.e30.e30")


def test_a_header_of_another_scheme_is_no_credential(api, db) -> None:
    assert api.get("/api/v1/users/me", HTTP_AUTHORIZATION="Basic eDp5").json()["code"] == 14


def test_only_the_time_makes_a_token_expired(pair, api) -> None:
    token = forge(pair.access, exp=int(time.time()))
    response = api.get("/api/v1/users/me", HTTP_AUTHORIZATION=f"Bearer {token}")
    assert (response.status_code, response.json()["code"]) == (401, 6)
    assert response["WWW-Authenticate"] == "Bearer"
    with pytest.raises(ExpiredJwt):
        tokens.decode_refresh(forge(pair.refresh, exp=1))


def test_a_clock_that_is_behind_does_not_refuse_a_new_token(pair) -> None:
    tokens.decode_access(forge(pair.access, iat=int(time.time()) + 240))


def test_the_claims_are_those_of_the_specification(user, pair) -> None:
    access = jwt.decode(pair.access, options={"verify_signature": False})
    refresh = jwt.decode(pair.refresh, options={"verify_signature": False})
    shared = {"uid", "cli", "ver", "bat", "typ", "exp", "iat", "jti", "iss", "aud"}
    assert set(access) == shared | {"rol"}
    assert set(refresh) == shared
    assert (access["uid"], access["cli"], access["typ"]) == (str(user.pk), "chrome", "access")
    assert access["exp"] - access["iat"] == settings.ACCESS_LIFETIME.total_seconds()
    assert refresh["exp"] - refresh["iat"] == settings.REFRESH_LIFETIME.total_seconds()


# --- keys ---------------------------------------------------------------------------------------
def kid(token: str) -> str:
    return jwt.get_unverified_header(token)["kid"]


@pytest.mark.parametrize("kind", ["ed25519", "rsa", "secret"])
def test_keys_are_rotated_without_signing_anybody_out(kind, user, pair, api, settings) -> None:
    """The steps of docs/operations.md: add the new key last, move it first, remove the old one."""
    new = keys.read([keys.new(kind)])[0]

    def me(access: str) -> tuple[int, int | None]:
        response = api.get("/api/v1/users/me", HTTP_AUTHORIZATION=f"Bearer {access}")
        return response.status_code, response.json().get("code")

    def refresh(token: str):
        return api.post("/api/v1/auth/refresh", {"refresh": token}, format="json")

    settings.JWT_KEYS = [KEY, new]
    assert me(pair.access)[0] == 200
    # some processes do not know the new key yet
    assert kid(actions.sign_in(user, "edge").access) == KID
    settings.JWT_KEYS = [new, KEY]
    assert me(pair.access)[0] == 200
    fresh = refresh(pair.refresh).json()
    assert {kid(token) for token in fresh.values()} == {keys.parse(new).kid}
    assert refresh(pair.refresh).json()["refresh"] == fresh["refresh"]  # a repeated exchange
    assert me(fresh["access"])[0] == me(pair.access)[0] == 200
    settings.JWT_KEYS = [new]
    assert me(fresh["access"])[0] == 200
    assert refresh(fresh["refresh"]).status_code == 200
    assert me(pair.access) == (401, 15)
    gone = refresh(pair.refresh)
    assert (gone.status_code, gone.json()["code"]) == (401, 15)


def test_a_public_key_verifies_and_never_signs(user, settings) -> None:
    private = keys.read([keys.new("ed25519")])[0]
    public = keys.parse(private).verifying.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    settings.JWT_KEYS = [private]
    old = actions.sign_in(user, "chrome")
    settings.JWT_KEYS = [KEY, public.decode()]
    assert tokens.decode_access(old.access).client == "chrome"
    assert kid(actions.sign_in(user, "edge").access) == KID
    settings.JWT_KEYS = [public.decode(), KEY]
    with pytest.raises(ValueError, match="key 1 is a public key"):
        key_ring()


def test_each_algorithm_makes_the_same_refresh_token_again(user, settings) -> None:
    for kind in ("secret", "ed25519", "rsa"):
        settings.JWT_KEYS = keys.read([keys.new(kind)])
        mark = tokens.new_token_id(1)
        made = [tokens.mint(user, "chrome", 1, 1, mark).refresh for _ in range(2)]
        assert made[0] == made[1]


def test_a_padded_token_is_another_spelling_and_refused(user, settings) -> None:
    for kind in ("secret", "ed25519", "rsa"):
        settings.JWT_KEYS = keys.read([keys.new(kind)])
        access = actions.sign_in(user, "chrome").access
        for padding in ("=", "==", "===", "\n", " "):
            with pytest.raises(InvalidToken):
                tokens.decode_access(access + padding)


def test_cached_tokens_are_still_checked_for_time_and_key(pair, monkeypatch, settings) -> None:
    principal = tokens.decode_access(pair.access)
    assert tokens.decode_access(pair.access) is principal
    settings.JWT_KEYS = [OTHER_KEY]
    with pytest.raises(InvalidToken):
        tokens.decode_access(pair.access)
    settings.JWT_KEYS = [OTHER_KEY, KEY]
    assert tokens.decode_access(pair.access) == principal
    monkeypatch.setattr(time, "time", lambda: float(principal.expires))
    with pytest.raises(ExpiredJwt):
        tokens.decode_access(pair.access)


def test_forged_tokens_are_not_remembered(pair) -> None:
    before = decoding._remembered.cache_info().currsize
    for number in range(20):
        with pytest.raises(InvalidToken):
            tokens.decode_access(forge(pair.access, key=OTHER_KEY, more=number))
    assert decoding._remembered.cache_info().currsize == before


# --- floors -------------------------------------------------------------------------------------
def roundtrips(monkeypatch) -> list[object]:
    """Return a list that grows with every round trip to Redis."""
    seen: list[object] = []
    call = redis.call
    monkeypatch.setattr(redis, "call", lambda function: (seen.append(function), call(function))[1])
    return seen


def test_a_request_with_known_floors_costs_one_round_trip_and_no_query(
    pair, monkeypatch, django_assert_num_queries
) -> None:
    # the sign-in is not committed: removes its fence
    redis.call(lambda connection: connection.flushdb())
    authentication.by_access(pair.access)
    seen = roundtrips(monkeypatch)
    with django_assert_num_queries(0):
        authentication.by_access(pair.access)
    assert len(seen) == 1


def test_a_miss_costs_one_query_and_is_remembered_for_five_seconds_at_most(
    user, pair, django_assert_num_queries, real_lifetimes
) -> None:
    redis.call(lambda connection: connection.flushdb())
    with django_assert_num_queries(1):
        authentication.by_access(pair.access)
    for key in (f"access:{user.pk}", f"access:{user.pk}:chrome"):
        assert 0 < redis.call(methodcaller("pttl", key)) <= 5000


def test_without_redis_the_database_answers(user, pair, monkeypatch) -> None:
    def down(function):
        raise redis.RedisDown("cut off")

    monkeypatch.setattr(redis, "call", down)
    authentication.by_access(pair.access)
    actions.log_out(user, "chrome")
    with pytest.raises(BannedAccessToken):
        authentication.by_access(pair.access)


def test_a_cached_floor_is_never_lowered(user, pair) -> None:
    cache.raise_floors(user.pk, 5, {"chrome": 7})
    cache.raise_floors(user.pk, 4, {"chrome": 6})
    redis.call(lambda connection: connection.delete(f"fence:{user.pk}"))
    floors = cache.access_floors(user.pk, "chrome")
    assert floors is not None
    assert floors[:2] == (5, 7)


def test_a_late_reader_does_not_restore_an_old_floor(user, pair) -> None:
    old = cache.stored_floors(user.pk, "chrome")
    assert old is not None
    assert old[:2] == (0, 0)
    cache.raise_floors(user.pk, None, {"chrome": 1})
    cache._raise(user.pk, "fill", {f"access:{user.pk}:chrome": old.version})
    redis.call(lambda connection: connection.delete(f"fence:{user.pk}"))
    cache._raise(user.pk, "fill", {f"access:{user.pk}:chrome": old.version})
    assert redis.call(lambda c: c.get(f"access:{user.pk}:chrome")) == b"1"


def test_behind_a_fence_the_database_answers_and_nothing_is_filled_in(user, pair) -> None:
    redis.call(lambda connection: connection.flushdb())
    authentication.by_access(pair.access)
    TokenVersion.objects.filter(user=user).update(access_floor=1)  # committed, but not in Redis yet
    authentication.by_access(pair.access)[1]  # an unfenced change may go unnoticed this long
    with cache.fenced(user.pk), pytest.raises(BannedAccessToken):
        authentication.by_access(pair.access)
    assert redis.call(lambda c: c.get(f"access:{user.pk}:chrome")) == b"0"


@pytest.mark.django_db(transaction=True)
def test_fences_stand_until_the_last_revocation_has_ended(user) -> None:
    def is_valid() -> bool:
        return bool(redis.call(lambda c: c.exists(f"fence:{user.pk}")))

    with cache.fenced(user.pk):
        with cache.fenced(user.pk):
            assert is_valid()
        assert is_valid()
        redis.call(lambda c: c.flushdb())
    assert not is_valid()
    with pytest.raises(ZeroDivisionError), cache.fenced(user.pk):
        raise ZeroDivisionError
    assert not is_valid()
    actions.log_out(user, "chrome")
    assert not is_valid()


def test_the_batch_counts_before_the_version_and_floors_count_alone(pair) -> None:
    principal = tokens.decode_access(pair.access)
    tokens.compare(principal, cache.Floors(0, 0))
    for floors in (cache.Floors(1, 0), cache.Floors(0, 1), cache.Floors(2, 2), None):
        with pytest.raises(BannedAccessToken):
            tokens.compare(principal, floors)


def test_a_token_of_a_client_that_never_signed_in_is_refused(user) -> None:
    mark = tokens.new_token_id(1)
    pair = tokens.mint(user, "edge", 1, 1, mark)
    with pytest.raises(BannedAccessToken):
        authentication.by_access(pair.access)
