"""The quality of the search: a fixed set of questions in English and Chinese, with their answers.

`questions.txt` has posts and questions; what a question finds is compared with the posts named
there. Precision and recall are printed, and must be complete.
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from feeds import actions as feeds_actions
from feeds.search.queries import Sort
from feeds.tests.search.results import results
from feeds.tests.test_api import make_picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]

LINES = (Path(__file__).parent / "questions.txt").read_text(encoding="utf-8").splitlines()
AT_LEAST = 200


class Question(NamedTuple):
    """A question, the keys of all posts that it finds, and some that it must not find."""

    text: str
    found: set[str]
    wrong: set[str]


def questions() -> list[Question]:
    asked = []
    for line in LINES:
        if (line and line[0] not in "#=") or " => " in line:
            text, _, answer = line.partition(" =>")
            found, _, wrong = answer.partition("!")
            asked.append(Question(text, set(found.split()), set(wrong.split())))
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
    assert all(one.found | one.wrong <= known for one in asked)
    assert not [one for one in asked if one.found & one.wrong]


@pytest.mark.parametrize("sort", ["new", "top"])
def test_precision_and_recall(
    sort: Sort, make_user: Callable[..., Any], drain: Callable[[], None]
) -> None:
    keys = publish(make_user)
    drain()
    right = shown = wanted = 0
    wrong = []
    for one in questions():
        text = one.text
        for name in ("ann", "bob", "cat", "lin", "wei", "hua"):
            text = text.replace(f"from:{name}", f"from:{name}0")
            text = text.replace(f"from:@{name}", f"from:@{name}0")
        text = text.replace("from:ANN", "from:ANN0")
        found = {keys[ident] for ident in results(None, text, sort, 20)}
        right += len(found & one.found)
        shown, wanted = shown + len(found), wanted + len(one.found)
        if found != one.found:
            wrong.append((one.text, sorted(found - one.found), sorted(one.found - found)))
        assert not found & one.wrong, one.text
    rates = f"precision {right / shown:.3f}, recall {right / wanted:.3f}"
    sys.stdout.write(f"{len(questions())} questions, {sort}: {rates}\n")
    assert wrong == []
