"""Posts that rise: by the people who react to them today, and only for those who may see them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import text_of
from feeds import actions as feeds_actions
from feeds.models import Post
from interactions import actions, queries
from interactions.actions import rising
from interactions.models import Comment, Like, RisingPost, SubjectType
from relations import actions as relations_actions
from socialsite.core import db
from socialsite.core.ids import first_of, ms_of, new_id
from socialsite.tests.support.answers import ids, walk

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
DAY_MS = rising.DAY_MS


def post_of(author: User, *, hours: float = 0, **values: Any) -> Post:
    at = db.now_ms() - int(hours * 3_600_000) if hours else None
    return feeds_actions.publish(author, content="words", at_ms=at, **values)


def like(person: User, post: Post) -> None:
    actions.like(person, SubjectType.POST, post.pk)


def read(client: APIClient | None = None) -> list[int]:
    pages = walk(client or APIClient(), "feed/rising", size=2)
    return [int(ident) for page in pages for ident in page]


def test_people_not_reactions_make_a_post_rise(make_user: Make, people: list[User]) -> None:
    liked, answered, talked = (post_of(make_user()) for _ in range(3))
    quiet = post_of(make_user())
    for person in people[:3]:
        like(person, liked)
    for person in people[:2]:
        actions.comment(person, answered.pk, "hm")
    for number in range(5):
        actions.comment(people[0], talked.pk, f"me again {number}")
    feeds_actions.repost(people[0], talked.pk)
    assert rising.rank() == 3
    # 2 + 2, in the order of the ids; 3; nothing.
    assert read() == [talked.pk, answered.pk, liked.pk]
    assert quiet.pk not in read()


def test_age_halves_what_counts(make_user: Make, people: list[User]) -> None:
    old, new = post_of(make_user(), hours=30), post_of(make_user())
    for person in people[:3]:
        like(person, old)
    like(people[0], new)
    rising.rank()
    assert read() == [new.pk, old.pk]
    # Reactions of another day do not count.
    long_ago = first_of(db.now_ms() - DAY_MS - 1000)
    Like.objects.filter(subj_id=new.pk).update(id=long_ago)
    rising.rank()
    assert read() == [old.pk]


def test_an_author_has_two_posts_at_most(people: list[User]) -> None:
    posts = [post_of(people[0]) for _ in range(3)]
    other = post_of(people[1])
    for post in posts:
        like(people[2], post)
        like(people[3], post)
    like(people[2], other)
    rising.rank()
    assert read() == [posts[2].pk, posts[1].pk, other.pk]


def test_only_public_posts_that_are_there(people: list[User], api_for: Make) -> None:
    author, reader, *others = people
    relations_actions.follow(reader, author)
    private, gone, shown, reposted = (
        post_of(author, visibility="followers"),
        post_of(author),
        post_of(author),
        post_of(others[0]),
    )
    repost, _new = feeds_actions.repost(author, reposted.pk)
    for post in (private, gone, shown):
        like(reader, post)
    like(reader, repost)
    feeds_actions.delete(author, gone.pk)
    rising.rank()
    mine = api_for(reader)
    assert set(read(mine)) == {shown.pk, reposted.pk}
    # At once, whatever the ranking says.
    relations_actions.block(author, reader)
    assert read(mine) == [reposted.pk]
    feeds_actions.edit(author, shown.pk, 1, visibility="followers")
    assert read() == [reposted.pk]
    accounts_actions.ban(others[0])
    assert read() == []
    rising.rank()
    assert not RisingPost.objects.exists()


def test_an_author_and_banned_people_lift_nothing(people: list[User]) -> None:
    own, other = post_of(people[0]), post_of(people[1])
    like(people[0], own)
    actions.comment(people[0], own.pk, "see")
    feeds_actions.repost(people[0], own.pk)
    for person in people[2:]:
        like(person, other)
    assert rising.rank() == 1
    assert read() == [other.pk]
    like(people[3], own)
    accounts_actions.ban(people[2])
    rising.rank()
    assert dict(RisingPost.objects.values_list("post_id", "score")).keys() == {own.pk, other.pk}
    accounts_actions.ban(people[3])
    assert rising.rank() == 0


def test_deleted_comments_and_those_of_comments_do_not_count(people: list[User]) -> None:
    post = post_of(people[0])
    comment = actions.comment(people[1], post.pk, "hm")
    actions.like(people[2], SubjectType.COMMENT, comment.pk)
    actions.delete_comment(people[1], comment.pk)
    assert Comment.objects.get().deleted
    assert rising.rank() == 0


@given(st.integers(1_300_000_000_000, 3_000_000_000_000))
def test_the_first_id_of_a_time(ms: int) -> None:
    assert ms_of(first_of(ms)) == ms
    assert ms_of(first_of(ms) - 1) == ms - 1
    assert first_of(ms_of(new_id())) <= new_id()


def test_discover_has_tabs(make_user: Make, people: list[User]) -> None:
    post = post_of(people[0])
    like(people[1], post)
    assert "Nothing rises yet" in text_of(Client().get("/recommended?tab=rising"))
    rising.rank()
    page = text_of(Client().get("/recommended?tab=rising"))
    assert f'data-post-id="{post.pk}"' in page
    assert 'aria-current="page">Rising</a>' in page
    for number in range(21):
        make_user(f"newest{number}")
    page = text_of(Client().get("/recommended?tab=people"))
    assert page.index("@newest20") < page.index("@newest19")
    assert "?tab=people&cursor=" in page.replace("&amp;", "&")


def test_new_people(people: list[User], api_for: Make) -> None:
    found = ids(APIClient().get(f"{V1}users/new"))
    assert found == [str(person.pk) for person in reversed(people)]
    relations_actions.block(people[0], people[1])
    accounts_actions.ban(people[2])
    assert ids(api_for(people[1]).get(f"{V1}users/new")) == [str(people[3].pk), str(people[1].pk)]
    assert queries.rising(people[0], None, 20).items == []
