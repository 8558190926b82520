"""JSON bodies: their maximum nesting, and the cost of a list that is too long."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from socialsite.core.http.json import NESTING_MAX, OrjsonParser, nests_too_deep
from socialsite.tests.hostile import linear

pytestmark = [pytest.mark.django_db, pytest.mark.once]

Make = Callable[..., Any]


def nested(levels: int) -> bytes:
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


def test_json_may_nest_as_deep_as_the_limit_and_no_deeper(api: APIClient) -> None:
    for levels, words in ((NESTING_MAX, b"marked fields"), (NESTING_MAX + 1, b"levels deep")):
        answer = api.post("/api/v1/auth/login", nested(levels), content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (400, 13)
        assert words in answer.content


CASES = [
    (b"[" * 33, True),
    (b'{"a":' * 33, True),
    (b"[{" * 17, True),
    (b"[" * 32 + b"]" * 32, False),
    (b"[[]," * 32, True),
    (b"[" + b"[]," * 1000 + b"[]]", False),
    (b'{"a": "' + b"[" * 99 + b'"}', False),
    (b'{"a": "\\"' + b"[" * 99 + b'"}', False),
    (b'{"a": "\\\\", "b":' + b"[" * 99, True),
    (b'{"a": "\\u005b' + b"[" * 99, False),
    (b'"' + b"[" * 99 + b'\n"' + b"[" * 33, True),
    (b"]" * 99, False),
    (b"", False),
]


@pytest.mark.parametrize(("text", "deep"), CASES, ids=range(len(CASES)))
def test_levels_are_counted_outside_of_strings(text: bytes, deep: bool) -> None:
    assert nests_too_deep(text) == deep


def test_a_list_that_is_too_long_costs_one_error_and_not_one_for_each_item(
    make_user: Make, api_for: Make
) -> None:
    client = api_for(make_user())
    for path, field in (("/api/v1/posts", "images"), ("/api/v1/notifications/read", "ids")):
        items: tuple[object, ...] = ([], "x")
        for item in items:
            answer = client.post(path, {field: [item] * 20_000}, format="json")
            assert answer.status_code == 400
            assert list(answer.json()["fields"]) == [field]
            assert len(answer.content) < 1000, path


def test_parsed_data_is_freed_after_the_response(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[dict[str, Any]] = []
    parse = OrjsonParser.parse

    def watched(self: OrjsonParser, *args: Any, **kwargs: Any) -> dict[str, Any]:
        parsed.append(parse(self, *args, **kwargs))
        assert parsed[-1]
        return parsed[-1]

    monkeypatch.setattr(OrjsonParser, "parse", watched)
    answer = api.post("/api/v1/auth/login", {"username": "nobody", "a": [[]]}, format="json")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["password"])
    assert parsed == [{}]


HOSTILE = [b"[", b"[]", b'"', b'""', b'"\\', b'\\"', b'"\\"', b'[""', b'"[\n', b'{"a":', b"\\"]


# The shorter text takes so long, in seconds of CPU: what else the machine does then hardly counts.
LONG_ENOUGH = 0.02


@pytest.mark.parametrize("unit", HOSTILE, ids=range(len(HOSTILE)))
def test_counting_levels_takes_linear_time(unit: bytes) -> None:
    def best(size: int) -> float:
        text = b"[" * 40 + b'"' + unit * (size // len(unit))
        return min(linear.seconds(nests_too_deep, text) for _ in range(3))

    size, shorter = 100_000, 0.0
    while shorter < LONG_ENOUGH:
        size *= 2
        shorter = best(size)
    # Four times the text: 16 times the time if it were quadratic.
    assert best(4 * size) < 8 * shorter
