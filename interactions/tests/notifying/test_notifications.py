"""Recipients of notifications: every kind, grouped, undone, hidden, read, and chosen."""

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest

from accounts import actions as accounts_actions
from accounts.models import Role
from feeds import actions as feeds_actions
from interactions import actions, kinds, queries
from interactions.models import Notification, NotificationCause, SubjectType
from interactions.notifying import causes, fold, retention
from relations import actions as relations_actions
from socialsite.core.events import relay
from socialsite.core.models import Event
from socialsite.core.positions import Position

pytestmark = pytest.mark.django_db

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT


def notified(user: Any) -> list[tuple[Any, ...]]:
    """Return kind, names of the actors, their number, and the unread state of all notifications."""
    items = queries.notifications(user, None, 100).items
    return [
        (
            item["kind"],
            [one["username"] for one in item["actors"]],
            item["actor_count"],
            item["read"],
        )
        for item in items
    ]


def unread(user: Any) -> int:
    return queries.unread_count(user)[0]


@pytest.fixture
def people(make_user: Any) -> list[Any]:
    return [make_user(name) for name in ("anna", "bert", "carl", "dora", "emil")]


def test_each_kind_notifies_its_readers(
    me: Any, people: Any, post: Any, make_post: Any, drain: Any
) -> None:
    anna, bert, *_ = people
    mine = actions.comment(me, post.pk, "my own comment")
    actions.like(anna, POST, post.pk)
    actions.like(anna, COMMENT, mine.pk)
    actions.comment(anna, post.pk, "nice, @reader1")
    actions.comment(anna, post.pk, "indeed", mine.pk)
    elsewhere = make_post(bert, content="hello @Reader1 and @nobody77")
    actions.comment(anna, elsewhere.pk, "as @reader1 says")
    relations_actions.follow(anna, me)
    feeds_actions.repost(anna, post.pk)
    drain()
    items = {
        (item["kind"], item["subject"]["type"]): item for item in queries.notifications(me).items
    }
    assert {key: item["subject"]["preview"] for key, item in items.items()} == {
        ("liked", "post"): "my words",
        ("liked", "comment"): "my own comment",
        ("commented", "post"): "my words",
        ("replied", "comment"): "my own comment",
        ("reposted", "post"): "my words",
        ("mentioned", "post"): "hello @Reader1 and @nobody77",
        ("mentioned", "comment"): "as @reader1 says",
        ("followed", "user"): "",
    }
    assert unread(me) == 8
    # Nobody is notified of their own actions, others only of actions towards them.
    assert notified(anna) == []
    assert [kind for kind, *_ in notified(bert)] == ["commented"]


def test_many_actors_are_one_notification_and_three_are_named(
    me: Any, people: Any, post: Any, drain: Any
) -> None:
    for person in people:
        actions.like(person, POST, post.pk)
    drain()
    assert notified(me) == [("liked", ["emil", "dora", "carl"], 5, False)]
    assert unread(me) == 1


def test_an_undone_action_notifies_no_longer(me: Any, people: Any, post: Any, drain: Any) -> None:
    anna, bert, *_ = people
    said = [actions.comment(anna, post.pk, "one"), actions.comment(anna, post.pk, "two")]
    actions.like(anna, POST, post.pk)
    actions.like(bert, POST, post.pk)
    relations_actions.follow(anna, me)
    drain()
    assert notified(me)[1:] == [
        ("liked", ["bert", "anna"], 2, False),
        ("commented", ["anna"], 1, False),
    ]
    actions.unlike(bert, POST, post.pk)
    relations_actions.unfollow(anna, me)
    actions.delete_comment(anna, said[1].pk)
    drain()
    assert notified(me) == [("liked", ["anna"], 1, False), ("commented", ["anna"], 1, False)]
    actions.unlike(anna, POST, post.pk)
    actions.delete_comment(anna, said[0].pk)
    drain()
    assert notified(me) == []
    assert unread(me) == 0


def test_an_author_mentioned_in_a_repost_of_their_post_is_notified_once(
    me: Any, people: Any, post: Any, drain: Any
) -> None:
    anna, bert, *_ = people
    words, _ = feeds_actions.repost(anna, post.pk, "look what @reader1 says, @bert")
    drain()
    assert notified(me) == [("reposted", ["anna"], 1, False)]
    assert notified(bert) == [("mentioned", ["anna"], 1, False)]
    feeds_actions.delete(anna, words.pk)
    drain()
    assert notified(me) == notified(bert) == []


