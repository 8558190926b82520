"""The like button and the comment section with and without JavaScript, and the admin."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Role, User
from interactions import actions
from interactions.models import Comment, Like, SubjectType
from relations import actions as relations
from socialsite.core import errors

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

HTMX = {"HX-Request": "true"}


@pytest.fixture
def author(make_user):
    return make_user()


@pytest.fixture
def me(make_user):
    return make_user("reader1")


@pytest.fixture
def post(author, make_post):
    return make_post(author)


def browser_of(user: User) -> Client:
    client = Client()
    answer = client.post("/login", {"username": user.username, "password": "right.pass1"})
    assert answer.status_code == 303
    return client


@pytest.fixture
def browser(me) -> Client:
    return browser_of(me)


def text_of(answer: Any) -> str:
    return answer.content.decode()


# --- the like button ----------------------------------------------------------------------------
def test_the_like_button_works_without_javascript(browser, post) -> None:
    address = f"/posts/{post.pk}"
    assert 'aria-pressed="false"' in text_of(browser.get(address))
    answer = browser.post(f"{address}/like", {"liked": "1", "next": "/recommended?cursor=x"})
    assert (answer.status_code, answer["Location"]) == (
        303,
        f"/recommended?cursor=x#like-{post.pk}",
    )
    assert 'aria-pressed="true"' in text_of(browser.get(address))
    answer = browser.post(f"{address}/like", {"liked": "0"})
    assert (answer.status_code, answer["Location"]) == (303, f"{address}#like-{post.pk}")
    assert not Like.objects.exists()


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example", "\n//x"],
)
def test_the_way_back_never_leads_elsewhere(browser, post, address) -> None:
    answer = browser.post(f"/posts/{post.pk}/like", {"liked": "1", "next": address})
    assert answer["Location"] == f"/posts/{post.pk}#like-{post.pk}"


def test_htmx_gets_the_button_in_its_new_state(browser, post, author) -> None:
    actions.like(author, SubjectType.POST, post.pk)
    address = f"/posts/{post.pk}/like"
    for liked, count, pressed in (("1", 2, "true"), ("1", 2, "true"), ("0", 1, "false")):
        answer = browser.post(address, {"liked": liked}, headers=HTMX)
        text = text_of(answer)
        assert answer.status_code == 200
        assert text.strip().startswith("<form")
        assert f'aria-pressed="{pressed}"' in text
        assert f'data-testid="like-count">{count}<' in text
        assert "csrfmiddlewaretoken" in text


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("/posts/5/like", {"liked": "1"}, 404),
        ("/posts/x/like", {"liked": "1"}, 400),
        ("/posts/" + "9" * 30 + "/like", {"liked": "1"}, 400),
        ("/posts/5/like", {"liked": "2"}, 400),
        ("/posts/5/like", {}, 400),
        ("/posts/5/comments", {"content": "x"}, 404),
        ("/posts/5/comments", {}, 404),
        ("/posts/x/comments", {"content": "x"}, 400),
        ("/comments/5/delete", {}, 404),
        ("/comments/x/delete", {}, 400),
    ],
)
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_garbage_is_answered_with_the_error_page(browser, path, form, status, headers) -> None:
    answer = browser.post(path, form, headers=headers)
    assert answer.status_code == status
    assert "data-error-detail" in text_of(answer)


def test_guests_are_told_to_log_in_and_nothing_is_read_by_get(client, browser, post) -> None:
    paths = [f"/posts/{post.pk}/like", f"/posts/{post.pk}/comments", "/comments/5/delete"]
    for path in paths:
        assert client.post(path, {"liked": "1", "content": "x"}).status_code == 401
        assert browser.get(path).status_code == 405
    assert not Like.objects.exists()


def test_forms_need_their_csrf_token(browser, post, me) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    comment = actions.comment(me, post.pk, "hello")
    for path in (
        f"/posts/{post.pk}/like",
        f"/posts/{post.pk}/comments",
        f"/comments/{comment.pk}/delete",
    ):
        assert strict.post(path, {"liked": "1", "content": "x"}).status_code == 403
    assert not Like.objects.exists()
    assert Comment.objects.filter(deleted=False).count() == 1


# --- comments -----------------------------------------------------------------------------------
def test_a_comment_is_written_and_deleted_without_javascript(browser, post) -> None:
    address = f"/posts/{post.pk}"
    answer = browser.post(f"{address}/comments", {"content": "<b>good day</b>"})
    assert (answer.status_code, answer["Location"]) == (303, f"{address}#comments")
    page = text_of(browser.get(address))
    assert "&lt;b&gt;good day&lt;/b&gt;" in page
    comment = Comment.objects.get()
    assert f"/comments/{comment.pk}/delete" in page
    answer = browser.post(f"/comments/{comment.pk}/delete")
    assert (answer.status_code, answer["Location"]) == (303, f"{address}#comments")
    assert "good day" not in text_of(browser.get(address))


def test_htmx_gets_the_section_with_the_new_count(browser, post) -> None:
    answer = browser.post(f"/posts/{post.pk}/comments", {"content": "hello"}, headers=HTMX)
    text = text_of(answer)
    assert answer.status_code == 200
    assert text.strip().startswith("<section")
    assert text.count('data-testid="comment"') == 1
    assert 'id="comment-count" hx-swap-oob="true">1<' in text
    assert "<html" not in text
    answer = browser.post(f"/comments/{Comment.objects.get().pk}/delete", headers=HTMX)
    assert 'data-testid="comment"' not in text_of(answer)
    assert 'id="comment-count" hx-swap-oob="true">0<' in text_of(answer)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_a_refused_comment_says_why_and_keeps_what_was_typed(browser, post, headers) -> None:
    typed = "typed " * 200
    answer = browser.post(f"/posts/{post.pk}/comments", {"content": typed}, headers=headers)
    text = text_of(answer)
    assert answer.status_code == 422
    assert typed in text
    assert 'aria-describedby="err-comment"' in text
    assert "At most 1000 characters." in text
    assert ("<html" in text) == (not headers)
    assert not Comment.objects.exists()


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_closed_comments_say_so_in_the_form(browser, post, headers) -> None:
    actions.mark_post_deleted(actions.subjects.locked_subject(post.pk).subj_id)
    answer = browser.post(f"/posts/{post.pk}/comments", {"content": "hello"}, headers=headers)
    assert answer.status_code == 422
    assert "Comments are closed." in text_of(answer)
    assert "hello</textarea>" in text_of(answer)


def test_a_reply_is_sent_with_its_parent(browser, post, me) -> None:
    root = actions.comment(me, post.pk, "root")
    form = {"content": "reply", "parent": str(root.pk)}
    assert browser.post(f"/posts/{post.pk}/comments", form).status_code == 303
    assert Comment.objects.get(parent_id=root.pk).root_id == root.pk
    bad = browser.post(f"/posts/{post.pk}/comments", {"content": "reply", "parent": "x"})
    assert bad.status_code == 422
    assert "reply</textarea>" in text_of(bad)


def test_only_ones_own_comments_offer_to_be_deleted(browser, post, author) -> None:
    comment = actions.comment(author, post.pk, "hello")
    assert f"/comments/{comment.pk}/delete" not in text_of(browser.get(f"/posts/{post.pk}"))
    assert browser.post(f"/comments/{comment.pk}/delete").status_code == 403
    assert not Comment.objects.get().deleted


def test_after_deleting_on_a_post_one_no_longer_sees_one_is_sent_home(
    browser, post, author, me
) -> None:
    for headers in ({}, HTMX):
        comment = actions.comment(me, post.pk, "hello")
        relations.block(author, me)
        answer = browser.post(f"/comments/{comment.pk}/delete", headers=headers)
        assert Comment.objects.get(pk=comment.pk).deleted
        if headers:
            assert (answer.status_code, answer["HX-Redirect"]) == (200, "/")
        else:
            assert (answer.status_code, answer["Location"]) == (303, "/")
        relations.unblock(author, me)


def test_older_comments_are_loaded_page_by_page(browser, post, author) -> None:
    for number in range(25):
        actions.comment(author, post.pk, f"comment {number:02}.")
    first = browser.get(f"/posts/{post.pk}")
    assert text_of(first).count('data-testid="comment"') == 20
    assert "comment 04." not in text_of(first)
    start = text_of(first).index("?cursor=")
    cursor = text_of(first)[start:].split('"')[0]
    rest = text_of(browser.get(f"/posts/{post.pk}{cursor}", headers=HTMX))
    assert rest.count('data-testid="comment"') == 5
    assert "comment 04." in rest


# --- the admin ----------------------------------------------------------------------------------
@pytest.fixture
def staff(make_user) -> Client:
    user = make_user()
    user.roles = Role.MEMBER | Role.MODERATOR
    user.save()
    return browser_of(user)


def test_staff_look_at_every_table_and_change_none(staff, post, me) -> None:
    comment = actions.comment(me, post.pk, "hello")
    actions.like(me, SubjectType.POST, post.pk)
    for name in ("subject", "like", "comment"):
        page = staff.get(f"/admin/interactions/{name}/")
        assert page.status_code == 200
        assert staff.get(f"/admin/interactions/{name}/add/").status_code == 403
    detail = staff.get(f"/admin/interactions/comment/{comment.pk}/change/")
    assert detail.status_code == 200
    assert 'name="_save"' not in text_of(detail)


def test_staff_delete_comments_through_the_action(staff, post, me) -> None:
    kept, gone = (actions.comment(me, post.pk, text) for text in ("kept", "gone"))
    form = {"action": "delete_comments", "_selected_action": [gone.pk]}
    assert staff.post("/admin/interactions/comment/", form).status_code == 302
    assert Comment.objects.get(pk=gone.pk).deleted
    assert not Comment.objects.get(pk=kept.pk).deleted
    assert actions.subjects.locked_subject(post.pk).comment_count == 1


def test_the_admin_list_of_comments_costs_no_query_a_row(
    staff, post, me, django_assert_max_num_queries
) -> None:
    for number in range(8):
        actions.comment(me, post.pk, str(number))
    with django_assert_max_num_queries(14):
        assert staff.get("/admin/interactions/comment/").status_code == 200


def test_a_banned_member_of_staff_is_no_longer_staff(post, me, make_user) -> None:
    user = make_user()
    user.roles, user.banned_at = Role.MEMBER | Role.ADMIN, timezone.now()
    comment = actions.comment(me, post.pk, "hello")
    with pytest.raises(errors.Forbidden):
        actions.delete_comment(user, comment.pk)
