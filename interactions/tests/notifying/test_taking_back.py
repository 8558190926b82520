"""One's own like or bookmark of a hidden object can still be removed."""

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from feeds import actions as feeds_actions
from interactions import actions
from interactions.models import Bookmark, Comment, Like, Subject, SubjectType
from interactions.tests.helpers import drift
from relations import actions as relations_actions

pytestmark = pytest.mark.django_db

V1 = "/api/v1/"


@pytest.mark.parametrize("way", ["api", "pages"])
@pytest.mark.parametrize("how", ["deleted", "blocked by", "blocks", "banned"])
def test_hidden_posts_can_no_longer_be_liked_or_bookmarked(
    how, way, make_user, make_post, api_for, drain
) -> None:
    author, me, other = make_user(), make_user(), make_user()
    post = make_post(author).pk
    comment = actions.comment(author, post, "mine").pk
    for person in (me, other):
        actions.like(person, SubjectType.POST, post)
        actions.like(person, SubjectType.COMMENT, comment)
        actions.bookmark(person, post)
    drain()
    match how:
        case "deleted":
            feeds_actions.delete(author, post)
        case "blocked by":
            relations_actions.block(author, me)
        case "blocks":
            relations_actions.block(me, author)
        case "banned":
            accounts_actions.ban(author)
    client = api_for(me)
    browser = Client()
    browser.cookies["access"] = accounts_actions.sign_in(me, "chrome").access
    kept = {"like": f"posts/{post}", "bookmark": f"posts/{post}", "comment": f"comments/{comment}"}
    for what, address in kept.items():
        name = "bookmark" if what == "bookmark" else "like"
        said = "bookmarked" if what == "bookmark" else "liked"
        assert client.put(f"{V1}{address}/{name}").status_code == 404
        if way == "api":
            answer = client.delete(f"{V1}{address}/{name}")
            # The number of the others is not shown.
            assert (answer.status_code, answer.json()) == (200, {said: False, f"{name}_count": 0})
        else:
            answer = browser.post(f"/{address}/{name}", {said: "0"})
            assert answer.status_code == 303
        # Afterwards nothing is left there: the answer is that of an object that does not exist.
        assert client.delete(f"{V1}{address}/{name}").status_code == 404
    assert set(Like.objects.values_list("user_id", flat=True)) == {other.pk}
    assert Bookmark.objects.get().user_id == other.pk
    drain()
    subject = Subject.objects.get(subj_id=post)
    assert (subject.like_count, subject.bookmark_count) == (1, 1)
    assert Comment.objects.get().like_count == 1
    assert not drift()


def test_an_author_takes_back_the_like_that_marks_a_comment_hidden_from_them(
    make_user, make_post
) -> None:
    author, troll = make_user(), make_user()
    post = make_post(author)
    comment = actions.comment(troll, post.pk, "first").pk
    actions.like(author, SubjectType.COMMENT, comment)
    relations_actions.block(author, troll)
    assert Comment.objects.get().attrs == Comment.Attr.AUTHOR_LIKED
    actions.unlike(author, SubjectType.COMMENT, comment)
    assert Comment.objects.get().attrs == 0
