"""Run the histories of `model`, which a seed repeats in every process.

- Hypothesis draws 5 % of larger numbers from the constants in the modules of the site that are
  loaded. A rule may load further modules, so `run` draws no constants.
- `Idle` draws the same choices as `FeedMachine` only if none depends on the state of the site.
"""

from dataclasses import replace
from typing import Any
from unittest import mock

import hypothesis
from hypothesis.control import current_build_context
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.stateful import Rule, RuleBasedStateMachine, run_state_machine_as_test

from feeds.tests.exactness import model

History = list[Any]


def run(machine: type[RuleBasedStateMachine], settings: hypothesis.settings) -> None:
    """Run histories with small limits; raise the error of the first one that fails."""
    none = mock.patch.object(HypothesisProvider, "_maybe_draw_constant", return_value=None)
    with model.small(), none:
        run_state_machine_as_test(machine, settings=settings)


def drawn(
    machine: type[RuleBasedStateMachine], seed: int, histories: int, steps: int
) -> list[History]:
    """Run histories and return the choices that Hypothesis drew for each of them."""
    found: list[History] = []

    def teardown(self: RuleBasedStateMachine) -> None:
        found.append(list(current_build_context().data.choices))
        machine.teardown(self)

    recorded = type("Recorded", (machine,), {"teardown": teardown})
    lives = hypothesis.settings(model.lives(histories, steps), database=None)
    run(hypothesis.seed(seed)(recorded), lives)
    return found


class Idle(model.FeedMachine):
    """The machine without a site: its rules do nothing, and nothing is compared."""

    def __init__(self) -> None:
        RuleBasedStateMachine.__init__(self)
        self.people, self.posts, self.named = [], [], {}

    def teardown(self) -> None:
        """Leave the tables alone."""

    @classmethod
    def setup_state(cls) -> Any:
        state = model.FeedMachine.setup_state()
        return replace(
            state,
            rules=[_without_effect(one) for one in state.rules],
            initializers=[_without_effect(one) for one in state.initializers],
            invariants=[],
        )


def _without_effect(rule: Rule) -> Rule:
    def nothing(machine: RuleBasedStateMachine, **arguments: Any) -> None:
        pass

    # Hypothesis sorts rules by their names.
    nothing.__name__ = rule.function.__name__
    return replace(rule, function=nothing)
