"""Plurals and singulars."""

import pytest

from socialsite.core.search.plurals import singular
from socialsite.core.search.words import split

pytestmark = pytest.mark.once

PAIRS = """
movie movies, cookie cookies, zombie zombies, city cities, fly flies, tie ties, key keys,
size sizes, prize prizes, quiz quizzes, buzz buzzes, box boxes, axe axes, tax taxes,
cache caches, headache headaches, church churches, niche niches, wish wishes, psyche psyches,
house houses, database databases, rose roses, use uses, class classes, ass asses, gas gases,
bus buses, virus viruses, status statuses, lens lenses, canvas canvases, alias aliases,
hero heroes, potato potatoes, photo photos, shoe shoes, toe toes, video videos, zoo zoos,
cat cats, page pages, idea ideas, eye eyes, analysis analyses, man men, child children,
knife knives, wolf wolves, emoji emojis, menu menus, wiki wikis, selfie selfies, day days
"""


@pytest.mark.parametrize("pair", PAIRS.replace("\n", " ").split(", "))
def test_a_plural_is_its_singular(pair: str) -> None:
    one, many = pair.split()
    assert singular(one) == singular(many)
    assert split(one) == split(many.upper())


@pytest.mark.parametrize(
    "pair",
    [
        "new news",
        "len lens",
        "lose los",
        "dose dos",
        "star stare",
        "car care",
        "not note",
        "safe save",
        "us use",
        "pass pas",
        "bu bus",
        "thi this",
        "dai days",
        "ca cas",
    ],
)
def test_other_words_are_different(pair: str) -> None:
    one, other = pair.split()
    assert singular(one) != singular(other)


@pytest.mark.parametrize("word", ["café", "нос", "глаз", "3", "b2b", ""])
def test_words_of_other_scripts_and_digits_stay(word: str) -> None:
    assert singular(word) == word
