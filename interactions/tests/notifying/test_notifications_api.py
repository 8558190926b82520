"""Notifications over the API, and live hints over the socket."""

from typing import Any

import jsonschema
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from drf_spectacular.generators import SchemaGenerator

from accounts import actions as accounts_actions
from accounts import live_hints
from interactions import actions, kinds, queries
from interactions.models import Notification, NotificationCause, SubjectType
from interactions.notifying import cause_rows, fold
from relations import actions as relations_actions
from socialsite.core.events import relay

pytestmark = pytest.mark.django_db

LIST = "/api/v1/notifications"
COUNT = "/api/v1/notifications/unread-count"
READ = "/api/v1/notifications/read"
PREFERENCES = "/api/v1/users/me/notification-preferences"
POST = SubjectType.POST


def test_notifications_are_listed_counted_and_read(
    make_user: Any, make_post: Any, api_for: Any, drain: Any
) -> None:
    me, anna = make_user(), make_user("anna")
    mine = api_for(me)
    posts = [make_post(me, content="x " * 300) for _ in range(3)]
    for post in posts:
        actions.like(anna, POST, post.pk)
        drain()
    first = mine.get(LIST, {"size": 2}).json()
    assert first["items"][0] == {
        "id": first["items"][0]["id"],
        "kind": "liked",
        "actors": [
            {"id": str(anna.pk), "username": "anna", "nickname": anna.nickname, "avatar": ""}
        ],
        "actor_count": 1,
        "subject": {"type": "post", "id": str(posts[2].pk), "preview": ("x " * 50)[:99] + "…"},
        "created_at": first["items"][0]["created_at"],
        "read": False,
        "reason": "",
    }
    second = mine.get(LIST, {"cursor": first["next"]}).json()
    assert [item["subject"]["id"] for item in second["items"]] == [str(posts[0].pk)]
    assert second["next"] is None
    assert mine.get(COUNT).json() == {"count": 3, "more": False}
    until = first["items"][1]["created_at"]
    assert mine.post(READ, {"until": until}, format="json").json() == {"count": 1, "more": False}
    ids = [first["items"][0]["id"]]
    assert mine.post(READ, {"ids": ids}, format="json").json() == {"count": 0, "more": False}
    actions.like(make_user(), POST, posts[0].pk)
    drain()
    assert mine.get(COUNT).json()["count"] == 1
    assert mine.post(READ).json()["count"] == 0


def test_preferences_are_read_and_changed_in_part(make_user: Any, api_for: Any) -> None:
    mine = api_for(make_user())
    everyone = dict.fromkeys(kinds.CHOOSABLE, "everyone")
    assert mine.get(PREFERENCES).json() == everyone
    answer = mine.patch(PREFERENCES, {"liked": "nobody"}, format="json")
    assert answer.json() == mine.get(PREFERENCES).json() == {**everyone, "liked": "nobody"}
    for wrong in ({"liked": "x"}, {"moderation": "nobody"}, {"x": "nobody"}, {"liked": ["nobody"]}):
        answer = mine.patch(PREFERENCES, wrong, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, 13)
        assert list(answer.json()["fields"]) == list(wrong)


@pytest.mark.parametrize(
    "body",
    [{"until": "x"}, {"until": "2026-01-01"}, {"ids": ["x"]}, {"ids": "1"}, {"ids": ["1"] * 101}],
)
def test_unreadable_input_is_refused(make_user: Any, api_for: Any, body: Any) -> None:
    assert api_for(make_user()).post(READ, body, format="json").status_code == 400


def test_guests_have_none(api: Any) -> None:
    for path in (LIST, COUNT, PREFERENCES):
        assert api.get(path).status_code == 401
    assert api.post(READ).status_code == 401
    assert api.patch(PREFERENCES).status_code == 401


def test_the_count_is_right_without_redis(
    make_user: Any, make_post: Any, api_for: Any, drain: Any, dead_redis: Any
) -> None:
    me, anna, bert = make_user(), make_user(), make_user()
    mine = api_for(me)
    post = make_post(me)
    actions.like(anna, POST, post.pk)
    drain()
    assert mine.get(COUNT).json()["count"] == 1
    with dead_redis():
        relations_actions.follow(bert, me)
        drain()
        assert mine.get(COUNT).json()["count"] == 2
        relations_actions.block(me, anna)
        assert mine.get(COUNT).json()["count"] == 1
        assert len(mine.get(LIST).json()["items"]) == 1


