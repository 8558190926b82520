"""Comments that staff delete and restore: text, counts, marks and notifications come back."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.actions import moderation
from accounts.models import Role, StaffAct, User
from feeds import actions as feeds_actions
from feeds.models import Post
from interactions import actions
from interactions.actions import recount
from interactions.models import Case, Comment, ReportedKind, SubjectType

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
SPAM = accounts_actions.Grounds("spam", "Not here, please.")


@pytest.fixture
def staff(make_user: Make) -> User:
    return accounts_actions.promote(make_user("staff1"), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def author(make_user: Make) -> User:
    return make_user("author1")


@pytest.fixture
def writer(make_user: Make) -> User:
    return make_user("writer1")


@pytest.fixture
def post(author: User, make_post: Make) -> Post:
    return make_post(author)


def undo(actor: User) -> None:
    assert accounts_actions.undo(StaffAct.objects.latest("pk").pk, actor)


def shown(path: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = APIClient().get(V1 + path).json()["items"]
    return items


@pytest.mark.parametrize("early", [True, False], ids=["before events", "after events"])
def test_a_restored_comment_is_as_before(
    early: bool, author: User, writer: User, staff: User, post: Post, drain: Make
) -> None:
    settle = (lambda: None) if early else drain
    root = actions.comment(author, post.pk, "what do you think?")
    said = actions.comment(writer, post.pk, "buy shoes", root.pk)
    actions.comment(author, post.pk, "no", said.pk)
    actions.like(author, SubjectType.COMMENT, said.pk)
    settle()
    replies = f"comments/{root.pk}/replies"

    def state() -> Any:
        count = APIClient().get(f"{V1}posts/{post.pk}").json()["comment_count"]
        (top,) = shown(f"posts/{post.pk}/comments")
        return count, top["reply_count"], shown(replies)

    before = state()
    assert before[2][0]["author_liked"]
    assert before[2][0]["author_replied"]
    actions.delete_comment(staff, said.pk, "", SPAM)
    settle()
    count, reply_count, items = state()
    assert (count, reply_count) == (before[0] - 1, before[1] - 1)
    assert "buy shoes" not in str(items)
    undo(staff)
    settle()
    assert state() == before
    drain()
    assert state() == before
    assert recount.run().wrong == 0
    act = StaffAct.objects.get()
    assert (act.kind, act.user, act.subject_id, act.words) == (
        *("delete_comment", writer, said.pk),
        SPAM.words,
    )


def test_a_comment_can_be_restored_at_any_time(
    writer: User, staff: User, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = actions.comment(writer, post.pk, "hello")
    actions.delete_comment(staff, said.pk)
    monkeypatch.setattr(moderation, "TAKEN_DAYS", -1)
    assert accounts_actions.forget_taken() == 0
    undo(staff)
    assert [one["content"] for one in shown(f"posts/{post.pk}/comments")] == ["hello"]


def test_an_answer_of_the_author_marks_the_answered_comment_again(
    author: User, writer: User, staff: User, post: Post, make_user: Make
) -> None:
    said = actions.comment(writer, post.pk, "a question")
    answer = actions.comment(author, post.pk, "an answer", said.pk)
    other = make_user()
    accounts_actions.promote(other, Role.MEMBER | Role.ADMIN)
    actions.delete_comment(staff, answer.pk)
    assert not shown(f"posts/{post.pk}/comments")[0]["author_replied"]
    undo(staff)
    assert shown(f"posts/{post.pk}/comments")[0]["author_replied"]


def test_notifications_about_a_restored_comment_go_on(
    author: User, writer: User, staff: User, post: Post, make_user: Make, drain: Make, api_for: Make
) -> None:
    said = actions.comment(writer, post.pk, "hello")
    actions.like(make_user(), SubjectType.COMMENT, said.pk)
    drain()
    mine, his = api_for(writer), api_for(author)
    assert [one["kind"] for one in his.get(f"{V1}notifications").json()["items"]] == ["commented"]
    actions.delete_comment(staff, said.pk, "", SPAM)
    drain()
    assert his.get(f"{V1}notifications").json()["items"] == []
    kinds = [one["kind"] for one in mine.get(f"{V1}notifications").json()["items"]]
    assert kinds == ["moderation"]
    undo(staff)
    drain()
    assert [one["kind"] for one in his.get(f"{V1}notifications").json()["items"]] == ["commented"]
    newest = mine.get(f"{V1}notifications").json()["items"][0]["created_at"]
    mine.post(f"{V1}notifications/read", {"until": newest}, format="json")
    assert mine.get(f"{V1}notifications/unread-count").json()["count"] == 0
    actions.like(make_user(), SubjectType.COMMENT, said.pk)
    drain()
    assert mine.get(f"{V1}notifications/unread-count").json()["count"] == 1


def test_a_comment_below_a_deleted_post_is_restored_without_it(
    author: User, writer: User, staff: User, post: Post, drain: Make
) -> None:
    said = actions.comment(writer, post.pk, "hello")
    actions.delete_comment(staff, said.pk)
    feeds_actions.delete(author, post.pk)
    drain()
    undo(staff)
    drain()
    assert not Comment.objects.get(pk=said.pk).deleted
    assert APIClient().get(f"{V1}posts/{post.pk}/comments").status_code == 404
    assert recount.run().wrong == 0


def test_the_author_of_the_post_deletes_for_good(author: User, writer: User, post: Post) -> None:
    said = actions.comment(writer, post.pk, "hello")
    actions.delete_comment(author, said.pk)
    assert not StaffAct.objects.exists()


def test_what_its_author_deletes_too_stays_deleted(
    writer: User, staff: User, post: Post, drain: Make
) -> None:
    said = actions.comment(writer, post.pk, "hello")
    actions.delete_comment(staff, said.pk)
    actions.delete_comment(writer, said.pk)
    undo(staff)
    drain()
    assert shown(f"posts/{post.pk}/comments") == []


def test_staff_decide_about_reports_below_their_own_posts_as_staff(
    staff: User, writer: User, make_post: Make, make_user: Make
) -> None:
    own = make_post(staff)
    said = actions.comment(writer, own.pk, "buy shoes")
    actions.report(make_user(), ReportedKind.COMMENT, said.pk, "spam")
    assert actions.delete_reported(staff, Case.objects.get().pk, "", SPAM)
    assert StaffAct.objects.get().words == SPAM.words
