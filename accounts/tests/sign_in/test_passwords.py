"""Password checks: equal work for everybody, and one normal form of the typed text."""

from typing import Any

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from accounts import actions
from accounts.credentials import passwords
from accounts.models import User
from socialsite.core.errors import AppError, PasswordNotCorrected, UserNotFound

pytestmark = pytest.mark.django_db

PASSWORD, WRONG = "right.pass1", "wrong.pass1"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Record the hasher's calls, with the parameters of each hash."""
    done: list[tuple[Any, ...]] = []
    verify, encode = Argon2PasswordHasher.verify, Argon2PasswordHasher.encode

    def counted_verify(self: Any, password: str, encoded: str) -> bool:
        parameters = self.decode(encoded)
        done.append(
            ("verify", *(parameters[key] for key in ("memory_cost", "parallelism", "time_cost")))
        )
        return verify(self, password, encoded)

    def counted_encode(self: Any, password: str, salt: str) -> str:
        done.append(("encode",))
        return encode(self, password, salt)

    monkeypatch.setattr(Argon2PasswordHasher, "verify", counted_verify)
    monkeypatch.setattr(Argon2PasswordHasher, "encode", counted_encode)
    passwords._hash_of_nobody.cache_clear()
    return done


def outcome(name: str, password: str) -> tuple[str, int, str]:
    try:
        actions.check_password(name, password)
    except AppError as error:
        return error.name, error.code, str(error.detail)
    return "right", 0, ""


@pytest.mark.once
@pytest.mark.parametrize("mode", ["merged", "separate"])
def test_an_unknown_name_and_a_wrong_password_cost_the_same(
    mode, make_user, real_hasher, work, settings
) -> None:
    settings.LOGIN_ERRORS = mode
    make_user("alice1", password=PASSWORD)
    outcome("nobody1", WRONG)  # the dummy hash is computed once
    costs = []
    for name, password in [("nobody1", WRONG), ("alice1", WRONG), ("alice1", PASSWORD), ("", "x")]:
        work.clear()
        outcome(name, password)
        costs.append(list(work))
    assert costs == [costs[0]] * 4
    assert [entry[0] for entry in costs[0]] == ["verify"]


@pytest.mark.once
def test_the_first_check_of_a_process_costs_the_same_too(make_user, real_hasher, work) -> None:
    make_user("alice1", password=PASSWORD)
    costs = []
    for name in ("nobody1", "alice1"):
        passwords._hash_of_nobody.cache_clear()
        work.clear()
        outcome(name, WRONG)
        costs.append(list(work))
    assert costs[0] == costs[1]


def test_merged_there_is_one_answer_to_a_failed_login(make_user) -> None:
    make_user("alice1", password=PASSWORD)
    User.objects.filter(pk=make_user("gone11").pk).update(deleted_at="2026-01-01T00:00:00Z")
    found = {outcome("nobody1", WRONG), outcome("alice1", WRONG), outcome("gone11", PASSWORD)}
    assert found == {
        ("PASSWORD_NOT_CORRECTED", 2, "The username or the password is wrong."),
    }


def test_separate_names_the_wrong_field(make_user, settings) -> None:
    settings.LOGIN_ERRORS = "separate"
    make_user("alice1", password=PASSWORD)
    User.objects.filter(pk=make_user("gone11").pk).update(deleted_at="2026-01-01T00:00:00Z")
    nobody = ("USER_NOT_FOUND", 1, "There is no user with this name.")
    assert outcome("nobody1", WRONG) == nobody
    assert outcome("gone11", "right.pass1") == nobody
    assert outcome("alice1", WRONG) == ("PASSWORD_NOT_CORRECTED", 2, "The password is wrong.")


def test_separate_reaches_the_api_and_the_page(make_user, settings, api, client) -> None:
    settings.LOGIN_ERRORS = "separate"
    make_user("alice1", password=PASSWORD)
    answers = [
        api.post("/api/v1/auth/login", {"username": name, "password": WRONG}, format="json")
        for name in ("nobody1", "alice1")
    ]
    assert [(one.status_code, one.json()["code"]) for one in answers] == [(404, 1), (401, 2)]
    page = client.post("/login", {"username": "nobody1", "password": WRONG})
    assert page.status_code == 404
    assert "There is no user with this name." in page.content.decode()
    assert 'value="nobody1"' in page.content.decode()


def test_a_password_is_right_however_a_keyboard_composes_it(settings) -> None:
    settings.PASSWORD_POLICY = "asvs"
    actions.register("alice1", "爱丽丝们", "cafe\u0301 au lait ①")
    assert outcome("alice1", "caf\u00e9 au lait 1")[0] == "right"
    assert outcome("alice1", "cafe au lait 1")[0] == "PASSWORD_NOT_CORRECTED"


def test_a_long_password_still_works_after_a_change_of_policy(settings) -> None:
    settings.PASSWORD_POLICY = "asvs"
    actions.register("alice1", "爱丽丝们", "correct horse battery staple")
    settings.PASSWORD_POLICY = "seed"
    assert outcome("alice1", "correct horse battery staple")[0] == "right"


@pytest.mark.parametrize(
    ("policy", "hint", "minimum"), [("seed", "6 to 16 letters", 6), ("asvs", "8 to 128 char", 8)]
)
def test_the_sign_up_page_shows_the_rule(policy, hint, minimum, settings, client) -> None:
    settings.PASSWORD_POLICY = policy
    page = client.get("/register").content.decode()
    assert hint in page
    assert f'minlength="{minimum}"' in page


def test_a_passphrase_signs_up_through_page_and_api(settings, client, api) -> None:
    settings.PASSWORD_POLICY = "asvs"
    phrase = "correct horse battery staple"
    form = {"username": "alice1", "nickname": "爱丽丝们", "password": phrase}
    assert client.post("/register", form).status_code == 303
    form["username"] = "alice2"
    assert api.post("/api/v1/auth/register", form, format="json").status_code == 201
    for name in ("alice1", "alice2"):
        assert outcome(name, phrase)[0] == "right"
    assert {PasswordNotCorrected.code, UserNotFound.code} == {1, 2}
