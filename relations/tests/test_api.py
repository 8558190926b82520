"""The API of relations: bodies, codes, visibility, the follow limit."""

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from feeds.models import InboxEntry
from relations import actions
from relations.models import Relation, Relationship
from relations.tests.helpers import ROUTES, bring
from socialsite.core import redis
from socialsite.core.ids import MAX_ID
from socialsite.core.rate_limits import buckets, budgets

pytestmark = pytest.mark.django_db

LISTS = ["following", "followers", "friends"]


@pytest.fixture
def people(make_user):
    return make_user(), make_user()


def address(user, what: str) -> str:
    return f"/api/v1/users/{user.pk}/{what}"


def wrong(response, status: int, code: int) -> None:
    """Check that the response is this error, in the envelope."""
    assert response.status_code == status
    assert response.json()["code"] == code
    assert set(response.json()) <= {"code", "error", "detail", "fields"}


# --- follow and block ---------------------------------------------------------------------------
def test_follow_and_unfollow_answer_with_the_relation(people, api_for) -> None:
    a, b = people
    client = api_for(a)
    assert client.post(address(b, "follow")).json() == {"relation": "FOLLOWING"}
    assert client.post(address(b, "follow")).json() == {"relation": "FOLLOWING"}
    actions.follow(b, a)
    assert client.post(address(b, "follow")).json() == {"relation": "BI_FOLLOWING"}
    assert client.delete(address(b, "follow")).json() == {"relation": "FOLLOWED"}


def test_block_and_unblock_answer_with_the_relation(people, api_for) -> None:
    a, b = people
    assert api_for(a).post(address(b, "block")).json() == {"relation": "BLACKLISTING"}
    assert api_for(b).post(address(a, "block")).json() == {"relation": "BI_BLACKLISTING"}
    assert api_for(a).delete(address(b, "block")).json() == {"relation": "BLACKLISTED"}
    assert api_for(b).delete(address(a, "block")).json() == {"relation": None}


def test_following_someone_i_block_answers_with_the_unchanged_relation(people, api_for) -> None:
    a, b = people
    actions.block(a, b)
    response = api_for(a).post(address(b, "follow"))
    assert (response.status_code, response.json()) == (200, {"relation": "BLACKLISTING"})


def test_each_refusal_has_its_code(people, api_for, make_user, monkeypatch) -> None:
    a, b = people
    client = api_for(a)
    wrong(client.post(address(a, "follow")), 400, 12)
    wrong(client.post(f"/api/v1/users/{MAX_ID}/follow"), 404, 1)
    banned = make_user()
    type(banned).objects.filter(pk=banned.pk).update(banned_at=timezone.now())
    wrong(client.post(address(banned, "follow")), 403, 3)
    actions.block(b, a)
    wrong(client.post(address(b, "follow")), 403, 9)
    monkeypatch.setattr(settings, "FOLLOW_LIMIT", 0)
    wrong(client.post(address(make_user(), "follow")), 409, 10)
    assert Relationship.objects.filter(relation=Relation.FOLLOWING).count() == 0


@pytest.mark.parametrize("what", ["follow", "block"])
@pytest.mark.parametrize("method", ["post", "delete"])
@pytest.mark.parametrize("ident", ["0x1", "-1", "1e3", "１", "x" * 300, str(MAX_ID + 1), "%00"])
def test_a_bad_id_is_invalid_input(people, api_for, what, method, ident) -> None:
    wrong(getattr(api_for(people[0]), method)(f"/api/v1/users/{ident}/{what}"), 400, 13)


@pytest.mark.parametrize("what", ["follow", "block"])
@pytest.mark.parametrize("method", ["post", "delete"])
def test_a_guest_must_log_in(people, api, what, method) -> None:
    wrong(getattr(api, method)(address(people[1], what)), 401, 14)


@pytest.mark.parametrize("field", ["banned_at", "deleted_at"])
def test_a_closed_account_can_only_be_left_and_blocked(people, api_for, api, field) -> None:
    a, b = people
    client = api_for(a)
    actions.follow(a, b)
    type(b).objects.filter(pk=b.pk).update(**{field: timezone.now()})
    for kind in LISTS:
        wrong(api.get(address(b, kind)), 404, 1)
    states = client.get(f"/api/v1/relations?ids={b.pk}").json()
    assert states["items"][0]["relation"] == "FOLLOWING"
    # It counts towards the cap, so its follower sees it; to all others it is hidden.
    found = client.get(address(a, "following")).json()["items"]
    assert [(p["username"], p["bio"], p["avatar"]) for p in found] == [(b.username, "", "")]
    assert api.get(address(a, "following")).json()["items"] == []
    assert client.delete(address(b, "follow")).json() == {"relation": None}
    assert client.post(address(b, "follow")).status_code in (403, 404)
    assert client.post(address(b, "block")).json() == {"relation": "BLACKLISTING"}
    found = client.get("/api/v1/users/me/blocked").json()["items"]
    assert [p["username"] for p in found] == [b.username]
    assert client.delete(address(b, "block")).json() == {"relation": None}


