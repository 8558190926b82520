"""The follow graph of the demo site: the distribution of B9, plus one author whom most follow.

40 % follow somebody (mean 7.9), 35 % are followed (mean 9.2), 26 % are both (8.3 and 10.4). The
numbers of follows and of followers are log-normal, so a few people have many. The log-in accounts
follow at least LOGIN_FOLLOWS people, if there are that many.
"""

import math
from random import Random

from socialsite.demo.people import BIG_AUTHOR, LOGINS

FOLLOWERS, FOLLOWED, BOTH = 0.40, 0.35, 0.26
BOTH_FOLLOWS, BOTH_FANS = 8.3, 10.4
ONLY_FOLLOWS = (FOLLOWERS * 7.9 - BOTH * BOTH_FOLLOWS) / (FOLLOWERS - BOTH)
ONLY_FANS = (FOLLOWED * 9.2 - BOTH * BOTH_FANS) / (FOLLOWED - BOTH)
SIGMA = 0.9
LOGIN_FOLLOWS = 34
BIG_SHARE = 0.95  # of the people who follow anybody


def make(count: int) -> list[tuple[int, int]]:
    """Return (follower, author) pairs by number, in the order in which they are created."""
    rng = Random("graph")
    both = round(count * BOTH)
    # The log-in accounts come first in the list and are both follower and author.
    others = list(range(LOGINS + 1, count))
    rng.shuffle(others)
    order = [*range(min(LOGINS + 1, count)), *others]
    only_follow = round(count * FOLLOWERS) - both
    followers = order[: both + only_follow]
    authors = order[:both] + order[both + only_follow :][: round(count * FOLLOWED) - both]
    fans = dict(zip(authors, _sizes(rng, len(authors), both, BOTH_FANS, ONLY_FANS), strict=True))
    # The log-in accounts count in the mean of those who are both.
    login_follows = min(LOGIN_FOLLOWS, max(0, len(authors) - 2))
    rest = (both * BOTH_FOLLOWS - LOGINS * login_follows) / max(1, both - LOGINS)
    follows = [float(login_follows)] * LOGINS
    follows += _sizes(rng, len(followers) - LOGINS, both - LOGINS, max(1, rest), ONLY_FOLLOWS)
    pairs: set[tuple[int, int]] = set()
    for follower, size in zip(followers, follows[: len(followers)], strict=True):
        choices = [author for author in authors if author not in (follower, BIG_AUTHOR)]
        wanted = max(1, round(size))
        pairs |= {(follower, author) for author in _pick(rng, choices, fans, wanted)}
        if follower < LOGINS or (follower != BIG_AUTHOR and rng.random() < BIG_SHARE):
            pairs.add((follower, BIG_AUTHOR))
    found = sorted(pairs)
    rng.shuffle(found)
    return sorted(found, key=lambda pair: not is_urgent(pair))


def is_urgent(pair: tuple[int, int]) -> bool:
    """Return True for follows created before any post: of log-in accounts and of the big author.

    So the log-in accounts have a full feed at once, and no post of the big author is pushed to all.
    """
    return pair[0] < LOGINS or pair[1] == BIG_AUTHOR


def fans_of(pairs: list[tuple[int, int]]) -> dict[int, list[int]]:
    """Return author → followers."""
    fans: dict[int, list[int]] = {}
    for follower, author in pairs:
        fans.setdefault(author, []).append(follower)
    return fans


def _sizes(rng: Random, total: int, first: int, first_mean: float, mean: float) -> list[float]:
    """Return log-normal sizes, with one mean for the first ones and another for the rest."""
    head = [rng.lognormvariate(0, SIGMA) for _number in range(min(first, total))]
    tail = [rng.lognormvariate(0, SIGMA) for _number in range(total - len(head))]
    return [*_scaled(head, first_mean), *_scaled(tail, mean)]


def _scaled(sizes: list[float], mean: float) -> list[float]:
    return [size * mean * len(sizes) / math.fsum(sizes) for size in sizes]


def _pick(rng: Random, choices: list[int], weights: dict[int, float], count: int) -> list[int]:
    """Return distinct choices, drawn with the given weights (Efraimidis and Spirakis)."""
    keys = {choice: rng.random() ** (1 / weights[choice]) for choice in choices}
    return sorted(choices, key=keys.__getitem__, reverse=True)[:count]
