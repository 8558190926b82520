"""What a load on a site did and found, by the fault that was on."""

import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

CALM = "calm"
# What must never happen, as it is called in the texts of wrong answers.
ZEROS = ("lost", "ghost", "leak", "revoked token")


@dataclass
class Wrong:
    """A wrong answer: when it was asked (Unix seconds), what it was, and how long it stayed wrong.

    `seconds` is counted from the acknowledgement of the last write; None if it never was right.
    """

    at: float
    fault: str
    text: str
    seconds: float | None = None


@dataclass
class Journal:
    """Requests, acknowledged writes, checks, failures and wrong answers of all threads."""

    fault: str = CALM
    answers: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    writes: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[float, str, str]] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)

    def note(self, fault: str, began: float, what: str, failure: str = "") -> None:
        """Note a request that began at a monotonic time, while a fault was on."""
        self.seconds[fault].append(time.monotonic() - began)
        self.answers[fault] += 1
        if failure:
            self.failures.append((time.time(), fault, f"{what}: {failure}"))

    def zeros(self) -> dict[str, int]:
        """Return how many wrong answers are of each kind that must never happen."""
        return {kind: sum(kind in one.text for one in self.wrong) for kind in ZEROS}

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return requests, failures and latencies in milliseconds for each fault."""
        failed = Counter(fault for _, fault, _ in self.failures)
        wrong = Counter(one.fault for one in self.wrong)
        found = dict[str, dict[str, Any]]()
        for fault, seconds in sorted(self.seconds.items()):
            ordered = sorted(seconds)
            found[fault] = {
                "requests": self.answers[fault],
                "failed": failed[fault],
                "wrong": wrong[fault],
                "p50 ms": round(1000 * statistics.median(ordered)),
                "p99 ms": round(1000 * ordered[int(0.99 * (len(ordered) - 1))]),
            }
        return found