def test_a_plain_repost_notifies_once_and_a_quote_each_time(
    me: Any, people: Any, post: Any, drain: Any
) -> None:
    anna = people[0]
    feeds_actions.repost(anna, post.pk)
    drain()
    actions.read_notifications(me)
    feeds_actions.undo_repost(anna, post.pk)
    drain()
    assert notified(me) == []
    feeds_actions.repost(anna, post.pk)
    drain()
    assert notified(me) == [("reposted", ["anna"], 1, True)]
    said, _ = feeds_actions.repost(anna, post.pk, "look")
    drain()
    assert notified(me) == [("reposted", ["anna"], 1, False)]
    feeds_actions.delete(anna, said.pk)
    drain()
    assert notified(me) == [("reposted", ["anna"], 1, True)]


def test_repeated_likes_notify_once_and_a_further_comment_notifies_again(
    me: Any, people: Any, post: Any, drain: Any
) -> None:
    anna = people[0]
    actions.like(anna, POST, post.pk)
    actions.comment(anna, post.pk, "one")
    drain()
    first = queries.notifications(me).items
    actions.read_notifications(me)
    assert unread(me) == 0
    for _ in range(3):
        actions.unlike(anna, POST, post.pk)
        drain()
        actions.like(anna, POST, post.pk)
        drain()
    assert unread(me) == 0
    assert queries.notifications(me).items == [{**item, "read": True} for item in first]
    actions.comment(anna, post.pk, "two")
    drain()
    assert notified(me)[0] == ("commented", ["anna"], 1, False)
    assert unread(me) == 1


def test_a_read_group_with_a_new_actor_is_unread_again_and_on_top(
    me: Any, people: Any, post: Any, drain: Any
) -> None:
    anna, bert, *_ = people
    actions.like(anna, POST, post.pk)
    drain()
    relations_actions.follow(anna, me)
    drain()
    actions.read_notifications(me)
    actions.like(bert, POST, post.pk)
    drain()
    assert notified(me) == [("liked", ["bert", "anna"], 2, False), ("followed", ["anna"], 1, True)]
    actions.unlike(bert, POST, post.pk)
    drain()
    assert notified(me) == [("followed", ["anna"], 1, True), ("liked", ["anna"], 1, True)]


def test_blocks_and_bans_hide_at_once_and_give_back(
    me: Any, people: Any, post: Any, make_post: Any, drain: Any
) -> None:
    """Checked before and after the events are handled; a count never includes hidden people."""
    anna = people[0]
    for person in people:
        actions.like(person, POST, post.pk)
    actions.comment(anna, post.pk, "mine alone")
    drain()
    everything = notified(me)
    assert unread(me) == 2
    for undo, do in (
        (lambda: relations_actions.unblock(me, anna), lambda: relations_actions.block(me, anna)),
        (lambda: relations_actions.unblock(anna, me), lambda: relations_actions.block(anna, me)),
        (lambda: accounts_actions.unban(anna), lambda: accounts_actions.ban(anna)),
    ):
        do()
        for _ in range(2):
            assert notified(me) == [("liked", ["emil", "dora", "carl"], 4, False)]
            assert unread(me) == 1
            drain()
        undo()
        drain()
        assert notified(me) == everything
        assert unread(me) == 2


def test_a_crowd_is_counted_without_those_who_are_hidden(
    me: Any, make_user: Any, post: Any, drain: Any
) -> None:
    crowd = [make_user() for _ in range(fold.NEWEST + 4)]
    for person in crowd:
        actions.like(person, POST, post.pk)
    drain()
    relations_actions.block(me, crowd[0])  # not among the stored actors
    relations_actions.block(me, crowd[-1])
    for _ in range(2):
        assert notified(me)[0][1:3] == ([one.username for one in crowd[-2:-5:-1]], len(crowd) - 2)
        drain()
    for person in crowd[8:-1]:
        actions.unlike(person, POST, post.pk)
    drain()
    relations_actions.unblock(me, crowd[0])  # visible again, and older than the stored actors
    drain()
    for person in crowd[6:8]:
        actions.unlike(person, POST, post.pk)
    drain()
    assert notified(me)[0][1:3] == ([one.username for one in crowd[5:2:-1]], 6)
    for person in crowd[3:6]:
        actions.unlike(person, POST, post.pk)
    drain()
    # Fewer actors are stored than exist: more are looked up.
    assert notified(me)[0][1:3] == ([one.username for one in crowd[2::-1]], 3)


