"""Why a post is in a feed: the verdict equals the oracle's, each reason agrees with the tables."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from accounts import actions as accounts_actions
from accounts.models import AuditEntry, Role, User
from accounts.tests.browsers import browser_of
from feeds import actions, cache, queries, tiers
from feeds.audit import explain
from feeds.audit.reasons import PULLED, Code
from feeds.delivery.fanout import deliver, plan, sweep
from feeds.delivery.inbox import rebuild, sync
from feeds.models import FanOut, FanOutChunk, InboxEdge, InboxEntry, InboxState, Mode, Post
from feeds.tests.exactness.model import PICK, FeedMachine, picked
from feeds.tests.exactness.oracle import all_pages
from relations import actions as relations_actions
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.ids import MAX_ID
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


def codes(viewer: User, post: Post) -> list[str]:
    return [str(code) for code in explain.explain(viewer.pk, post.pk).codes]


def texts(viewer: User, post: Post) -> list[str]:
    return [reason.text for reason in explain.explain(viewer.pk, post.pk).reasons]


@pytest.fixture
def reader(make_user: Make, author: User, drain: Make) -> User:
    """A reader who follows the author; the backfill is done."""
    found = make_user("reader1")
    relations_actions.follow(found, author)
    drain()
    return found


# --- hidden -------------------------------------------------------------------------------------
def test_unknown_ids_are_reported_and_not_shown(reader: User, make_post: Make) -> None:
    post = make_post(reader)
    assert explain.explain(None, post.pk).codes == [Code.NO_READER]
    assert explain.explain(12345, post.pk).codes == [Code.NO_READER]
    assert explain.explain(reader.pk, 12345).codes == [Code.NO_POST]
    assert explain.explain(12345, 12345).codes == [Code.NO_READER, Code.NO_POST]
    assert not explain.explain(None, 12345).shown


def test_a_deleted_post_is_reported_with_its_remaining_row(
    reader: User, author: User, make_post: Make, drain: Make
) -> None:
    post = make_post(author)
    drain()
    actions.delete(author, post.pk)
    assert codes(reader, post) == ["deleted", "row_stale"]
    drain()
    assert codes(reader, post) == ["deleted"]
    assert codes(author, post) == ["deleted"]


def test_an_unfollowed_author_is_reported_with_the_remaining_row(
    reader: User, author: User, make_user: Make, make_post: Make, drain: Make
) -> None:
    post, closed = make_post(author), make_post(author, visibility="followers")
    drain()
    assert codes(make_user(), post) == ["not_followed"]
    assert codes(make_user(), closed) == ["not_followed", "followers_only"]
    relations_actions.unfollow(reader, author)
    found = explain.explain(reader.pk, post.pk)
    assert found.codes == [Code.NOT_FOLLOWED, Code.ROW_STALE]
    assert (found.shown, found.in_inbox) == (False, True)
    assert texts(reader, post)[0] == "The reader does not follow the author @writer1."
    drain()
    assert codes(reader, post) == ["not_followed"]
    assert not explain.explain(reader.pk, post.pk).in_inbox


def test_banned_and_closed_accounts_are_reported(
    reader: User, author: User, make_post: Make, drain: Make
) -> None:
    post, own = make_post(author), make_post(reader)
    drain()
    accounts_actions.ban(author)
    assert codes(reader, post) == ["author_banned", "row_stale"]
    accounts_actions.unban(author)
    User.objects.filter(pk=author.pk).update(deleted_at="2026-01-01T00:00:00Z")
    assert codes(reader, post) == ["author_closed", "row_stale"]
    User.objects.filter(pk=author.pk).update(deleted_at=None)
    accounts_actions.ban(reader)
    assert codes(reader, post) == ["followed", "pushed_chunk", "reader_closed"]
    assert codes(reader, own) == ["author_banned", "reader_closed"]


@pytest.mark.parametrize("who", ["reader", "author", "both"])
def test_both_directions_of_a_block_are_reported(
    reader: User, author: User, make_post: Make, drain: Make, who: str
) -> None:
    post = make_post(author)
    drain()
    if who in ("reader", "both"):
        relations_actions.block(reader, author)
    if who in ("author", "both"):
        relations_actions.block(author, reader)
    assert codes(reader, post) == [f"blocked_by_{who}", "not_followed", "row_stale"]


# --- sources ------------------------------------------------------------------------------------
def test_one_s_own_posts_are_pulled(reader: User, make_post: Make) -> None:
    assert codes(reader, make_post(reader)) == ["own", "pulled_own"]


def test_a_fan_out_is_followed_from_the_plan_to_the_row(
    reader: User, author: User, drain: Make, make_post: Make
) -> None:
    post = make_post(author)
    assert codes(reader, post) == ["followed", "pulled_fanout_open"]
    assert "open (not planned, open chunks: 0)" in texts(reader, post)[1]
    plan.write(post.pk)
    assert codes(reader, post) == ["followed", "pulled_fanout_open", "chunk"]
    assert "open (planned, open chunks: 1)" in texts(reader, post)[1]
    assert texts(reader, post)[2].endswith(
        f"in chunk #0 of 1, ids above 0 up to {MAX_ID}, waiting."
    )
    until = db.now_ms() + 60_000
    FanOutChunk.objects.update(leased_until=until)
    assert "leased until" in texts(reader, post)[2]
    FanOutChunk.objects.update(leased_until=0)
    deliver.run_chunk(FanOutChunk.objects.get().pk)
    assert codes(reader, post) == ["followed", "pushed_chunk"]
    assert texts(reader, post)[1].endswith("delivered).")
    assert explain.explain(reader.pk, post.pk).in_inbox


def test_the_chunk_is_the_one_that_covers_the_reader(
    reader: User, author: User, make_user: Make, make_post: Make, settings: LazySettings
) -> None:
    settings.FANOUT_CHUNK = 1
    later = make_user()
    relations_actions.follow(later, author)
    post = make_post(author)
    plan.write(post.pk)
    chunks = FanOutChunk.objects.order_by("number")
    assert [chunk.number for chunk in chunks] == [0, 1]
    for person, chunk in zip((reader, later), chunks, strict=True):
        message = explain.explain(person.pk, post.pk).reasons[-1]
        assert message.code == Code.CHUNK
        assert message.params["number"] == chunk.number
        assert chunk.lower < person.pk <= chunk.upper
    deliver.run_chunk(chunks[1].pk)
    assert "pushed_chunk" in codes(later, post)
    assert "pulled_fanout_open" in codes(later, post)
    assert "pushed_chunk" not in codes(reader, post)


def test_rows_of_a_backfill_and_of_the_fan_out_are_distinguished(
    author: User, reader: User, make_user: Make, make_post: Make, drain: Make
) -> None:
    alone = make_user()
    post, unheard = make_post(author), make_post(alone)
    drain()
    FanOut.objects.filter(done_at=None).update(done_at=db.now_ms() - 1)
    later = make_user()
    relations_actions.follow(later, author)
    relations_actions.follow(later, alone)
    assert codes(later, post)[:2] == ["followed", "pulled_no_edge"]
    drain()
    assert codes(reader, post) == ["followed", "pushed_chunk"]
    assert codes(later, post) == ["followed", "pushed_backfill"]
    assert codes(later, unheard) == ["followed", "pushed_backfill"]


def test_a_purged_plan_is_reported(
    reader: User, author: User, make_post: Make, drain: Make
) -> None:
    post = make_post(author)
    drain()
    FanOut.objects.update(position=1)
    assert sweep.purge() == 1
    assert codes(reader, post) == ["followed", "pushed_forgotten"]


@pytest.mark.parametrize("mode", [Mode.ACTIVE, Mode.NONE])
def test_posts_not_pushed_to_all_are_pulled_by_their_frozen_mode(
    reader: User,
    author: User,
    make_post: Make,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
    mode: Mode,
) -> None:
    monkeypatch.setattr(tiers, "mode_for", lambda followers, before: mode)
    User.objects.filter(pk=reader.pk).update(last_seen="2020-01-01T00:00:00Z")
    post = make_post(author)
    drain()
    assert codes(reader, post)[:2] == ["followed", "pulled_mode"]
    assert mode.name in texts(reader, post)[1]
    assert not explain.explain(reader.pk, post.pk).in_inbox


def test_posts_missing_in_the_inbox_are_pulled(
    author: User, make_user: Make, make_post: Make, drain: Make, settings: LazySettings
) -> None:
    settings.BACKFILL_MAX = 1
    old, new = (make_post(author, at_ms=at) for at in (1000, 2000))
    drain()
    reader = make_user()
    relations_actions.follow(reader, author)
    assert codes(reader, old) == ["followed", "pulled_no_edge"]
    InboxEdge.objects.create(viewer=reader, author=author, backfilled_from=None)
    assert codes(reader, old) == ["followed", "pulled_not_backfilled"]
    drain()
    assert codes(reader, old) == ["followed", "pulled_below_backfill"]
    assert texts(reader, old)[1].endswith("since 1970-01-01T00:00:01.000Z.")
    assert codes(reader, new) == ["followed", "pushed_backfill"]
    InboxState.objects.update_or_create(viewer=reader, defaults={"inbox_floor": 2000})
    assert codes(reader, new) == ["followed", "pulled_below_floor", "pushed_backfill"]


def test_a_missing_or_wrong_row_is_reported(
    reader: User, author: User, make_post: Make, drain: Make
) -> None:
    post = make_post(author)
    drain()
    InboxEntry.objects.all().delete()
    found = explain.explain(reader.pk, post.pk)
    assert found.codes == [Code.FOLLOWED, Code.CHUNK, Code.ROW_MISSING]
    assert (found.shown, found.in_inbox) == (True, False)
    InboxEntry.objects.create(user=reader, publish_time=2**60, post=post, author=author)
    assert codes(reader, post)[-2:] == ["row_missing", "row_misplaced"]
    assert explain.explain(reader.pk, post.pk).in_inbox


# --- random histories ---------------------------------------------------------------------------
class ExplainMachine(FeedMachine):
    """The histories of the feed's machine, with trimmed inboxes and deleted plans as well."""

    @rule(a=st.integers(0, 3), pick=PICK)
    def trim(self, a: int, pick: int) -> None:
        if self.posts:
            floor = picked(self.posts, pick).position
            state, _ = InboxState.objects.get_or_create(viewer=self.people[a])
            state.inbox_floor = max(state.inbox_floor, floor)
            state.generation += 1
            state.save()
            rows = InboxEntry.objects.filter(user=self.people[a])
            rows.filter(publish_time__lte=state.inbox_floor).delete()

    @rule()
    def purge_plans(self) -> None:
        done = FanOut.objects.filter(state=FanOut.State.DONE)
        done.update(position=1)
        sweep.purge()

    @rule(a=st.integers(0, 3))
    def rebuild(self, a: int) -> None:
        rebuild.rebuild([self.people[a].pk])

    @rule(a=st.integers(0, 3), b=st.integers(0, 3))
    def mark_edge_missing(self, a: int, b: int) -> None:
        sync.mark_missing(self.people[a].pk, self.people[b].pk)
        cache.changed_reader(self.people[a].pk)

    @invariant()
    def hybrid_is_oracle(self) -> None:
        """Check that the verdict equals the oracle's and that the reasons agree with the tables."""
        for person in self.people:
            oracle = {int(i) for page in all_pages(queries.oracle_feed, person, 20) for i in page}
            for post in Post.objects.order_by("-pk")[:5]:
                self.check(person, post, shown=post.pk in oracle)
            assert sync.missing(person.pk, 1) == []

    def check(self, person: User, post: Post, *, shown: bool) -> None:
        found = explain.explain(person.pk, post.pk)
        assert found.shown == shown, found
        assert all(reason.text for reason in found.reasons)
        pulled = set(found.codes) & PULLED
        pushed = {code for code in found.codes if code.startswith("pushed_")}
        row = InboxEntry.objects.filter(
            user=person, publish_time=post.position, post=post, author=post.author_id
        ).exists()
        assert found.in_inbox == row
        assert (Code.ROW_STALE in found.codes) == (row and not shown)
        assert Code.ROW_MISSING not in found.codes
        assert not [code for code in found.codes if code.startswith("cached_")], found
        if not shown:
            assert not pulled | pushed
            return
        if post.author_id == person.pk:
            assert pulled == {Code.PULLED_OWN}
            return
        assert len(pushed) == row
        assert pulled or pushed
        edge = InboxEdge.objects.filter(viewer=person, author=post.author_id).first()
        state = InboxState.objects.filter(viewer=person).first()
        delivery = FanOut.objects.filter(post=post).first()
        below = edge and edge.backfilled_from is not None and post.position <= edge.backfilled_from
        assert pulled == {
            code
            for code, holds in {
                Code.PULLED_FANOUT_OPEN: delivery and delivery.state != FanOut.State.DONE,
                Code.PULLED_MODE: post.mode != Mode.ALL,
                Code.PULLED_NO_EDGE: edge is None,
                Code.PULLED_NOT_BACKFILLED: edge and edge.backfilled_from is None,
                Code.PULLED_BELOW_BACKFILL: below,
                Code.PULLED_BELOW_FLOOR: state and post.position <= state.inbox_floor,
            }.items()
            if holds
        }
        assert (Code.PUSHED_FORGOTTEN in pushed) == (row and delivery is None)
        for reason in found.reasons:
            if reason.code in (Code.PUSHED_CHUNK, Code.CHUNK):
                chunk = FanOutChunk.objects.get(fanout=delivery, number=reason.params["number"])
                assert chunk.lower < person.pk <= chunk.upper
                assert chunk.done == (reason.params["state"] == "delivered")


