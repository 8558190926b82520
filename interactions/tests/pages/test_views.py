"""The like button and the comment section with and without JavaScript, and the admin."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Role
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from interactions import actions
from interactions.models import Comment, Like, Subject, SubjectType
from relations import actions as relations_actions
from socialsite.core import errors

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def text_of(answer: Any) -> str:
    return answer.content.decode()


def comments_link(page: str) -> str:
    """Return the way to the comments on the page of a post, up to their number."""
    return page[page.index('id="comments-link"') :].partition("</span>")[0]


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
        text = " ".join(text_of(answer).split())
        assert answer.status_code == 200
        assert text.startswith("<button")
        assert f'form="acts" formaction="{address}"' in text
        assert f'aria-pressed="{pressed}"' in text
        assert f'data-testid="like-count">{count}<' in text
    page = text_of(browser.get(f"/posts/{post.pk}"))
    sent = page.partition('<form id="acts" method="post"')[2].partition("</form>")[0]
    assert "csrfmiddlewaretoken" in sent


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


def test_guests_are_asked_to_log_in_and_a_get_marks_nothing_as_read(client, browser, post) -> None:
    paths = [f"/posts/{post.pk}/like", f"/posts/{post.pk}/comments", "/comments/5/pin"]
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
    assert (answer.status_code, answer["Location"]) == (303, f"{address}?sort=new#comments")
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
    assert 'id="comments-link" hx-swap-oob="true"' in text
    assert comments_link(text).endswith("<span>1")
    assert "<html" not in text
    answer = browser.post(f"/comments/{Comment.objects.get().pk}/delete", headers=HTMX)
    assert 'data-testid="comment"' not in text_of(answer)
    assert comments_link(text_of(answer)).endswith("<span>")


def test_after_a_deletion_the_reader_is_on_the_same_page_again(browser, post, me, author) -> None:
    """With its order and its cursor; on the page of a conversation that is gone, on the post's."""
    page = f"/posts/{post.pk}?sort=new&cursor=x"
    alone, root, reply = actions.comment(me, post.pk, "1"), actions.comment(me, post.pk, "2"), None
    reply = actions.comment(author, post.pk, "3", root.pk)

    def delete(ident: int, wanted: str) -> str:
        form = {"sort": "new", "next": wanted}
        return str(browser.post(f"/comments/{ident}/delete", form)["Location"])

    assert delete(actions.comment(me, post.pk, "4").pk, page) == f"{page}#comments"
    assert delete(actions.comment(me, post.pk, "5").pk, "https://evil.example/") == (
        f"/posts/{post.pk}?sort=new#comments"
    )
    alone_page = f"/comments/{alone.pk}/replies"
    assert delete(alone.pk, alone_page) == f"/posts/{post.pk}?sort=new#comments"
    thread = f"/comments/{root.pk}/replies"
    assert delete(root.pk, thread) == f"{thread}#comment-{root.pk}"
    assert f'id="comment-{reply.pk}"' in text_of(browser.get(thread))


def test_htmx_gets_only_what_is_left_of_a_deleted_comment(browser, post, me, author) -> None:
    root, alone = actions.comment(me, post.pk, "1"), actions.comment(me, post.pk, "2")
    actions.comment(author, post.pk, "3", root.pk)
    answer = " ".join(text_of(browser.post(f"/comments/{root.pk}/delete", headers=HTMX)).split())
    assert answer.startswith(f'<li class="comment comment-gone thread" id="comment-{root.pk}"')
    assert "1 reply" in answer
    answer = text_of(browser.post(f"/comments/{alone.pk}/delete", headers=HTMX))
    assert "<li" not in answer
    assert 'id="comments-total" hx-swap-oob="true">1<' in answer


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_a_refused_comment_shows_the_reason_and_the_input(browser, post, headers) -> None:
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
def test_closed_comments_show_in_the_form(browser, post, headers) -> None:
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
        relations_actions.block(author, me)
        answer = browser.post(f"/comments/{comment.pk}/delete", headers=headers)
        assert Comment.objects.get(pk=comment.pk).deleted
        if headers:
            assert (answer.status_code, answer["HX-Redirect"]) == (200, "/")
        else:
            assert (answer.status_code, answer["Location"]) == (303, "/")
        relations_actions.unblock(author, me)


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


