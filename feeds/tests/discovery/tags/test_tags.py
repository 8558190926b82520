"""Tags: the page of a tag is exact at once, its counts are those of guests, and rankings follow."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import AuditEntry, Role, User
from feeds import actions as feeds_actions
from feeds.discovery.tags import actions, indexing, queries, ranking
from feeds.models import BusyTag, Post, PostTag, Tag, TagFollow, TrendingTag
from feeds.tests.exactness.oracle import assert_tag
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import db
from socialsite.core.errors import Forbidden, InvalidInput, NotFound, QuotaExceeded
from socialsite.core.positions import Position
from socialsite.tests.support.answers import assert_error, ids, walk

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
EXAMPLES = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
V1 = "/api/v1/"
FULL = pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")


def page(client: APIClient, name: str) -> list[str]:
    """Return the ids of all posts of a tag, by pages of two."""
    return [ident for part in walk(client, f"tags/{name}/posts", size=2) for ident in part]


def write(author: User, *contents: str, **values: Any) -> list[str]:
    """Publish posts; return their ids, the newest first."""
    made = [feeds_actions.publish(author, content=text, **values).pk for text in contents]
    return [str(ident) for ident in reversed(made)]


def counts(client: APIClient, name: str) -> tuple[int, int]:
    item = client.get(f"{V1}tags/{name}").json()
    assert sum(item["days"]) == item["count_week"]
    assert item["days"][-1] == item["count_day"]
    return item["count_day"], item["count_week"]


# --- the page of a tag --------------------------------------------------------------------------
def test_posts_of_a_tag_newest_first(mine: APIClient, me: User) -> None:
    made = write(me, "#Tea one", "tea", "two #tea #TEA", "#\uff34\uff25\uff21 three", "#teas")
    assert page(mine, "tea") == [made[1], made[2], made[4]]
    assert page(mine, "%23Tea") == [made[1], made[2], made[4]]
    assert page(mine, "never_used") == []
    assert_error(mine.get(f"{V1}tags/1/posts"), 404, "NOT_FOUND")
    assert_error(mine.get(f"{V1}tags/a b/posts"), 404, "NOT_FOUND")


def test_the_tags_of_a_post_are_told(mine: APIClient) -> None:
    sent = mine.post(f"{V1}posts", {"content": "#One and #\u4e8c#\u4e09"}, format="json").json()
    assert sent["tags"] == ["one", "\u4e8c"]
    assert mine.get(f"{V1}posts/{sent['id']}").json()["tags"] == ["one", "\u4e8c"]


def test_a_post_leaves_and_enters_with_its_words(mine: APIClient, me: User) -> None:
    [ident] = write(me, "#tea")
    edited = feeds_actions.edit(me, int(ident), 1, content="#coffee")
    assert (page(mine, "tea"), page(mine, "coffee")) == ([], [ident])
    feeds_actions.edit(me, int(ident), 2, content="nothing")
    assert page(mine, "coffee") == []
    feeds_actions.edit(me, int(ident), 3, content="#tea again")
    assert page(mine, "tea") == [ident]
    assert PostTag.objects.get().position == edited.position
    feeds_actions.delete(me, int(ident))
    assert page(mine, "tea") == []
    assert not PostTag.objects.exists()


def test_only_readers_of_a_post_find_it(me: User, make_user: Make, api_for: Make) -> None:
    author, guest, reader = make_user(), APIClient(), api_for(me)
    [public] = write(author, "#tea")
    [private] = write(author, "#tea", visibility="followers")
    assert page(guest, "tea") == page(reader, "tea") == [public]
    relations_actions.follow(me, author)
    assert page(reader, "tea") == [private, public]
    assert counts(reader, "tea") == (1, 1)
    feeds_actions.edit(author, int(public), 1, visibility="followers")
    assert page(guest, "tea") == []
    assert page(reader, "tea") == [private, public]
    assert counts(guest, "tea") == (0, 0)
    relations_actions.block(author, me)
    assert page(reader, "tea") == []
    relations_actions.unblock(author, me)
    [again] = write(author, "#tea")
    assert page(guest, "tea") == [again]
    accounts_actions.ban(author)
    assert page(guest, "tea") == []
    assert counts(guest, "tea") == (0, 0)
    for person in (me, author, make_user()):
        assert_tag(person, "tea")


def test_reposts_with_words_have_tags(mine: APIClient, me: User, make_user: Make) -> None:
    [ident] = write(make_user(), "no tag")
    plain, _new = feeds_actions.repost(me, int(ident))
    quote, _new = feeds_actions.repost(me, int(ident), "#tea")
    assert page(mine, "tea") == [str(quote.pk)]
    feeds_actions.delete(me, quote.pk)
    feeds_actions.delete(me, plain.pk)
    assert page(mine, "tea") == []


def test_a_post_has_a_bounded_number_of_tags(me: User) -> None:
    most = " ".join(f"#t{n}" for n in range(PostTag.MOST))
    post = feeds_actions.publish(me, content=most)
    assert PostTag.objects.filter(post=post).count() == PostTag.MOST
    for write_more in (
        lambda text: feeds_actions.publish(me, content=text),
        lambda text: feeds_actions.edit(me, post.pk, 1, content=text),
        lambda text: feeds_actions.repost(me, post.pk, text),
    ):
        with pytest.raises(InvalidInput) as caught:
            write_more(f"{most} #one_more")
        assert caught.value.fields == {"content": ["At most 30 tags."]}
    assert Post.objects.count() == 1


@FULL
@pytest.mark.django_db(transaction=True)
def test_new_tags_written_at_once_exist_once(make_user: Make) -> None:
    people = [make_user() for _ in range(8)]
    names = [f"t{n}" for n in range(10)]

    def run(number: int) -> None:
        order = names if number % 2 else names[::-1]
        feeds_actions.publish(people[number], content=" ".join(f"#{name}" for name in order))

    results = at_once([partial(run, number) for number in range(len(people))])
    assert results == [None] * len(people)
    assert sorted(Tag.objects.values_list("name", flat=True)) == sorted(names)
    assert PostTag.objects.count() == len(people) * len(names)


# --- follows ------------------------------------------------------------------------------------
def test_followed_tags_have_a_timeline_of_their_own(
    mine: APIClient, me: User, make_user: Make
) -> None:
    other = make_user()
    made = write(other, "#tea", "#coffee", "#milk", "#tea #coffee")
    assert ids(mine.get(f"{V1}feed/tags")) == []
    assert mine.put(f"{V1}tags/Tea/follow").json()["following"] is True
    assert mine.put(f"{V1}tags/tea/follow").json()["following"] is True
    mine.put(f"{V1}tags/coffee/follow")
    mine.put(f"{V1}tags/not_used_yet/follow")
    found = [ident for part in walk(mine, "feed/tags", size=2) for ident in part]
    assert found == [made[0], made[2], made[3]]
    assert ids(mine.get(f"{V1}feed")) == []
    later = write(other, "#Not_Used_Yet")
    assert ids(mine.get(f"{V1}feed/tags"))[0] == later[0]
    assert mine.delete(f"{V1}tags/%23Tea/follow").json()["following"] is False
    assert ids(mine.get(f"{V1}feed/tags")) == [later[0], made[0], made[2]]
    relations_actions.block(other, me)
    assert ids(mine.get(f"{V1}feed/tags")) == []
    assert_error(APIClient().get(f"{V1}feed/tags"), 401, "NOT_AUTHENTICATED")
    assert_error(APIClient().put(f"{V1}tags/tea/follow"), 401, "NOT_AUTHENTICATED")


@EXAMPLES
@example(  # only the third tag has the newest post that is left
    rows={(1, 12, 1), (1, 5, 1), (2, 11, 1), (3, 10, 1), (3, 9, 1)},
    count=1,
    start=0,
    newest_left=9,
    spared=6,
)
@given(
    rows=st.sets(st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(1, 3)), min_size=9),
    count=st.integers(1, 4),
    start=st.integers(0, 30),
    newest_left=st.integers(1, 12),
    spared=st.integers(1, 6),
)
def test_the_next_posts_of_tags_are_exact(
    rows: set[tuple[int, int, int]],
    count: int,
    start: int,
    newest_left: int,
    spared: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Although the newest posts of all tags but one are deleted between the two reads."""
    PostTag.objects.all().delete()
    PostTag.objects.bulk_create(
        PostTag(tag_id=tag, position=position, post_id=post, author_id=1, is_public=True)
        for tag, position, post in rows
    )
    read = queries._newest

    def deleting(*args: Any) -> Any:
        found = read(*args)
        PostTag.objects.filter(position__gt=newest_left).exclude(tag=spared).delete()
        return found

    kept = {row for row in rows if row[0] == spared or row[1] <= newest_left}
    places = sorted({Position(position, post) for _, position, post in kept}, reverse=True)
    cursors = [None, *(Position(position, post) for _, position, post in sorted(rows))]
    cursor = cursors[start % len(cursors)]
    older = [place for place in places if cursor is None or place < cursor]
    with monkeypatch.context() as patched:
        patched.setattr(queries, "_newest", deleting)
        assert queries._newest_of(range(1, 7), cursor, count) == older[:count]


