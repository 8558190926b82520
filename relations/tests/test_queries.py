"""Reads: order, paging, hidden people, query counts, indexes."""

import pytest
from django.db import connection
from django.utils import timezone

from relations import actions, queries
from relations.models import Relation, Relationship
from relations.tests.helpers import ROUTES, bring
from socialsite.core import redis
from socialsite.core.errors import UserNotFound
from socialsite.core.events import relay
from socialsite.core.positions import Position

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@pytest.fixture
def star(make_user):
    """Create a person with `count` mutual follows; the earliest is listed last."""

    def make(count: int):
        hub = make_user()
        others = [make_user() for _ in range(count)]
        for other in others:
            actions.follow(hub, other)
            actions.follow(other, hub)
        return hub, others

    return make


def walk(read, size: int, **kwargs):
    """Return the ids of all pages of a list, page by page."""
    pages, cursor = [], None
    while True:
        page = read(cursor=cursor, size=size, **kwargs)
        pages.append([int(person["id"]) for person in page.items])
        if page.next is None:
            return pages
        cursor = Position.decode(page.next)


# --- pairs --------------------------------------------------------------------------------------
@pytest.mark.parametrize("state", ROUTES)
def test_a_pair_is_described_from_the_reader_s_side(make_user, state) -> None:
    a, b = make_user(), make_user()
    bring(a, b, state)
    assert queries.relation(a.pk, b.pk) is state
    assert queries.relations_of(a.pk, [b.pk]) == {b.pk: state}
    blocked = state in (
        Relation.BLACKLISTING,
        Relation.BLACKLISTED,
        Relation.BI_BLACKLISTING,
    )
    assert queries.is_blocked(a.pk, b.pk) == queries.is_blocked(b.pk, a.pk) == blocked
    assert list(queries.blocked_ids(a.pk)) == ([b.pk] if blocked else [])


def test_a_guest_has_no_relation_to_anyone(make_user, django_assert_num_queries) -> None:
    a = make_user()
    with django_assert_num_queries(0):
        assert queries.relation(None, a.pk) is None
        assert queries.relations_of(None, [a.pk]) == {a.pk: None}
        assert queries.is_blocked(None, a.pk) is False


def test_many_relations_cost_one_query(star, django_assert_num_queries) -> None:
    hub, others = star(4)
    ids = [*(other.pk for other in others), 1]
    with django_assert_num_queries(1):
        found = queries.relations_of(hub.pk, ids)
    assert list(found) == ids
    assert found[1] is None
    assert found[ids[0]] is Relation.BI_FOLLOWING


def test_the_locked_follow_needs_a_transaction(make_user) -> None:
    a, b = make_user(), make_user()
    assert queries.locked_follow(a.pk, b.pk) is False
    actions.follow(a, b)
    assert queries.locked_follow(a.pk, b.pk) is True
    assert queries.locked_follow(b.pk, a.pk) is False


@pytest.mark.django_db(transaction=True)
def test_a_locked_follow_outside_of_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError):
        queries.locked_follow(1, 2)


def test_sets_of_ids_are_those_of_the_present_state(make_user) -> None:
    a, b, c, d = (make_user() for _ in range(4))
    bring(a, b, Relation.BI_FOLLOWING)
    bring(a, c, Relation.FOLLOWING)
    bring(a, d, Relation.FOLLOWED)
    assert set(queries.following_ids(a.pk)) == {b.pk, c.pk}
    assert list(queries.follower_ids(a.pk)) == sorted([b.pk, d.pk])
    assert queries.follows_queryset(a.pk).count() == 2
    actions.unfollow(a, c)
    actions.block(b, a)
    assert list(queries.following_ids(a.pk)) == []
    assert list(queries.follower_ids(a.pk)) == [d.pk]


