"""The generator of sites for the benchmark `scale` has the shape of B9 (docs/specification.md)."""

from collections import Counter
from statistics import mean, median

import pytest

from bench.support.shape import Shape, shape

PEOPLE = 10_000
WITHIN = 0.02


@pytest.fixture(scope="module")
def drawn() -> Shape:
    return shape(PEOPLE, seed=1)


def test_the_shares_and_means_are_those_of_s1(drawn):
    following, followed = Counter(drawn.actors), Counter(drawn.targets)
    both = following.keys() & followed.keys()
    found = {
        "share that follows": len(following) / PEOPLE,
        "people followed": mean(following.values()),
        "share with followers": len(followed) / PEOPLE,
        "followers": mean(followed.values()),
        "share of both": len(both) / PEOPLE,
        "people followed by both": mean(following[one] for one in both),
        "followers of both": mean(followed[one] for one in both),
    }
    wanted = (0.40, 7.9, 0.35, 9.2, 0.26, 8.3, 10.4)
    assert found == {
        name: pytest.approx(value, rel=WITHIN) for name, value in zip(found, wanted, strict=True)
    }


def test_nobody_follows_themselves_or_anybody_twice(drawn):
    pairs = list(zip(drawn.actors, drawn.targets, strict=True))
    assert len(set(pairs)) == len(pairs)
    assert all(actor != target for actor, target in pairs)


def test_a_few_have_many_followers_and_most_have_few(drawn):
    followers = sorted(Counter(drawn.targets).values())
    assert median(followers) < mean(followers) / 1.5
    assert followers[-1] > 15 * mean(followers)


def test_people_with_followers_write_five_posts_each(drawn):
    posts = Counter(drawn.writers)
    assert posts.keys() == set(drawn.targets)
    assert mean(posts.values()) == pytest.approx(5, rel=WITHIN)


def test_a_seed_gives_the_same_site_again_and_another_seed_another_one(drawn):
    assert shape(PEOPLE, seed=1) == drawn
    assert shape(PEOPLE, seed=2) != drawn
