"""The task at sign-up: when it is needed, what solves it, and that a solution is used once."""

import base64
import html
import json
import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as rules
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from accounts.sign_in import challenge, flow
from accounts.tests.sign_in.addresses import AWAY, HOME, request_from
from accounts.tests.sign_in.solving import solve
from relations.tests.helpers import at_once
from socialsite.core.errors import ChallengeNeeded, DuplicatedUser, RateLimited
from socialsite.core.models import Allowance
from socialsite.core.rate_limits import allowances, budgets
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.requests import request_budgets
from socialsite.tests.standstill import Clock

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
REGISTER, CHALLENGE = "/api/v1/auth/register", "/api/v1/auth/challenge"
TASK = re.compile(r'data-challenge="([^"]*)"')
ROOMY = Rate(20, 60)


@pytest.fixture(autouse=True)
def _easy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(challenge, "MAXIMUM", 50)


@pytest.fixture
def strained(clock: Clock) -> None:
    """Half of the sign-ups of HOME are used up; another ten are left."""
    for _ in range(10):
        allowances.spend(request_budgets.of_sign_up(request_from(), ""))


def body(number: int = 1, **more: Any) -> dict[str, Any]:
    return {"username": f"new{number:05}", "nickname": "爱丽丝们", "password": PASSWORD, **more}


def sent(number: int = 1, address: str = HOME, **more: Any) -> Any:
    """Return the answer of the API to a sign-up."""
    client = APIClient(REMOTE_ADDR=address)
    return client.post(REGISTER, body(number, **more), format="json")


def sign_up(solution: str = "", name: str = "new00001", address: str = HOME) -> Any:
    return flow.sign_up(
        request_from(address), name, "SomeNick", PASSWORD, "other", solution=solution
    )


def state(address: str = HOME) -> Any:
    answer = APIClient(REMOTE_ADDR=address).get(CHALLENGE)
    assert answer.status_code == 200
    return answer.json()


def is_refused(answer: Any) -> bool:
    """Return whether the answer is error 39 in full."""
    if answer.status_code != 403:
        return False
    found = answer.json()
    assert (found["code"], found["error"]) == (39, "CHALLENGE_NEEDED")
    assert found["fields"] == {"challenge": [found["detail"]]}
    return True


