"""The demo: valid names, the distribution of follows, no duplicates, exact feeds."""

import io
from collections import Counter
from typing import Any, TypedDict

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from accounts import queries as accounts_queries
from accounts.credentials import password_rules
from accounts.models import User
from accounts.naming import name_rules
from accounts.tests.browsers import log_in
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.discovery import public_posts
from feeds.models import FanOut, Mode, Post, RecommendedAuthor
from interactions.models import Bookmark, Comment, Like
from relations import actions as relations_actions
from relations import queries as relations_queries
from relations.models import Relationship
from socialsite.core.models import Event, Media
from socialsite.demo import DEMO_LOGINS, graph, pictures, plan, seed, words
from socialsite.demo.order import FIRST, Act, Order, acts_of
from socialsite.demo.people import BIG_AUTHOR, LOGINS, PASSWORD, make
from socialsite.demo.plan import Plan, Step
from socialsite.env import DEMO_PUSH_ALL_MAX


class Size(TypedDict):
    people: int
    posts: int


SIZE: Size = {"people": 16, "posts": 16}

pytestmark = pytest.mark.embedded


@pytest.fixture(autouse=True)
def _media_elsewhere(settings, tmp_path) -> None:
    settings.MEDIA_ROOT = tmp_path


def counts() -> list[int]:
    models = (User, Relationship, RecommendedAuthor, Post, FanOut, Comment, Like, Media, Bookmark)
    return [model._default_manager.count() for model in models]


def seed_until(number: int) -> None:
    """Seed, and stop as if killed when this many posts exist."""
    seed(stop=lambda: Post.objects.count() >= number, **SIZE)


@pytest.mark.once
@pytest.mark.django_db
def test_seeding_twice_adds_nothing(monkeypatch) -> None:
    monkeypatch.setattr(plan, "SHARED", 0.7)
    seen = []
    seed(lambda *progress: seen.append(progress), **SIZE)
    before = counts()
    assert before[0] == SIZE["people"]
    assert before[3] == SIZE["posts"]
    assert min(before) > 0
    shown = list(Post.objects.filter(kind="repost"))
    assert shown
    assert all(post.ref_post and post.position > post.ref_post.position for post in shown)
    assert not Event.objects.exists()
    assert not FanOut.objects.filter(state__lt=FanOut.State.DONE).exists()
    assert ("posts", SIZE["posts"], SIZE["posts"]) in seen
    # It also keeps people's changes to the demo.
    alice, author = User.objects.get(username="alice"), Post.objects.earliest("pk").author
    feeds_actions.publish(alice, content="my own")
    feeds_actions.delete(author, Post.objects.filter(author=author).earliest("pk").pk)
    followed = accounts_queries.by_id(relations_queries.following_ids(alice.pk)[0])
    relations_actions.unfollow(alice, followed)
    before = counts()
    seed(**SIZE)
    assert counts() == before
    assert followed.pk not in relations_queries.following_ids(alice.pk)


@pytest.mark.once
@pytest.mark.django_db
def test_a_run_continues_where_the_last_one_stopped() -> None:
    seed(stop=lambda: User.objects.count() >= 7, **SIZE)
    assert User.objects.count() == 7
    seed_until(9)
    assert Post.objects.count() == 9
    seed(**SIZE)
    texts = list(Post.objects.order_by("position").values_list("content_row__content", flat=True))
    whole = Plan(make(SIZE["people"]), graph.make(SIZE["people"]), SIZE["posts"])
    assert texts == ["" if step.quiet else step.text.content for step in whole.steps()]
    assert User.objects.count() == SIZE["people"]
    pairs = {frozenset(pair) for pair in graph.make(SIZE["people"])}
    assert Relationship.objects.count() == 2 * len(pairs)


def steps_of(posts: int, people: int) -> list[Step]:
    return list(Plan(make(people), graph.make(people), posts).steps())


def test_the_first_page_has_something_of_every_kind() -> None:
    steps = steps_of(3000, 300)
    first = Order(steps, [0]).first
    assert {step.number for step in first} >= set(range(3000 - FIRST, 3000))
    newest = steps[-20:]
    assert {step.text.kind for step in newest} == {"micro", "article", "video"}
    assert any(step.options for step in newest)
    assert any(step.pictures for step in newest)
    assert any(step.shares is not None and not step.quiet for step in newest)
    assert any(step.author == 0 for step in newest)


@given(posts=st.integers(0, 150), people=st.integers(4, 40))
def test_everything_is_made_once_and_after_what_it_needs(posts: int, people: int) -> None:
    steps = steps_of(posts, people)
    order = Order(steps, [0])
    assert sorted(step.number for step in order.steps) == list(range(posts))
    made: set[int] = set()
    acts: list[Act] = []
    for step in order.steps:
        assert step.shares is None or step.shares in made
        is_first = len(made) < len(order.first)
        assert not is_first or step.author in order.people
        made.add(step.number)
        for act in order.acts(step):
            assert act.target in made
            assert not is_first or order.people.issuperset(act.people)
        acts += order.acts(step)
    assert Counter(acts_key(one) for one in acts) == Counter(
        acts_key(one) for step in steps for one in acts_of(step)
    )


def acts_key(act: Act) -> tuple[Any, ...]:
    return act.target, act.people, act.age_ms, act.choice, act.is_bookmark


