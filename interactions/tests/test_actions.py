"""Likes and comments on the database: rows, counts, refusals, events, real threads."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts import actions as accounts_actions
from accounts.models import Role
from feeds import actions as feeds_actions
from feeds.models import AuthorHead
from interactions import actions
from interactions.models import (
    Comment,
    CommentContent,
    CountChange,
    Like,
    Subject,
    SubjectType,
)
from interactions.tests.helpers import drift, pending_events
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import db
from socialsite.core.errors import CommentsClosed, Forbidden, InvalidInput, NotFound
from socialsite.core.events import relay

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT
AUTHOR_LIKED, AUTHOR_REPLIED = Comment.Attr.AUTHOR_LIKED, Comment.Attr.AUTHOR_REPLIED

pytestmark = pytest.mark.django_db


def subject_of(post) -> Subject:
    return Subject.objects.get(subj_type=POST, subj_id=post.pk)


def set_status(post, status) -> None:
    actions.subjects.locked_subject(post.pk)
    Subject.objects.filter(subj_id=post.pk).update(status=status)


# --- likes --------------------------------------------------------------------------------------
def test_a_like_counts_once_however_often_it_is_repeated(post, reader, other) -> None:
    assert [actions.like(reader, POST, post.pk) for _ in range(3)] == [1, 1, 1]
    assert actions.like(other, POST, post.pk) == 2
    assert [actions.unlike(reader, POST, post.pk) for _ in range(3)] == [1, 1, 1]
    assert Like.objects.count() == 1
    assert pending_events() == ["Liked", "Liked", "Unliked"]
    assert drift() == []


def test_an_unlike_without_a_like_changes_nothing(post, reader) -> None:
    assert actions.unlike(reader, POST, post.pk) == 0
    assert pending_events() == []


def test_likes_of_a_comment_are_counted_on_the_comment(post, reader, other) -> None:
    comment = actions.comment(reader, post.pk, "first")
    assert [actions.like(other, COMMENT, comment.pk) for _ in range(2)] == [1, 1]
    assert actions.like(reader, COMMENT, comment.pk) == 2
    assert actions.unlike(other, COMMENT, comment.pk) == 1
    comment.refresh_from_db()
    assert comment.like_count == 1
    assert not Subject.objects.filter(subj_type=COMMENT).exists()
    assert subject_of(post).like_count == 0
    assert drift() == []


def test_the_mark_of_the_author_follows_the_authors_like(post, author, reader, other) -> None:
    comment = actions.comment(reader, post.pk, "first")
    actions.like(other, COMMENT, comment.pk)
    assert Comment.objects.get().attrs == 0
    actions.like(author, COMMENT, comment.pk)
    assert Comment.objects.get().attrs == AUTHOR_LIKED
    actions.unlike(author, COMMENT, comment.pk)
    assert Comment.objects.get().attrs == 0


@pytest.mark.parametrize("act", [actions.like, actions.unlike])
@pytest.mark.parametrize("how", ["gone", "blocks", "blocked", "banned", "followers", "unknown"])
def test_hidden_content_cannot_be_liked(act, how, post, author, reader, make_post) -> None:
    comment = actions.comment(author, post.pk, "mine")
    ident = post.pk
    if how == "gone":
        post.is_deleted = True
        post.save()
    elif how == "blocks":
        relations_actions.block(author, reader)
    elif how == "blocked":
        relations_actions.block(reader, author)
    elif how == "banned":
        author.banned_at = timezone.now()
        author.save()
    elif how == "followers":
        post.visibility = "followers"
        post.save()
    else:
        ident = 5
        comment.pk = 6
    for kind, subj_id in ((POST, ident), (COMMENT, comment.pk)):
        with pytest.raises(NotFound):
            act(reader, kind, subj_id)
    assert not Like.objects.exists()


def test_a_comment_of_someone_blocked_either_way_cannot_be_liked(
    post, reader, other, make_user
) -> None:
    blocker = make_user()
    comments = [actions.comment(person, post.pk, "hello") for person in (other, blocker)]
    answer = actions.comment(make_user(), post.pk, "in the thread", comments[0].pk)
    relations_actions.block(reader, other)
    relations_actions.block(blocker, reader)
    for comment in (*comments, answer):
        with pytest.raises(NotFound):
            actions.like(reader, COMMENT, comment.pk)


def test_a_deleted_comment_cannot_be_liked_even_where_its_tombstone_shows(
    post, reader, other
) -> None:
    root = actions.comment(reader, post.pk, "root")
    actions.comment(other, post.pk, "reply", root.pk)
    actions.delete_comment(reader, root.pk)
    with pytest.raises(NotFound):
        actions.like(other, COMMENT, root.pk)


# --- comments -----------------------------------------------------------------------------------
def test_a_comment_is_stored_with_its_text_and_counted(post, reader) -> None:
    made = actions.comment(reader, post.pk, "  two\r\nlines\x07 \n")
    row = Comment.objects.get()
    assert (row.pk, row.root_id, row.parent_id, row.author_id) == (made.pk, None, None, reader.pk)
    assert CommentContent.objects.get(pk=made.pk).content == "two\nlines"
    assert subject_of(post).comment_count == 1
    assert pending_events() == ["Commented"]


def test_replies_are_below_the_root_and_name_the_answered_comment(post, reader, other) -> None:
    root = actions.comment(reader, post.pk, "root")
    reply = actions.comment(other, post.pk, "reply", root.pk)
    answer = actions.comment(reader, post.pk, "answer", reply.pk)
    assert (reply.root_id, reply.parent_id) == (root.pk, root.pk)
    assert (answer.root_id, answer.parent_id) == (root.pk, reply.pk)
    counts = dict(Comment.objects.values_list("pk", "reply_count"))
    assert counts == {root.pk: 2, reply.pk: 1, answer.pk: 0}
    assert subject_of(post).comment_count == 3
    assert drift() == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("  \n\t ", id="blank"),
        pytest.param("\u200b\u200d\ufeff", id="invisible"),
        pytest.param("\u3000\u2003", id="wide blanks"),
        pytest.param("\u3164\u2800\ufe0f", id="fillers"),
        pytest.param("x" * 1001, id="too long"),
        pytest.param("a\0b", id="NUL"),
        pytest.param("a\ud800b", id="surrogate"),
    ],
)
def test_a_text_that_is_no_comment_is_refused(text, post, reader) -> None:
    with pytest.raises(InvalidInput) as refused:
        actions.comment(reader, post.pk, text)
    assert set(refused.value.fields or ()) == {"content"}
    assert not Comment.objects.exists()
    assert not CommentContent.objects.exists()


@pytest.mark.parametrize("text", ["x" * 1000, "🙂" * 1000, "a\r\n" * 499 + "ab", "👨‍👩‍👧", "ß"])
def test_texts_up_to_the_limit_are_stored(text, post, reader) -> None:
    actions.comment(reader, post.pk, text)
    assert CommentContent.objects.get().content == text.replace("\r\n", "\n")


@pytest.mark.parametrize("status", [Subject.Status.CLOSED, Subject.Status.DELETED])
def test_closed_comments_take_no_more(status, post, reader, author) -> None:
    set_status(post, status)
    for person in (reader, author):
        with pytest.raises(CommentsClosed):
            actions.comment(person, post.pk, "hello")
    assert not Comment.objects.exists()
    assert actions.like(reader, POST, post.pk) == 1


def test_featured_comments_still_take_new_ones(post, reader) -> None:
    set_status(post, Subject.Status.FEATURED)
    actions.comment(reader, post.pk, "hello")
    assert Comment.objects.count() == 1


def test_the_parent_must_be_alive_and_of_the_same_post(post, author, reader, make_post) -> None:
    elsewhere = actions.comment(author, make_post(author).pk, "elsewhere")
    gone = actions.comment(author, post.pk, "gone")
    actions.comment(reader, post.pk, "keeps the tombstone", gone.pk)
    actions.delete_comment(author, gone.pk)
    for parent in (elsewhere.pk, gone.pk, 5):
        with pytest.raises(NotFound):
            actions.comment(reader, post.pk, "reply", parent)
    assert drift() == []


def test_nobody_replies_across_a_block_of_either_direction(post, reader, other, make_user) -> None:
    root = actions.comment(other, post.pk, "root")
    reply = actions.comment(make_user(), post.pk, "reply", root.pk)
    for block in ((other, reader), (reader, other)):
        relations_actions.block(*block)
        for parent in (root, reply):
            with pytest.raises(NotFound):
                actions.comment(reader, post.pk, "hello", parent.pk)
        relations_actions.unblock(*block)
    actions.comment(reader, post.pk, "hello", reply.pk)


def test_nobody_comments_on_hidden_posts(post, author, reader) -> None:
    relations_actions.block(author, reader)
    with pytest.raises(NotFound):
        actions.comment(reader, post.pk, "hello")


def test_the_mark_of_an_authors_answer_goes_with_their_last_answer(
    post, author, reader, other
) -> None:
    root = actions.comment(reader, post.pk, "root")
    actions.comment(other, post.pk, "by someone else", root.pk)
    assert Comment.objects.get(pk=root.pk).attrs == 0
    answers = [actions.comment(author, post.pk, "answer", root.pk) for _ in range(2)]
    actions.like(author, COMMENT, root.pk)
    assert Comment.objects.get(pk=root.pk).attrs == AUTHOR_LIKED | AUTHOR_REPLIED
    actions.delete_comment(author, answers[0].pk)
    assert Comment.objects.get(pk=root.pk).attrs == AUTHOR_LIKED | AUTHOR_REPLIED
    actions.delete_comment(author, answers[1].pk)
    assert Comment.objects.get(pk=root.pk).attrs == AUTHOR_LIKED


def test_the_mark_clears_also_when_staff_who_cannot_see_the_post_delete_the_answer(
    author, reader, other, make_post
) -> None:
    relations_actions.follow(reader, author)
    post = make_post(author, visibility="followers")
    root = actions.comment(reader, post.pk, "root")
    answer = actions.comment(author, post.pk, "answer", root.pk)
    assert Comment.objects.get(pk=root.pk).attrs == AUTHOR_REPLIED
    staff = accounts_actions.promote(other, Role.MEMBER | Role.MODERATOR)
    actions.delete_comment(staff, answer.pk)
    assert Comment.objects.get(pk=root.pk).attrs == 0


# --- deleting -----------------------------------------------------------------------------------
def test_a_comment_is_deleted_once_by_its_author(post, reader) -> None:
    comment = actions.comment(reader, post.pk, "hello")
    for _ in range(3):
        assert actions.delete_comment(reader, comment.pk).subject.subj_id == post.pk
    assert Comment.objects.get().deleted
    assert subject_of(post).comment_count == 0
    assert pending_events() == ["Commented", "CommentDeleted"]


def test_a_wrong_count_does_not_prevent_deleting(post, author, reader) -> None:
    root = actions.comment(reader, post.pk, "root")
    reply = actions.comment(reader, post.pk, "reply", root.pk)
    Subject.objects.update(comment_count=0)
    Comment.objects.update(reply_count=0)
    AuthorHead.objects.update(post_count=0)
    actions.delete_comment(reader, reply.pk)
    feeds_actions.delete(author, post.pk)
    assert subject_of(post).comment_count == 0
    assert Comment.objects.get(pk=root.pk).reply_count == 0
    assert AuthorHead.objects.get().post_count == 0


def test_the_author_of_the_post_and_staff_delete_comments_of_others(
    post, author, reader, other, make_user
) -> None:
    staff = make_user()
    staff.roles = 3
    staff.save()
    comments = [actions.comment(reader, post.pk, "hello") for _ in range(2)]
    with pytest.raises(Forbidden):
        actions.delete_comment(other, comments[0].pk)
    actions.delete_comment(author, comments[0].pk)
    actions.delete_comment(staff, comments[1].pk)
    assert not Comment.objects.filter(deleted=False).exists()
    assert drift() == []


def test_a_comment_that_one_may_not_see_answers_as_if_it_were_not_there(
    post, author, reader, other
) -> None:
    comment = actions.comment(reader, post.pk, "hello")
    relations_actions.block(reader, other)
    for ident in (comment.pk, 5):
        with pytest.raises(NotFound):
            actions.delete_comment(other, ident)


def test_ones_own_comment_can_be_deleted_where_one_is_blocked_by_now(post, author, reader) -> None:
    comment = actions.comment(reader, post.pk, "hello")
    relations_actions.block(author, reader)
    actions.delete_comment(reader, comment.pk)
    assert drift() == []
    assert Comment.objects.get().deleted


def test_deleting_moves_the_counts_of_the_thread(post, reader, other) -> None:
    root = actions.comment(reader, post.pk, "root")
    reply = actions.comment(other, post.pk, "reply", root.pk)
    answer = actions.comment(reader, post.pk, "answer", reply.pk)
    for person, comment in ((other, reply), (reader, answer), (reader, root)):
        actions.delete_comment(person, comment.pk)
        assert drift() == []
    assert subject_of(post).comment_count == 0


def test_a_deleted_post_closes_its_subject(post, author, reader, drain) -> None:
    from feeds import actions as feeds_actions

    actions.comment(reader, post.pk, "hello")
    feeds_actions.delete(author, post.pk)
    drain()
    assert subject_of(post).status == Subject.Status.DELETED


def test_random_steps_leave_no_drift(make_user, make_post) -> None:
    dice = random.Random(7)
    people = [make_user() for _ in range(4)]
    posts = [make_post(person).pk for person in people[:2]]
    for _ in range(300):
        person = dice.choice(people)
        comments = list(Comment.objects.values_list("pk", flat=True))
        try:
            match dice.randrange(6):
                case 0:
                    actions.like(person, POST, dice.choice(posts))
                case 1:
                    actions.unlike(person, POST, dice.choice(posts))
                case 2:
                    parent = dice.choice([None, *comments])
                    actions.comment(person, dice.choice(posts), "hello", parent)
                case 3 if comments:
                    actions.delete_comment(person, dice.choice(comments))
                case 4 if comments:
                    actions.like(person, COMMENT, dice.choice(comments))
                case 5 if comments:
                    actions.unlike(person, COMMENT, dice.choice(comments))
        except (NotFound, Forbidden):
            pass
    assert Comment.objects.filter(deleted=True).exists()
    assert drift() == []


# --- real threads -------------------------------------------------------------------------------
full = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks"),
]
THREADS, ROUNDS = 8, 12


class TestThreads:
    """Many concurrent writers on MariaDB: no errors, and no count drifts."""

    pytestmark = full

    def run(self, works) -> list:
        results = at_once(works)
        assert [result for result in results if isinstance(result, Exception)] == []
        return results

    def test_first_likers_of_one_post_at_once(self, make_user, make_post) -> None:
        people = [make_user() for _ in range(THREADS)]
        for _ in range(ROUNDS):
            post = make_post(people[0]).pk
            counts = self.run([partial(actions.like, p, POST, post) for p in people])
            assert set(counts) <= set(range(1, THREADS + 1))
            assert actions.like(people[0], POST, post) == THREADS
        assert drift() == []

    @pytest.mark.parametrize("kind", [POST, COMMENT])
    def test_likes_do_not_wait_for_a_lock_on_the_liked_row(
        self, kind, make_user, make_post
    ) -> None:
        author, first, *others = [make_user() for _ in range(5)]
        post = make_post(author).pk
        ident = post if kind == POST else actions.comment(author, post, "hello").pk
        actions.like(first, kind, ident)
        kept: Any = actions.counts._counts_row(kind, ident)
        with transaction.atomic():
            held = kept.select_for_update().get().like_count
            counts = self.run([partial(actions.like, p, kind, ident) for p in others])
            assert set(counts) <= {2, 3, 4}
            assert self.run([partial(actions.unlike, first, kind, ident)]) == [3]
            assert kept.get().like_count == held
        while relay.relay():
            pass
        assert kept.get().like_count == 3
        assert not CountChange.objects.exists()

    def test_reposts_and_bookmarks_do_not_wait_for_a_lock_on_the_post(
        self, make_user, make_post, monkeypatch
    ) -> None:
        monkeypatch.setattr(actions.counts, "FOLD_AT", 7)
        author, first, *others = [make_user() for _ in range(4)]
        post = make_post(author).pk
        actions.bookmark(first, post)
        feeds_actions.repost(first, post)
        kept: Any = actions.counts._counts_row(POST, post)
        with transaction.atomic():
            kept.select_for_update().get()
            counts = self.run([partial(actions.bookmark, p, post) for p in others])
            assert set(counts) <= {2, 3}
            assert self.run([partial(actions.unbookmark, first, post)]) == [2]
            self.run([partial(feeds_actions.repost, p, post) for p in others])
            self.run([partial(feeds_actions.undo_repost, first, post)])
            assert CountChange.objects.count() == 8
        actions.like(first, POST, post)  # the writer of the seventh, or a later one, folds all
        assert kept.values_list("like_count", "repost_count", "bookmark_count").get() == (1, 2, 2)
        assert not CountChange.objects.exists()
        assert drift() == []

    def test_stored_counts_plus_their_changes_equal_the_likes_at_every_moment(
        self, make_user, make_post, monkeypatch
    ) -> None:
        monkeypatch.setattr(actions.counts, "FOLD_AT", 3)
        monkeypatch.setattr(actions.counts, "FOLD_MAX", 2)
        people = [make_user() for _ in range(THREADS)]
        post = make_post(people[0]).pk
        subjects = [(POST, post), (COMMENT, actions.comment(people[0], post, "hello").pk)]
        done: list[int] = []
        wrong: list[object] = []

        def click(number: int) -> None:
            dice = random.Random(number)
            try:
                for _ in range(40):
                    # Each acts for two people, so that threads also collide on one like.
                    person = people[(number + dice.randrange(2)) % 4]
                    if dice.random() < 0.6:
                        act = dice.choice([actions.like, actions.unlike])
                        act(person, *dice.choice(subjects))
                    else:
                        keep = dice.choice([actions.bookmark, actions.unbookmark])
                        shares: list[Callable[..., Any]]
                        shares = [feeds_actions.repost, feeds_actions.undo_repost]
                        dice.choice([keep, *shares])(person, post)
            finally:
                done.append(number)

        def fold() -> None:
            while len(done) < 4:
                for subject in subjects:
                    actions.fold_counts(*subject)

        def watch() -> None:
            while len(done) < 4:
                with db.snapshot():
                    wrong.extend(drift())

        self.run([*[partial(click, number) for number in range(4)], fold, fold, watch])
        assert wrong == []
        while relay.relay():
            pass
        assert not CountChange.objects.exists()
        assert drift() == []

    def test_one_person_clicking_in_many_windows(self, make_user, make_post) -> None:
        person = make_user()
        post = make_post(person).pk
        comment = actions.comment(person, post, "hello").pk
        for kind, ident in ((POST, post), (COMMENT, comment)):
            for _ in range(ROUNDS):
                acts = [actions.like, actions.unlike] * (THREADS // 2)
                self.run([partial(act, person, kind, ident) for act in acts])
                self.run([partial(actions.like, person, kind, ident)] * 4)
                assert Like.objects.filter(subj_type=kind).count() == 1
                assert drift() == []

    def test_everything_at_once_on_one_thread(self, make_user, make_post) -> None:
        people = [make_user() for _ in range(4)]
        post = make_post(people[0]).pk
        root = actions.comment(people[0], post, "root").pk

        def act(number: int) -> None:
            dice = random.Random(number)
            for _ in range(ROUNDS * 2):
                person = dice.choice(people)
                mine = Comment.objects.filter(author_id=person.pk, root_id=root, deleted=False)
                some = mine.order_by("pk").values_list("pk", flat=True).first()
                try:
                    match dice.randrange(5):
                        case 0:
                            actions.comment(
                                person, post, "reply", dice.choice([root, some or root])
                            )
                        case 1 if some:
                            actions.delete_comment(person, some)
                        case 2:
                            actions.like(person, COMMENT, some or root)
                        case 3:
                            actions.unlike(person, COMMENT, some or root)
                        case 4:
                            actions.like(person, POST, post)
                except NotFound:
                    pass  # another thread deleted it meanwhile

        self.run([partial(act, number) for number in range(THREADS)])
        assert drift() == []

    def test_a_comment_deleted_by_many_at_once_counts_once(self, make_user, make_post) -> None:
        person = make_user()
        post = make_post(person).pk
        for _ in range(ROUNDS):
            root = actions.comment(person, post, "root").pk
            self.run([partial(actions.delete_comment, person, root)] * THREADS)
        assert drift() == []
        assert pending_events().count("CommentDeleted") == ROUNDS

    def test_nobody_slips_in_after_the_subject_was_closed(self, make_user, make_post) -> None:
        person = make_user()
        post = make_post(person).pk
        actions.comment(person, post, "first")

        def close() -> int:
            Subject.objects.filter(subj_id=post).update(status=Subject.Status.CLOSED)
            return Subject.objects.get(subj_id=post).comment_count

        def talk() -> int:
            made = 0
            for _ in range(20):
                try:
                    actions.comment(person, post, "hello")
                except CommentsClosed:
                    return made
                made += 1
            return made

        results = self.run([close, *[talk] * 4])
        assert Comment.objects.count() == results[0] == 1 + sum(results[1:])