def test_follows_are_bounded(me: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TagFollow, "MOST", 2)
    for name in ("a", "b", "a"):
        actions.follow(me, name)
    with pytest.raises(QuotaExceeded):
        actions.follow(me, "c")
    actions.unfollow(me, "a")
    actions.follow(me, "c")
    assert queries.followed(me) == ["b", "c"]
    with pytest.raises(NotFound):
        actions.follow(me, "no name")


# --- hidden tags --------------------------------------------------------------------------------
def test_a_hidden_tag_is_nowhere(mine: APIClient, me: User, make_user: Make) -> None:
    [ident] = write(make_user(), "#bad")
    mine.put(f"{V1}tags/bad/follow")
    ranking.rank()
    staff = accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    tag = Tag.objects.get(name="bad")
    with pytest.raises(Forbidden):
        actions.set_hidden(make_user(), tag.pk, hidden=True)
    actions.set_hidden(staff, tag.pk, hidden=True)
    actions.set_hidden(staff, tag.pk, hidden=True)
    for path in ("tags/bad", "tags/BAD/posts"):
        assert_error(mine.get(f"{V1}{path}"), 404, "NOT_FOUND")
    assert_error(mine.put(f"{V1}tags/bad/follow"), 404, "NOT_FOUND")
    for path in ("tags?q=ba", "tags/trending", "feed/tags"):
        assert mine.get(f"{V1}{path}").json()["items"] == []
    assert queries.followed(me) == []
    assert_error(mine.delete(f"{V1}tags/bad/follow"), 404, "NOT_FOUND")
    assert not TagFollow.objects.exists()
    assert mine.get(f"{V1}posts/{ident}").status_code == 200
    actions.set_hidden(staff, tag.pk, hidden=False)
    assert page(mine, "bad") == [ident]
    acts = AuditEntry.objects.filter(actor=staff).order_by("pk")
    assert list(acts.values_list("action", flat=True)) == ["hide_tag", "show_tag"]


