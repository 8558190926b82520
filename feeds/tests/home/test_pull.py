"""The newest posts of a set of authors: every way of reading equals the obvious one."""

import random
from collections.abc import Callable, Collection, Sequence
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions
from feeds.home import pull
from feeds.models import AuthorHead, Post
from feeds.tests.home.follows import follow_all
from relations import actions as relations_actions
from socialsite.core import db, events
from socialsite.core.positions import Position
from socialsite.tests.support.race import Race

pytestmark = pytest.mark.embedded

Make = Callable[..., Any]
Read = Callable[[int, Collection[int], Position | None, int], list[Position]]

FIRST = 10**18
WAYS: list[Read] = [pull.newest, pull.scan, pull.by_author, pull.at_once]


def oracle(authors: Collection[int], cursor: Position | None, size: int) -> list[Position]:
    """Return the same slowly: all posts, sorted in Python."""
    rows = Post.objects.filter(author_id__in=authors, is_deleted=False)
    places = sorted((Position(*row) for row in rows.values_list("position", "id")), reverse=True)
    return [place for place in places if cursor is None or place < cursor][:size]


def put(*posts: tuple[int, int, bool]) -> None:
    """Create posts from (author, position in ms, is it deleted), and their heads."""
    Post.objects.bulk_create(
        Post(id=FIRST + number, author_id=author, position=position, is_deleted=deleted)
        for number, (author, position, deleted) in enumerate(posts)
    )
    tops: dict[int, int] = {}
    for author, position, _deleted in posts:
        tops[author] = max(tops.get(author, 0), position)
    AuthorHead.objects.bulk_create(
        AuthorHead(
            author_id=author,
            last_position=top,
            post_count=sum(who == author and not deleted for who, _, deleted in posts),
        )
        for author, top in tops.items()
    )


# A post: author (one of six), time, is it deleted. Few times, so that many posts share one.
POSTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 6), st.booleans()), min_size=0, max_size=70
)
# Limits so small that few people and posts reach every branch.
NUMBERS = st.fixed_dictionaries(
    {
        "BY_AUTHOR": st.sampled_from([0, 3, 1500]),
        "WORTH_A_PROBE": st.sampled_from([0, 10**9]),
        "PROBE": st.integers(1, 4),
        "SAMPLE_MAX": st.sampled_from([1, 5]),
        "SCAN_ROWS": st.sampled_from([2, 16]),
        "FEW": st.sampled_from([0, 2, 8]),
        "SPARE": st.integers(0, 1),
        "WIDER": st.sampled_from([(), (1,), (1, 2), (1, 4, 16)]),
        "OWN_SELECT": st.sampled_from([-100, 0, 25]),
        "OWN_SELECTS_MAX": st.sampled_from([0, 1, 64]),
        "IDS_MAX": st.sampled_from([0, 256]),
        "IDS_IN_PARTS": st.sampled_from([1, 2, 5000]),
    }
)


