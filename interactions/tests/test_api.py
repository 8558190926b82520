"""The API of likes and comments: shapes, refusals, invalid input."""

from typing import Any

import pytest

from interactions import actions, queries
from interactions.models import Comment, Like, SubjectType
from relations import actions as relations_actions
from socialsite.core.models import Event, IdempotencyKey

pytestmark = pytest.mark.django_db

FIELDS = {
    *("id", "root_id", "parent_id", "author", "content", "created_at", "like_count"),
    *("version", "edited_at"),
    *("reply_count", "liked", "pinned", "author_liked", "author_replied", "deleted"),
}


def talk(client: Any, post: Any, **body: Any) -> Any:
    return client.post(f"/api/v1/posts/{post.pk}/comments", body, format="json")


def listed(client: Any, path: str) -> list[str]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return [item["id"] for item in answer.json()["items"]]


# --- likes --------------------------------------------------------------------------------------
def test_put_and_delete_of_a_like_can_be_repeated(mine, post, author) -> None:
    comment = actions.comment(author, post.pk, "hello")
    for path in (f"posts/{post.pk}", f"comments/{comment.pk}"):
        for _ in range(2):
            answer = mine.put(f"/api/v1/{path}/like")
            assert answer.status_code == 200
            assert answer.json() == {"liked": True, "like_count": 1}
        for _ in range(2):
            answer = mine.delete(f"/api/v1/{path}/like")
            assert answer.status_code == 200
            assert answer.json() == {"liked": False, "like_count": 0}


def test_a_post_shows_my_like_and_its_counts(mine, post, api) -> None:
    mine.put(f"/api/v1/posts/{post.pk}/like")
    talk(mine, post, content="hello")
    ours = mine.get(f"/api/v1/posts/{post.pk}").json()
    theirs = api.get(f"/api/v1/posts/{post.pk}").json()
    assert (ours["liked"], ours["like_count"], ours["comment_count"]) == (True, 1, 1)
    assert (theirs["liked"], theirs["like_count"], theirs["comment_count"]) == (False, 1, 1)


def test_likes_across_a_block_are_404_like_missing_posts(mine, post, author, me) -> None:
    comment = actions.comment(author, post.pk, "hello")
    relations_actions.block(author, me)
    for path in (f"posts/{post.pk}", f"comments/{comment.pk}", "posts/5", "comments/5"):
        for method in (mine.put, mine.delete):
            answer = method(f"/api/v1/{path}/like")
            assert (answer.status_code, answer.json()["code"]) == (404, 17)


# --- comments -----------------------------------------------------------------------------------
def test_a_new_comment_is_answered_as_it_is_listed(mine, post, me, api) -> None:
    answer = talk(mine, post, content=" hello \n")
    assert answer.status_code == 201
    made = answer.json()
    assert set(made) == FIELDS
    assert (made["content"], made["root_id"], made["parent_id"]) == ("hello", None, None)
    assert made["author"] == {
        "id": str(me.pk),
        "username": me.username,
        "nickname": me.nickname,
        "avatar": "",
    }
    page = mine.get(f"/api/v1/posts/{post.pk}/comments").json()
    assert page == {"items": [made], "next": None}
    assert api.get(f"/api/v1/posts/{post.pk}/comments").json() == page


def test_what_is_answered_is_what_is_read_again(mine, post, me, make_user) -> None:
    """Of a comment, a reply, an answer to a reply, and one by the post's author."""
    root = actions.comment(make_user(), post.pk, "root")
    reply = actions.comment(make_user(), post.pk, "reply", root.pk)
    for person, parent in [(me, None), (me, root.pk), (me, reply.pk), (post.author, reply.pk)]:
        made = actions.comment(person, post.pk, " words \n", parent)
        assert queries.written(person, made) == queries.comment(person, made.pk)


@pytest.mark.parametrize("kind", [str, int])
def test_a_reply_names_its_parent_as_text_or_number(mine, post, kind) -> None:
    root = talk(mine, post, content="root").json()
    reply = talk(mine, post, content="reply", parent=kind(root["id"])).json()
    assert (reply["root_id"], reply["parent_id"]) == (root["id"], root["id"])
    assert listed(mine, f"/api/v1/posts/{post.pk}/comments") == [root["id"]]
    assert listed(mine, f"/api/v1/comments/{root['id']}/replies") == [reply["id"]]
    assert talk(mine, post, content="root", parent=None).json()["root_id"] is None


def test_pages_follow_their_cursor_in_both_orders(mine, post, author, me) -> None:
    made = [actions.comment(me, post.pk, str(number)) for number in range(5)]
    actions.like(author, SubjectType.COMMENT, made[1].pk)
    new = [str(made[number].pk) for number in (4, 3, 2, 1, 0)]
    hot = [str(made[number].pk) for number in (1, 4, 3, 2, 0)]
    for sort, expected in (("new", new), ("hot", hot), ("", hot)):
        found: list[str] = []
        cursor: str | None = ""
        for _ in range(3):
            path = f"/api/v1/posts/{post.pk}/comments?size=2&sort={sort}&cursor={cursor}"
            page = mine.get(path).json()
            found += [item["id"] for item in page["items"]]
            cursor = page["next"]
        assert (found, cursor) == (expected, None)


