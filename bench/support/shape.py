"""The shape of a site by its number of people: who follows whom, and who writes how many posts.

The shares and means are those of B9: 40 % follow 7.9 people each, 35 % have 9.2 followers, and 26 %
do both (they follow 8.3 and have 10.4 followers). The first two would give different numbers of
follows (3.16 and 3.22 for each person), so 3.19 are drawn; each mean is within 1 % of B9.

Degrees have a lognormal distribution: half of those with followers have four or fewer, and a few
have hundreds. It does not depend on the number of people, so larger sites have more people of the
same kinds, and a page does the same work at each size. All numbers follow from the seed.
"""

import math
import random
from array import array
from collections.abc import Sequence
from typing import NamedTuple

SHARE_BOTH, SHARE_ONLY_FOLLOW, SHARE_ONLY_FOLLOWED = 0.26, 0.14, 0.09
FOLLOWS = 3.19  # for each person of the site
FOLLOWS_OF_BOTH, FOLLOWERS_OF_BOTH = 8.3, 10.4
SIGMA = 1.2
POSTS = 5.0  # for each person with followers
POSTS_SIGMA = 1.0
# Another follow is drawn so many times in place of a repeated one; then the follow is left out.
TRIES = 100


class Shape(NamedTuple):
    """People are numbers from 0 on. Follows and posts are in the order of their times."""

    people: int
    actors: "array[int]"
    targets: "array[int]"
    writers: "array[int]"


def shape(people: int, seed: int) -> Shape:
    """Return the follows and the authors of all posts of a site."""
    dice = random.Random(seed)
    order = list(range(people))
    dice.shuffle(order)
    both = order[: round(people * SHARE_BOTH)]
    rest = order[len(both) :]
    only_follow = rest[: round(people * SHARE_ONLY_FOLLOW)]
    start = len(only_follow)
    only_followed = rest[start : start + round(people * SHARE_ONLY_FOLLOWED)]
    total = round(people * FOLLOWS)
    actors = _stubs(dice, both, only_follow, FOLLOWS_OF_BOTH, total)
    targets = _stubs(dice, both, only_followed, FOLLOWERS_OF_BOTH, total)
    authors = both + only_followed
    writers = _repeated(authors, degrees(dice, len(authors), round(len(authors) * POSTS)))
    dice.shuffle(writers)
    follows = _matched(dice, people, actors, targets)
    dice.shuffle(follows)
    return Shape(
        people,
        array("i", [follow // people for follow in follows]),
        array("i", [follow % people for follow in follows]),
        array("i", writers),
    )


def degrees(
    dice: random.Random, count: int, total: int, sigma: float = POSTS_SIGMA
) -> "array[int]":
    """Return `count` numbers of at least 1 with a lognormal distribution and this sum."""
    mu = math.log(total / count) - sigma * sigma / 2
    found = array("i", [max(1, round(dice.lognormvariate(mu, sigma))) for _ in range(count)])
    missing = total - sum(found)
    while missing:
        place = dice.randrange(count)
        if missing > 0:
            found[place] += 1
            missing -= 1
        elif found[place] > 1:
            found[place] -= 1
            missing += 1
    return found


def _stubs(
    dice: random.Random, both: Sequence[int], only: Sequence[int], mean: float, total: int
) -> list[int]:
    """Return each person as often as they are at this end of a follow."""
    of_both = round(len(both) * mean)
    found = _repeated(both, degrees(dice, len(both), of_both, SIGMA))
    return found + _repeated(only, degrees(dice, len(only), total - of_both, SIGMA))


def _repeated(people: Sequence[int], times: Sequence[int]) -> list[int]:
    return [one for one, count in zip(people, times, strict=True) for _ in range(count)]


def _matched(
    dice: random.Random, people: int, actors: Sequence[int], targets: list[int]
) -> list[int]:
    """Give each actor a target at random, none twice and nobody themselves.

    The actors are grouped, so a repeated target is exchanged for that of a later actor. Returns
    actor × people + target.
    """
    dice.shuffle(targets)
    found: list[int] = []
    mine: set[int] = set()
    last, end = -1, len(targets)
    for place, actor in enumerate(actors):
        if actor != last:
            last, mine = actor, {actor}
        for _ in range(TRIES):
            if targets[place] not in mine:
                mine.add(targets[place])
                found.append(actor * people + targets[place])
                break
            other = dice.randrange(place, end)
            targets[place], targets[other] = targets[other], targets[place]
    return found
