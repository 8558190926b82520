"""A person whom staff limited is neither recommended nor found, at once; everything else stays."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions as feeds_actions
from feeds.discovery.tags import ranking
from interactions import actions
from interactions.actions import rising
from interactions.models import SubjectType
from relations import actions as relations_actions
from relations.suggestions import candidates
from socialsite.core import redis

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
# Where people discover posts and people, and where they are as before.
POSTS = ("feed/recommended", "feed/rising", "search/posts?q=harbour", "tags/boats/posts")
PEOPLE = ("users?q=sailor1", "users/new", "users/suggested")
STILL = ("feed", "users/{user}/posts", "posts/{post}")


@pytest.fixture
def sailor(make_user: Make) -> User:
    return make_user("sailor1", nickname="sailor1")


@pytest.fixture
def me(make_user: Make) -> User:
    return make_user("reader1")


def seen(api: APIClient, paths: tuple[str, ...], needle: str) -> list[str]:
    """Return the addresses whose answer has some text."""
    found = []
    for path in paths:
        answer = api.get(V1 + path)
        assert answer.status_code == 200, (path, answer.content)
        if needle in answer.content.decode():
            found.append(path)
    return found


@pytest.fixture
def world(sailor: User, me: User, make_user: Make, drain: Make) -> dict[str, str]:
    """A post of the sailor that is recommended, rising and found, and a repost of it."""
    post = feeds_actions.publish(sailor, content="At the harbour #boats")
    relations_actions.follow(me, sailor)
    for _ in range(3):
        friend = make_user()
        actions.like(friend, SubjectType.POST, post.pk)
        relations_actions.follow(friend, sailor)
        feeds_actions.publish(friend, content="harbour too #boats")
    feeds_actions.repost(make_user("sharer1"), post.pk)
    drain()
    rising.rank()
    ranking.rank()
    candidates.refresh(candidates.SITE)
    return {"post": str(post.pk), "user": str(sailor.pk)}


@pytest.mark.parametrize("with_redis", [True, False], ids=["redis", "no redis"])
def test_a_limited_person_is_not_found_until_the_limit_is_lifted(
    with_redis: bool, world: dict[str, str], sailor: User, make_user: Make, api_for: Make, me: User
) -> None:
    stranger, mine = api_for(make_user("stranger1")), api_for(me)
    readers = {"guest": APIClient(), "stranger": stranger}
    still = tuple(path.format(**world) for path in STILL)

    def discovered() -> dict[str, list[str]]:
        name, ident = '"sailor1"', f'"{world["post"]}"'
        if not with_redis:
            with redis.bypassed():
                return everywhere(name, ident)
        return everywhere(name, ident)

    def everywhere(name: str, ident: str) -> dict[str, list[str]]:
        found = {who: seen(api, POSTS, ident) for who, api in readers.items()}
        return found | {"people": seen(stranger, PEOPLE, name)}

    before = discovered()
    assert before == {"guest": [*POSTS], "stranger": [*POSTS], "people": [*PEOPLE]}
    accounts_actions.limit(sailor)
    assert discovered() == {"guest": [], "stranger": [], "people": []}
    assert seen(mine, still, world["post"]) == [*still]
    # What only the server knows is in no answer.
    for path in ("feed", f"users/{world['user']}", f"posts/{world['post']}"):
        assert "limited" not in mine.get(V1 + path).content.decode()
    accounts_actions.unlimit(sailor)
    assert discovered() == before
