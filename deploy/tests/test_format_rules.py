"""Changes of events and tasks that another version would not understand are found."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from deploy.dev import format_rules

pytestmark = pytest.mark.once

RUNG = {"format": 1, "fields": {"bell": "int", "by": "str"}, "optional": ["by"]}
BEFORE: dict[str, Any] = {"events": {"Rung": RUNG}, "tasks": {"bells.ring": "(bell: int) -> None"}}


def found(change: Callable[[dict[str, Any]], object]) -> list[str]:
    now = copy.deepcopy(BEFORE)
    change(now)
    return [*format_rules.faults(BEFORE, now)]


def _gain(now: Any, **more: object) -> None:
    event = now["events"]["Rung"]
    event["fields"]["loud"] = "bool"
    event["optional"].append("loud")
    event.update(more)


@pytest.mark.parametrize(
    "change",
    [
        lambda now: None,
        _gain,
        lambda now: now["events"]["Rung"].update(format=2, fields={"bell": "int"}),
        lambda now: now["events"].update(Hummed=RUNG),
        lambda now: now["tasks"].update({"bells.hum": "() -> None"}),
    ],
)
def test_what_the_other_version_understands_or_leaves_is_allowed(change) -> None:
    assert found(change) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda now: now["events"].clear(), "event Rung: the version before publishes it"),
        (lambda now: _gain(now, optional=["by"]), "event Rung: events of the version before lack"),
        (
            lambda now: now["events"]["Rung"]["fields"].update(bell="str"),
            "event Rung: changed: bell; raise its format",
        ),
        (
            lambda now: now["events"]["Rung"].update(fields={"by": "str"}),
            "event Rung: changed: bell; raise its format",
        ),
        (lambda now: now["tasks"].clear(), "task bells.ring: the version before sends it"),
        (
            lambda now: now["tasks"].update({"bells.ring": "(bell: int, by: str) -> None"}),
            "task bells.ring: its parameters changed",
        ),
    ],
)
def test_what_the_other_version_would_not_understand_is_found(change, text) -> None:
    (fault,) = found(change)
    assert fault.startswith(text)


def test_the_stored_formats_and_those_of_this_code_are_complete() -> None:
    stored, now = json.loads(format_rules.RECORD.read_text()), format_rules.present()
    assert {"UserRegistered", "PostPublished"} <= stored["events"].keys() & now["events"].keys()
    assert "core.relay_events" in stored["tasks"].keys() & now["tasks"].keys()
    assert [*format_rules.faults(stored, now)] == []