def test_a_block_takes_back_the_place_too(me: Any, people: Any, post: Any, drain: Any) -> None:
    anna, bert, carl, *_ = people
    actions.like(anna, POST, post.pk)
    drain()
    relations_actions.follow(bert, me)
    drain()
    before = queries.notifications(me).items
    actions.read_notifications(me)
    actions.like(carl, POST, post.pk)
    drain()
    relations_actions.block(carl, me)
    drain()
    assert queries.notifications(me).items == [{**item, "read": True} for item in before]


def test_hidden_content_notifies_no_longer(
    me: Any, people: Any, make_post: Any, post: Any, drain: Any
) -> None:
    anna, bert, *_ = people
    theirs = make_post(bert)
    hidden = make_post(carl := people[2], visibility="followers")
    relations_actions.follow(me, carl)
    relations_actions.follow(anna, carl)
    mine = actions.comment(me, theirs.pk, "here")
    there = actions.comment(me, hidden.pk, "there")
    root = actions.comment(dora := people[3], post.pk, "root")
    below = actions.comment(me, post.pk, "below", root.pk)
    for comment in (mine, there, below):
        actions.like(anna, COMMENT, comment.pk)
    actions.like(anna, POST, post.pk)
    drain()
    assert unread(me) == len(notified(me)) == 5
    relations_actions.block(dora, me)  # this hides the replies to her comments too
    assert unread(me) == len(notified(me)) == 3
    relations_actions.unfollow(me, carl)
    assert unread(me) == len(notified(me)) == 2
    relations_actions.block(bert, me)
    assert unread(me) == len(notified(me)) == 1
    feeds_actions.delete(me, post.pk)
    assert notified(me) == []
    drain()
    assert unread(me) == len(notified(me)) == 0


def test_a_deleted_comment_notifies_nobody(me: Any, people: Any, post: Any, drain: Any) -> None:
    anna = people[0]
    mine = actions.comment(me, post.pk, "mine")
    actions.comment(anna, post.pk, "answer", mine.pk)
    named = actions.comment(people[1], post.pk, "@anna look")
    drain()
    assert (len(notified(me)), len(notified(anna))) == (2, 1)
    actions.delete_comment(me, mine.pk)
    actions.delete_comment(people[1], named.pk)
    assert (notified(me)[0][0], notified(anna)) == ("commented", [])
    drain()
    assert (unread(me), unread(anna)) == (0, 0)


def test_content_deleted_before_the_fold_leaves_nothing_unread(
    me: Any, people: Any, make_post: Any, post: Any, drain: Any
) -> None:
    anna = people[0]
    mine = actions.comment(me, make_post(anna).pk, "mine")
    drain()
    actions.like(anna, POST, post.pk)
    actions.like(anna, COMMENT, mine.pk)
    feeds_actions.delete(me, post.pk)
    actions.delete_comment(me, mine.pk)
    drain()
    # Unread rows are read for each count and never expire, so a deletion must clear them.
    assert not Notification.objects.filter(user=me, is_unread=True).exists()


def test_a_mention_notifies_only_people_who_may_see_the_post(
    me: Any, people: Any, make_post: Any, drain: Any
) -> None:
    anna, bert, *_ = people
    relations_actions.follow(bert, anna)
    make_post(anna, content="@reader1 @bert", visibility="followers")
    drain()
    assert (notified(me), [kind for kind, *_ in notified(bert)]) == ([], ["mentioned"])
    assert not NotificationCause.objects.filter(user=me).exists()


def test_a_person_answered_and_mentioned_is_notified_once(
    me: Any, people: Any, post: Any, drain: Any
) -> None:
    mine = actions.comment(me, post.pk, "mine")
    actions.comment(people[0], post.pk, "@reader1 yes", mine.pk)
    drain()
    assert notified(me) == [("replied", ["anna"], 1, False)]


