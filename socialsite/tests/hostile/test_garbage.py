"""Invalid input to every endpoint of the OpenAPI document: 4xx in the envelope, no writes."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from accounts.models import Failures
from socialsite.core import errors
from socialsite.core.models import Allowance
from socialsite.core.rate_limits import budgets

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]

BAD_IDS = ["abc", "-1", "0x1", "99999999999999999999", "1.5", "١٢", "%00", "' OR 1=1 --", "null"]
BAD_QUERIES = [
    "cursor=nonsense",
    "cursor=%F0%9F%90%B1",
    "cursor=AAAA",
    "cursor=" + "A" * 3000,
    "size=0",
    "size=-1",
    "size=1e3",
    "size=abc",
    "size=99999999999999999999",
    "max_time=-5",
    "max_time=tomorrow",
    "ids=1,2,x",
    "sort=../../etc/passwd",
]
BAD_BODIES: list[bytes] = [
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"\xff\xfe",
    b'{"a": NaN}',
    b'{"content": "\\ud800"}',
    b"[" * 5000,
    b'{"a":' * 2000,
]
BAD_VALUES: list[Any] = [
    None,
    0,
    -1,
    1.5,
    True,
    [],
    {},
    [[]],
    {"$gt": ""},
    "",
    " ",
    "\x00",
    "a\x00b",
    "x" * 100_000,
    10**30,
    "٣" * 6,
]
BAD_TOKENS = [
    "x",
    "a.b.c",
    "eyJhbGciOiJub25lIn0.eyJ1aWQiOjF9.",
    "é" * 10,
    "A" * 20_000,
    "",
]


@pytest.fixture(autouse=True)
def _no_budgets(settings: LazySettings) -> None:
    """Lift the budgets, which would refuse most requests."""
    settings.BUDGETS = budgets.read({}, lifted=True)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    return SchemaGenerator().get_schema(request=None, public=True)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (path template, method, operation)."""
    for path, item in document["paths"].items():
        for method in ("get", "post", "put", "patch", "delete"):
            if method in item:
                yield path, method, item[method]


def paths_with(path: str, values: list[str]) -> list[str]:
    """Fill every parameter of a path with each of the values; [] if it has none."""
    if "{" not in path:
        return []
    filled = []
    for value in values:
        parts = path.split("/")
        filled.append("/".join(value if part.startswith("{") else part for part in parts))
    return filled


def resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Resolve a reference."""
    if "$ref" in schema:
        return dict(document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]])
    return schema


def rows() -> dict[str, int]:
    """Count the rows of every table except those that count attempts."""
    attempts = (Failures, Allowance)
    models = [model for model in apps.get_models() if model._meta.managed]
    return {m._meta.label: m._default_manager.count() for m in models if m not in attempts}


def send(client: APIClient, method: str, path: str, body: Any, kind: str) -> Any:
    """Send a body of bytes; the stubs of `generic` know only text."""
    return client.generic(method, path, body, content_type=kind)


def assert_refused(response: Any, what: str) -> None:
    assert 400 <= response.status_code < 500, f"{what}: {response.status_code} {response.content!r}"
    body = json.loads(response.content)
    known = {cls.code: cls for cls in errors.AppError.__subclasses__()}
    assert body["code"] in known, what
    assert body["error"] == known[body["code"]].name, what
    assert body["detail"], what


@pytest.fixture
def client(make_user: Make, api_for: Make) -> APIClient:
    found: APIClient = api_for(make_user())
    found.raise_request_exception = False
    return found


def test_bad_ids_and_queries_are_refused(document: dict[str, Any], client: APIClient) -> None:
    client.get("/api/v1/feed/tags")  # the first list of posts makes a reader of the person
    before = rows()
    for path, method, _ in operations(document):
        for bad in paths_with(path, BAD_IDS):
            # Devices and tags have names; a write creates a tag.
            if "{name}" in path and method == "get":
                assert client.get(bad).status_code < 500
            elif not any(part in path for part in ("by-name", "{client}", "{name}")):
                assert_refused(client.generic(method.upper(), bad), f"{method} {bad}")
    for path, method, operation in operations(document):
        names = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query"}
        for query in BAD_QUERIES:
            if method == "get" and query.partition("=")[0] in names and "{" not in path:
                assert_refused(client.get(f"{path}?{query}"), f"{path}?{query}"[:200])
    assert rows() == before


def test_bad_bodies_are_refused(
    document: dict[str, Any], client: APIClient, make_user: Make, make_post: Make
) -> None:
    target, post = make_user(), make_post(make_user())
    ids = {"user": str(target.pk), "post": str(post.pk), "comment": "1"}
    for path, method, operation in operations(document):
        if "requestBody" not in operation:
            continue
        before, accepted = rows(), 0
        content = operation["requestBody"]["content"]
        for name, value in ids.items():
            path = path.replace(f"{{{name}_id}}", value)
        for body in BAD_BODIES:
            response = send(client, method.upper(), path, body, "application/json")
            assert_refused(response, f"{method} {path} {body[:40]!r}")
        assert_refused(
            send(client, method.upper(), path, b"a=b", "text/plain"),
            f"{method} {path} text/plain",
        )
        if "application/json" not in content:
            continue
        schema = resolve(document, content["application/json"]["schema"])
        good = dict.fromkeys(schema.get("required", []), "x")
        for name, value in itertools.product(schema.get("properties", {}), BAD_VALUES):
            response = client.generic(
                method.upper(),
                path,
                json.dumps(good | {name: value}),
                content_type="application/json",
            )
            assert response.status_code < 500, f"{method} {path} {name}={value!r:.60}"
            if response.status_code >= 400:
                assert_refused(response, f"{method} {path} {name}={value!r:.60}")
            else:
                accepted += 1  # the value is valid here: a text of 100,000 without a limit
        assert accepted or rows() == before, f"{method} {path}"


@pytest.mark.parametrize("charset", ["idna", "hex", "zlib", "undefined", "utf-16", "x"])
def test_odd_charsets_are_refused(client: APIClient, charset: str) -> None:
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    for path in ("/api/v1/media", "/api/v1/posts"):
        assert_refused(send(client, "POST", path, b"--x--", kind), path)
    page = send(client, "POST", "/posts", b"--x--", kind)
    assert page.status_code == 415
    assert b"<html" in page.content


@pytest.mark.parametrize("length", ["9" * 5000, "13000000", "-1", "x", "٣"])
def test_odd_lengths_are_refused(client: APIClient, length: str) -> None:
    for path in ("/api/v1/posts", "/posts"):
        answer = client.post(path, CONTENT_LENGTH=length)
        assert answer.status_code in (400, 413), path


def test_wrong_methods_and_unknown_addresses_are_refused(
    document: dict[str, Any], client: APIClient
) -> None:
    for path, item in document["paths"].items():
        target = paths_with(path, ["1"])[0] if "{" in path else path
        for method in {"get", "post", "put", "patch", "delete"} - item.keys():
            assert_refused(client.generic(method.upper(), target), f"{method} {target}")
    for path in ("/api/", "/api/v1/", "/api/v1/nothing", "/api/v2/feed", "/api/v1/feed/"):
        assert_refused(client.get(path), path)


def test_missing_and_forged_tokens_are_refused(document: dict[str, Any], api: APIClient) -> None:
    before = rows()
    api.raise_request_exception = False
    for path, method, _ in operations(document):
        target = paths_with(path, ["1"])[0] if "{" in path else path
        if method != "get":
            assert_refused(api.generic(method.upper(), target), f"{method} {target} without token")
        for token in BAD_TOKENS:
            for scheme in ("Bearer", "bearer", "Basic"):
                response = api.generic(
                    method.upper(), target, HTTP_AUTHORIZATION=f"{scheme} {token}"
                )
                what = f"{method} {target} with {scheme} {token[:20]!r}"
                assert response.status_code < 500, what
                if scheme.lower() == "bearer" and token and "auth/" not in target:
                    assert response.status_code == 401, what
                    assert_refused(response, what)
    assert rows() == before


def test_the_document_describes_every_endpoint(document: dict[str, Any]) -> None:
    def walk(resolver: URLResolver, prefix: str) -> Iterator[str]:
        for entry in resolver.url_patterns:
            if isinstance(entry, URLResolver):
                yield from walk(entry, prefix + str(entry.pattern))
            elif isinstance(entry, URLPattern):
                yield prefix + str(entry.pattern)

    def shape(path: str) -> str:
        parts = path.strip("/").split("/")
        return "/".join("{}" if part[:1] in ("{", "<") else part for part in parts)

    served = {shape(p) for p in walk(get_resolver(), "") if p.startswith("api/v1/")}
    described = {shape(path) for path in document["paths"]}
    assert served == described