# --- lists --------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", queries.LISTS)
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_pages_list_everyone_once_the_latest_first(star, kind, size) -> None:
    hub, _ = star(5)
    pages = walk(lambda cursor, size: queries.LISTS[kind](hub.pk, cursor, size, None), size)
    times = Relationship.objects.filter(from_user=hub).values_list(
        "fan_since" if kind == "followers" else "followed_at", "to_user_id"
    )
    assert [ident for page in pages for ident in page] == [
        ident for _, ident in sorted(times, reverse=True)
    ]
    assert all(len(page) == size for page in pages[:-1])


@pytest.mark.parametrize("kind", queries.LISTS)
def test_people_of_the_same_millisecond_are_listed_once_each(star, kind) -> None:
    hub, others = star(7)
    Relationship.objects.filter(from_user=hub).update(followed_at=5, fan_since=5)
    pages = walk(lambda cursor, size: queries.LISTS[kind](hub.pk, cursor, size, None), 3)
    ids = sorted((other.pk for other in others), reverse=True)
    assert pages == [ids[:3], ids[3:6], ids[6:]]


def test_followers_include_friends_and_friends_only_those(make_user) -> None:
    hub, friend, fan, idol = (make_user() for _ in range(4))
    bring(hub, friend, Relation.BI_FOLLOWING)
    bring(hub, fan, Relation.FOLLOWED)
    bring(hub, idol, Relation.FOLLOWING)
    assert {int(p["id"]) for p in queries.followers(hub.pk).items} == {friend.pk, fan.pk}
    assert {int(p["id"]) for p in queries.following(hub.pk).items} == {friend.pk, idol.pk}
    assert {int(p["id"]) for p in queries.friends(hub.pk).items} == {friend.pk}


def test_each_row_carries_the_readers_relation_not_the_owners(make_user) -> None:
    hub, listed, reader = (make_user() for _ in range(3))
    actions.follow(hub, listed)
    actions.follow(reader, listed)
    actions.follow(listed, reader)
    assert queries.following(hub.pk, viewer_id=reader.pk).items[0]["relation"] == "BI_FOLLOWING"
    assert queries.following(hub.pk, viewer_id=hub.pk).items[0]["relation"] == "FOLLOWING"
    assert queries.following(hub.pk).items[0]["relation"] is None


@pytest.mark.parametrize("kind", queries.LISTS)
def test_closed_accounts_are_excluded_and_pages_stay_full(star, kind) -> None:
    hub, others = star(9)
    for other, field in zip(others[1::2], ["banned_at", "deleted_at"] * 2, strict=True):
        type(other).objects.filter(pk=other.pk).update(**{field: timezone.now()})
    pages = walk(lambda cursor, size: queries.LISTS[kind](hub.pk, cursor, size, None), 2)
    assert [len(page) for page in pages] == [2, 2, 1]
    assert {ident for page in pages for ident in page} == {other.pk for other in others[::2]}


@pytest.mark.parametrize("kind", queries.LISTS)
@pytest.mark.parametrize("by_reader", [True, False])
def test_a_block_of_either_side_hides_from_the_reader_only(
    star, make_user, kind, by_reader
) -> None:
    hub, others = star(4)
    reader = make_user()
    hidden = others[1]
    actions.block(*((reader, hidden) if by_reader else (hidden, reader)))
    seen = queries.LISTS[kind](hub.pk, None, 20, reader.pk).items
    assert hidden.pk not in {int(person["id"]) for person in seen}
    assert len(seen) == 3
    assert len(queries.LISTS[kind](hub.pk, None, 20, None).items) == 4


def test_a_page_full_of_blocks_is_short_and_its_cursor_goes_on(
    star, make_user, monkeypatch
) -> None:
    monkeypatch.setattr(queries, "ROUNDS", 2)  # a page of one examines 2 + 4 rows
    hub, others = star(8)
    reader = make_user()
    for other in others[1:]:
        actions.block(reader, other)
    Relationship.objects.filter(from_user=hub).update(fan_since=5)
    Relationship.objects.filter(from_user=hub, to_user=others[0]).update(fan_since=4)
    pages = walk(lambda cursor, size: queries.followers(hub.pk, cursor, size, reader.pk), 1)
    assert pages == [[], [others[0].pk]]