def test_comments_hidden_below_a_featured_post_notify_nobody(
    me: Any, people: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(causes, "STEP", 1)
    anna, bert, carl, *_ = people
    post = make_post(bert)
    mine = actions.comment(me, post.pk, "mine")
    actions.comment(anna, post.pk, "to mine", mine.pk)
    named = actions.comment(carl, post.pk, "@reader1")
    drain()
    everything = [("mentioned", ["carl"], 1, False), ("replied", ["anna"], 1, False)]
    assert notified(me) == everything
    actions.set_comment_status(bert, post.pk, "featured")
    drain()
    assert (notified(me), unread(me)) == ([], 0)
    actions.pin(bert, named.pk)
    drain()
    assert (notified(me), unread(me)) == (everything[:1], 1)
    actions.comment(bert, post.pk, "the author's", mine.pk)
    drain()
    assert notified(me)[0] == ("replied", ["bert"], 1, False)
    actions.unpin(bert, named.pk)
    actions.set_comment_status(bert, post.pk, "open")
    drain()
    assert notified(me) == [("replied", ["bert", "anna"], 2, False), *everything[:1]]


def test_the_badge_knows_when_a_pin_shows_or_hides_replies(
    me: Any, people: Any, make_post: Any, drain: Any
) -> None:
    anna, bert, *_ = people
    post = make_post(bert)
    root = actions.comment(anna, post.pk, "root")
    actions.comment(bert, post.pk, "@reader1", root.pk)
    actions.set_comment_status(bert, post.pk, "featured")
    drain()
    assert unread(me) == len(notified(me)) == 0
    actions.pin(bert, root.pk)
    drain()
    assert unread(me) == len(notified(me)) == 1
    actions.delete_comment(anna, root.pk)
    drain()
    assert unread(me) == len(notified(me)) == 0


def test_preferences_count_from_then_on(
    me: Any, people: Any, post: Any, make_post: Any, drain: Any
) -> None:
    anna, bert, carl, *_ = people
    actions.like(anna, POST, post.pk)
    drain()
    relations_actions.follow(me, bert)
    actions.choose_notifications(me, {"liked": "following", "followed": "nobody"})
    for person in (bert, carl):
        actions.like(person, POST, post.pk)
        relations_actions.follow(person, me)
    drain()
    assert notified(me) == [("liked", ["bert", "anna"], 2, False)]
    actions.choose_notifications(me, {"liked": "everyone", "followed": "everyone"})
    actions.unlike(carl, POST, post.pk)
    drain()
    actions.like(carl, POST, post.pk)
    drain()
    assert notified(me) == [("liked", ["bert", "anna"], 2, False)]


def test_notices_by_staff_have_a_reason_and_no_name(
    me: Any, people: Any, post: Any, make_user: Any, drain: Any
) -> None:
    boss = make_user("bossy")
    accounts_actions.promote(boss, Role.ADMIN)
    mine = actions.comment(me, post.pk, "rude words")
    own = actions.comment(me, post.pk, "regretted")
    actions.choose_notifications(me, dict.fromkeys(kinds.CHOOSABLE, "nobody"))
    drain()
    actions.delete_comment(boss, mine.pk)
    actions.delete_comment(me, own.pk)
    feeds_actions.delete(boss, post.pk)
    drain()
    items = queries.notifications(me).items
    assert [(item["kind"], item["subject"]["type"]) for item in items] == [
        ("moderation", "post"),
        ("moderation", "comment"),
    ]
    assert [item["subject"]["preview"] for item in items] == ["my words", "rude words"]
    assert all(item["actors"] == [] and item["actor_count"] == 0 for item in items)
    assert unread(me) == 2
    assert notified(boss) == []


def test_reading_marks_present_items_and_never_later_ones(
    me: Any, people: Any, post: Any, make_post: Any, drain: Any
) -> None:
    """Two devices, old pages, a time in the future: nothing becomes read unseen."""
    anna, bert, *_ = people
    other = make_post(me)
    actions.like(anna, POST, post.pk)
    drain()
    actions.like(anna, POST, other.pk)
    drain()
    newest, older = Notification.objects.filter(user=me).order_by("-position")
    seen = newest.position
    actions.like(bert, POST, post.pk)
    drain()
    actions.read_notifications(me, seen)
    assert [read for *_, read in notified(me)] == [False, True]
    actions.read_notifications(me, older.position)  # an old page of another device
    actions.read_notifications(me, ids=[newest.pk])
    actions.read_notifications(bert, ids=[older.pk])  # not theirs
    assert [read for *_, read in notified(me)] == [False, True]
    actions.unlike(bert, POST, post.pk)
    drain()
    assert unread(me) == 0  # all that existed before was read
    actions.like(bert, POST, post.pk)
    drain()
    assert unread(me) == 1
    actions.read_notifications(me, 2**53)
    assert unread(me) == 0
    actions.like(people[2], POST, post.pk)
    drain()
    assert unread(me) == 1


def test_redelivery_and_reordering_change_nothing(
    me: Any, people: Any, post: Any, drain: Any
) -> None:
    anna = people[0]
    actions.like(anna, POST, post.pk)
    actions.unlike(anna, POST, post.pk)
    actions.like(anna, POST, post.pk)
    relations_actions.follow(anna, me)
    said = actions.comment(anna, post.pk, "x")
    actions.delete_comment(anna, said.pk)
    rows = list(Event.objects.order_by("pk"))
    again = [Event(type=row.type, payload=row.payload, aggregate_id=1) for row in reversed(rows)]
    for row in [*reversed(rows), *again]:
        if row.pk is None:
            row.save()
        relay.deliver(row)
        drain()
    once = Notification.objects.filter(user=me).values("kind", "actor_count", "newest")
    assert [(row["kind"], row["actor_count"]) for row in once.order_by("kind")] == [
        (kinds.LIKED_POST.value, 1),
        (kinds.FOLLOWED.value, 1),
    ]
    assert unread(me) == 2


def test_only_read_groups_are_pruned(
    me: Any, people: Any, post: Any, make_post: Any, drain: Any, settings: Any
) -> None:
    anna = people[0]
    actions.like(anna, POST, post.pk)
    relations_actions.follow(anna, me)
    drain()
    seen = Notification.objects.get(kind=kinds.LIKED_POST.value)
    actions.read_notifications(me, ids=[seen.pk])
    assert retention.prune() == 0
    day = 86_400_000
    Notification.objects.update(touched_at=seen.touched_at - 91 * day)
    NotificationCause.objects.filter(kind=kinds.LIKED_POST.value).update(due=me.pk)
    assert retention.prune() == 0  # it is changing
    NotificationCause.objects.update(due=None)
    assert retention.prune() == 1
    assert [kind for kind, *_ in notified(me)] == ["followed"]
    assert NotificationCause.objects.count() == 1
    # Unread, but about a deleted subject.
    other = make_post(me)
    actions.like(anna, POST, other.pk)
    drain()
    feeds_actions.delete(me, other.pk)
    drain()
    Notification.objects.update(touched_at=seen.touched_at - 91 * day)
    settings.NOTIFICATION_DAYS = 3650
    assert retention.prune() == 0
    settings.NOTIFICATION_DAYS = 90
    assert retention.prune() == 1
    assert [kind for kind, *_ in notified(me)] == ["followed"]


def test_the_work_of_a_page_does_not_grow_with_it(
    me: Any, people: Any, make_post: Any, drain: Any, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        mine = make_post(me, content=f"post {number}")
        said = actions.comment(me, mine.pk, "mine")
        for person in people[:2]:
            actions.like(person, POST, mine.pk)
            actions.comment(person, mine.pk, "so", said.pk)
    drain()
    for size in (2, 24):
        with django_assert_max_num_queries(6):
            assert len(queries.notifications(me, None, size).items) == size


def test_pages_are_full_whatever_is_hidden(
    me: Any, people: Any, make_post: Any, drain: Any
) -> None:
    anna, bert, *_ = people
    for number in range(14):
        actions.like(bert if number % 7 == 0 else anna, POST, make_post(me).pk)
    drain()
    relations_actions.block(me, anna)
    page = queries.notifications(me, None, 1)
    assert len(page.items) == 1
    assert page.next is not None
    rest = queries.notifications(me, Position.decode(page.next), 1)
    assert (len(rest.items), rest.next) == (1, None)


def test_the_count_is_bounded(
    me: Any, people: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    # The full name refers to the function of the same name.
    monkeypatch.setattr(import_module("interactions.queries.notifications"), "UNREAD_MAX", 3)
    for _ in range(5):
        actions.like(people[0], POST, make_post(me).pk)
    drain()
    assert queries.unread_count(me) == (3, True)
    assert queries.unread_count(me) == (3, True)


def test_a_reader_with_endless_causes_delays_nobody(
    me: Any, people: Any, post: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    other = make_post(people[0])
    for person in people[1:]:
        actions.like(person, POST, post.pk)
        actions.like(person, POST, other.pk)
    while relay.relay():
        pass
    monkeypatch.setattr(fold, "BATCH", 1)
    monkeypatch.setattr(fold, "FOLDS_MAX", 2)
    assert [fold.sweep() for _ in range(3)] == [4, 4, 0]
    assert notified(me)[0][2] == notified(people[0])[0][2] == 4


def test_a_failed_fold_of_one_reader_does_not_stop_the_next(
    me: Any, people: Any, post: Any, make_post: Any, drain: Any, caplog: Any
) -> None:
    anna, bert, *_ = people
    actions.like(bert, POST, post.pk)
    drain()
    Notification.objects.update(actor_count=0)  # one less is refused
    actions.unlike(bert, POST, post.pk)
    actions.like(bert, POST, make_post(anna).pk)
    drain()
    assert me.pk < anna.pk
    assert unread(anna) == 1
    assert f"notifications of user {me.pk} could not be folded" in caplog.text
    Notification.objects.filter(user=me).update(actor_count=1)
    drain()
    assert notified(me) == []


# --- facts that affect many ---------------------------------------------------------------------
def deliver_one_by_one(count: Callable[[], int]) -> list[int]:
    """Return how many rows each event changes, for events that change any."""
    numbers = [count()]
    while relay.relay(1):
        numbers.append(count())
    return [after - before for before, after in pairwise(numbers) if after != before]


def due() -> int:
    return NotificationCause.objects.filter(due__isnull=False).count()


@pytest.fixture
def short_steps(monkeypatch: Any) -> None:
    monkeypatch.setattr(causes, "STEP", 2)


def test_a_ban_that_affects_many_readers_is_processed_in_steps(
    short_steps: None, me: Any, people: Any, make_post: Any, drain: Any
) -> None:
    anna, *others = people
    for reader in (me, *others):
        actions.like(anna, POST, make_post(reader).pk)
        relations_actions.follow(anna, reader)
    drain()
    for change in (accounts_actions.ban, accounts_actions.unban):
        change(anna)
        # Besides these steps, anna herself is notified of the decision, by one cause.
        counts = deliver_one_by_one(due)
        assert (sum(counts), max(counts)) == (11, 2)
        drain()
        stored = Notification.objects.exclude(user=anna).filter(position__gt=0).count()
        assert stored == (0 if change is accounts_actions.ban else 10)
    relations_actions.block(anna, me)
    assert sum(deliver_one_by_one(due)) == 2  # the follow by its own event


def test_notifications_of_a_deleted_post_are_removed_in_steps(
    short_steps: None, me: Any, people: Any, post: Any, make_post: Any, drain: Any
) -> None:
    for person in people:
        actions.like(me, COMMENT, actions.comment(person, post.pk, "hello").pk)
    other = make_post(me)
    actions.like(people[0], POST, other.pk)
    drain()
    unread_groups = Notification.objects.filter(is_unread=True)
    assert unread_groups.count() == 7
    feeds_actions.delete(me, post.pk)
    assert deliver_one_by_one(unread_groups.count) == [-2, -2, -2]
    assert list(unread_groups.values_list("subject_id", flat=True)) == [other.pk]
    assert [unread(person) for person in (me, *people)] == [1, 0, 0, 0, 0, 0]


def test_replies_are_shown_and_hidden_in_steps(
    short_steps: None, me: Any, people: Any, post: Any, drain: Any
) -> None:
    anna, bert, *others = people
    for person, number in ((anna, 5), *((other, 1) for other in others)):
        root = actions.comment(person, post.pk, "root").pk
        for _ in range(number):
            actions.comment(bert, post.pk, "reply", root)
    drain()
    for status, expected in (("featured", 0), ("open", 4)):
        actions.set_comment_status(me, post.pk, status)
        assert sum(steps := deliver_one_by_one(due)) == 8
        assert max(steps) == 2
        drain()
        groups = Notification.objects.filter(kind=kinds.REPLIED.value, is_unread=True)
        assert groups.count() == expected