@pytest.mark.django_db
def test_the_newest_posts_are_complete_before_the_older_ones_are_made() -> None:
    """With their people, their threads, votes, notifications, and in the feeds of followers."""
    size: Size = {"people": 16, "posts": 40}
    first = len(Order(steps_of(40, 16), [0, 1, 2, 3]).first)
    seen = False

    def stop() -> bool:
        nonlocal seen
        if not seen and Post.objects.count() == first:
            seen = (
                not Event.objects.exists()
                and not FanOut.objects.filter(state__lt=FanOut.State.DONE).exists()
            )
        return seen

    seed(stop=stop, **size)
    assert seen
    assert Comment.objects.exists()
    assert Post.objects.exclude(content_row__poll=None).exists()
    begun = min(user.created_at for user in User.objects.all()).timestamp() * 1000
    newest = steps_of(40, 16)[-first // 2]
    assert Post.objects.filter(position__gte=begun - newest.age_ms).exists()
    seed(**size)
    assert Post.objects.count() == 40


@pytest.mark.django_db
def test_a_site_with_people_of_its_own_is_left_alone(make_user) -> None:
    make_user("somebody")
    seed(**SIZE)
    assert counts()[0] == 1


@pytest.mark.django_db
def test_feeds_are_exact_and_a_name_taken_meanwhile_stays_its_owners(make_user, settings) -> None:
    settings.PUSH_ALL_MAX = 5
    seed(stop=lambda: User.objects.count() >= 5, **SIZE)
    owner = make_user(make(SIZE["people"])[6].username)
    seed(**SIZE)
    assert not Post.objects.filter(author=owner).exists()
    alice = accounts_queries.by_name("alice")
    page = feeds_queries.home_feed(alice, None, 20)
    oracle = feeds_queries.oracle_feed(alice, None, 20)
    assert [card["id"] for card in page.items] == [card["id"] for card in oracle.items]
    assert len(page.items) > 3
    assert {post.mode for post in Post.objects.all()} == {Mode.ALL, Mode.ACTIVE}
    begun = min(user.created_at for user in User.objects.all()).timestamp() * 1000
    assert all(post.position < begun for post in Post.objects.all())
    assert public_posts.recommended(None, None, 5).items


@pytest.mark.django_db
def test_one_can_sign_in_and_the_first_is_an_admin(real_hasher) -> None:
    call_command("demo", people=6, posts=2)
    for name, password in DEMO_LOGINS:
        user, _pair = log_in(name, password)
        assert user.is_superuser == (name == "alice")


@pytest.mark.once
def test_people_are_valid_and_all_different() -> None:
    people = make(300)
    assert len({person.username for person in people}) == 300
    for person in people:
        assert not name_rules.username(person.username)
        assert not name_rules.nickname(person.nickname)
        assert not password_rules.mistakes(PASSWORD, person.username, person.nickname)
        assert len(person.bio) <= User.BIO_MAX
    languages = Counter(person.language for person in people)
    assert min(languages.values()) > 100
    assert people[:10] == make(10)


@pytest.mark.once
def test_follows_have_the_shape_of_the_specification() -> None:
    pairs = graph.make(300)
    assert len(set(pairs)) == len(pairs)
    big = sum(author == BIG_AUTHOR for _follower, author in pairs)
    assert big > DEMO_PUSH_ALL_MAX
    rest = [pair for pair in pairs if pair[1] != BIG_AUTHOR]
    follows = Counter(follower for follower, _author in rest)
    fans = Counter(author for _follower, author in rest)
    assert len(follows) / 300 == pytest.approx(0.40, abs=0.01)
    assert len(fans) / 300 == pytest.approx(0.35, abs=0.015)
    assert len(follows.keys() & fans.keys()) / 300 == pytest.approx(0.26, abs=0.01)
    assert follows.total() / len(follows) == pytest.approx(7.9, abs=0.3)
    assert fans.total() / len(fans) == pytest.approx(9.2, abs=0.3)
    assert max(fans.values()) < DEMO_PUSH_ALL_MAX * 0.8
    assert all(follows[number] >= 30 for number in range(LOGINS))


@pytest.mark.once
def test_texts_do_not_repeat_themselves_on_a_page() -> None:
    steps = list(Plan(make(300), graph.make(300), 1500).steps())
    contents = [step.text.content for step in steps]
    assert len(set(contents)) > 0.97 * len(contents)
    for start in range(0, len(contents) - 20):
        assert len(set(contents[start : start + 20])) == 20
    assert not any("{" in text or "}" in text for text in contents)
    assert {step.text.kind for step in steps} == {"micro", "article", "video"}
    assert any(step.visibility == "followers" for step in steps)
    shown = [step for step in steps if step.shares is not None]
    assert len(shown) > 0.02 * len(steps)
    assert {step.quiet for step in shown} == {True, False}
    assert all(step.shares is not None and step.shares < step.number for step in shown)
    ages = [step.age_ms for step in steps]
    assert sorted(set(ages), reverse=True) == ages
    said = Counter((t.step, t.comment.words) for step in steps for t in step.threads)
    assert said.most_common(1)[0][1] == 1


@pytest.mark.once
@pytest.mark.parametrize("topic", words.topics())
def test_every_topic_has_a_picture_that_draws(topic) -> None:
    for number in range(3):
        drawing = pictures.choose(f"{topic}{number}", topic, "zh")
        assert Image.open(pictures.draw(drawing)).size == (pictures.WIDTH, pictures.HEIGHT)
        assert drawing.alt
    side = pictures.AVATAR_SIDE
    assert Image.open(io.BytesIO(pictures.avatar(topic).getvalue())).size == (side, side)


@pytest.mark.once
def test_the_same_seed_draws_the_same_picture() -> None:
    drawing = pictures.choose("7/0", "film", "en")
    assert pictures.draw(drawing).getvalue() == pictures.draw(drawing).getvalue()
