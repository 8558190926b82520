"""Feeds compared with their definition: `make chaos ARGS="model --runs 2000 --steps 50"`.

First come random histories of four people, one step at a time: after every step every page of every
reader is compared at once. Then comes a storm of real threads, in which every read without a
concurrent write is compared. A failure names the seed of its block: `--seed` with `--runs` of one
block repeats the choices of its histories.

Nothing expires and no call of Redis times out by itself during the histories, as in the tests. The
machine has rules for both. A history whose failure does not repeat would end the trial.
"""

import contextlib
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any
from unittest import mock

from bench.support import harness

BLOCK = 25
PEOPLE = 6
# With this number of people an author has 0 to 5 followers, and crosses both thresholds.
PUSH_ALL_MAX, PUSH_ACTIVE_MAX = 3, 4


def main() -> int:
    """Run both and report them."""
    options = harness.arguments(
        "Random lives and a storm of threads.",
        {"--runs": 100, "--steps": 50, "--storm-seconds": 30},
    )
    harness.setup()
    from django.conf import settings

    logging.disable(logging.WARNING)  # Redis is down now and then, on purpose
    report = harness.Report("model", options)
    with quick():
        with at_standstill():
            wrong = lives(options.runs, options.steps, options.seed, report)
        if not wrong and options.storm_seconds:
            settings.PUSH_ALL_MAX, settings.PUSH_ACTIVE_MAX = PUSH_ALL_MAX, PUSH_ACTIVE_MAX
            _storm(options.storm_seconds, options.seed, report)
    return report.finish()


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Hash passwords cheaply, and send no task, for a block."""
    from django.test import override_settings

    from socialsite.core.events import enqueue

    cheap = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=cheap), enqueue.paused():
        yield


@contextlib.contextmanager
def at_standstill() -> Iterator[None]:
    """Let nothing expire by itself for a block."""
    import pytest

    from socialsite.tests import standstill

    with pytest.MonkeyPatch.context() as patch:
        standstill.stop(patch)
        yield


def lives(runs: int, steps: int, seed: int, report: harness.Report) -> int:
    """Run random histories; return in how many blocks a feed was wrong."""
    import hypothesis
    from hypothesis.errors import HypothesisException, StopTest, UnsatisfiedAssumption

    from accounts.models import User
    from feeds.tests.exactness import histories, model, oracle

    done = dict.fromkeys(("lives", "steps", "feeds", "posts"), 0)
    whole = oracle.assert_whole
    control_exceptions = (HypothesisException, StopTest, UnsatisfiedAssumption)

    def compare(viewer: User) -> None:
        whole(viewer)
        done["feeds"] += 1

    class Counted(model.FeedMachine):
        """The state machine, with counts."""

        def check_invariants(self, settings: Any, output: Any, runtimes: Any) -> None:
            super().check_invariants(settings, output, runtimes)
            done["steps"] += 1

        def teardown(self) -> None:
            done["lives"] += 1
            done["posts"] += len(self.posts)
            # A failure that does not repeat: Hypothesis reports only that histories differ.
            error = sys.exc_info()[1]
            if error is not None and not isinstance(error, control_exceptions):
                report.say("".join(traceback.format_exception(error)))
            super().teardown()

    wrong, began = 0, time.monotonic()
    for number in range(0, runs, BLOCK):
        machine = hypothesis.seed(seed + number)(Counted)
        extent = model.lives(min(BLOCK, runs - number), steps)
        extent = hypothesis.settings(extent, database=None, print_blob=False)
        try:
            with mock.patch.object(model, "assert_whole", compare):
                histories.run(machine, extent)
        except Exception as error:
            wrong += 1
            report.say(f"block of seed {seed + number}: {type(error).__name__}: {error}")
            report.say("\n".join(getattr(error, "__notes__", [])))
            break
        if number // BLOCK % 4 == 3:
            report.say(f"- {done['lives']} lives, {time.monotonic() - began:.0f} s")
    rows = [[*done.values(), f"{time.monotonic() - began:.0f}"]]
    report.rows(rows, [*done, "seconds"])
    report.goal("lives in which a feed was not the oracle's", wrong, exactly=0)
    return wrong


def _storm(seconds: int, seed: int, report: harness.Report) -> None:
    from bench.support.people import register
    from feeds.tests.exactness import model
    from feeds.tests.exactness.storm import Storm

    people = register("storm", PEOPLE)
    with model.small():
        found = Storm(people, seed, seconds, judged=seconds).run()
    report.rows([[name, times] for name, times in sorted(found.done.items())], ["threads", "times"])
    report.say(f"\n{found.judged} reads compared, {found.overlapped} overlapped by a write")
    for one in [*found.wrong, *found.errors][:5]:
        report.say(f"found: {one}")
    report.goal("reads that were not the oracle's", len(found.wrong), exactly=0)
    report.goal("errors of threads", len(found.errors), exactly=0)
    report.goal("reads compared", found.judged, at_least=seconds)


if __name__ == "__main__":
    raise SystemExit(main())