@pytest.mark.parametrize("what", ["follow", "block", *LISTS])
def test_other_methods_are_refused_in_the_envelope(people, api_for, what) -> None:
    wrong(api_for(people[0]).put(address(people[1], what)), 405, 18)


# --- the limit ----------------------------------------------------------------------------------
def test_follow_and_unfollow_share_one_bucket_and_blocks_have_another(people, api_for) -> None:
    a, b = people
    client = api_for(a)
    buckets.take(budgets.FOLLOW, a.pk, cost=98)
    assert client.post(address(b, "follow")).status_code == 200
    assert client.delete(address(b, "follow")).status_code == 200
    buckets.take(budgets.FOLLOW, a.pk)  # tokens that were refilled in the meantime
    response = client.post(address(b, "follow"))
    wrong(response, 429, 11)
    assert response["Retry-After"] == "1"
    assert budget(response) == ("100", "0", "1")
    wrong(client.delete(address(b, "follow")), 429, 11)
    assert client.post(address(b, "block")).status_code == 200
    assert api_for(b).delete(address(a, "follow")).status_code == 200


def budget(response) -> tuple[str | None, ...]:
    """Return Limit, Remaining and Reset of a response, None for a missing header."""
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    return tuple(response.headers.get(name) for name in names)


def test_every_response_of_follow_and_unfollow_has_the_budget(people, api_for) -> None:
    a, b = people
    client = api_for(a)
    assert budget(client.post(address(b, "follow"))) == ("100", "99", "1")
    assert budget(client.delete(address(b, "follow")))[:2] == ("100", "98")
    assert budget(client.post(address(a, "follow")))[:2] == ("100", "97")  # refused: oneself
    assert budget(client.post(address(b, "block")))[:2] == ("60", "59")  # a separate budget


def test_a_burst_of_200_requests_is_granted_the_capacity_and_the_refill(people, api_for) -> None:
    a, b = people
    client, key = api_for(a), buckets.Take(budgets.FOLLOW, a.pk).key

    def rest(connection) -> None:
        last = float(connection.hget(key, "last"))
        connection.hset(key, "last", f"{last - 7.5:.6f}")  # a token each second

    answers = [client.delete(address(b, "follow")) for _ in range(150)]
    assert [answer.status_code for answer in answers] == [200] * 100 + [429] * 50
    redis.call(rest)
    answers += [client.delete(address(b, "follow")) for _ in range(50)]
    assert [answer.status_code for answer in answers[150:]] == [200] * 7 + [429] * 43
    for answer in answers:
        assert answer.status_code in (200, 429)
        assert ("Retry-After" in answer.headers) == (answer.status_code == 429)
        assert None not in budget(answer)


def test_without_redis_follows_are_not_limited_and_no_budget_shows(people, api_for) -> None:
    a, b = people
    client = api_for(a)
    buckets.take(budgets.FOLLOW, a.pk, cost=100)
    redis.breaker.trip()
    answer = client.post(address(b, "follow"))
    assert answer.json() == {"relation": "FOLLOWING"}
    assert budget(answer) == (None, None, None)


# --- lists --------------------------------------------------------------------------------------
def test_a_list_row_is_a_card_with_the_readers_relation(make_user, api_for, api) -> None:
    hub, listed, reader = (make_user() for _ in range(3))
    actions.follow(hub, listed)
    actions.follow(listed, reader)
    card = {
        "id": str(listed.pk),
        "username": listed.username,
        "nickname": listed.nickname,
        "avatar": "",
        "bio": "",
    }
    found = api_for(reader).get(address(hub, "following")).json()
    assert found == {"items": [card | {"relation": "FOLLOWED"}], "next": None}
    found = api.get(address(hub, "following")).json()
    assert found == {"items": [card | {"relation": None}], "next": None}


def test_lists_page_by_cursor(make_user, api) -> None:
    hub = make_user()
    for _ in range(5):
        actions.follow(make_user(), hub)
    seen: list[str] = []
    url = address(hub, "followers") + "?size=2"
    cursor = ""
    for _ in range(3):
        page = api.get(url + cursor).json()
        seen += [person["id"] for person in page["items"]]
        cursor = f"&cursor={page['next']}"
    assert page["next"] is None
    assert len(seen) == len(set(seen)) == 5


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("query", ["cursor=x", "size=0", "size=101", "size=x", "max_time=-1"])
def test_bad_paging_is_invalid_input(people, api, kind, query) -> None:
    wrong(api.get(address(people[0], kind) + "?" + query), 400, 13)


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("by_reader", [True, False])
def test_lists_of_a_blocked_pair_are_not_found(people, api_for, api, kind, by_reader) -> None:
    reader, other = people
    actions.block(*((reader, other) if by_reader else (other, reader)))
    wrong(api_for(reader).get(address(other, kind)), 404, 1)
    assert api.get(address(other, kind)).status_code == 200


