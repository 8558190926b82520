"""Reposts: counted once, one without text of each post, no way around a block or the visibility."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts import actions as accounts_actions
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.models import Post
from interactions.tests.helpers import drift
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import errors, redis
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

V1 = "/api/v1/"
MARK = "zebra crossing"


@pytest.fixture
def post(author, make_post):
    return make_post(author, content=MARK)


def pending_events() -> list[str]:
    rows = Event.objects.filter(type__in=("PostReposted", "RepostDeleted")).order_by("pk")
    return list(rows.values_list("type", flat=True))


def card(client: Any, post_id: Any) -> Any:
    return client.get(f"{V1}posts/{post_id}").json()


def test_a_repost_without_words_is_there_once_and_can_be_undone(mine, post, drain) -> None:
    address = f"{V1}posts/{post.pk}/repost"
    first = mine.post(address, format="json")
    assert first.status_code == 201
    made = first.json()
    assert (made["kind"], made["content"], made["ref_gone"]) == ("repost", "", False)
    assert (made["ref"]["id"], made["ref"]["content"]) == (str(post.pk), MARK)
    assert (made["ref"]["repost_count"], made["ref"]["reposted"]) == (1, True)
    assert not {"ref", "ref_gone", "mine", "position"} & set(made["ref"])
    again = mine.post(address, {"content": " \n"}, format="json")
    assert (again.status_code, again.json()["id"]) == (200, made["id"])
    # Also by reposting the repost itself.
    again = mine.post(f"{V1}posts/{made['id']}/repost", format="json")
    assert (again.status_code, again.json()["id"]) == (200, made["id"])
    seen = card(mine, post.pk)
    assert (seen["repost_count"], seen["reposted"]) == (1, True)
    assert pending_events() == ["PostReposted"]
    for _ in range(2):
        assert mine.delete(address).status_code == 204
        seen = card(mine, post.pk)
        assert (seen["repost_count"], seen["reposted"]) == (0, False)
    assert mine.get(f"{V1}posts/{made['id']}").status_code == 404
    assert pending_events() == ["PostReposted", "RepostDeleted"]
    assert mine.post(address, format="json").status_code == 201
    drain()
    assert drift() == []


def test_every_repost_with_words_is_a_post_of_its_own(mine, post) -> None:
    address = f"{V1}posts/{post.pk}/repost"
    made = [mine.post(address, {"content": f"look {n}"}, format="json") for n in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    assert [answer.json()["content"] for answer in made] == ["look 0", "look 1"]
    seen = card(mine, post.pk)
    assert (seen["repost_count"], seen["reposted"]) == (2, False)
    mine.delete(address)  # only deletes the repost without text
    mine.delete(f"{V1}posts/{made[0].json()['id']}")
    assert card(mine, post.pk)["repost_count"] == 1
    too_long = mine.post(address, {"content": "x" * 2001}, format="json")
    assert (too_long.status_code, set(too_long.json()["fields"])) == (400, {"content"})
    assert drift() == []


def test_a_repeated_key_reposts_once(mine, post) -> None:
    headers = {"Idempotency-Key": "k1"}
    answers = [
        mine.post(
            f"{V1}posts/{post.pk}/repost", {"content": "look"}, format="json", headers=headers
        )
        for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert Post.objects.filter(ref_post=post.pk).count() == 1


def test_a_repost_of_a_repost_shows_the_original(mine, post, make_user, api_for) -> None:
    third = make_user()
    quote, _ = feeds_actions.repost(third, post.pk, "first words")
    made = mine.post(f"{V1}posts/{quote.pk}/repost", {"content": "mine"}, format="json").json()
    assert made["ref"]["id"] == str(post.pk)
    assert "first words" not in str(made)
    assert card(mine, post.pk)["repost_count"] == 2
    assert card(mine, quote.pk)["repost_count"] == 0


def test_posts_for_followers_are_reposted_by_their_author_only(
    mine, me, author, make_post, api_for, make_user
) -> None:
    post = make_post(author, content=MARK, visibility="followers")
    hidden = mine.post(f"{V1}posts/{post.pk}/repost", format="json")
    assert (hidden.status_code, hidden.json()) == (
        404,
        mine.post(f"{V1}posts/12345/repost", format="json").json(),
    )
    relations_actions.follow(me, author)
    refused = mine.post(f"{V1}posts/{post.pk}/repost", format="json")
    assert refused.status_code == 403
    own, _ = feeds_actions.repost(author, post.pk)
    assert own.visibility == "followers"
    assert card(mine, own.pk)["ref"]["content"] == MARK
    assert api_for(make_user()).get(f"{V1}posts/{own.pk}").status_code == 404


@pytest.mark.parametrize("how", ["blocks", "is blocked", "deleted", "banned", "for followers"])
def test_a_repost_never_shows_a_hidden_source(
    how, me, author, post, make_user, api_for, drain
) -> None:
    sharer = make_user()
    relations_actions.follow(me, sharer)
    made, _ = feeds_actions.repost(sharer, post.pk, "look")
    reader = api_for(me)
    drain()
    assert reader.get(f"{V1}feed").json()["items"][0]["ref"]["content"] == MARK  # caches are warm
    if how == "blocks":
        relations_actions.block(author, me)
    elif how == "is blocked":
        relations_actions.block(me, author)
    elif how == "deleted":
        feeds_actions.delete(author, post.pk)
    elif how == "banned":
        accounts_actions.ban(author)
    else:
        # The original is changed behind the actions: it becomes visible to followers only.
        Post.objects.filter(pk=post.pk).update(visibility="followers")
        redis.call(lambda connection: connection.flushdb())
    browser = Client()
    browser.cookies["access"], browser.cookies["refresh"] = accounts_actions.sign_in(me, "chrome")
    for _ in range(2):  # from the cache, and without it
        for path in ("feed", f"users/{sharer.pk}/posts", f"posts/{made.pk}"):
            text = reader.get(V1 + path).content.decode()
            assert '"ref":null,"ref_gone":true' in text
            assert not [word for word in (MARK, author.username, str(post.pk)) if word in text]
        for path in ("/", f"/@{sharer.username}", f"/posts/{made.pk}"):
            text = browser.get(path).content.decode()
            assert "no longer available" in text
            assert not [word for word in (MARK, author.username, str(post.pk)) if word in text]
        redis.call(lambda connection: connection.flushdb())
    # It can no longer be reposted, not even by its repost.
    for ident in (post.pk, made.pk):
        with pytest.raises(errors.NotFound):
            feeds_actions.repost(me, ident)


def test_a_repost_can_be_undone_when_its_post_is_out_of_sight(mine, me, author, post) -> None:
    made, _ = feeds_actions.repost(me, post.pk)
    relations_actions.block(author, me)
    assert mine.delete(f"{V1}posts/{post.pk}/repost").status_code == 204
    assert not Post.objects.filter(pk=made.pk, is_deleted=False).exists()
    here, nothing = (mine.delete(f"{V1}posts/{ident}/repost") for ident in (post.pk, 12345))
    assert (here.status_code, here.json()) == (404, nothing.json())
    assert drift() == []


def test_a_hidden_repost_does_not_reveal_its_source(mine, me, author, post, make_user) -> None:
    other = make_user()
    theirs, own = (feeds_actions.repost(person, post.pk)[0] for person in (other, me))
    relations_actions.block(other, me)
    here, nothing = (mine.delete(f"{V1}posts/{ident}/repost") for ident in (theirs.pk, 12345))
    assert (here.status_code, here.json()) == (404, nothing.json())
    assert mine.delete(f"{V1}posts/{own.pk}/repost").status_code == 204
    assert Post.objects.get(kind="repost", is_deleted=False).pk == theirs.pk


def test_undoing_that_in_place_leads_home(me, author, post) -> None:
    made, _ = feeds_actions.repost(me, post.pk)
    relations_actions.block(author, me)
    browser = Client()
    browser.post("/login", {"username": me.username, "password": "right.pass1"})
    answer = browser.post(f"/posts/{post.pk}/repost/undo", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, "/")
    assert not Post.objects.filter(pk=made.pk, is_deleted=False).exists()


def test_a_warm_feed_of_reposts_costs_three_round_trips_and_no_query(
    me, author, make_user, make_post, api_for, drain, round_trips, django_assert_num_queries
) -> None:
    sharer = make_user()
    relations_actions.follow(me, sharer)
    for number in range(10):
        feeds_actions.repost(sharer, make_post(author).pk, "look" * (number % 2))
    drain()
    reader = api_for(me)
    redis.call(lambda connection: connection.flushdb())
    first = reader.get(f"{V1}feed")
    assert len({item["ref"]["id"] for item in first.json()["items"]}) == 10
    round_trips.clear()
    with django_assert_num_queries(0):
        assert reader.get(f"{V1}feed").content == first.content
    assert len(round_trips) <= 3
    expected = [found["id"] for found in feeds_queries.oracle_feed(me, None, 10).items]
    assert [item["id"] for item in first.json()["items"]] == expected


def test_the_menu_and_the_page_work_without_javascript_and_in_place(me, post) -> None:
    browser = Client()
    browser.post("/login", {"username": me.username, "password": "right.pass1"})
    address = f"/posts/{post.pk}/repost"
    answer = browser.post(address, {"next": "/recommended"})
    assert (answer.status_code, answer["Location"]) == (303, f"/recommended#repost-{post.pk}")
    assert "Undo repost" in browser.get(f"/posts/{post.pk}").content.decode()
    home = browser.get("/").content.decode()
    assert MARK in home
    assert "post-verb" in home
    part = browser.post(f"{address}/undo", headers={"HX-Request": "true"}).content.decode()
    assert f'id="repost-{post.pk}"' in part
    assert "Undo repost" not in part
    assert "<html" not in part
    assert MARK in browser.get(address).content.decode()
    wrong = browser.post(address, {"content": "x" * 2001})
    assert (wrong.status_code, "x" * 2001 in wrong.content.decode()) == (422, True)
    answer = browser.post(address, {"content": "my words"})
    made = Post.objects.get(ref_post=post.pk, is_deleted=False)
    assert answer["Location"] == f"/posts/{made.pk}"
    assert "my words" in browser.get(f"/posts/{made.pk}").content.decode()
    assert browser.get(f"{address}/undo").status_code == 405


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs real transactions")
def test_many_reposts_at_once_store_one_for_each_person(make_user, make_post) -> None:
    people = [make_user() for _ in range(2)]
    post = make_post(people[0]).pk

    def share(person: Any) -> None:
        for _ in range(8):
            feeds_actions.repost(person, post)
            feeds_actions.undo_repost(person, post)
        feeds_actions.repost(person, post)

    # Each person three times at once.
    results = at_once([lambda person=person: share(person) for person in people * 3])
    assert not any(isinstance(result, Exception) for result in results), results
    live = Post.objects.filter(ref_post=post, is_deleted=False)
    assert sorted(live.values_list("author_id", flat=True)) == sorted(p.pk for p in people)
    assert drift() == []
