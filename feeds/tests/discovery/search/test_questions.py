"""The quality of the search: a fixed set of questions in English and Chinese, with their answers.

`questions.txt` has posts and questions; what a question finds is compared with the posts named
there. Precision and recall are printed, and must be complete.
"""

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from feeds import actions as feeds_actions
from feeds.discovery.search.queries import Sort
from feeds.tests.discovery.search.results import results
from feeds.tests.pictures import make_picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root"), pytest.mark.embedded]

LINES = (Path(__file__).parent / "questions.txt").read_text(encoding="utf-8").splitlines()
AT_LEAST, CHINESE_AT_LEAST = 200, 100
CHINESE = re.compile("[\u4e00-\u9fff]")


class Question(NamedTuple):
    """A question, the keys of all posts that it finds, and some that it must not find."""

    text: str
    found: frozenset[str]
    wrong: frozenset[str]


def questions() -> list[Question]:
    asked = []
    for line in LINES:
        if (line and line[0] not in "#=") or " => " in line:
            text, _, answer = line.partition(" =>")
            found, _, wrong = answer.partition("!")
            asked.append(Question(text, frozenset(found.split()), frozenset(wrong.split())))
    return asked


def publish(make_user: Callable[..., Any]) -> dict[str, str]:
    """Publish the posts; return their keys by id."""
    people: dict[str, Any] = {}
    keys = {}
    for line in LINES:
        if not line.startswith("= "):
            continue
        key, author, day, image, title, text = (part.strip() for part in line[2:].split("|"))
        person = people.get(author) or people.setdefault(author, make_user(f"{author}0000"[:4]))
        at = datetime(2026, 1, int(day), 12, tzinfo=UTC)
        post = feeds_actions.publish(
            person,
            content=text,
            title=title,
            kind="article" if title else "micro",
            images=[make_picture(person, key).pk] if image == "+" else [],
            at_ms=int(at.timestamp() * 1000),
        )
        keys[str(post.pk)] = key
    return keys


def test_the_questions_are_enough_and_name_posts_that_exist() -> None:
    asked = questions()
    known = {line.split()[1] for line in LINES if line.startswith("= ")}
    assert len(asked) >= AT_LEAST
    assert sum(CHINESE.search(one.text) is not None for one in asked) >= CHINESE_AT_LEAST
    assert all(one.found | one.wrong <= known for one in asked)
    assert not [one for one in asked if one.found & one.wrong]


@pytest.mark.parametrize("sort", ["new", "top"])
def test_precision_and_recall(
    sort: Sort, make_user: Callable[..., Any], drain: Callable[[], None]
) -> None:
    keys = publish(make_user)
    drain()
    asked = questions()
    answers = {one: {keys[ident] for ident in results(None, named(one), sort, 20)} for one in asked}
    chinese = [one for one in asked if CHINESE.search(one.text)]
    for name, part in (("all", asked), ("Chinese", chinese)):
        precision, recall = rates(part, answers)
        text = f"{name}, {sort}: {len(part)} questions, precision {precision:.3f}, recall"
        sys.stdout.write(f"{text} {recall:.3f}\n")
    wrong = [
        f"{one.text}: not {sorted(found - one.found)}, but {sorted(one.found - found)}"
        for one, found in answers.items()
        if found != one.found or found & one.wrong
    ]
    assert not wrong, "\n".join(wrong)


def named(one: Question) -> str:
    """Return a question with the usernames that the authors have."""
    return re.sub(r"(from[:\uff1a]@?)(\w+)", r"\g<1>\g<2>0", one.text)


def rates(asked: list[Question], answers: dict[Question, set[str]]) -> tuple[float, float]:
    """Return precision and recall of the answers to some questions together."""
    right = sum(len(answers[one] & one.found) for one in asked)
    shown = sum(len(answers[one]) for one in asked)
    return right / shown, right / sum(len(one.found) for one in asked)