# --- lists --------------------------------------------------------------------------------------
def test_tags_that_begin_alike(mine: APIClient, me: User) -> None:
    write(me, "#teapot", "#tea #Teatime", "#tea", "#milk")
    write(me, "#teak", at_ms=1)
    write(me, "#tea_for_friends", visibility="followers")
    actions.follow(me, "tea_never_used")

    def names(text: str) -> list[str]:
        return [item["name"] for item in mine.get(f"{V1}tags", {"q": text}).json()["items"]]

    write(me, "#2026\u5e74", "#_under")
    assert names("2026") == names("#\uff12\uff10") == ["2026\u5e74"]
    assert names("_") == ["_under"]
    assert names("te") == names("#TE") == ["tea", "teapot", "teatime", "teak"]
    assert names("teap") == ["teapot"]
    for nothing in ("", "#", "a b", "%", "x" * 200):
        assert names(nothing) == []
    write(me, "#trending")
    assert mine.get(f"{V1}tags/%23trending").json()["name"] == "trending"
    assert mine.get(f"{V1}tags/%23trending/posts").json()["items"]
    assert "items" in mine.get(f"{V1}tags/trending").json()


def test_tags_that_many_people_use_today_come_first(
    mine: APIClient, me: User, make_user: Make
) -> None:
    people = [make_user() for _ in range(3)]
    for person in people:
        write(person, "#new", "#usual")
    day = 86_400_000
    for person in [*people, me]:
        write(person, "#usual", at_ms=db.now_ms() - 3 * day)
    write(me, *["#spam"] * 9)
    write(me, "#secret", visibility="followers")
    write(me, "#old", at_ms=db.now_ms() - 8 * day)
    assert ranking.rank() == 3
    found = mine.get(f"{V1}tags/trending").json()["items"]
    assert [item["name"] for item in found] == ["new", "usual", "spam"]
    usual = found[1]
    assert usual["days"] == [0, 0, 0, 4, 0, 0, 3]
    assert (usual["count_day"], usual["count_week"]) == (3, 7)
    accounts_actions.ban(me)
    for person in people:
        accounts_actions.ban(person)
    assert APIClient().get(f"{V1}tags/trending").json()["items"] == []
    ranking.rank()
    assert not TrendingTag.objects.exists()