def test_a_deleted_comment_is_gone_for_everybody(mine, post, api) -> None:
    made = talk(mine, post, content="hello").json()
    for _ in range(2):
        answer = mine.delete(f"/api/v1/comments/{made['id']}")
        assert (answer.status_code, answer.content) == (204, b"")
    assert listed(api, f"/api/v1/posts/{post.pk}/comments") == []
    assert api.get(f"/api/v1/comments/{made['id']}/replies").status_code == 404


def test_the_comment_of_another_is_not_mine_to_delete(mine, post, author, me) -> None:
    theirs = actions.comment(author, post.pk, "hello")
    answer = mine.delete(f"/api/v1/comments/{theirs.pk}")
    assert (answer.status_code, answer.json()["code"]) == (403, 16)
    relations_actions.block(me, author)
    answer = mine.delete(f"/api/v1/comments/{theirs.pk}")
    assert (answer.status_code, answer.json()["code"]) == (404, 17)


def test_closed_comments_answer_their_own_code(mine, post) -> None:
    actions.mark_post_deleted(actions.subjects.locked_subject(post.pk).subj_id)
    answer = talk(mine, post, content="hello")
    assert (answer.status_code, answer.json()["code"]) == (403, 22)


def test_a_comment_sent_twice_with_one_key_is_made_once(mine, post) -> None:
    path, headers = f"/api/v1/posts/{post.pk}/comments", {"Idempotency-Key": "k1"}
    one, two = (
        mine.post(path, {"content": "hello"}, format="json", headers=headers) for _ in range(2)
    )
    assert (one.status_code, one.json()) == (two.status_code, two.json()) == (201, one.json())
    assert Comment.objects.count() == 1
    other = mine.post(path, {"content": "other"}, format="json", headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, 24)


# --- invalid input ------------------------------------------------------------------------------
ADDRESSES = [
    ("put", "posts/{}/like"),
    ("delete", "posts/{}/like"),
    ("put", "comments/{}/like"),
    ("delete", "comments/{}/like"),
    ("get", "posts/{}/comments"),
    ("post", "posts/{}/comments"),
    ("get", "comments/{}/replies"),
    ("delete", "comments/{}"),
]
BAD_IDS = ["x", "-1", "1.5", "9" * 19, "9" * 400, "１", "%00", "0x1"]


@pytest.mark.parametrize(("method", "path"), ADDRESSES)
@pytest.mark.parametrize("ident", BAD_IDS)
def test_a_bad_id_is_refused_with_a_code(mine, method, path, ident) -> None:
    answer = mine.generic(
        method.upper(), f"/api/v1/{path.format(ident)}", '{"content": "x"}', "application/json"
    )
    assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert not Like.objects.exists()


@pytest.mark.parametrize(("method", "path"), ADDRESSES)
def test_writing_needs_a_login_and_reading_does_not(api, post, author, method, path) -> None:
    comment = actions.comment(author, post.pk, "hello")
    ident = post.pk if path.startswith("posts") else comment.pk
    answer = getattr(api, method)(f"/api/v1/{path.format(ident)}")
    assert answer.status_code == (200 if method == "get" else 401)
    if method != "get":
        assert answer.json()["code"] == 14


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"{",
        b'{"content": null}',
        b'{"content": []}',
        b'{"content": {"a": 1}}',
        b'{"content": true}',
        b'{"content": ""}',
        b'{"content": "  "}',
        b'{"content": "a\\u0000b"}',
        b'{"content": "a\\ud800b"}',
        b'{"content": "\xff"}',
        b'{"content": "x", "parent": "abc"}',
        b'{"content": "x", "parent": ""}',
        b'{"content": "x", "parent": -1}',
        b'{"content": "x", "parent": 99999999999999999999}',
        b'{"content": "x", "parent": [1]}',
        b'{"content": "x", "parent": 1e3}',
        b'{"content": "' + b"x" * 1001 + b'"}',
    ],
)
def test_a_body_that_is_no_comment_is_refused_and_writes_nothing(mine, post, body) -> None:
    Event.objects.all().delete()
    for headers in ({}, {"Idempotency-Key": "k"}):
        answer = mine.post(
            f"/api/v1/posts/{post.pk}/comments",
            body,
            content_type="application/json",
            headers=headers,
        )
        assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert not Comment.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "query",
    ["cursor=x", "cursor=AAAA", "size=0", "size=101", "size=x", "size=-1", "max_time=x"],
)
def test_a_bad_page_is_refused(api, post, author, query) -> None:
    comment = actions.comment(author, post.pk, "hello")
    for path in (f"posts/{post.pk}/comments", f"comments/{comment.pk}/replies"):
        answer = api.get(f"/api/v1/{path}?{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, 13)


def test_an_unknown_order_is_refused(api, post) -> None:
    answer = api.get(f"/api/v1/posts/{post.pk}/comments?sort=old")
    assert (answer.status_code, set(answer.json()["fields"])) == (400, {"sort"})


def test_other_methods_are_refused(mine, post) -> None:
    for method, path in (
        ("get", f"posts/{post.pk}/like"),
        ("put", f"posts/{post.pk}/comments"),
        ("get", "comments/5"),
        ("post", "comments/5/replies"),
    ):
        answer = getattr(mine, method)(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (405, 18)
