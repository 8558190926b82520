"""The cost of pages of tags: bounded queries, whatever the posts and the tags that one follows."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from feeds import actions as feeds_actions
from feeds.discovery.tags import actions
from socialsite.core import redis

pytestmark = [pytest.mark.django_db, pytest.mark.full]

Make = Callable[..., Any]
V1 = "/api/v1/"


@pytest.mark.parametrize(
    ("path", "queries", "trips"),
    [("tags/tea/posts", 2, 4), ("feed/tags", 3, 4), ("tags/tea", 4, 1)],
)
def test_a_warm_page_costs_few_queries(
    path: str,
    queries: int,
    trips: int,
    me: User,
    make_user: Make,
    api_for: Make,
    round_trips: list[int],
    django_assert_num_queries: Make,
) -> None:
    for number in range(30):
        feeds_actions.publish(make_user(), content=f"#tea #tag{number}")
        actions.follow(me, f"tag{number}")
    actions.follow(me, "tea")
    client = api_for(me)
    redis.call(lambda connection: connection.flushdb())  # including the fence of the session
    client.get(f"{V1}{path}")
    first = client.get(f"{V1}{path}").content
    round_trips.clear()
    with django_assert_num_queries(queries):
        assert client.get(f"{V1}{path}").content == first
    assert len(round_trips) <= trips


def test_a_post_without_tags_costs_nothing_more(
    me: User, django_assert_max_num_queries: Make
) -> None:
    """A tag that is known costs two statements."""
    feeds_actions.publish(me, content="#tea")
    with django_assert_max_num_queries(100) as plain:
        feeds_actions.publish(me, content="none")
    with django_assert_max_num_queries(100) as tagged:
        feeds_actions.publish(me, content="#tea and #TEA")
    assert len(tagged) - len(plain) == 2
    assert not any("tag" in query["sql"] for query in plain)
