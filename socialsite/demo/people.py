"""The people of the demo site: valid names, languages, topics, bios. The result never varies."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from accounts.models import User
from socialsite.demo import words

PASSWORD = "demo.pass1"  # noqa: S105 (the demo prints it at start)
# Demo people are recognized by this mail domain, which nobody can own (RFC 2606).
EMAIL_DOMAIN = "demo.invalid"


@dataclass(frozen=True, slots=True)
class Person:
    """One person of the demo; `number` is the index in the list."""

    number: int
    username: str
    nickname: str
    language: str
    topics: tuple[str, ...]
    bio: str
    avatar: bool

    @property
    def email(self) -> str:
        """The mail address, which marks a demo person."""
        return f"{self.username}@{EMAIL_DOMAIN}"


# The log-in accounts, the first of them an admin; then the author above the push threshold.
FIRST = (
    ("alice", "AliceMoreau", "en", ("film", "cats", "tea"), "Demo admin. Film, cats and tea."),
    ("xiaoming", "王小明同学", "zh", ("go", "cycling", "code"), "围棋、骑车、写代码，都还在学。"),
    ("demo", "DemoGuest", "en", ("hiking", "books", "city"), "Here to look around."),
    ("lanyuebooks", "蓝月书房", "zh", ("books", "tea", "city"), "每天写一点。书、茶，和路上的人。"),
)
BIG_AUTHOR = 3
LOGINS = 3


@cache
def _names() -> dict[str, Any]:
    return tomllib.loads((words.TEXTS / "names.toml").read_text(encoding="utf-8"))


def make(count: int) -> list[Person]:
    """Return the first `count` people of the demo, but at least those of FIRST."""
    rng = Random("people")
    found = [
        Person(number, *row, avatar=True)
        for number, row in enumerate(FIRST)  # the columns are in the order of the fields
    ]
    taken = {person.username for person in found} | {person.nickname for person in found}
    while len(found) < count:
        language = "zh" if rng.random() < 0.55 else "en"
        topics = tuple(rng.sample(words.topics(), rng.choice((1, 2, 2, 3))))
        names = _chinese(rng, topics[0]) if language == "zh" else _english(rng, topics[0])
        username, nickname = next(
            pair for pair in names if pair[0] not in taken and pair[1] not in taken
        )
        taken |= {username, nickname}
        found.append(
            Person(
                number=len(found),
                username=username,
                nickname=nickname,
                language=language,
                topics=topics,
                bio=_bio(rng, language, topics[0]),
                avatar=rng.random() < 0.35,
            )
        )
    return found


def _bio(rng: Random, language: str, topic: str) -> str:
    if rng.random() < 0.15:
        return ""
    return words.fill(
        rng.choice(words.texts(language)[topic]["bios"]), topic, language, rng, values={}
    )


def _chinese(rng: Random, topic: str) -> Iterator[tuple[str, str]]:
    """Yield (username, nickname) pairs; nicknames need four characters, names have three."""
    names = _names()["zh"]
    while True:
        family, family_sound = _split(rng.choice(names["families"]))
        given, given_sound = _split(rng.choice(names["given"]))
        full = family + given
        if len(full) >= 4:
            nickname = full
        else:
            nickname = rng.choice(names["epithets"][topic]).format(g=given, f=full)
        username = rng.choice(
            (
                family_sound + given_sound,
                given_sound + family_sound,
                f"{given_sound}{rng.randint(10, 99)}",
                f"{given_sound}{topic}",
            )
        )
        if all(User.NAME_MIN <= len(name) <= User.NAME_MAX for name in (username, nickname)):
            yield username, nickname


def _english(rng: Random, topic: str) -> Iterator[tuple[str, str]]:
    names = _names()["en"]
    while True:
        first, last = rng.choice(names["given"]), rng.choice(names["families"])
        nickname = first + (last if rng.random() < 0.7 else rng.choice(names["epithets"][topic]))
        username = rng.choice(
            (
                first + last,
                first[0] + last,
                f"{first}{rng.randint(10, 99)}",
                first + topic,
                last + first,
            )
        ).lower()
        if all(User.NAME_MIN <= len(name) <= User.NAME_MAX for name in (username, nickname)):
            yield username, nickname


def _split(name: str) -> tuple[str, str]:
    """Split "王wang" into its characters and its sound."""
    sound = "".join(c for c in name if c.isascii())
    return name.removesuffix(sound), sound
