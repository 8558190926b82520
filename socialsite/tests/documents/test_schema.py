"""The OpenAPI document is built once, and clients may cache it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from socialsite.api import schema
from socialsite.core.rate_limits.budget import Rate

pytestmark = [pytest.mark.once, pytest.mark.django_db]

SCHEMA, DOCS = "/api/schema/", "/api/docs/"
YAML, JSON = "application/vnd.oai.openapi", "application/vnd.oai.openapi+json"


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a new process, without built documents."""
    monkeypatch.setattr(schema, "_made", {})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one with each built document."""
    found: list[int] = []
    make = SchemaGenerator.get_schema
    monkeypatch.setattr(
        SchemaGenerator,
        "get_schema",
        lambda *args, **more: (found.append(1), make(*args, **more))[1],
    )
    return found


def test_the_document_is_made_once_in_each_format_for_everybody(made: list[int]) -> None:
    first: dict[Any, Any] = {}
    for number, (language, query) in enumerate(
        [("en", ""), ("zh-hans", ""), ("zh-hans", "?lang=zh-hans"), ("en", "?version=9")]
    ):
        for kind in (YAML, JSON):
            answer = Client(REMOTE_ADDR=f"192.0.2.{number}").get(
                SCHEMA + query, headers={"accept": kind, "accept-language": language}
            )
            assert answer.status_code == 200
            assert answer["Content-Type"].startswith(kind)
            assert first.setdefault(kind, answer.content) == answer.content
    assert len(made) == 2
    assert json.loads(first[JSON])["info"]["title"] == "socialsite"
    assert first[YAML].startswith(b"openapi: 3.1")


def test_it_may_be_cached_and_revalidated_by_its_tag() -> None:
    answer = Client().get(SCHEMA)
    assert answer["Cache-Control"] == "public, max-age=300"
    assert "Accept" in answer["Vary"].split(", ")
    assert not answer.cookies
    again = Client().get(SCHEMA, headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", answer["ETag"])
    other = Client().get(SCHEMA, headers={"if-none-match": answer["ETag"], "accept": JSON})
    assert other.status_code == 200
    assert other["ETag"] != answer["ETag"]


def test_its_page_may_be_cached_too() -> None:
    answer = Client().get(DOCS)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "public, max-age=300")
    assert not answer.cookies
    script = Client().get(f"{DOCS}?script=")
    assert script["Cache-Control"] == "no-store"
    assert script.cookies["csrf"].value  # it contains the reader's own token
    refused = Client().post(DOCS)
    assert refused.json()["code"] == 18
    assert refused["Cache-Control"] == "no-store"


def test_reading_too_often_is_refused_in_the_envelope(settings: Any) -> None:
    settings.BUDGETS = {"schema": Rate(1, 1)}
    assert [Client().get(path).status_code for path in (SCHEMA, DOCS)] == [200, 429]
    for path in (SCHEMA, DOCS):
        answer = Client().get(path)
        assert answer.json()["code"] == 11
        assert int(answer["Retry-After"]) > 3500
        assert answer["Cache-Control"] == "no-store"


def test_the_document_names_each_credential() -> None:
    document = Client().get(SCHEMA, headers={"accept": JSON}).json()
    assert set(document["components"]["securitySchemes"]) == {
        *("bearer", "cookie"),
        *("serviceBasic", "serviceKey"),
    }


def operations() -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield the name of each operation, its parameters, and the statuses that it documents."""
    document = Client().get(SCHEMA, headers={"accept": JSON}).json()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            names = {one["name"] for one in operation.get("parameters", [])}
            yield f"{method} {path}", names, set(operation["responses"])


def test_operations_document_what_a_bad_id_answers() -> None:
    ids = {"post_id", "comment_id", "user_id", "draft_id", "ident"}
    found = {name: statuses for name, names, statuses in operations() if names & ids}
    assert len(found) > 40
    assert [name for name, statuses in found.items() if "400" not in statuses] == []


def test_operations_document_what_a_used_idempotency_key_answers() -> None:
    """409 if the key belongs to another request, 404 if the created object is gone."""
    found = {name: statuses for name, names, statuses in operations() if "Idempotency-Key" in names}
    assert len(found) == 8
    expected = {"400", "404", "409"}
    missing = [n for n, told in found.items() if "4XX" not in told and not expected <= told]
    assert missing == []


def test_operations_document_that_they_refuse_an_expired_token() -> None:
    public = {"/api/v1/feed/recommended", "/api/v1/tags/trending", "/api/v1/users/new"}
    found = {name.partition(" ")[2]: statuses for name, _, statuses in operations()}
    for path in public:
        answer = Client().get(path, headers={"authorization": "Bearer x"})
        assert answer.status_code == 401
        assert "401" in found[path]
    without = [name for name, _, statuses in operations() if not statuses & {"401", "4XX"}]
    assert {name.rpartition("/")[2] for name in without} == {
        *("challenge", "confirm", "login-options", "recover", "register"),
    }


def test_the_size_of_a_page_has_bounds() -> None:
    document = Client().get(SCHEMA, headers={"accept": JSON}).json()
    parameters = document["paths"]["/api/v1/feed"]["get"]["parameters"]
    schemas = {one["name"]: one["schema"] for one in parameters}
    assert schemas["size"] == {"type": "integer", "minimum": 1, "maximum": 20, "default": 10}
    assert schemas["max_time"]["minimum"] == 0