def test_the_blocked_list_has_my_blocks_the_latest_first(make_user, monkeypatch) -> None:
    clock = iter(range(1000, 2000))
    monkeypatch.setattr("socialsite.core.db.now_ms", lambda: next(clock))
    me, first, second, third, blocker = (make_user() for _ in range(5))
    for other in (first, second, third):
        actions.block(me, other)
    actions.block(second, me)
    actions.block(blocker, me)
    pages = walk(lambda cursor, size: queries.blocked(me.pk, cursor, size), 2)
    assert pages == [[third.pk, second.pk], [first.pk]]
    relations = [person["relation"] for person in queries.blocked(me.pk).items]
    assert relations == ["BLACKLISTING", "BI_BLACKLISTING", "BLACKLISTING"]


@pytest.mark.parametrize("kind", queries.LISTS)
def test_a_page_costs_the_same_queries_whatever_its_size(
    star, make_user, kind, django_assert_num_queries
) -> None:
    hub, others = star(12)
    reader = make_user()
    first = queries.LISTS[kind](hub.pk, None, 4, reader.pk)
    assert first.next is not None
    for size, cursor in ((2, None), (11, None), (4, Position.decode(first.next))):
        redis.invalidate([f"person:{other.pk}" for other in others])
        with django_assert_num_queries(3):
            queries.LISTS[kind](hub.pk, cursor, size, reader.pk)
        with django_assert_num_queries(2):  # the cards are cached by now
            queries.LISTS[kind](hub.pk, cursor, size, reader.pk)


# --- people and counts --------------------------------------------------------------------------
def test_a_profile_carries_relation_and_counts(make_user) -> None:
    a, b = make_user(), make_user()
    bring(a, b, Relation.BI_FOLLOWING)
    while relay.relay():
        pass
    profile = queries.profile(a, b)
    assert profile["username"] == b.username
    assert profile["relation"] == "BI_FOLLOWING"
    assert profile["counts"] == {"following": 1, "followers": 1, "friends": 1}


def test_a_profile_is_not_found_by_people_it_blocks(make_user) -> None:
    a, b = make_user(), make_user()
    actions.block(a, b)
    with pytest.raises(UserNotFound):
        queries.profile(b, a)
    assert queries.profile(a, b)["relation"] == "BLACKLISTING"


def test_counts_of_someone_without_relations_are_zero(make_user) -> None:
    a = make_user()
    assert queries.counts(a.pk) == {"following": 0, "followers": 0, "friends": 0}
    assert queries.follower_count(a.pk) == 0


# --- indexes ------------------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)  # ANALYZE TABLE commits
@pytest.mark.skipif(connection.vendor != "mysql", reason="reads MariaDB's plan")
@pytest.mark.parametrize(
    ("time", "index"), [("followed_at", "ix_following"), ("fan_since", "ix_fans")]
)
@pytest.mark.parametrize("cursor", [None, Position(500, 600)])
def test_list_pages_read_a_covering_index_in_order(make_user, time, index, cursor) -> None:
    me = make_user()
    Relationship.objects.bulk_create(
        Relationship(
            from_user_id=owner,
            to_user_id=number,
            relation=Relation.BI_FOLLOWING,
            followed_at=number,
            fan_since=number,
        )
        for owner in (me.pk, 7)
        for number in range(1000, 4000)
    )
    with connection.cursor() as database:
        database.execute("ANALYZE TABLE relations_relationship")
    rows = Relationship.objects.filter(from_user=me, **{f"{time}__isnull": False})
    page = queries.page_rows(rows, time, cursor)[:21]
    assert "Using filesort" not in page.explain()
    assert index in page.explain()
    assert "Using index" in page.explain()
