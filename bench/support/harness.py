"""Helpers of the programs in `bench/`: paired measurements, ratios to a floor, a table, goals.

A figure in milliseconds says more about the machine than about the site. So everything that is
compared runs interleaved, one call of each in turn in a random order, and is read as a ratio to a
floor measured beside it. A program looks like this:

    from bench.support import harness

    if __name__ == "__main__":
        options = harness.arguments("The cost of lists.", {"--people": 1000})
        harness.setup()  # before anything that imports models

        report = harness.Report("lists", options)
        times = harness.interleave({"floor": ping, "first page": first}, rounds=300)
        report.table(times, floor="floor")
        report.goal("first page / floor", times["first page"].over(times["floor"]), at_most=10)
        raise SystemExit(report.finish())

`make bench ARGS="name --people 100 --json result.json"` runs it on throw-away services.
"""

import argparse
import json
import operator
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WARM_UP = 5


def arguments(
    description: str, numbers: Mapping[str, int], texts: Mapping[str, str] | None = None
) -> argparse.Namespace:
    """Read the command line: numbers and texts by option with defaults, `--seed`, `--json`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    for name, default in numbers.items():
        parser.add_argument(name, type=int, default=default, help=" ")
    for name, text in (texts or {}).items():
        parser.add_argument(name, default=text, help=" ")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    return parser.parse_args()


def setup() -> None:
    """Make Django ready; call it before importing models."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()


def database_ping() -> None:
    """Run an empty query: a round trip through the driver, the floor of every query."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()


@dataclass
class Series:
    """The times of one kind of call, in seconds."""

    times: list[float] = field(default_factory=list)

    def percentile(self, percent: float) -> float:
        """Return the time within which this percentage of calls finished, in seconds."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    @property
    def p50(self) -> float:
        """The median in seconds."""
        return statistics.median(self.times)

    @property
    def p99(self) -> float:
        """The 99th percentile in seconds."""
        return self.percentile(99)

    def over(self, other: "Series") -> float:
        """Return the median of the ratios round by round: a slow round slows both calls."""
        return statistics.median(a / b for a, b in zip(self.times, other.times, strict=True))


def interleave(
    works: Mapping[str, Callable[[], Any]],
    *,
    rounds: int,
    seed: int = 1,
    between: Callable[[str], Any] | None = None,
) -> dict[str, Series]:
    """Call every work once a round, in random order, and return their times.

    A few warm-up rounds are not counted. `between(name)` runs untimed after each call, to undo its
    changes.
    """
    dice = random.Random(seed)
    found = {name: Series() for name in works}
    names = list(works)
    for number in range(-WARM_UP, rounds):
        dice.shuffle(names)
        for name in names:
            began = time.perf_counter()
            works[name]()
            took = time.perf_counter() - began
            if number >= 0:
                found[name].times.append(took)
            if between is not None:
                between(name)
    return found


def lines(rows: Sequence[Sequence[Any]], head: Sequence[str]) -> list[str]:
    """Return rows as a Markdown table with aligned columns, the first left-aligned."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[number]) for row in cells) for number in range(len(head))]

    def line(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(parts)} |"

    dashes = [
        "-" * width if number == 0 else "-" * (width - 1) + ":"
        for number, width in enumerate(widths)
    ]
    return [line(cells[0]), line(dashes), *(line(row) for row in cells[1:])]


class Report:
    """Prints and stores the results as Markdown, and knows whether every goal was reached."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.options = options
        given = {key: value for key, value in vars(options).items() if key != "json"}
        self.data: dict[str, Any] = {"name": name, **given, "tables": [], "goals": []}
        settings = ", ".join(f"{key} {value}" for key, value in given.items())
        print(f"# {name}: {settings}; {_machine()}", flush=True)

    def say(self, text: str) -> None:
        """Print a line beside the figures."""
        print(text, flush=True)

    def examples(self, found: Sequence[object]) -> None:
        """Print the first of the mistakes that were found."""
        for one in found[:20]:
            self.say(f"found: {one!r}")

    def table(self, times: Mapping[str, Series], *, floor: str, title: str = "") -> None:
        """Print medians and 99th percentiles in ms, and the ratio to the floor by round."""
        rows = [
            [
                name,
                len(series.times),
                f"{series.p50 * 1000:.3f}",
                f"{series.p99 * 1000:.3f}",
                f"{series.over(times[floor]):.2f}",
            ]
            for name, series in times.items()
        ]
        self.rows(rows, ["call", "n", "p50 ms", "p99 ms", f"× {floor}"], title=title)

    def rows(self, rows: Sequence[Sequence[Any]], head: Sequence[str], *, title: str = "") -> None:
        """Print any table."""
        self.data["tables"].append({"title": title, "head": list(head), "rows": list(rows)})
        print("\n".join(["", *([title, ""] if title else []), *lines(rows, head)]), flush=True)

    def goal(
        self,
        name: str,
        value: float,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        exactly: float | None = None,
    ) -> None:
        """Compare a figure with its goal; after a missed goal the program exits with 1."""
        kinds = [
            (at_most, "≤", operator.le),
            (at_least, "≥", operator.ge),
            (exactly, "=", operator.eq),
        ]
        (limit, sign, holds), *more = [
            (limit, sign, holds) for limit, sign, holds in kinds if limit is not None
        ]
        if more:
            raise ValueError("a goal has one limit")
        reached = holds(value, limit)
        self.data["goals"].append(
            {"name": name, "value": value, "sign": sign, "limit": limit, "reached": reached}
        )

    def finish(self) -> int:
        """Print the goals, write the file of `--json`, and return the exit code."""
        goals = self.data["goals"]
        rows = []
        for one in goals:
            limit = f"{one['sign']} {_short(one['limit'])}"
            rows.append([one["name"], _short(one["value"]), limit, _word(one["reached"])])
        if rows:
            print("\n".join(["", *lines(rows, ["goal", "is", "limit", ""])]), flush=True)
        if self.options.json:
            self.options.json.write_text(
                json.dumps(self.data, indent=2, ensure_ascii=False, default=str) + "\n"
            )
        return 0 if all(one["reached"] for one in goals) else 1


def _short(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"


def _word(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def _machine() -> str:
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {sys.platform}"
