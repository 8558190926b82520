"""Findings of a check: a level, a sentence about the state, and a sentence that says what to do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.functional import Promise

# From harmless to urgent. UNKNOWN: the check could not be made.
OK, UNKNOWN, WARNING, ERROR = "ok", "unknown", "warning", "error"
LEVELS = (OK, UNKNOWN, WARNING, ERROR)


class Finding(NamedTuple):
    """What a check found, in the language of the reader; `advice` may be empty."""

    level: str
    text: str
    advice: str = ""
    check: str = ""


@dataclass(frozen=True)
class Check:
    """A check: its name for programs, its title for people, and the function that makes it."""

    name: str
    title: Promise
    run: Callable[[], Iterable[Finding]]


def ok(text: str, advice: str = "") -> Finding:
    """Return a finding that needs nobody."""
    return Finding(OK, text, advice)


def unknown(text: str, advice: str = "") -> Finding:
    """Return a finding about something that cannot be checked from here."""
    return Finding(UNKNOWN, text, advice)


def warning(text: str, advice: str) -> Finding:
    """Return a finding that somebody should look at soon."""
    return Finding(WARNING, text, advice)


def error(text: str, advice: str) -> Finding:
    """Return a finding that needs somebody now."""
    return Finding(ERROR, text, advice)


def worst(findings: Iterable[Finding]) -> str:
    """Return the most urgent level of some findings."""
    return max((one.level for one in findings), key=LEVELS.index, default=OK)
