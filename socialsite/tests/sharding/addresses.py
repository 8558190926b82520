"""Every address of the site, and clients that ask them with every method."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from rest_framework.test import APIClient

METHODS = ("get", "post", "put", "patch", "delete")
# Neither a page nor the API of the site, or answered without a database.
ELSEWHERE = ("admin/", "i18n/", "api/schema/", "api/docs/", "media/", "static/")
# Required fields of a form or body; all others get an empty one. Texts may name values.
BODIES: dict[str, dict[str, Any]] = {
    "posts": {"content": "hello #cats", "kind": "micro"},
    "posts/<str:post_id>": {"content": "hello again", "version": 1},
    "posts/<str:post_id>/edit": {"content": "hello again", "version": "1"},
    "posts/<str:post_id>/comments": {"content": "hello"},
    "posts/<str:post_id>/like": {"liked": "1"},
    "posts/<str:post_id>/bookmark": {"bookmarked": "1"},
    "posts/<str:post_id>/vote": {"choices": [0]},
    "posts/<str:post_id>/comment-settings": {"status": "closed"},
    "comments/<str:comment_id>": {"content": "hello again", "version": 1},
    "comments/<str:comment_id>/edit": {"content": "hello again", "version": "1"},
    "comments/<str:comment_id>/like": {"liked": "1"},
    "comments/<str:comment_id>/pin": {"pinned": "1"},
    "drafts/<str:draft_id>": {"content": "some other day", "kind": "micro"},
    "tags/<str:name>/follow": {"follow": "1"},
    "@<str:username>/follow": {"follow": "1"},
    "@<str:username>/block": {"block": "1"},
    "users/me": {"bio": "hello"},
    "reports": {"kind": "post", "id": "{post_id}", "reason": "spam"},
    "report/<str:kind>/<str:subject_id>": {"reason": "spam"},
    "notifications/read": {"position": "1"},
    "auth/login": {"username": "{username}", "password": "right.pass1"},
    "auth/refresh": {"refresh": "{refresh}"},
    "auth/recover": {"email": "somebody@example.org"},
    "recover": {"email": "somebody@example.org"},
}
QUERIES = {
    "relations": "ids={user_id}",
    "users": "q=user",
    "search": "q=user",
    "search/posts": "q=hello",
    "completions": "q=@us",
}


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

    def body(self, values: dict[str, str]) -> dict[str, Any]:
        """Return the fields to send."""
        found = BODIES.get(self.name, {})
        return {
            name: value.format(**values) if isinstance(value, str) else value
            for name, value in found.items()
        }


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


class Clients:
    """A browser and an API client of one person; signed in again if a request ended the session."""

    def __init__(self, user: Any, api_for: Callable[..., APIClient]) -> None:
        self.user, self.api_for = user, api_for
        self.made: dict[bool, Any] = {}

    def ask(self, route: Route, method: str, values: dict[str, str]) -> Any:
        """Send a request."""
        given = {"format": "json"} if route.api and method != "get" else {}
        address, body = route.fill(values), route.body(values)
        for _ in range(2):
            client = self.made.get(route.api) or self.made.setdefault(
                route.api, self._sign_in(route)
            )
            answer = getattr(client, method)(address, body, **given)
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
