"""The seconds that tests take: a plugin of pytest writes them down, `make test` prints them.

`-p deploy.dev.timings` adds to each test of the JUnit report the CPU seconds of pytest itself and
of the child processes that ended meanwhile. The processor time of a site that goes on is not among
them.
"""

import os
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

PROPERTY = "cpu"
SLOWEST = 20

_mark = 0.0


class Timing(NamedTuple):
    """One test; seconds of wall time and of the processor."""

    name: str
    seconds: float
    cpu: float


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that ended."""
    now = os.times()
    return time.process_time() + now.children_user + now.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Begin to measure a test."""
    global _mark
    _mark = cpu_seconds()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> None:
    """Add the CPU seconds of a phase (setup, call, teardown) to the test."""
    global _mark
    now = cpu_seconds()
    item.user_properties.append((PROPERTY, f"{now - _mark:.3f}"))
    _mark = now


def read(report: Path) -> list[Timing]:
    """Return the tests of a JUnit report; none if it cannot be read."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314  (our own file)
    except (OSError, ElementTree.ParseError):
        return []
    return [
        Timing(
            f"{case.get('classname')}.{case.get('name')}",
            float(case.get("time", "0")),
            sum(
                float(found.get("value", "0"))
                for found in case.iter("property")
                if found.get("name") == PROPERTY
            ),
        )
        for case in cases
    ]


def slowest(tests: Sequence[Timing]) -> str:
    """Return a table of the slowest tests."""
    found = sorted(tests, key=lambda test: -test.seconds)[:SLOWEST]
    lines = [f"{test.seconds:8.1f} {test.cpu:8.1f}  {test.name}" for test in found]
    return "\n".join([f"{'seconds':>8} {'CPU':>8}  the {len(found)} slowest tests", *lines])
