"""Request bodies: the limit of each address, and that nothing larger is read."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from feeds.models import Post, PostContent
from socialsite.core.http.server import body_limits
from socialsite.core.media.video_links import URL_MAX

pytestmark = [pytest.mark.django_db, pytest.mark.once]

Make = Callable[..., Any]
LOGIN, POSTS = "/api/v1/auth/login", "/api/v1/posts"
CAT = "🐱"  # 12 bytes as two `\\uXXXX`, 12 bytes percent-encoded
ARTICLE = CAT * max(PostContent.TEXT_MAX.values())
FORM = "application/x-www-form-urlencoded"


def addresses() -> list[str]:
    """Return every address of the site, each parameter filled with 1, and some unknown ones."""

    def walk(resolver: URLResolver, prefix: str) -> Iterator[str]:
        for entry in resolver.url_patterns:
            if isinstance(entry, URLResolver):
                yield from walk(entry, prefix + str(entry.pattern))
            elif isinstance(entry, URLPattern):
                yield prefix + str(entry.pattern)

    shapes = [shape.replace("^", "").rstrip("$") for shape in walk(get_resolver(), "/")]
    filled = ["/".join("1" if "<" in p else p for p in shape.split("/")) for shape in shapes]
    unknown = ["/nothing", "/api/", "/api/v1/nothing", "/posts/", "//posts", "/api/v1/media/"]
    return sorted({*filled, *unknown})


def page_client(make_user: Make) -> Client:
    """Return a browser of a signed-in person."""
    from accounts import actions as accounts_actions

    client = Client()
    pair = accounts_actions.sign_in(make_user(), client="other")
    client.cookies["access"], client.cookies["refresh"] = pair
    return client


# --- limits -------------------------------------------------------------------------------------
def test_every_address_refuses_a_body_over_its_limit(client: Client) -> None:
    found = addresses()
    assert len(found) > 80
    assert "/admin/login/" in found
    methods = {row.path: row.method for row in body_limits.TABLE}
    assert set(methods) == set(body_limits.locations())
    for path in found:
        shape = path.replace("/1", "/{id}")
        method = methods.get(shape, "POST")
        limit = body_limits.limit_of(method, path, "application/json")
        highest = max(limit, body_limits.limit_of(method, path, "multipart/form-data"))
        assert (highest > body_limits.OTHER) == (shape in methods), path
        answer = client.generic(
            method, path, content_type="application/json", CONTENT_LENGTH=str(limit + 1)
        )
        assert answer.status_code == 413, path
        if path.startswith("/api/"):
            assert answer.json()["code"] == 20
            assert str(limit // 1024) in answer.json()["detail"]
        else:
            assert b"<html" in answer.content


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path", ["/posts", POSTS, "/api/v1/media", "/", "/posts/x/edit", "/api/v1/posts/1/like"]
)
def test_other_methods_take_no_large_bodies(client: Client, method: str, path: str) -> None:
    answer = client.generic(method, path, CONTENT_LENGTH=str(body_limits.OTHER + 1))
    assert answer.status_code == 413


def test_only_a_multipart_form_may_carry_files_to_the_composer() -> None:
    assert (
        body_limits.limit_of("POST", "/posts", "Multipart/Form-Data; boundary=x")
        == body_limits.FILES
    )
    for kind in (FORM, "", "application/json", "x; multipart/form-data"):
        assert body_limits.limit_of("POST", "/posts", kind) == body_limits.ARTICLE


def test_the_longest_article_fits_when_every_character_is_escaped(
    make_user: Make, api_for: Make
) -> None:
    body = json.dumps(
        {
            "kind": "article",
            "title": CAT * PostContent.TITLE_MAX,
            "content": ARTICLE,
            "video_url": "",
            "images": [],
        }
    )
    assert len(body) > 12 * len(ARTICLE)
    answer = api_for(make_user()).post(POSTS, body, content_type="application/json")
    assert answer.status_code == 201
    assert answer.json()["content"] == ARTICLE
    assert len(body) + 12 * URL_MAX < body_limits.ARTICLE


def test_the_longest_article_fits_into_an_edit(make_user: Make, api_for: Make) -> None:
    from feeds import actions

    person = make_user()
    post = actions.publish(person, kind="article", title="t", content="x")
    values = {"version": 2**31 - 1, "title": CAT * PostContent.TITLE_MAX, "content": ARTICLE}
    answer = api_for(person).patch(
        f"{POSTS}/{post.pk}", json.dumps(values), content_type="application/json"
    )
    assert answer.json()["code"] == 29


@pytest.mark.parametrize("kind", ["multipart", "form"])
def test_the_longest_article_fits_in_the_form_of_the_page(make_user: Make, kind: str) -> None:
    values = {"kind": "article", "title": CAT * PostContent.TITLE_MAX, "content": ARTICLE}
    browser = page_client(make_user)
    if kind == "form":
        answer = browser.post("/posts", urlencode(values), content_type=FORM)
    else:
        answer = browser.post("/posts", values)
    assert answer.status_code == 303
    assert Post.objects.get().content_row.content == ARTICLE


def test_the_text_in_a_form_with_files_is_bounded_by_itself(make_user: Make) -> None:
    values = {"kind": "article", "title": "t", "content": "x" * (body_limits.ARTICLE + 1)}
    answer = page_client(make_user).post("/posts", values)
    assert answer.status_code == 413
    assert not Post.objects.exists()


@pytest.mark.parametrize("count", [200, 201])
@pytest.mark.parametrize("kind", ["form", "multipart", "query"])
def test_a_form_has_at_most_two_hundred_fields(client: Client, kind: str, count: int) -> None:
    values = {f"f{number}": "x" for number in range(count)}
    if kind == "form":
        answer = client.post("/login", urlencode(values), content_type=FORM)
    elif kind == "multipart":
        answer = client.post("/login", values)
    else:
        answer = client.get("/search?" + urlencode(values))
    assert (answer.status_code == 400) == (count == 201 or kind != "query")
    assert (b"could not be parsed" in answer.content) == (count == 201)


def test_the_docs_show_the_table() -> None:
    text = Path(settings.BASE_DIR, "docs/sizes.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (\S+|any other) \| (\S+) \| (\d+) kB \|$", text, re.MULTILINE)
    shown = [tuple(cell.strip("`") for cell in row) for row in rows]
    table = [
        (row.method, row.path, row.content_type or "any", str(row.limit // body_limits.KILO))
        for row in body_limits.TABLE
    ]
    assert shown == [
        *table,
        ("any", "any other", "any", str(body_limits.OTHER // body_limits.KILO)),
    ]


# --- bodies kept from Django (ASGI) -------------------------------------------------------------
def through_the_gate(
    headers: dict[str, str], parts: list[bytes], path: str = LOGIN
) -> tuple[dict[bytes, bytes], bytes, int]:
    """Return the headers and the body that pass, and how often `receive` was called."""
    seen: dict[str, Any] = {}
    asked = [0]

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        seen.update(headers=dict(scope["headers"]), body=body)
        with pytest.raises(TimeoutError):  # as Django waits until its response is sent
            await asyncio.wait_for(receive(), 0.01)

    async def receive() -> dict[str, Any]:
        asked[0] += 1
        if not parts:
            await asyncio.Event().wait()
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": raw}
    asyncio.run(body_limits.Gate(application)(scope, receive, send))
    return seen["headers"], seen["body"], asked[0]


@pytest.mark.parametrize(
    "headers",
    [
        {"content-length": str(body_limits.OTHER + 1)},
        {"content-length": "9" * 5000},
        {"content-length": "x"},
        {"transfer-encoding": "chunked"},
        {"transfer-encoding": "gzip, Chunked", "content-length": "5"},
    ],
)
def test_nothing_of_a_refused_body_is_received(headers: dict[str, str]) -> None:
    got, body, asked = through_the_gate(headers, [b"x" * 1000])
    assert (body, asked) == (b"", 0)
    assert got == {name.encode(): value.encode() for name, value in headers.items()}


def test_a_body_within_the_limit_gets_through_as_it_is() -> None:
    parts = [b"x" * 1000, b"y" * 1000]
    headers = {"content-length": "2000", "content-type": "application/json"}
    assert through_the_gate(headers, parts)[1] == b"x" * 1000 + b"y" * 1000


def test_a_body_longer_than_announced_is_not_stored_and_refused() -> None:
    got, body, _asked = through_the_gate({"content-length": "5"}, [b"x" * 200_000] * 9)
    assert len(body) <= body_limits.OTHER
    assert int(got[b"content-length"]) > body_limits.OTHER