# --- threads ------------------------------------------------------------------------------------
def test_a_thread_is_read_and_answered_without_javascript(browser, post, author, me) -> None:
    root = actions.comment(author, post.pk, "root")
    address = f"/posts/{post.pk}"
    page = text_of(browser.get(f"{address}?sort=new"))
    link = f"{address}?sort=new&amp;reply={root.pk}#comment-{root.pk}"
    assert f'href="{link}"' in page
    assert 'data-testid="reply-form"' not in page
    opened = text_of(browser.get(link.replace("&amp;", "&").partition("#")[0]))
    assert opened.count('data-testid="reply-form"') == 1
    assert f'name="parent" value="{root.pk}"' in opened
    answer = browser.post(f"{address}/comments", {"content": "first", "parent": str(root.pk)})
    made = Comment.objects.get(root_id=root.pk)
    assert answer["Location"] == f"/comments/{root.pk}/replies#comment-{made.pk}"
    for number in range(24):
        actions.comment(me, post.pk, f"reply {number:02}.", made.pk)
    thread = f"/comments/{root.pk}/replies"
    first = text_of(browser.get(thread))
    assert "<html" in first
    assert first.count('data-testid="reply"') == 20
    assert first.count(f'class="comment-answers" href="/@{me.username}"') == 19
    cursor = first[first.index("?cursor=") :].split('"')[0]
    rest = text_of(browser.get(f"{thread}{cursor}"))
    assert rest.count('data-testid="reply"') == 5
    late = browser.post(f"{address}/comments", {"content": "late", "parent": str(made.pk)})
    shown = text_of(browser.get(late["Location"].partition("#")[0]))
    assert "late" in shown
    assert thread in shown  # the link to the whole thread
    refused = browser.post(f"{address}/comments", {"content": "x" * 1001, "parent": str(root.pk)})
    assert refused.status_code == 422
    assert "x" * 1001 in text_of(refused)
    assert "At most 1000 characters." in text_of(refused)


def test_htmx_opens_replies_and_the_form_in_place(browser, post, author) -> None:
    root = actions.comment(author, post.pk, "root")
    for number in range(25):
        actions.comment(author, post.pk, f"reply {number:02}.", root.pk)
    part = text_of(browser.get(f"/comments/{root.pk}/replies", headers=HTMX))
    assert "<html" not in part
    assert part.count('data-testid="reply"') == 20
    more = part[part.index(f"/comments/{root.pk}/replies?cursor=") :].split('"')[0]
    rest = text_of(browser.get(more, headers=HTMX))
    assert (rest.count('data-testid="reply"'), "<ul" in rest) == (5, False)
    form = text_of(browser.get(f"/comments/{root.pk}/reply", headers=HTMX))
    assert form.strip().startswith("<form")
    sent = {"content": "mine", "parent": str(root.pk)}
    answer = text_of(browser.post(f"/posts/{post.pk}/comments", sent, headers=HTMX))
    assert answer.strip().startswith("<li")
    assert answer.count('data-testid="reply"') == 1  # only the new one, as the thread is long
    assert "26 replies" in answer
    assert comments_link(answer).endswith("<span>27")
    refused = browser.post(f"/posts/{post.pk}/comments", sent | {"content": " "}, headers=HTMX)
    assert (refused.status_code, refused["HX-Retarget"]) == (422, f"#reply-{root.pk}")
    mine = Comment.objects.get(content_row__content="mine").pk
    gone = browser.post(f"/comments/{mine}/delete", headers=HTMX | {"HX-Target": "comment-1"})
    assert comments_link(text_of(gone)).endswith("<span>26")
    assert "<section" not in text_of(gone)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_the_author_pins_sorts_closes_and_features(post, author, me, headers) -> None:
    browser, stranger = browser_of(author), browser_of(me)
    liked, pinned = (actions.comment(me, post.pk, text).pk for text in ("liked", "to be pinned"))
    actions.like(author, SubjectType.COMMENT, liked)
    address = f"/posts/{post.pk}"

    def order(page: str) -> list[int]:
        return sorted((liked, pinned), key=lambda ident: page.index(f'data-comment-id="{ident}"'))

    assert order(text_of(stranger.get(address))) == [liked, pinned]
    assert order(text_of(stranger.get(f"{address}?sort=new"))) == [pinned, liked]
    section = stranger.get(f"{address}?sort=new", headers=HTMX | {"HX-Target": "comments"})
    assert text_of(section).strip().startswith("<section")
    answer = browser.post(f"/comments/{pinned}/pin", {"pinned": "1"}, headers=headers)
    assert answer.status_code == (200 if headers else 303)
    page = text_of(stranger.get(address))
    assert order(page) == [pinned, liked]
    assert page.count('data-testid="pinned"') == 1
    assert 'data-testid="pin"' not in page
    settings = f"{address}/comment-settings"
    for status, notice in (("featured", "author picks"), ("closed", "Comments are closed.")):
        answer = browser.post(settings, {"status": status}, headers=headers)
        assert answer.status_code == (200 if headers else 303)
        page = text_of(stranger.get(address))
        assert notice in page
        assert ('data-testid="comment-form"' in page) == (status != "closed")
        assert ('data-testid="reply-link"' in page) == (status != "closed")
    assert browser.post(f"/comments/{pinned}/pin", {"pinned": "0"}, headers=headers)
    assert order(text_of(stranger.get(address))) == [liked, pinned]
    assert stranger.post(f"/comments/{liked}/pin", {"pinned": "1"}).status_code == 403
    assert stranger.post(settings, {"status": "open"}).status_code == 403
    assert browser.post(settings, {"status": "deleted"}).status_code == 400
    assert browser.post(f"/comments/{liked}/pin", {}).status_code == 400