def test_the_posts_of_a_busy_tag_are_counted_by_the_ranking(
    mine: APIClient, me: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "BUSY", 3)
    write(me, "#busy", "#busy #calm")
    write(me, "#busy #calm", at_ms=db.now_ms() - 2 * 86_400_000)
    write(me, "#busy", visibility="followers")
    ranking.rank()
    assert list(BusyTag.objects.values_list("tag__name", "days")) == [
        ("busy", [0, 0, 0, 0, 1, 0, 2])
    ]
    [post] = write(me, "#busy #calm")
    # The list is exact at once, the count of a busy tag after the next ranking.
    assert page(mine, "busy")[0] == post
    assert (counts(mine, "busy"), counts(mine, "calm")) == ((2, 3), (2, 3))
    [listed] = mine.get(f"{V1}tags", {"q": "bus"}).json()["items"]
    assert listed["count_week"] == 3
    ranking.rank()
    assert counts(mine, "busy") == (3, 4)
    monkeypatch.setattr(ranking, "BUSY", 5)
    ranking.rank()
    assert not BusyTag.objects.exists()
    assert counts(mine, "busy") == (3, 4)


def test_counts_of_busy_tags_read_no_posts(
    me: User, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Make
) -> None:
    monkeypatch.setattr(ranking, "BUSY", 1)
    write(me, "#one #two")
    ranking.rank()
    with django_assert_num_queries(1) as asked:
        assert [item["count_week"] for item in queries.trending(None, 5)] == [1, 1]
    assert "posttag" not in asked[0]["sql"].lower()


# --- tags that nobody uses ----------------------------------------------------------------------
def test_tags_without_posts_and_followers_are_purged(me: User, make_user: Make) -> None:
    [post] = write(me, "#used #edited #hidden")
    for name in ("followed", "left"):
        actions.follow(me, name)
    actions.unfollow(me, "left")
    feeds_actions.edit(me, int(post), 1, content="#used")
    staff = accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    actions.set_hidden(staff, Tag.objects.get(name="hidden").pk, hidden=True)
    assert Tag.objects.count() == 5
    assert indexing.purge(0) is None
    assert sorted(Tag.objects.values_list("name", flat=True)) == ["followed", "hidden", "used"]
    write(me, "#left")
    actions.follow(me, "edited")
    assert queries.followed(me) == ["edited", "followed"]


@FULL
@pytest.mark.django_db(transaction=True)
def test_a_tag_that_is_purged_while_it_is_used_again_exists(make_user: Make) -> None:
    people = [make_user() for _ in range(4)]

    def publish(person: User) -> None:
        for number in range(20):
            post = feeds_actions.publish(person, content=f"#a #b{number % 3}")
            feeds_actions.delete(person, post.pk)
            actions.follow(person, f"b{number % 3}")
            actions.unfollow(person, f"b{number % 3}")
        feeds_actions.publish(person, content="#a #b0")
        actions.follow(person, "b1")

    def purge() -> None:
        for _ in range(60):
            indexing.purge(0)

    calls: list[Callable[[], None]] = [partial(publish, person) for person in people]
    calls += [purge, purge]
    assert at_once(calls) == [None] * len(calls)
    known = set(Tag.objects.values_list("pk", flat=True))
    assert set(PostTag.objects.values_list("tag_id", flat=True)) <= known
    assert set(TagFollow.objects.values_list("tag_id", flat=True)) <= known
    assert PostTag.objects.count() == 2 * len(people)


def test_a_rebuild_mends_what_differs(me: User, capsys: pytest.CaptureFixture[str]) -> None:
    write(me, "#a", "#b", "none")
    [gone] = write(me, "#gone")
    feeds_actions.delete(me, int(gone))
    whole = set(PostTag.objects.values_list("tag", "position", "post", "author", "is_public"))
    call_command("rebuild_tags")
    assert "posts 4, repaired 0, tags in use 2" in capsys.readouterr().out
    PostTag.objects.filter(tag__name="a").delete()
    PostTag.objects.update(is_public=False)
    row = PostTag.objects.get()
    PostTag.objects.create(
        tag_id=row.tag_id, position=1, post_id=int(gone), author_id=me.pk, is_public=True
    )
    call_command("rebuild_tags")
    assert "posts 4, repaired 3, tags in use 2" in capsys.readouterr().out
    rows = set(PostTag.objects.values_list("tag", "position", "post", "author", "is_public"))
    assert rows == whole