def encoded(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def changed(solution: str, **fields: Any) -> str:
    return encoded(json.loads(base64.b64decode(solution)) | fields)


# --- when it is needed --------------------------------------------------------------------------
def test_it_is_needed_when_half_of_the_sign_ups_of_an_address_are_used_up(clock: Clock) -> None:
    for number in range(10):
        assert state() == {"needed": False, "challenge": None}
        assert sent(number).status_code == 201
    assert state()["needed"]
    assert is_refused(sent(10))
    assert not state(AWAY)["needed"]
    assert sent(11, AWAY).status_code == 201
    clock.now += 60_000  # a token flows back
    assert not state()["needed"]
    assert sent(10).status_code == 201


def test_it_is_needed_when_half_of_the_sign_ups_of_a_network_are_used_up(
    clock: Clock, settings: Any
) -> None:
    settings.BUDGETS = {"sign_up": ROOMY, "sign_up_network": Rate(4, 1)}
    assert [sent(number, f"192.0.2.{number}").status_code for number in (1, 2)] == [201, 201]
    assert is_refused(sent(3, "192.0.2.3"))
    assert sent(3, AWAY).status_code == 201


@pytest.mark.parametrize("lifted", ["challenge", "both", "all"])
def test_it_is_not_needed_when_the_budgets_are_lifted(
    lifted: str, settings: Any, strained: None
) -> None:
    assert state()["needed"]
    names = {
        "challenge": ["challenge"],
        "both": ["sign_up", "sign_up_network"],
        "all": ["challenge", "sign_up", "sign_up_network"],
    }
    settings.BUDGETS = dict.fromkeys(names[lifted])
    assert state() == {"needed": False, "challenge": None}
    assert sent().status_code == 201


def test_a_question_whether_it_is_needed_writes_and_locks_nothing(
    strained: None, django_assert_num_queries: Any
) -> None:
    before = list(Allowance.objects.order_by("pk").values())
    with django_assert_num_queries(1) as queries:
        assert challenge.is_needed(request_from())
    assert "FOR UPDATE" not in queries[0]["sql"]
    assert challenge.is_needed(request_from("198.51.100.1")) is False
    assert list(Allowance.objects.order_by("pk").values()) == before


def test_a_field_that_is_not_needed_is_ignored(clock: Clock) -> None:
    assert sent(challenge="nonsense").status_code == 201
    assert not Allowance.objects.filter(pk__startswith="challenge:").exists()


# --- solutions ----------------------------------------------------------------------------------
def test_a_right_solution_creates_an_account_and_only_one(strained: None) -> None:
    task = state()["challenge"]
    assert task.keys() == {"algorithm", "challenge", "maxnumber", "salt", "signature"}
    assert (task["algorithm"], task["maxnumber"]) == ("SHA-256", 50)
    solution = solve(task)
    assert sent(1, challenge=solution).status_code == 201
    assert is_refused(sent(2, challenge=solution))
    assert not User.objects.filter(username="new00002").exists()
    assert sent(2, challenge=solve()).status_code == 201


def test_a_solution_written_in_another_way_is_the_same_solution(strained: None) -> None:
    solution = solve()
    salt = json.loads(base64.b64decode(solution))["salt"]
    sign_up(solution)
    for other in (
        changed(solution, salt=salt.removesuffix("&")),
        changed(solution, took=12),
        solution.rstrip("="),
    ):
        with pytest.raises(ChallengeNeeded):
            sign_up(other, "new00002")


def test_an_expired_solution_is_refused(strained: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(challenge, "LIFETIME", timedelta(seconds=-2))
    solution = solve()
    assert is_refused(sent(challenge=solution))
    monkeypatch.undo()
    later = re.sub(r"\d{10}", "9999999999", json.loads(base64.b64decode(solution))["salt"])
    assert is_refused(sent(challenge=changed(solution, salt=later)))


def test_a_task_lasts_for_less_than_its_token_takes_to_flow_back() -> None:
    assert timedelta(minutes=20) == challenge.LIFETIME
    assert budgets.CHALLENGE.default.window > 2 * challenge.LIFETIME.total_seconds()


def test_a_part_of_the_salt_cannot_be_taken_for_the_number(strained: None) -> None:
    """`salt?a=1&expires=1&5` could be read as a salt without a time and a number `expires=1&5`."""
    solution = json.loads(base64.b64decode(solve()))
    salt, _, rest = solution["salt"].partition("?")
    moved = {"salt": f"{salt}?", "number": f"{rest}{solution['number']}"}
    assert is_refused(sent(challenge=encoded(solution | moved)))
    text = {"number": str(solution["number"])}
    assert is_refused(sent(challenge=encoded(solution | text)))


def test_a_forged_solution_is_refused(strained: None, settings: Any) -> None:
    own, key = solve(), settings.SECRET_KEY
    settings.SECRET_KEY = "another secret key, of somebody else" * 2
    foreign = solve()
    settings.SECRET_KEY = key
    number = json.loads(base64.b64decode(own))["number"]
    for forged in (
        foreign,
        changed(own, number=number + 1),
        changed(own, signature="0" * 64),
        changed(own, challenge="0" * 64),
        changed(own, algorithm="SHA-1"),
        changed(own, algorithm="MD5"),
    ):
        assert is_refused(sent(challenge=forged))
    assert sent(challenge=own).status_code == 201


FIELDS = {"algorithm": "SHA-256", "challenge": "", "number": 1, "salt": "", "signature": ""}
WRONG_FIELDS: list[dict[str, Any]] = [
    {},
    {"number": True},
    {"number": 1.5},
    {"number": 10**30},
    {"number": [1]},
    {"salt": 1},
    {"salt": None},
    {"salt": "?expires=x"},
    {"salt": "?expires=" + "9" * 500},
    {"salt": "\ud800"},
    {"signature": {}},
    {"challenge": []},
    {"algorithm": []},
]
WRONG = [
    *("", " ", "x", "====", "爱丽丝", "\0", "[", "e30", "e30=", "bnVsbA==", "W10="),
    *(encoded(value) for value in (None, 1, "x", [], {}, {"number": 1}, ["algorithm", "number"])),
    base64.b64encode(b"[" * 700).decode(),
    base64.b64encode(b'{"a":' * 140).decode(),
    base64.b64encode(b"9" * 700).decode(),
    base64.b64encode(b"\xff\xfe").decode(),
    *(encoded(FIELDS | fields) for fields in WRONG_FIELDS),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_garbage_is_refused(wrong: str, strained: None) -> None:
    answer = sent(challenge=wrong)
    assert is_refused(answer) or (wrong == "\0" and answer.json()["code"] == 13)
    page = Client(REMOTE_ADDR=HOME).post("/register", body(challenge=wrong))
    assert page.status_code == 403


@pytest.mark.parametrize("wrong", ["x" * 1001, [], {}, None, True, 1.5])
def test_another_type_or_a_long_text_is_invalid(wrong: Any, strained: None) -> None:
    answer = sent(challenge=wrong)
    if not is_refused(answer):  # numbers become texts
        assert (answer.status_code, answer.json()["code"]) == (400, 13)
        assert list(answer.json()["fields"]) == ["challenge"]


def test_a_long_text_in_a_form_is_refused(strained: None) -> None:
    padded = base64.b64encode(base64.b64decode(solve()) + b" " * 999).decode()
    assert len(padded) > challenge.SOLUTION_MAX
    page = Client(REMOTE_ADDR=HOME).post("/register", body(challenge=padded))
    assert page.status_code == 403


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
PAYLOAD = st.fixed_dictionaries(
    dict.fromkeys(("challenge", "number", "salt", "signature"), JSON),
    optional={"algorithm": st.just("SHA-256") | JSON},
)


@given(
    st.text()
    | st.binary().map(lambda data: base64.b64encode(data).decode())
    | JSON.map(encoded)
    | PAYLOAD.map(lambda value: encoded({"algorithm": "SHA-256"} | value))
)
@rules(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_no_garbage_is_a_solution_or_an_error(text: str) -> None:
    assert challenge._signature(text) == ""


# --- used once ----------------------------------------------------------------------------------
def test_a_refused_sign_up_gives_the_solution_back(strained: None, make_user: Any) -> None:
    make_user("alice1")
    solution = solve()
    with pytest.raises(DuplicatedUser):
        sign_up(solution, "alice1")
    sign_up(solution)


def test_without_redis_a_solution_is_used_once(strained: None, dead_redis: Any) -> None:
    solution = solve()
    with dead_redis():
        sign_up(solution)
        with pytest.raises(ChallengeNeeded):
            sign_up(solution, "new00002")


def test_a_used_up_budget_is_named_before_a_used_solution(settings: Any, strained: None) -> None:
    settings.BUDGETS = {"sign_up": Rate(11, 60)}
    solution = solve()
    sign_up(solution)
    with pytest.raises(RateLimited) as caught:
        sign_up(solution, "new00002")
    assert caught.value.retry_after == 60


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_of_sign_ups_at_once_with_one_solution_one_passes(strained: None) -> None:
    for round_ in range(3):
        solution = solve()
        names = [f"new{round_}000{number}" for number in range(3)]
        results = at_once([partial(sign_up, solution, name) for name in names])
        refused = [result for result in results if isinstance(result, ChallengeNeeded)]
        assert len(refused) == 2, results
        assert User.objects.filter(username__in=names).count() == 1


# --- the page -----------------------------------------------------------------------------------
def test_the_page_has_a_task_only_while_it_is_needed(clock: Clock) -> None:
    page = Client(REMOTE_ADDR=HOME).get("/register").content.decode()
    assert "data-challenge" not in page
    assert "js/challenge." not in page
    assert 'name="challenge"' not in page


def test_a_browser_signs_up_with_the_task_of_the_page(strained: None) -> None:
    browser = Client(REMOTE_ADDR=HOME)
    page = browser.get("/register").content.decode()
    assert "js/challenge." in page
    assert "Turn on JavaScript in a current browser" in page
    first = json.loads(html.unescape(TASK.findall(page)[0]))
    refused = browser.post("/register", body())
    page = refused.content.decode()
    assert refused.status_code == 403
    assert "a task must be solved" in page
    assert 'value="new00001"' in page
    assert PASSWORD not in page
    (task,) = (json.loads(html.unescape(found)) for found in TASK.findall(page))
    assert task["salt"] != first["salt"]
    assert browser.post("/register", body(challenge=solve(task))).status_code == 303
