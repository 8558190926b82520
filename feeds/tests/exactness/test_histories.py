"""A seed draws the same histories, whatever the site does and in whichever process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.services.site_processes import PROJECT_DIR, environment
from feeds.tests.exactness import model
from feeds.tests.exactness.histories import Idle, drawn
from socialsite.core import redis

# The other process loads modules with further constants between two histories.
OTHER_PROCESS = """
import importlib, json, django
django.setup()
from feeds.tests.exactness.histories import Idle, drawn
found = []
for seed in ({seeds}):
    found.append(drawn(Idle, seed, histories=5, steps=20))
    importlib.import_module("chaos.attack"), importlib.import_module("bench.search")
print(json.dumps(found))
"""
SEEDS = (1, 2, 3, 4)


@pytest.mark.once
def test_no_rule_draws_while_it_runs() -> None:
    state = model.FeedMachine.setup_state()
    rules = [*state.rules, *state.initializers]
    assert len(rules) > 20
    for one in rules:
        drawn_before = [repr(strategy) for strategy in one.arguments_strategies.values()]
        assert "data()" not in drawn_before, one.function.__name__


@pytest.mark.django_db
@pytest.mark.slow(reason="a hundred steps on the site")
def test_the_choices_of_a_history_do_not_depend_on_the_state_of_the_site() -> None:
    """Hypothesis repeats histories, and the clock and the ids differ then."""
    # With this seed each rule runs at least once.
    real = drawn(model.FeedMachine, seed=12, histories=5, steps=20)
    assert real == drawn(Idle, seed=12, histories=5, steps=20)
    assert sum(map(len, real)) > 100


@pytest.mark.once
def test_a_seed_draws_the_same_histories_in_another_process(tmp_path: Path) -> None:
    env = {**environment(), "DATA_DIR": str(tmp_path), "PYTHONHASHSEED": "7"}
    env |= {"DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"]}
    code = OTHER_PROCESS.format(seeds=", ".join(map(str, SEEDS)))
    there = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=PROJECT_DIR, capture_output=True, check=True
    )
    here = [drawn(Idle, seed, histories=5, steps=20) for seed in SEEDS]
    assert json.loads(there.stdout) == here
    assert here[0] != here[1]


def test_a_failure_without_redis_does_not_fail_the_next_history() -> None:
    def fail() -> None:
        with model.dead_redis():
            redis.invalidate(["key"])
            raise AssertionError("a feed")

    with pytest.raises(AssertionError, match="a feed"):
        fail()
    assert redis.call(lambda connection: connection.ping())
    assert redis.backlog._thread is None
