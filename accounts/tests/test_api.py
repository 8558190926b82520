"""API of accounts: sign-in flows, people, visibility."""

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from accounts import actions
from accounts.models import User
from accounts.tests.sign_in.solving import solve
from relations import actions as relations_actions
from socialsite.core.errors import BannedAccessToken
from socialsite.core.times import iso

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
REGISTER = "/api/v1/auth/register"
CHALLENGE = "/api/v1/auth/challenge"
LOGIN = "/api/v1/auth/login"
ME = "/api/v1/users/me"


def body(username="alice1", nickname="爱丽丝们", password=PASSWORD, **more):
    return {"username": username, "nickname": nickname, "password": password, **more}


def bearer(token: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def test_register_login_refresh_and_logout_follow_on_each_other(api) -> None:
    made = api.post(REGISTER, body(client="android"), format="json")
    assert made.status_code == 201
    user = User.objects.get()
    assert made.json()["user"] == {
        "id": str(user.pk),
        "username": "alice1",
        "nickname": "爱丽丝们",
        "avatar": "",
        "bio": "",
        "banner": "",
        "links": [],
        "place": "",
        "pronouns": "",
        "joined_at": iso(int(user.created_at.timestamp() * 1000)),
        "language": "",
        "mails": ["sign_ins"],
        "likes_shown": False,
        "counts": {"following": 0, "followers": 0, "friends": 0, "posts": 0},
        "relation": None,
    }
    login = api.post(LOGIN, {"username": "Alice1", "password": PASSWORD}, format="json").json()
    assert set(login) == {"user", "access", "refresh"}
    assert bearer(made.json()["access"]).get(ME).status_code == 200  # another client
    fresh = api.post("/api/v1/auth/refresh", {"refresh": login["refresh"]}, format="json").json()
    assert set(fresh) == {"access", "refresh"}
    client = bearer(fresh["access"])
    assert client.get(ME).json() == made.json()["user"]
    out = client.post("/api/v1/auth/logout")
    assert (out.status_code, out.content) == (204, b"")
    assert client.get(ME).json()["code"] == BannedAccessToken.code
    again = api.post("/api/v1/auth/refresh", {"refresh": fresh["refresh"]}, format="json")
    assert (again.status_code, again.json()["code"]) == (401, 7)


def test_the_api_sets_no_cookie(api, api_for, make_user) -> None:
    answers = [
        api.post(REGISTER, body(), format="json"),
        api.post(LOGIN, {"username": "alice1", "password": PASSWORD}, format="json"),
        api_for(make_user()).get(ME),
        api.get(ME),
    ]
    assert [dict(answer.cookies) for answer in answers] == [{}] * 4


@pytest.mark.parametrize(
    ("data", "status", "code", "fields"),
    [
        (body(username="abc"), 400, 5, {"username"}),
        (body(username="abcd\n"), 400, 5, {"username"}),
        (body(username=" abcd "), 400, 5, {"username"}),
        (body(username="１２３４"), 400, 5, {"username"}),
        (body(username="admin"), 400, 5, {"username"}),
        (body(nickname="1234"), 400, 5, {"nickname"}),
        (body(nickname="爱丽丝们\n"), 400, 5, {"nickname"}),
        (body(password="short"), 400, 5, {"password"}),
        (body(password="password1"), 400, 5, {"password"}),
        (body(password="alice1"), 400, 5, {"password"}),
        (body(username="", nickname="", password=""), 400, 5, {"username", "nickname", "password"}),
        (body(client="fridge"), 400, 13, {"client"}),
        (body(client=""), 400, 13, {"client"}),
        (body(client=None), 400, 13, {"client"}),
        (body(username=None), 400, 13, {"username"}),
        (body(username=["alice1"]), 400, 13, {"username"}),
        (body(username="abc\x00d"), 400, 13, {"username"}),
        (body(password="x" * 201), 400, 13, {"password"}),
        ({}, 400, 13, {"username", "nickname", "password"}),
    ],
)
def test_a_bad_registration_names_its_fields_and_writes_nothing(
    data, status, code, fields, api
) -> None:
    response = api.post(REGISTER, data, format="json")
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert set(response.json()["fields"]) == fields
    assert User.objects.count() == 0


def test_a_taken_name_is_a_conflict(api, make_user) -> None:
    make_user("alice1")
    response = api.post(REGISTER, body(username="ALICE1"), format="json")
    assert (response.status_code, response.json()["code"]) == (409, 4)
    assert list(response.json()["fields"]) == ["username"]


def test_a_registration_cannot_give_itself_more(api) -> None:
    more = {"roles": 7, "is_staff": True, "id": "1", "banned_at": None, "email": "a@example.org"}
    api.post(REGISTER, body(**more), format="json")
    user = User.objects.get()
    assert (user.roles, user.email, user.pk == 1) == (1, "", False)


def test_twenty_sign_ups_in_a_row_pass(api) -> None:
    tasks = 0
    for number in range(20):
        data = body(username=f"someone{number}")
        state = api.get(CHALLENGE).json()
        if state["needed"]:
            tasks += 1
            data["challenge"] = solve(state["challenge"])
        assert api.post(REGISTER, data, format="json").status_code == 201
    assert 0 < tasks <= 10


def test_wrong_name_and_wrong_password_answer_the_same(api, make_user) -> None:
    make_user("alice1")
    answers = [
        api.post(LOGIN, {"username": name, "password": "wrong.pass1"}, format="json")
        for name in ("alice1", "nobody1", "no such name")
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["code"] == 2


def test_a_ban_is_shown_only_after_the_right_password(api, make_user) -> None:
    actions.ban(make_user("alice1"))
    for password, code in ((PASSWORD, 3), ("wrong.pass1", 2)):
        data = {"username": "alice1", "password": password}
        assert api.post(LOGIN, data, format="json").json()["code"] == code


def test_a_dead_credential_does_not_prevent_signing_in(make_user) -> None:
    make_user("alice1")
    client = bearer("dead")
    client.cookies["access"] = "dead"
    data = {"username": "alice1", "password": PASSWORD}
    assert client.post(LOGIN, data, format="json").status_code == 200


def test_a_wrong_credential_is_an_error_also_where_guests_may_read(api, make_user) -> None:
    path = f"/api/v1/users/{make_user().pk}"
    assert api.get(path).status_code == 200
    assert bearer("dead").get(path).json()["code"] == 15
    api.cookies["access"] = "dead"
    assert api.get(path).json()["code"] == 15


def test_bearer_beats_cookie(api_for, make_user) -> None:
    one, other = make_user(), make_user()
    client = api_for(one)
    client.cookies["access"] = actions.sign_in(other).access
    assert client.get(ME).json()["id"] == str(one.pk)


def test_a_write_by_cookie_needs_the_csrf_token_and_a_write_by_bearer_does_not(make_user) -> None:
    user = make_user()
    client = APIClient(enforce_csrf_checks=True)
    client.cookies["access"] = actions.sign_in(user).access
    assert client.get(ME).status_code == 200
    refused = client.patch(ME, {"bio": "x"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, 19)
    client.cookies["csrf"] = "a" * 32
    wrong = client.patch(ME, {"bio": "x"}, format="json", HTTP_X_CSRFTOKEN="b" * 32)
    assert wrong.json()["code"] == 19
    right = client.patch(ME, {"bio": "x"}, format="json", HTTP_X_CSRFTOKEN="a" * 32)
    assert (right.status_code, right.json()["bio"]) == (200, "x")
    by_bearer = APIClient(enforce_csrf_checks=True)
    by_bearer.credentials(HTTP_AUTHORIZATION=f"Bearer {actions.sign_in(user).access}")
    assert by_bearer.patch(ME, {"bio": "y"}, format="json").status_code == 200


def test_a_foreign_origin_is_refused_by_cookie(make_user) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.cookies["access"] = actions.sign_in(make_user()).access
    client.cookies["csrf"] = "a" * 32
    headers: dict[str, Any] = {
        "HTTP_X_CSRFTOKEN": "a" * 32,
        "HTTP_ORIGIN": "https://evil.example",
    }
    assert client.patch(ME, {"bio": "x"}, format="json", **headers).json()["code"] == 19


def test_nickname_and_bio_can_be_changed_and_nothing_else(api_for, make_user) -> None:
    user = make_user("alice1", nickname="OldNick")
    client = api_for(user)
    given = {"nickname": "NewNick", "bio": "hello\nthere"}
    changed = client.patch(ME, given, format="json")
    assert (changed.json()["nickname"], changed.json()["bio"]) == ("NewNick", "hello\nthere")
    for other in ({"username": "x"}, {"roles": 7}):
        refused = client.patch(ME, given | other, format="json").json()
        assert (refused["code"], list(refused["fields"])) == (13, list(other))
    user.refresh_from_db()
    assert (user.username, user.roles) == ("alice1", 1)
    assert client.patch(ME, {"nickname": "1234"}, format="json").json()["code"] == 5
    assert client.patch(ME, {"bio": "x" * 201}, format="json").json()["code"] == 13
    assert client.patch(ME, {}, format="json").json()["nickname"] == "NewNick"
    avatars: tuple[object, ...] = ("1234567890123456789", "x", -1, [], 2**63)
    for avatar in avatars:
        answer = client.patch(ME, {"avatar": avatar}, format="json").json()
        assert (answer["code"], list(answer["fields"])) == (13, ["avatar"])
    assert client.patch(ME, {"avatar": None}, format="json").json()["avatar"] == ""


def test_a_person_is_shown_by_id_and_by_name_with_counts_and_relation(
    api, api_for, make_user, drain
) -> None:
    me, other = make_user(), make_user("Other1")
    relations_actions.follow(me, other)
    drain()
    shown = api_for(me).get(f"/api/v1/users/{other.pk}").json()
    assert shown["relation"] == "FOLLOWING"
    assert shown["counts"] == {"following": 0, "followers": 1, "friends": 0, "posts": 0}
    assert api_for(me).get("/api/v1/users/by-name/oTHER1").json() == shown
    assert api.get(f"/api/v1/users/{other.pk}").json() == shown | {"relation": None}


@pytest.mark.parametrize("ident", ["0", "abc", "-1", "9" * 19, "9" * 30, "1.0", "１"])
def test_an_invalid_id_is_refused_and_an_unknown_person_is_not_found(ident, api) -> None:
    response = api.get(f"/api/v1/users/{ident}")
    assert (response.status_code, response.json()["code"]) in {(400, 13), (404, 1)}


def test_closed_people_are_not_found(api, make_user) -> None:
    banned = make_user("banned1")
    actions.ban(banned)
    paths = [f"/api/v1/users/{banned.pk}", "/api/v1/users/by-name/banned1"]
    paths += ["/api/v1/users/1234567890123456789", "/api/v1/users/by-name/nobody1"]
    answers = [api.get(path) for path in paths]
    assert {(answer.status_code, answer.content) for answer in answers} == {
        (404, answers[0].content)
    }
    assert answers[0].json()["code"] == 1
    assert api.get("/api/v1/users?q=banned").json()["items"] == []


def test_a_blocker_is_not_found_and_only_the_card_of_a_blocked_person_shows(
    api_for, make_user
) -> None:
    blocker, blocked = make_user("blocker1"), make_user("blocked1", nickname="Blocked1")
    actions.edit_profile(blocked, bio="my bio")
    relations_actions.block(blocker, blocked)
    answer = api_for(blocked).get(f"/api/v1/users/{blocker.pk}")
    assert (answer.status_code, answer.json()["code"]) == (404, 1)
    shown = api_for(blocker).get(f"/api/v1/users/{blocked.pk}").json()
    assert (shown["relation"], shown["bio"], shown["counts"]) == ("BLACKLISTING", "", None)
    for viewer in (blocker, blocked):
        found = api_for(viewer).get("/api/v1/users?q=block").json()["items"]
        assert [person["id"] for person in found] == [str(viewer.pk)]
    relations_actions.block(blocked, blocker)
    assert api_for(blocker).get(f"/api/v1/users/{blocked.pk}").status_code == 404


def test_a_search_needs_a_text_and_pages_through(api, make_user) -> None:
    people = [make_user(f"search{number}") for number in range(3)]
    assert api.get("/api/v1/users").json()["code"] == 13
    assert api.get("/api/v1/users?q=%20").json()["code"] == 13
    assert api.get("/api/v1/users?q=s&cursor=x").json()["code"] == 13
    first = api.get("/api/v1/users?q=search&size=2").json()
    second = api.get(f"/api/v1/users?q=search&size=2&cursor={first['next']}").json()
    found = [person["username"] for person in first["items"] + second["items"]]
    assert found == [person.username for person in reversed(people)]
    assert second["next"] is None


def test_guests_have_no_page_of_their_own(api, db) -> None:
    for answer in (api.get(ME), api.patch(ME, {}, format="json"), api.post("/api/v1/auth/logout")):
        assert (answer.status_code, answer.json()["code"]) == (401, 14)


def test_a_banned_person_is_out_at_the_next_request(api_for, make_user) -> None:
    user = make_user()
    client = api_for(user)
    assert client.get(ME).status_code == 200
    actions.ban(user)
    assert client.get(ME).json()["code"] == 8


def test_the_document_describes_waits_and_outages() -> None:
    paths = SchemaGenerator().get_schema(public=True)["paths"]
    found = {
        (method, path.removeprefix("/api/v1/auth/")): set(operation["responses"])
        for path, operations in paths.items()
        if path.startswith("/api/v1/auth/")
        for method, operation in operations.items()
    }
    assert [name for name, statuses in found.items() if "503" not in statuses] == []
    assert [name for name, statuses in found.items() if "429" not in statuses] == []
    assert "404" in found["post", "login"]  # with LOGIN_ERRORS=separate