@pytest.mark.full  # once is enough: it takes long, and does not depend on the database
class TestMachine(TestCase):
    """On MariaDB and Redis."""

    def test_the_verdict_is_the_oracle_s_whatever_happens(self) -> None:
        with self.settings(FANOUT_CHUNK=2, BACKFILL_MAX=2):
            run_state_machine_as_test(
                ExplainMachine,
                settings=settings(
                    max_examples=2,
                    stateful_step_count=25,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )


# --- the command --------------------------------------------------------------------------------
def command(*arguments: Any) -> str:
    out = io.StringIO()
    call_command("explain_feed", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_the_command_takes_names_and_ids_and_prints_a_line_for_each_reason(
    reader: User, author: User, make_post: Make, drain: Make
) -> None:
    post = make_post(author)
    drain()
    for name in ("READER1", "@reader1", reader.pk):
        lines = command(name, post.pk).splitlines()
        assert lines[0] == f"post {post.pk} is in the feed of @reader1 ({reader.pk})"
        assert lines[1] == "row in the inbox: yes"
        assert [line.split()[0] for line in lines[2:]] == ["followed", "pushed_chunk"]
    relations_actions.unfollow(reader, author)
    assert "is not in the feed of @reader1" in command("reader1", post.pk)
    assert relations_queries.relation(reader.pk, author.pk) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody9", "1"), "There is no user named nobody9."),
        (("77", "1"), "There is no user named 77."),
        (("reader1", "x"), "x is not the id of a post."),
        (("reader1", "٣"), "٣ is not the id of a post."),
        (("reader1", str(2**63)), f"{2**63} is not the id of a post."),
        (("reader1", "77"), "There is no post 77."),
    ],
)
def test_the_command_fails_clearly_for_unknown_people_and_posts(
    reader: User, arguments: tuple[str, str], message: str
) -> None:
    with pytest.raises(CommandError) as failed:
        command(*arguments)
    assert str(failed.value) == message
    assert failed.value.returncode == 1


