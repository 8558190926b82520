"""Real threads on the real database: a feed is exact at every moment, not only without writes."""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection

from accounts.models import User
from feeds import actions, queries
from feeds.delivery.fanout import sweep
from feeds.models import AuthorHead, FanOut, InboxEntry, Post
from feeds.tests.exactness.oracle import assert_exact
from feeds.tests.settling import settle
from relations import actions as relations_actions
from relations import queries as relations_queries
from relations.tests.helpers import counted, facts
from socialsite.core.events import enqueue, relay
from socialsite.core.models import Event
from socialsite.core.positions import Position
from socialsite.tests.support.race import Race

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers"),
]

Make = Callable[..., Any]
# Steps of each thread.
PUBLISHED, READ = 40, 40


@dataclass
class Journal:
    """Actions that have returned; a list only grows, and its length is read before its items."""

    published: list[tuple[int, str]] = field(default_factory=list)  # author, post
    deleting: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    def of(self, author: User) -> set[str]:
        return {post for owner, post in list(self.published) if owner == author.pk}


def walk(reader: User, size: int) -> list[str]:
    """Read a feed to its end; the order is checked by the posts shown."""
    found: list[str] = []
    places: list[tuple[str, str]] = []
    cursor = None
    while True:
        page = queries.home_feed(reader, cursor, size)
        found += [card["id"] for card in page.items]
        places += [(card["created_at"], card["id"]) for card in page.items]
        if page.next is None:
            break
        assert len(page.items) == size, "a short page has no next one"
        cursor = Position.decode(page.next)
    assert all(one > two for one, two in itertools.pairwise(places)), "out of order"
    return found


@pytest.mark.slow(reason="threads that write while one reads")
def test_readers_see_every_post_published_before_their_request_exactly_once_in_order(
    make_user: Make, settings: LazySettings
) -> None:
    settings.BACKFILL_MAX, settings.FANOUT_CHUNK = 2, 2
    # Three always follow; with two more an author is ACTIVE, with three more NONE, otherwise ALL.
    settings.PUSH_ALL_MAX, settings.PUSH_ACTIVE_MAX = 4, 5
    authors, readers, togglers = ([make_user() for _ in range(3)] for _ in range(3))
    with enqueue.paused():
        for reader in readers:
            for author in authors:
                relations_actions.follow(reader, author)
    journal, race = Journal(), Race()

    def publish(author: User) -> Callable[[random.Random], None]:
        def step(dice: random.Random) -> None:
            visibility = dice.choice(("public", "quiet", "followers"))
            post = actions.publish(author, content="x", visibility=visibility)
            journal.published.append((author.pk, str(post.pk)))
            if dice.random() < 0.2:
                victim = dice.choice(sorted(journal.of(author)))
                journal.deleting.add(victim)
                actions.delete(author, int(victim))
                journal.deleted.add(victim)

        return step

    def read(reader: User) -> Callable[[random.Random], None]:
        def step(dice: random.Random) -> None:
            gone, wanted = set(journal.deleted), {post for _, post in list(journal.published)}
            found = set(walk(reader, dice.choice([2, 7, 20])))
            missing = wanted - found - set(journal.deleting)
            assert not missing, f"missing {missing}"
            assert not found & gone, f"deleted {found & gone}"

        return step

    def toggle(person: User) -> Callable[[random.Random], None]:
        def step(dice: random.Random) -> None:
            author = dice.choice(authors)
            follow = dice.random() < 0.6
            (relations_actions.follow if follow else relations_actions.unfollow)(person, author)
            wanted = journal.of(author)
            found = set(walk(person, dice.choice([3, 20])))
            if follow:
                missing = wanted - found - set(journal.deleting)
                assert not missing, f"missing after a follow: {missing}"
            else:
                assert not found & wanted, f"ghosts after an unfollow: {found & wanted}"

        return step

    for author in authors:
        race.add("publish", publish(author), PUBLISHED, paced=("read", "toggle"))
    for _ in range(2):
        race.beside("relay", lambda dice: relay.relay(5))
        race.beside("sweep", lambda dice: sweep.run())
    for reader in readers[:2]:
        race.add("read", read(reader), READ, paced=("publish",))
    for person in togglers:
        race.add("toggle", toggle(person), READ, paced=("publish",))
    race.run()

    settle()
    assert not Event.objects.exists()
    assert not FanOut.objects.exclude(state=FanOut.State.DONE).exists()
    for person in (*authors, *readers, *togglers):
        assert_exact(person, 7)
        followed = relations_queries.following_ids(person.pk)
        rows = InboxEntry.objects.filter(user_id=person.pk)
        assert not rows.exclude(author_id__in=followed).exists()
        assert counted(person) == facts(person)
    alive = {post for _, post in journal.published} - journal.deleted
    assert set(walk(readers[2], 20)) == alive
    for author in authors:
        own = Post.objects.filter(author_id=author.pk, is_deleted=False)
        assert AuthorHead.objects.get(pk=author.pk).post_count == own.count()