def test_comments_are_liked_and_likers_listed_on_pages(browser, client, post, author, me) -> None:
    comment = actions.comment(author, post.pk, "hello").pk
    for headers, status in (({}, 303), (HTMX, 200)):
        answer = browser.post(f"/comments/{comment}/like", {"liked": "1"}, headers=headers)
        assert answer.status_code == status
    assert 'aria-pressed="true"' in text_of(answer)
    assert f'href="/comments/{comment}/likes"' in text_of(answer)
    assert "/likes" not in text_of(browser.get(f"/posts/{post.pk}")).split("<section")[0]
    actions.like(me, SubjectType.POST, post.pk)
    assert f'href="/posts/{post.pk}/likes"' in text_of(client.get(f"/posts/{post.pk}"))
    for path in (f"/posts/{post.pk}/likes", f"/comments/{comment}/likes"):
        for reader in (browser, client):
            assert f"@{me.username}" in text_of(reader.get(path))
    relations_actions.block(author, me)
    for path in ("likes", "likes?cursor=x", "replies", "reply"):
        assert browser.get(f"/comments/{comment}/{path}").status_code in (303, 400, 404)
    assert browser.get(f"/comments/{comment}/reply", headers=HTMX).status_code == 404
    assert browser.post(f"/comments/{comment}/like", {"liked": "1"}).status_code == 404


def test_the_link_to_the_likers_comes_with_the_first_like(browser, post) -> None:
    address = f"/posts/{post.pk}"
    link = f'href="{address}/likes"'
    place = f'id="likers-{post.pk}"'
    assert f"{place} hidden>" in text_of(browser.get(address))
    here = HTMX | {"HX-Current-URL": f"http://testserver{address}?sort=new#comments"}
    for liked in ("1", "0"):
        answer = text_of(browser.post(f"{address}/like", {"liked": liked}, headers=here))
        assert f'{place} hx-swap-oob="true"' in answer
        assert (link in answer, "hidden>" in answer) == (liked == "1", liked == "0")
    # Lists have no such place, and invalid headers name none.
    for shown in ("", "http://testserver/", f"http://x.example{address}", "http://[", "//[::1"):
        elsewhere = HTMX | ({"HX-Current-URL": shown} if shown else {})
        answer = browser.post(f"{address}/like", {"liked": "1"}, headers=elsewhere)
        assert answer.status_code == 200
        assert place not in text_of(answer)
    page = text_of(browser.get(address))
    assert link in page
    assert f"{place}>" in page


# --- the admin ----------------------------------------------------------------------------------
@pytest.fixture
def staff(make_user) -> Client:
    user = make_user()
    user.roles = Role.MEMBER | Role.MODERATOR
    user.save()
    return browser_of(user)


def test_staff_see_every_table_and_change_none(staff, post, me) -> None:
    comment = actions.comment(me, post.pk, "hello")
    actions.like(me, SubjectType.POST, post.pk)
    for name in ("subject", "like", "comment"):
        page = staff.get(f"/admin/interactions/{name}/")
        assert page.status_code == 200
        assert staff.get(f"/admin/interactions/{name}/add/").status_code == 403
    detail = staff.get(f"/admin/interactions/comment/{comment.pk}/change/")
    assert detail.status_code == 200
    assert 'name="_save"' not in text_of(detail)


def test_staff_see_the_counts_of_readers_with_unfolded_changes(staff, post, me) -> None:
    for person in (me, post.author):
        actions.like(person, SubjectType.POST, post.pk)
        actions.bookmark(person, post.pk)
    feeds_actions.repost(me, post.pk)
    subject = Subject.objects.get()
    assert (subject.like_count, subject.bookmark_count, subject.repost_count) == (0, 0, 0)
    shown = {"likes": 2, "reposts": 1, "bookmarks": 2}
    page = text_of(staff.get("/admin/interactions/subject/"))
    detail = text_of(staff.get(f"/admin/interactions/subject/{subject.pk}/change/"))
    for name, number in shown.items():
        assert f'<td class="field-{name}">{number}</td>' in page
        assert re.search(rf'field-{name}\b.*?readonly">{number}</div>', detail, re.DOTALL)


def test_staff_delete_comments_through_the_action(staff, post, me) -> None:
    kept, gone = (actions.comment(me, post.pk, text) for text in ("kept", "gone"))
    form = {"action": "delete_comments", "_selected_action": [gone.pk], "reason": "spam"}
    assert "gone" in staff.post("/admin/interactions/comment/", form).content.decode()
    assert not Comment.objects.get(pk=gone.pk).deleted
    form |= {"confirmed": "yes"}
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