def test_open_pages_get_one_hint_and_only_for_news(
    make_user: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    """A second like of an unread post sends no hint; of a burst the first is folded at once."""
    me, *people = [make_user() for _ in range(4)]
    post = make_post(me)
    drain()
    pushed: list[Any] = []
    monkeypatch.setattr(
        live_hints, "push", lambda ids, message: pushed.append((list(ids), message))
    )
    monkeypatch.setattr(live_hints, "online", lambda ids: {me.pk} & set(ids))
    actions.like(people[0], POST, post.pk)
    actions.like(people[1], POST, post.pk)
    relay.relay()
    assert Notification.objects.get().actor_count == 1
    drain()
    assert Notification.objects.get().actor_count == 2
    hint = ([me.pk], {"type": "notification"})
    assert pushed == [hint]
    actions.read_notifications(me)
    actions.read_notifications(me)
    assert pushed == [hint] * 2
    relations_actions.block(me, people[2])
    actions.unlike(people[0], POST, post.pk)
    drain()
    assert pushed == [hint] * 2
    assert fold.sweep() == 0


def test_no_hint_reveals_hidden_content(
    make_user: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    """Somebody replies to a comment below the post of a person who blocked its author."""
    me, author, other = [make_user() for _ in range(3)]
    post = make_post(author)
    mine = actions.comment(me, post.pk, "mine")
    drain()
    pushed: list[Any] = []
    monkeypatch.setattr(live_hints, "push", lambda ids, message: pushed.extend(ids))
    actions.comment(other, post.pk, "first", mine.pk)
    drain()
    assert pushed.count(me.pk) == 1
    actions.read_notifications(me)
    pushed.clear()
    relations_actions.block(author, me)
    actions.comment(other, post.pk, "second", mine.pk)
    drain()
    assert me.pk not in pushed


def test_a_ban_that_affects_many_people_does_not_delay_the_relay(
    make_user: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    """All of them are online: the sweep folds for more than a few."""
    monkeypatch.setattr(cause_rows, "FOLD_NOW_MAX", 2)
    spammer, *people = [make_user() for _ in range(4)]
    for person in people:
        relations_actions.follow(spammer, person)
    drain()
    monkeypatch.setattr(live_hints, "online", lambda ids: set(ids))
    accounts_actions.ban(spammer)
    relay.relay()
    assert NotificationCause.objects.filter(due__isnull=False).count() == len(people)
    drain()
    assert not Notification.objects.exclude(user=spammer).filter(actor_count__gt=0).exists()


def test_the_responses_match_the_document(
    make_user: Any, make_post: Any, api_for: Any, drain: Any
) -> None:
    """Every address is covered as well."""
    me = make_user()
    actions.like(make_user(), POST, make_post(me).pk)
    drain()
    mine = api_for(me)
    document = SchemaGenerator().get_schema(request=None, public=True)
    for method, path in (
        ("get", LIST),
        ("get", COUNT),
        ("post", READ),
        ("get", PREFERENCES),
        ("patch", PREFERENCES),
    ):
        answer = getattr(mine, method)(path)
        assert answer.status_code == 200
        content = document["paths"][path][method]["responses"]["200"]["content"]
        schema = {**content["application/json"]["schema"], "components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json())
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate({})


def test_a_kind_has_its_own_exact_pages_and_its_own_read_mark(
    make_user: Any, make_post: Any, api_for: Any, drain: Any
) -> None:
    """Mentions in posts and in comments are one list, in their order."""
    me, anna, bert = make_user("reader2"), make_user(), make_user()
    mine, post = api_for(me), make_post(me)
    for number in range(7):
        if number % 2:
            make_post(anna, content=f"@reader2 {number}")
        else:
            actions.comment(anna, post.pk, f"@reader2 {number}")
            actions.comment(bert, make_post(anna).pk, f"@reader2 {number}")
        actions.like(bert, POST, make_post(me).pk)
        drain()
    relations_actions.follow(anna, me)
    drain()
    everything = mine.get(LIST, {"size": 100}).json()["items"]
    for kind in ("mentioned", "followed", "liked", "replied"):
        found, cursor = [], ""
        while True:
            part = mine.get(
                LIST, {"kind": kind, "size": 2} | ({"cursor": cursor} if cursor else {})
            )
            found += part.json()["items"]
            cursor = part.json()["next"]
            if cursor is None:
                break
        assert found == [one for one in everything if one["kind"] == kind], kind
    assert len([one for one in everything if one["kind"] == "mentioned"]) == 7
    count = mine.get(COUNT).json()["count"]
    answer = mine.post(READ, {"kind": "mentioned"}, format="json").json()
    assert answer["count"] == count - 7
    for answer in (mine.get(LIST, {"kind": "x"}), mine.post(READ, {"kind": "x"}, format="json")):
        assert (answer.status_code, list(answer.json()["fields"])) == (400, ["kind"])


def test_a_page_of_a_kind_costs_one_query_for_each_stored_kind(
    make_user: Any,
    make_post: Any,
    api_for: Any,
    drain: Any,
    round_trips: list[int],
) -> None:
    me, anna = make_user("reader2"), make_user()
    for number in range(6):
        make_post(anna, content=f"@reader2 {number}")
        actions.comment(anna, make_post(anna).pk, f"@reader2 {number}")
    drain()
    costs = []
    for kind, size in ((None, 5), ("mentioned", 5), ("mentioned", 10)):
        queries.notifications(me, None, size, kind)
        round_trips.clear()
        with CaptureQueriesContext(connection) as made:
            queries.notifications(me, None, size, kind)
        costs.append((len(made), len(round_trips)))
    (every, trips), mentions, more = costs
    assert mentions == more == (every + 1, trips)