def test_explaining_changes_nothing(reader: User, author: User, make_post: Make) -> None:
    post = make_post(author)
    tables = (Post, InboxEntry, InboxEdge, InboxState, FanOut, FanOutChunk, Event)
    before = [list(table.objects.values()) for table in tables]
    explain.explain(reader.pk, post.pk)
    assert [list(table.objects.values()) for table in tables] == before


# --- the page -----------------------------------------------------------------------------------
PAGE = "/admin/feeds/post/explain/"


@pytest.fixture
def make_staff(make_user: Make) -> Callable[[int], Client]:
    return lambda role: browser_of(accounts_actions.promote(make_user(), Role.MEMBER | role))


@pytest.mark.parametrize("role", [Role.MODERATOR, Role.ADMIN])
def test_staff_see_the_reasons_on_a_page_that_is_linked(
    make_staff: Make, reader: User, author: User, make_post: Make, drain: Make, role: Role
) -> None:
    post = make_post(author)
    drain()
    staff = make_staff(role)
    for address, link in {
        "/admin/feeds/": PAGE,
        "/admin/feeds/post/": PAGE,
        f"/admin/feeds/post/{post.pk}/change/": f"{PAGE}?post={post.pk}",
        f"/admin/accounts/user/{reader.pk}/change/": f"{PAGE}?viewer={reader.pk}",
    }.items():
        response = staff.get(address)
        assert response.status_code == 200
        assert f'href="{link}"' in response.content.decode(), address
        assert staff.get(link).status_code == 200
    response = staff.get(PAGE, {"viewer": "reader1", "post": post.pk})
    page = response.content.decode()
    assert f"Post {post.pk} is in the feed of @reader1" in page
    for reason in explain.explain(reader.pk, post.pk).reasons:
        assert reason.code in page
        assert reason.text in page.replace("&#x27;", "'")
    assert ("Rebuild this inbox" in page) == (role == Role.ADMIN)
    content = page.partition('id="content"')[2]
    assert "<style" not in content
    assert "style=" not in content


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"viewer": "nobody9", "post": "1"}, "There is no user with this name or id."),
        ({"viewer": "reader1", "post": "x"}, "This is not the id of a post."),
        ({"viewer": "reader1", "post": "77"}, "There is no such post."),
        ({"viewer": "reader1", "post": "\x00"}, "Null characters are not allowed."),
        ({"viewer": "<b>x</b>", "post": "1"}, "There is no user with this name or id."),
    ],
)
def test_the_page_names_unknown_people_and_posts(
    make_staff: Make, reader: User, query: dict[str, str], message: str
) -> None:
    response = make_staff(Role.ADMIN).get(PAGE, query)
    assert response.status_code == 200
    assert message in response.content.decode()
    assert "<b>x" not in response.content.decode()


