"""Posts that staff delete and restore: exact at once for everybody, and nothing is lost."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.actions import moderation
from accounts.models import Role, StaffAct, User
from feeds import actions, queries
from feeds.audit import explain
from feeds.discovery.search import drift
from feeds.drafts import actions as drafts
from feeds.models import Draft, Post, PostVersion
from interactions import actions as interactions_actions
from interactions.actions import recount
from interactions.models import Case, ReportedKind, SubjectType
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.errors import Forbidden, NotFound
from socialsite.core.media import pictures
from socialsite.core.models import Media
from socialsite.tests.support.pictures import picture

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
def fan(make_user: Make, author: User) -> User:
    user = make_user("fan1")
    relations_actions.follow(user, author)
    return user


def home(user: User) -> list[str]:
    """Return the first page of Home, which must be that of the definition, also without Redis."""
    page = [card["id"] for card in queries.home_feed(user, None, 20).items]
    with redis.bypassed():
        assert [card["id"] for card in queries.home_feed(user, None, 20).items] == page
    assert [one["id"] for one in queries.oracle_feed(user, None, 20).items] == page
    return page


def undo(actor: User) -> None:
    act = StaffAct.objects.latest("pk")
    assert accounts_actions.undo(act.pk, actor)


@pytest.mark.parametrize("when", ["delivered", "not delivered"])
def test_a_removed_post_is_nowhere_and_comes_back_to_its_place(
    when: str, author: User, fan: User, staff: User, make_user: Make, drain: Make
) -> None:
    first, post, last = (actions.publish(author, content=f"harbour {n} #boats") for n in range(3))
    before = [str(one.pk) for one in (last, post, first)]
    if when == "delivered":
        drain()
    assert home(fan) == home(author) == before
    actions.delete(staff, post.pk, "203.0.113.9", SPAM)
    rest = [str(last.pk), str(first.pk)]
    late = make_user("late1")
    relations_actions.follow(late, author)
    for step in range(2):
        assert home(fan) == home(author) == home(late) == rest, step
        for api in (APIClient(), *map(signed_in, (author, fan, staff))):
            assert api.get(f"{V1}posts/{post.pk}").status_code == 404
            # The words are indexed by the event.
            searches = ("search/posts?q=harbour",) if step or when == "delivered" else ()
            for path in (*searches, "tags/boats/posts", f"users/{author.pk}/posts"):
                found = [one["id"] for one in api.get(V1 + path).json()["items"]]
                assert found == rest, path
        assert queries.post_counts([author.pk])[author.pk] == 2
        drain()
    undo(staff)
    for step in range(2):
        assert home(fan) == home(author) == home(late) == before, step
        for path in ("tags/boats/posts", f"users/{author.pk}/posts"):
            found = [one["id"] for one in APIClient().get(V1 + path).json()["items"]]
            assert found == before, path
        assert queries.post_counts([author.pk])[author.pk] == 3
        drain()
    found = APIClient().get(f"{V1}search/posts?q=harbour").json()["items"]
    assert [one["id"] for one in found] == before


def signed_in(user: User) -> APIClient:
    pair = accounts_actions.sign_in(user, client="other")
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {pair.access}")
    return api


def test_its_pictures_versions_likes_and_comments_come_back(
    author: User, fan: User, staff: User, drain: Make
) -> None:
    media: Media = pictures.store_all(author.pk, [(BytesIO(picture()), "")])[0]
    post = actions.publish(author, content="first words", images=[media.pk])
    actions.edit(author, post.pk, 1, content="second words")
    interactions_actions.like(fan, SubjectType.POST, post.pk)
    interactions_actions.comment(fan, post.pk, "fine")
    drain()
    address = f"/media/{media.name}"
    assert Client().get(address).status_code == 200
    actions.delete(staff, post.pk)
    drain()
    assert Client().get(address).status_code == 404
    assert Media.objects.filter(pk=media.pk).exists()
    assert PostVersion.objects.filter(post=post).exists()
    undo(staff)
    drain()
    assert Client().get(address).status_code == 200
    body = APIClient().get(f"{V1}posts/{post.pk}").json()
    assert (body["content"], body["like_count"], body["comment_count"]) == ("second words", 1, 1)
    assert len(APIClient().get(f"{V1}posts/{post.pk}/history").json()["items"]) == 2


def test_a_removed_repost_does_not_count(author: User, fan: User, staff: User, drain: Make) -> None:
    post = actions.publish(author, content="shared")
    repost, _is_new = actions.repost(fan, post.pk)
    drain()

    def count() -> int:
        return int(APIClient().get(f"{V1}posts/{post.pk}").json()["repost_count"])

    assert count() == 1
    actions.delete(staff, repost.pk)
    assert count() == 0
    drain()
    assert count() == 0
    undo(staff)
    assert count() == 1
    drain()
    assert count() == 1
    assert recount.run().wrong == 0


def test_a_removed_repost_may_be_made_again(
    author: User, fan: User, staff: User, drain: Make
) -> None:
    post = actions.publish(author, content="shared")
    repost, _is_new = actions.repost(fan, post.pk)
    drain()
    his = signed_in(author)
    assert "reposted" in str(his.get(f"{V1}notifications").json())
    actions.delete(staff, repost.pk)
    drain()
    assert "reposted" not in str(his.get(f"{V1}notifications").json())
    body = signed_in(fan).get(f"{V1}posts/{post.pk}").json()
    assert (body["reposted"], body["repost_count"]) == (False, 0)
    again, is_new = actions.repost(fan, post.pk)
    assert is_new
    undo(staff)
    drain()
    assert APIClient().get(f"{V1}posts/{repost.pk}").status_code == 404
    assert APIClient().get(f"{V1}posts/{again.pk}").status_code == 200
    assert signed_in(fan).get(f"{V1}posts/{post.pk}").json()["repost_count"] == 1
    assert recount.run().wrong == 0


def test_a_repost_of_a_removed_post_says_that_it_is_gone(
    author: User, fan: User, staff: User
) -> None:
    post = actions.publish(author, content="shared")
    repost, _is_new = actions.repost(fan, post.pk, content="look")
    actions.delete(staff, post.pk)
    body = APIClient().get(f"{V1}posts/{repost.pk}").json()
    assert (body["ref"], body["ref_gone"]) == (None, True)
    undo(staff)
    assert APIClient().get(f"{V1}posts/{repost.pk}").json()["ref"]["id"] == str(post.pk)


def test_an_author_may_delete_a_removed_post_for_good(
    author: User, fan: User, staff: User, drain: Make
) -> None:
    post = actions.publish(author, content="mine #boats")
    repost, _is_new = actions.repost(author, post.pk, content="again")
    drain()
    for one in (repost, post):
        actions.delete(staff, one.pk)
        with pytest.raises(NotFound):
            actions.edit(author, one.pk, 1, content="other")
        actions.delete(author, one.pk)
        undo(staff)
        drain()
        assert APIClient().get(f"{V1}posts/{one.pk}").status_code == 404
    assert queries.post_counts([author.pk])[author.pk] == 0
    assert home(fan) == []


def test_a_removal_becomes_final(
    author: User, staff: User, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    media: Media = pictures.store_all(author.pk, [(BytesIO(picture()), "")])[0]
    post = actions.publish(author, content="mine", images=[media.pk])
    actions.delete(staff, post.pk)
    drain()
    monkeypatch.setattr(moderation, "TAKEN_DAYS", -1)
    assert accounts_actions.forget_taken() == 1
    drain()
    assert Post.objects.get(pk=post.pk).is_deleted
    assert not Media.objects.filter(pk=media.pk).exists()
    undo(staff)
    drain()
    assert APIClient().get(f"{V1}posts/{post.pk}").status_code == 404
    assert queries.post_counts([author.pk])[author.pk] == 0


def test_only_staff_remove_and_only_once(
    author: User, fan: User, staff: User, make_user: Make
) -> None:
    post = actions.publish(author, content="mine")
    with pytest.raises(Forbidden):
        actions.delete(fan, post.pk)
    actions.delete(staff, post.pk, "", SPAM)
    actions.delete(staff, post.pk, "", SPAM)
    act = StaffAct.objects.get()
    assert (act.kind, act.user, act.subject_id, act.words) == (
        *("delete_post", author, post.pk),
        SPAM.words,
    )
    with pytest.raises(NotFound):
        actions.delete(fan, post.pk)


def test_the_author_reads_why_and_the_explanation_says_it(
    author: User, fan: User, staff: User, drain: Make
) -> None:
    post = actions.publish(author, content="my words")
    drain()
    actions.delete(staff, post.pk, "", SPAM)
    drain()
    mine = signed_in(author)
    items = mine.get(f"{V1}notifications").json()["items"]
    (item,) = [one for one in items if one["kind"] == "moderation"]
    assert (item["subject"]["id"], item["reason"]) == (str(post.pk), "spam")
    assert "my words" in item["subject"]["preview"]
    (act,) = mine.get(f"{V1}users/me/acts").json()["items"]
    assert (act["kind"], act["subject_id"], act["words"]) == (
        *("delete_post", str(post.pk)),
        SPAM.words,
    )
    reasons = explain.explain(fan.pk, post.pk).reasons
    assert [reason.code.value for reason in reasons] == ["removed", "row_stale"]
    assert drift.check().wrong == 0


def test_each_removal_is_told_and_a_restore_takes_it_back(
    author: User, staff: User, drain: Make
) -> None:
    post = actions.publish(author, content="my words")
    mine = signed_in(author)
    for reason in ("spam", "hate"):
        actions.delete(staff, post.pk, "", accounts_actions.Grounds(reason))
        drain()
        items = mine.get(f"{V1}notifications").json()["items"]
        (item,) = [one for one in items if one["subject"]["type"] == "post"]
        assert (item["reason"], item["read"]) == (reason, False)
        undo(staff)
        drain()
        items = mine.get(f"{V1}notifications").json()["items"]
        assert [one["subject"]["type"] for one in items] == ["user"]


def test_people_named_in_a_post_removed_before_its_events_are_told_after_the_restore(
    author: User, fan: User, staff: User, drain: Make
) -> None:
    post = actions.publish(author, content="hi @fan1")
    actions.delete(staff, post.pk)
    drain()
    mine = signed_in(fan)
    assert mine.get(f"{V1}notifications").json()["items"] == []
    undo(staff)
    drain()
    (item,) = mine.get(f"{V1}notifications").json()["items"]
    assert (item["kind"], item["subject"]["id"]) == ("mentioned", str(post.pk))


def test_a_late_event_closes_no_new_report(
    author: User, fan: User, staff: User, drain: Make
) -> None:
    post = actions.publish(author, content="mine")
    actions.delete(staff, post.pk)
    undo(staff)
    interactions_actions.report(fan, ReportedKind.POST, post.pk, "spam")
    drain()
    assert Case.objects.get().open_count == 1
    actions.delete(author, post.pk)
    drain()
    assert Case.objects.get().outcome == "gone"


def test_a_removed_post_is_not_written_again(author: User, staff: User) -> None:
    post = actions.publish(author, content="mine")
    actions.delete(staff, post.pk)
    with pytest.raises(NotFound):
        drafts.rewrite(author, post.pk)
    assert not Post.objects.get(pk=post.pk).is_deleted


def test_moderators_delete_no_posts_of_staff(staff: User, make_user: Make) -> None:
    admin = accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    post = actions.publish(admin, content="mine")
    with pytest.raises(Forbidden):
        actions.delete(staff, post.pk)
    actions.delete(admin, actions.publish(staff, content="theirs").pk)


def test_a_suspended_person_publishes_no_draft(author: User, staff: User) -> None:
    draft = drafts.create(author, {"content": "later", "images": []})
    Draft.objects.filter(pk=draft.pk).update(publish_at=1)
    accounts_actions.suspend(author, staff)
    assert drafts.publish_due() == 0
    assert Draft.objects.get(pk=draft.pk).failed_at is not None
