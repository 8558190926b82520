"""The order in which the demo is made: what a visitor sees first comes first.

First come the newest posts with the people who write and discuss them, then all other people, then
the other posts, oldest first. The order is the same in every run, so the number of posts says where
a killed run continues.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from socialsite.demo.plan import Step, Thread

# Posts of the first page, with a few to spare; at most this share of all.
FIRST, FIRST_SHARE = 24, 0.25
# Acts that wait for people are spread: so many with each post.
WAITING = 6


@dataclass(frozen=True, slots=True)
class Act:
    """What people do with the post of a step: a thread, a vote, or else a like or bookmark."""

    target: int
    people: tuple[int, ...]
    age_ms: int
    thread: Thread | None = None
    choice: int | None = None
    is_bookmark: bool = False


def acts_of(step: Step) -> Iterable[Act]:
    """Yield what people do at the time of a step, with its post or an earlier one."""
    for target, person in step.likes:
        yield Act(target, (person,), step.age_ms)
    for target, person in step.bookmarks:
        yield Act(target, (person,), step.age_ms, is_bookmark=True)
    for thread in step.threads:
        said = (thread.comment, *thread.replies)
        people = tuple(one.person for one in said)
        yield Act(thread.step, people, step.age_ms, thread=thread)
    for person, choice in step.votes:
        yield Act(step.number, (person,), step.age_ms, choice=choice)


class Order:
    """The steps in the order in which they are made, and the acts that follow each."""

    def __init__(self, steps: Sequence[Step], always: Iterable[int]) -> None:
        """`always` are people who are needed from the beginning."""
        count = min(FIRST, int(len(steps) * FIRST_SHARE))
        newest = steps[len(steps) - count :]
        wanted = {step.number for step in newest}
        wanted |= {step.shares for step in newest if step.shares is not None}
        self.first = [step for step in steps if step.number in wanted]
        self.steps = self.first + [step for step in steps if step.number not in wanted]
        self.people = self._first_people(steps, wanted) | {*always}
        self._place = {step.number: place for place, step in enumerate(self.steps)}
        self._acts = self._placed(steps)

    def _first_people(self, steps: Iterable[Step], wanted: set[int]) -> set[int]:
        """Return the authors of the first posts, and those who discuss them or vote."""
        talk = (act for step in steps for act in acts_of(step) if act.target in wanted)
        found = {person for act in talk if act.thread for person in act.people}
        found |= {person for step in self.first for person, _ in step.votes}
        return found | {step.author for step in self.first}

    def _placed(self, steps: Iterable[Step]) -> Mapping[int, list[Act]]:
        """Return the acts by the place after which their post and their people exist."""
        found: dict[int, list[Act]] = defaultdict(list)
        all_people, waiting = len(self.first), itertools.count()
        for step in steps:
            for act in acts_of(step):
                place = max(self._place[step.number], self._place[act.target])
                if place < all_people and not self.people.issuperset(act.people):
                    place = min(all_people + next(waiting) // WAITING, len(self.steps) - 1)
                found[place].append(act)
        return found

    def place(self, step: Step) -> int:
        """Return the place of a step, from 0."""
        return self._place[step.number]

    def acts(self, step: Step) -> Sequence[Act]:
        """Return the acts that follow a step, in the order of their times."""
        return self._acts.get(self.place(step), ())