def test_nobody_but_staff_sees_the_page_and_none_but_admins_rebuild(
    make_staff: Make, reader: User, author: User, make_post: Make, drain: Make
) -> None:
    post = make_post(author)
    drain()
    InboxEntry.objects.all().delete()
    address = f"/admin/feeds/post/rebuild/{reader.pk}/"
    assert Client().get(PAGE).status_code == 302
    assert browser_of(reader).get(PAGE).status_code == 302
    assert Client().post(address).status_code == 302
    assert browser_of(reader).post(address).status_code == 302
    assert make_staff(Role.MODERATOR).post(address).status_code == 403
    admin = make_staff(Role.ADMIN)
    assert admin.get(address).status_code == 405
    assert admin.post("/admin/feeds/post/rebuild/77/").status_code == 404
    assert codes(reader, post)[-1] == "row_missing"
    assert not AuditEntry.objects.filter(action="rebuild_inbox").exists()


def test_an_admin_rebuilds_an_inbox_and_it_is_noted(
    make_staff: Make, reader: User, author: User, make_post: Make, drain: Make
) -> None:
    post = make_post(author)
    drain()
    InboxEntry.objects.all().delete()
    form = {"post": str(post.pk)}
    admin = make_staff(Role.ADMIN)
    response = admin.post(f"/admin/feeds/post/rebuild/{reader.pk}/", form, follow=True)
    assert response.redirect_chain == [(f"{PAGE}?viewer={reader.pk}&post={post.pk}", 302)]
    assert "The inbox was rebuilt; follows synced: 1, wrong rows: 0." in response.content.decode()
    assert codes(reader, post) == ["followed", "pushed_chunk"]
    entry = AuditEntry.objects.get(action="rebuild_inbox")
    assert (entry.subject_type, entry.subject_id, entry.address) == ("user", reader.pk, "127.0.0.1")
    assert "rebuilt the inbox" in admin.get("/admin/accounts/auditentry/").content.decode()