def test_the_blocked_list_is_mine_alone(people, api_for, api) -> None:
    a, b = people
    type(b).objects.filter(pk=b.pk).update(bio="not for those who block me", avatar_name="b.webp")
    actions.block(a, b)
    found = api_for(a).get("/api/v1/users/me/blocked").json()
    assert [(p["id"], p["relation"]) for p in found["items"]] == [(str(b.pk), "BLACKLISTING")]
    assert [(p["bio"], p["avatar"]) for p in found["items"]] == [("", "")]
    assert api_for(b).get("/api/v1/users/me/blocked").json() == {"items": [], "next": None}
    wrong(api.get("/api/v1/users/me/blocked"), 401, 14)


# --- several pairs ------------------------------------------------------------------------------
def test_relations_are_right_and_in_the_order_of_the_ids(make_user, api_for) -> None:
    me = make_user()
    others = {state: make_user() for state in ROUTES}
    for state, other in others.items():
        bring(me, other, state)
    ids = ",".join(str(other.pk) for other in others.values())
    assert api_for(me).get(f"/api/v1/relations?ids={ids}").json()["items"] == [
        {"user_id": str(other.pk), "relation": None if state is None else state.name}
        for state, other in others.items()
    ]


@pytest.mark.parametrize(
    "query", ["", "?ids=", "?ids=x", "?ids=1,,2", "?ids=" + ",".join(["1"] * 101), "?ids=-1"]
)
def test_bad_ids_of_relations_are_invalid_input(people, api_for, query) -> None:
    wrong(api_for(people[0]).get("/api/v1/relations" + query), 400, 13)


def test_relations_need_a_login(people, api) -> None:
    wrong(api.get(f"/api/v1/relations?ids={people[0].pk}"), 401, 14)


def test_a_list_page_costs_the_same_queries_for_1_and_for_20_rows(make_user, api_for) -> None:
    hub, reader = make_user(), make_user()
    for _ in range(21):
        actions.follow(hub, make_user())
    client = api_for(reader)
    client.get(address(hub, "following"))  # fills the caches of the credential
    counts = []
    for size in (1, 20):
        with CaptureQueriesContext(connection) as found:
            client.get(address(hub, "following") + f"?size={size}")
        counts.append(len(found))
    assert counts[0] == counts[1] <= 7


# --- consequences -------------------------------------------------------------------------------
def entries(reader, author) -> int:
    """Return the number of the author's rows in the reader's inbox."""
    return InboxEntry.objects.filter(user_id=reader.pk, author_id=author.pk).count()


@pytest.mark.parametrize(
    ("act", "left"),
    [
        (lambda a, b: actions.unfollow(a, b), (0, 1)),
        (lambda a, b: actions.block(a, b), (0, 0)),
        (lambda a, b: actions.block(b, a), (0, 0)),
    ],
)
def test_a_lost_follow_takes_the_posts_out_of_the_inbox(
    people, make_post, drain, act, left
) -> None:
    a, b = people
    bring(a, b, Relation.BI_FOLLOWING)
    make_post(a)
    make_post(b)
    drain()
    assert (entries(a, b), entries(b, a)) == (1, 1)
    act(a, b)
    drain()
    assert (entries(a, b), entries(b, a)) == left


@pytest.mark.parametrize("delivered", [False, True])
@pytest.mark.parametrize("side", ["blocker", "blocked", "both block"])
def test_a_block_hides_each_from_the_other_everywhere(
    people, make_user, make_post, api_for, api, drain, side, delivered
) -> None:
    """At once, and after the background work; nobody else is affected."""
    reader, other = people
    hub = make_user()
    bring(reader, other, Relation.BI_FOLLOWING)
    for user in people:
        bring(user, hub, Relation.BI_FOLLOWING)
    post = make_post(other, "hello")
    drain()
    pages = {
        "profile": f"/api/v1/users/{other.pk}",
        "name": f"/api/v1/users/by-name/{other.username}",
        "posts": address(other, "posts"),
        "post": f"/api/v1/posts/{post['id'] if isinstance(post, dict) else post.pk}",
        "search": f"/api/v1/users?q={other.username}",
        **{kind: address(other, kind) for kind in LISTS},
        **{f"hub's {kind}": address(hub, kind) for kind in LISTS},
    }
    client = api_for(reader)
    for what, page in {"feed": "/api/v1/feed", **pages}.items():
        assert what in LISTS or str(other.pk) in client.get(page).content.decode()

    if side != "blocked":
        actions.block(reader, other)
    if side != "blocker":
        actions.block(other, reader)
    if delivered:
        drain()

    assert client.get("/api/v1/feed").json()["items"] == []
    for what, page in pages.items():
        answer = client.get(page)
        if side == "blocker" and what in ("profile", "name"):
            body = answer.json()
            assert (body["relation"], body["counts"], body["bio"]) == ("BLACKLISTING", None, "")
        elif what == "search" or what.startswith("hub's"):
            assert str(other.pk) not in answer.content.decode()
        else:
            assert answer.status_code == 404, what
        assert api.get(page).status_code == 200
        assert what in LISTS or str(other.pk) in api.get(page).content.decode()
