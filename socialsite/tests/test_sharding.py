"""Relations and inboxes can be sharded by their owner: every hot query names the owner.

Every endpoint of the API and of the pages runs here, with every method, and its events are
delivered. Each statement on one of the two tables must name the owner of its rows by value: a join
on the owner's column would query every shard. Not tested are the admin, which is not a hot path,
and `recount`, which walks the owners in order.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from rest_framework.test import APIClient

from relations import actions as relations_actions

OWNER = {"relations_relationship": "from_user_id", "feeds_inboxentry": "user_id"}
NO_ALIAS = "WHERE|ON|SET|INNER|LEFT|ORDER|LIMIT|GROUP|FOR|LOCK|VALUES"
METHODS = ("get", "post", "put", "patch", "delete")
# Neither a page nor the API of the site, or answered without a database.
ELSEWHERE = ("admin/", "i18n/", "api/schema/", "api/docs/", "media/", "static/")
# Required fields of a form or body; all others get an empty one.
BODIES: dict[str, dict[str, str]] = {
    "posts": {"content": "hello", "kind": "micro"},
    "posts/<str:post_id>/comments": {"content": "hello"},
    "@<str:username>/follow": {"follow": "1"},
    "@<str:username>/block": {"block": "1"},
    "users/me": {"bio": "hello"},
}
QUERIES = {"relations": "ids={user_id}", "users": "q=user", "search": "q=user"}

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@dataclass(frozen=True)
class Route:
    """One address with its parameters unfilled."""

    path: str
    methods: tuple[str, ...]

    @property
    def api(self) -> bool:
        """True for the API, false for pages."""
        return self.path.startswith("api/")

    @property
    def name(self) -> str:
        """The address without the prefix of the API."""
        return self.path.removeprefix("api/v1/")

    def fill(self, values: dict[str, str]) -> str:
        """Fill in the ids of a person or object; 1 for parameters of other types."""
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda found: values.get(found[1], "1"), self.path)
        query = QUERIES.get(self.name, "").format(**values)
        return f"/{path}?{query}" if query else f"/{path}"


def routes() -> Iterator[Route]:
    """Return every address of the site that is not in ELSEWHERE."""

    def walk(resolver: URLResolver, prefix: str) -> Iterator[Route]:
        for entry in resolver.url_patterns:
            path = prefix + str(entry.pattern)
            if isinstance(entry, URLResolver):
                yield from walk(entry, path)
            elif isinstance(entry, URLPattern) and "^" not in path:
                view = getattr(entry.callback, "view_class", None)
                yield Route(path, tuple(m for m in METHODS if hasattr(view, m)) or METHODS[:2])

    yield from (route for route in walk(get_resolver(), "") if not route.path.startswith(ELSEWHERE))


def unowned(sql: str) -> list[str]:
    """Return the tables that a statement uses without naming the owner of the rows."""
    plain = re.sub(r"[`\"]", "", sql)
    found = []
    for table, column in OWNER.items():
        if re.match(rf"INSERT (OR )?(IGNORE )?INTO {table} \([^)]*\b{column}\b", plain):
            plain = plain.replace(f"INTO {table}", "INTO it", 1)
        uses = re.findall(
            rf"\b(?:FROM|JOIN|UPDATE|INTO) {table}\b(?: (?!(?:{NO_ALIAS})\b)(\w+))?",
            plain,
        )
        for alias in uses:
            # DELETE and UPDATE may omit the table's name.
            name = rf"{alias}\." if alias else rf"(?:{table}\.|(?<![.\w]))"
            if not re.search(rf"{name}{column} (?:= \d+|IN \(\d[\d, ]*\))", plain):
                found.append(table)
    return found


@pytest.mark.parametrize(
    ("sql", "bad"),
    [
        ("SELECT a FROM `feeds_inboxentry` WHERE `feeds_inboxentry`.`user_id` = 5", 0),
        ('SELECT a FROM "feeds_inboxentry" WHERE "feeds_inboxentry"."post_id" = 5', 1),
        ("DELETE FROM feeds_inboxentry WHERE user_id IN (5, 6) AND post_id = 7", 0),
        ("DELETE FROM feeds_inboxentry WHERE post_id = 7", 1),
        ("UPDATE relations_relationship SET counted = 1 WHERE id = 5", 1),
        ("UPDATE relations_relationship SET counted = 1 WHERE to_from_user_id = 5", 1),
        ("INSERT INTO relations_relationship (from_user_id, to_user_id) VALUES (1, 2)", 0),
        (
            "INSERT IGNORE INTO feeds_inboxentry (user_id, post_id) SELECT to_user_id, 5 FROM "
            "relations_relationship WHERE to_user_id > 7",
            1,
        ),
        (
            "SELECT id FROM feeds_post WHERE author_id IN (SELECT U0.to_user_id FROM "
            "relations_relationship U0 WHERE (U0.from_user_id = 5 AND U0.relation IN (0, 4)))",
            0,
        ),
        (
            "SELECT id FROM accounts_user INNER JOIN relations_relationship ON (accounts_user.id ="
            " relations_relationship.from_user_id)",
            1,
        ),
    ],
)
def test_the_check_knows_owned_statements_from_others(sql: str, bad: int) -> None:
    assert len(unowned(sql)) == bad


@pytest.fixture
def world(make_user: Any, make_post: Any, drain: Any) -> dict[str, Any]:
    """A reader with friends, followers, followed and blocked people, and posts of all."""
    from interactions import actions as interactions_actions

    me, friend, fan, idol, enemy = (make_user() for _ in range(5))
    for one, two in ((me, friend), (friend, me), (fan, me), (me, idol), (friend, fan)):
        relations_actions.follow(one, two)
    relations_actions.block(me, enemy)
    drain()
    posts = [make_post(person) for person in (me, friend, idol, enemy) for _ in range(2)]
    drain()
    comment = interactions_actions.comment(me, posts[2].pk, "hello")
    values = {
        "user_id": str(friend.pk),
        "username": friend.username,
        "post_id": str(posts[2].pk),
        "comment_id": str(comment.pk),
    }
    return {"me": me, "friend": friend, "values": values}


class Clients:
    """A browser and an API client of one person; signed in again if a request ended the session."""

    def __init__(self, user: Any, api_for: Callable[..., APIClient]) -> None:
        self.user, self.api_for = user, api_for
        self.made: dict[bool, Any] = {}

    def ask(self, route: Route, method: str, address: str) -> Any:
        """Send a request."""
        given = {"format": "json"} if route.api and method != "get" else {}
        for _ in range(2):
            client = self.made.get(route.api) or self.made.setdefault(
                route.api, self._sign_in(route)
            )
            answer = getattr(client, method)(address, BODIES.get(route.name, {}), **given)
            if answer.status_code != 401:
                break
            del self.made[route.api]
        return answer

    def _sign_in(self, route: Route) -> Any:
        if route.api:
            return self.api_for(self.user)
        client = Client()
        form = {"username": self.user.username, "password": "right.pass1"}
        assert client.post(reverse("login"), form).status_code == 303
        return client


@pytest.mark.timeout(600)
def test_every_statement_on_relations_and_inboxes_names_the_owner(
    world: dict[str, Any], api_for: Any, drain: Any
) -> None:
    bad: set[str] = set()
    used: set[tuple[str, str]] = set()
    clients = Clients(world["me"], api_for)
    for route in routes():
        address = route.fill(world["values"])
        relations_actions.unblock(world["me"], world["friend"])  # whatever the previous route did
        relations_actions.follow(world["me"], world["friend"])
        drain()
        for method in route.methods:
            with CaptureQueriesContext(connection) as captured:
                answer = clients.ask(route, method, address)
                drain()
            assert answer.status_code < 500, (method, address)
            for query in captured:
                bad.update(f"{method} {address}: {query['sql']}" for _ in unowned(query["sql"]))
                verb = query["sql"].lstrip("(").split(" ", 1)[0]  # a union starts with a bracket
                used.update((verb, table) for table in OWNER if table in query["sql"])
    assert sorted(bad) == []
    # The endpoints did use the tables, in all of these ways.
    for verb in ("SELECT", "INSERT", "UPDATE"):
        assert (verb, "relations_relationship") in used
    for verb in ("SELECT", "INSERT", "DELETE"):
        assert (verb, "feeds_inboxentry") in used