class TestAllWays(TestCase):
    """The reader, four people followed, a stranger; posts, heads, cursor and limits at random."""

    def setUp(self) -> None:
        self.people = [
            accounts_actions.register(
                username=f"puller{n}", nickname=f"Puller{n}", password="right.pass1"
            )
            for n in range(6)
        ]
        self.viewer, *followed, self.stranger = self.people
        for person in followed:
            relations_actions.follow(self.viewer, person)

    @settings(
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(
        posts=POSTS,
        too_high=st.lists(st.integers(0, 4), min_size=6, max_size=6),
        asked=st.sets(st.integers(0, 5)),
        cursor=st.one_of(
            st.none(), st.tuples(st.integers(0, 8), st.integers(FIRST - 1, FIRST + 71))
        ),
        size=st.integers(1, 60),
        numbers=NUMBERS,
    )
    def test_every_method_finds_the_posts_of_the_oracle(
        self,
        posts: Sequence[tuple[int, int, bool]],
        too_high: Sequence[int],
        asked: set[int],
        cursor: tuple[int, int] | None,
        size: int,
        numbers: dict[str, Any],
    ) -> None:
        ids = [person.pk for person in self.people]
        put(*((ids[who], position, deleted) for who, position, deleted in posts))
        for author, more in zip(ids, too_high, strict=True):
            # As after deletions: the head is above all remaining posts, and the number may be
            # anything.
            for head in AuthorHead.objects.filter(author_id=author):
                AuthorHead.objects.filter(author_id=author).update(
                    last_position=head.last_position + more, post_count=more
                )
        authors = {ids[who] for who in asked}
        place = None if cursor is None else Position(*cursor)
        with mock.patch.multiple(pull, **numbers):
            for read in WAYS:
                found = read(self.viewer.pk, authors, place, size)
                if self.stranger.pk not in authors or numbers["IDS_MAX"]:
                    assert found == oracle(authors, place, size), read.__name__
                else:
                    self.assert_complete_but_for_the_stranger(found, authors, place, size)

    def assert_complete_but_for_the_stranger(
        self, found: list[Position], authors: set[int], place: Position | None, size: int
    ) -> None:
        """With authors read from the follows, posts of an unfollowed author may be missing."""
        assert found == sorted(set(found), reverse=True)
        assert set(found) <= set(oracle(authors, place, 1000))
        low = found[-1] if len(found) == size else Position(0, 0)
        wanted = oracle(authors - {self.stranger.pk}, place, 1000)
        assert {one for one in wanted if one >= low} <= set(found)


@pytest.mark.django_db
@pytest.mark.parametrize("read", WAYS)
def test_pages_go_on_where_the_last_one_ended(make_user: Make, read: Read) -> None:
    viewer, a, b = make_user(), make_user(), make_user()
    for author in (a, b):
        relations_actions.follow(viewer, author)
    put(*((who.pk, 1 + n // 5, n % 7 == 0) for n in range(40) for who in (a, b, viewer)))
    authors = {viewer.pk, a.pk, b.pk}
    found: list[Position] = []
    while page := read(viewer.pk, authors, found[-1] if found else None, 7):
        found += page
    assert found == oracle(authors, None, 1000)


@pytest.mark.django_db
@pytest.mark.parametrize("from_follows", [False, True])
def test_a_deletion_between_two_statements_loses_no_other_post(
    make_user: Make, make_post: Make, monkeypatch: pytest.MonkeyPatch, from_follows: bool
) -> None:
    """The authors with the newest posts are read first; that may have changed afterwards."""
    viewer, *authors = (make_user() for _ in range(6))
    for author in authors:
        relations_actions.follow(viewer, author)
        make_post(author)
    newest = make_post(authors[-1])
    monkeypatch.setattr(pull, "FEW", 0)
    monkeypatch.setattr(pull, "SPARE", 0)
    monkeypatch.setattr(pull, "IDS_MAX", 0 if from_follows else 256)
    ids = {author.pk for author in authors}
    run = pull._rows

    def then_delete(sql: str, values: Any) -> Any:
        rows = run(sql, values)
        if "authorhead" in sql:
            for post in Post.objects.filter(author_id=authors[-1].pk):
                actions.delete(authors[-1], post.pk)
        return rows

    monkeypatch.setattr(pull, "_rows", then_delete)
    found = pull.newest(viewer.pk, ids, None, 3)
    assert newest.pk not in {place.id for place in found}
    assert found == oracle(ids, None, 3)
    assert len(found) == 3


@pytest.mark.django_db
def test_posts_of_followed_people_outside_the_selection_stay_out(
    make_user: Make, make_post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A banned author is still followed; the visibility check would hide their posts row by row."""
    viewer, good, bad = make_user(), make_user(), make_user()
    for author in (good, bad):
        relations_actions.follow(viewer, author)
    wanted = make_post(good)
    for _ in range(5):
        make_post(bad)
    monkeypatch.setattr(pull, "FEW", 0)
    monkeypatch.setattr(pull, "IDS_MAX", 0)
    for read in WAYS:
        assert [place.id for place in read(viewer.pk, {good.pk}, None, 2)] == [wanted.pk]


# --- heads: no post is above its author's -------------------------------------------------------
def posts_above_their_heads() -> int:
    """Count them in one statement, so in one state of the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM feeds_post p"
            " LEFT JOIN feeds_authorhead h ON h.author_id = p.author_id"
            " WHERE h.last_position IS NULL OR h.last_position < p.position"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
def test_no_post_is_above_its_authors_head_after_any_write(
    make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = make_user()
    now = db.now_ms()
    writes: list[Callable[[], Any]] = [
        lambda: actions.publish(author, content="the first"),
        lambda: actions.publish(author, content="one from elsewhere", at_ms=1),
        lambda: actions.delete(author, Post.objects.newest_first()[0].pk),
        lambda: actions.publish(author, content="between the others", at_ms=now),
        lambda: monkeypatch.setattr(db, "now_ms", lambda: now - 60_000),
        lambda: actions.publish(author, content="by a clock that went back"),
        lambda: accounts_actions.ban(author),
        lambda: accounts_actions.unban(author),
    ]
    for write in writes:
        write()
        assert posts_above_their_heads() == 0
    assert Post.objects.count() == 4


@pytest.mark.django_db
def test_a_head_has_a_post_as_soon_as_there_is_one_and_not_without_it(
    make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = make_user()
    monkeypatch.setattr(events, "publish", mock.Mock(side_effect=RuntimeError("it ends")))
    with pytest.raises(RuntimeError):
        actions.publish(author, content="never committed")
    assert not Post.objects.exists()
    assert not AuthorHead.objects.filter(last_position__gt=0).exists()


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")
def test_a_post_is_pulled_from_its_commit_on_in_whatever_order_its_author_publishes(
    make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several devices of one author, some with posts in the past: no head is ever too low."""
    monkeypatch.setattr(pull, "FEW", 0)
    viewer, *authors = (make_user() for _ in range(3))
    for author in authors:
        relations_actions.follow(viewer, author)
    ids = {author.pk for author in authors}
    committed: list[Position] = []

    def publish(dice: random.Random) -> None:
        ago = dice.choice([None, None, 0, 1, 50, 5000])
        at_ms = None if ago is None else db.now_ms() - ago
        post = actions.publish(dice.choice(authors), content="x", at_ms=at_ms)
        committed.append(Position(post.position, post.pk))

    def compare(dice: random.Random) -> None:
        known = set(committed)
        assert posts_above_their_heads() == 0
        for read in (pull.newest, pull.by_author):
            found = read(viewer.pk, ids, None, 10**6)
            assert known <= set(found), read.__name__
            page = read(viewer.pk, ids, None, 10)
            low = page[-1] if len(page) == 10 else Position(0, 0)
            assert {one for one in known if one > low} <= set(page), read.__name__

    race = Race()
    for _ in range(4):
        race.add("publish", publish, 40, paced=("compare",))
    race.add("compare", compare, 40, paced=("publish",))
    race.run()
    assert len(committed) == 160
    assert set(pull.by_author(viewer.pk, ids, None, 10**6)) == set(committed)


# --- cost ---------------------------------------------------------------------------------------
def statements(viewer: int, authors: Collection[int], cursor: Position | None, size: int) -> int:
    """Return the number of statements of a reading, after checking its result."""
    with CaptureQueriesContext(connection) as captured:
        found = pull.newest(viewer, authors, cursor, size)
    assert found == oracle(authors, cursor, size)
    return len(captured)


CROWD = range(1000, 1400)
STRANGERS = range(5000, 5400)
LIVES: dict[str, list[tuple[int, int, bool]]] = {
    "nobody wrote anything": [],
    "only strangers write": [(STRANGERS[n % 400], 1 + n, False) for n in range(4000)],
    "everybody writes": [(CROWD[n % 400], 1 + n, False) for n in range(4000)],
    "long ago only": [
        *((CROWD[n % 400], 1 + n, False) for n in range(800)),
        *((STRANGERS[n % 400], 1000 + n, False) for n in range(4000)),
    ],
    "one post in a hundred": [
        (CROWD[n % 400] if n % 100 == 0 else STRANGERS[n % 400], 1 + n, False) for n in range(6000)
    ],
    "many at first, then none": [
        *((STRANGERS[n % 400], 1 + n, False) for n in range(6000)),
        *((CROWD[n % 400], 7000 + n, False) for n in range(20)),
    ],
    "all in one millisecond": [(author, 7, False) for author in CROWD],
    "the newest of each is deleted": [
        *((author, 1, False) for author in CROWD),
        *((author, 2, True) for author in CROWD),
    ],
    "everything is deleted": [(CROWD[n % 400], 1 + n, True) for n in range(4000)],
    "one writes all the time": [
        *((author, 1, False) for author in CROWD),
        *((CROWD[0], 2 + n, False) for n in range(3000)),
    ],
}


@pytest.mark.django_db
@pytest.mark.parametrize("life", LIVES)
def test_the_number_of_statements_is_bounded_whatever_was_written(
    make_user: Make, life: str
) -> None:
    viewer = make_user().pk
    follow_all(viewer, CROWD)
    put(*LIVES[life])
    everybody = {viewer, *CROWD}
    for cursor in (None, Position(2000, FIRST), Position(7, FIRST + 200), Position(1, 1)):
        for size in (21, 400):
            assert statements(viewer, everybody, cursor, size) <= 16
        assert statements(viewer, set(CROWD[:100]), cursor, 21) <= 16
        assert statements(viewer, set(CROWD[:5]), cursor, 21) == 1


@pytest.mark.django_db
def test_one_author_takes_one_statement_and_nobody_none(make_user: Make, make_post: Make) -> None:
    author: User = make_user()
    make_post(author)
    assert statements(author.pk, {author.pk}, None, 20) == 1
    assert statements(author.pk, set(), None, 20) == 0


@pytest.mark.django_db
def test_busy_authors_are_scanned_and_quiet_ones_are_not(make_user: Make) -> None:
    viewer = make_user().pk
    follow_all(viewer, CROWD)
    put(*LIVES["everybody writes"])
    with CaptureQueriesContext(connection) as captured:
        pull.newest(viewer, set(CROWD), None, 21)
    assert not any("authorhead" in query["sql"] for query in captured)
    Post.objects.filter(author_id__in=CROWD).update(author_id=1)
    with CaptureQueriesContext(connection) as captured:
        pull.newest(viewer, set(CROWD), None, 21)
    assert any("authorhead" in query["sql"] for query in captured)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("life", "most"), [("only strangers write", 512), ("many at first, then none", 5000)]
)
def test_a_scan_reads_few_useless_rows_and_never_costs_more_than_reading_by_author(
    make_user: Make, monkeypatch: pytest.MonkeyPatch, life: str, most: int
) -> None:
    viewer = make_user().pk
    follow_all(viewer, CROWD)
    put(*LIVES[life])
    scanned, run = [], pull._rows

    def rows(sql: str, values: Any) -> Any:
        found = run(sql, values)
        if sql.startswith("SELECT position, id, author_id, is_deleted "):
            scanned.append(len(found))
        return found

    monkeypatch.setattr(pull, "_rows", rows)
    assert pull.newest(viewer, set(CROWD), None, 21) == oracle(CROWD, None, 21)
    assert 0 < sum(scanned) <= most < len(LIVES[life])


@pytest.mark.django_db
def test_thousands_of_authors_fit_into_a_statement(make_user: Make) -> None:
    viewer = make_user().pk
    many = range(10_000, 10_000 + 6_000)
    follow_all(viewer, many)
    put(*((author, 7, author % 2 == 0) for author in many))
    for read in WAYS:
        assert read(viewer, set(many), None, 21) == oracle(many, None, 21)


@pytest.mark.django_db
def test_outboxes_are_read_in_one_query_newest_first(
    make_user: Any, make_post: Any, django_assert_num_queries: Any
) -> None:
    one, two, none = make_user(), make_user(), make_user()
    made = {author.pk: [make_post(author) for _ in range(4)] for author in (one, two)}
    actions.delete(one, made[one.pk].pop(1).pk)
    for authors in ([one.pk], [one.pk, two.pk, none.pk]):
        with django_assert_num_queries(1):
            found = pull.outboxes(authors, 3)
        for author in authors:
            posts = [Position(post.position, post.pk) for post in made.get(author, ())]
            assert found[author] == sorted(posts, reverse=True)[:3]
