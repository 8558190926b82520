"""`Idempotency-Key`: the same request has one effect, another request is refused."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from socialsite.core.errors import NotFound
from socialsite.core.http.json import OrjsonParser
from socialsite.core.models import Event, IdempotencyKey
from socialsite.core.requests.idempotency import REPLAYED, Created, idempotent

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def show(request: Request, ident: int) -> dict[str, str]:
    row = Event.objects.filter(pk=ident).first()
    if row is None:
        raise NotFound
    return {"id": str(row.pk), "type": row.type}


class Make(APIView):
    """Creates one row for each request; with `fail` it is refused afterwards."""

    authentication_classes: list = []
    permission_classes = [AllowAny]
    parser_classes = [OrjsonParser, MultiPartParser]

    @idempotent(show)
    def post(self, request: Request) -> Created:
        """Create a row."""
        row = Event.objects.create(aggregate_type="t", aggregate_id=1, type="t", payload={})
        if isinstance(request.data, dict) and request.data.get("fail"):
            raise NotFound
        return Created(row.pk, Response({"id": str(row.pk), "type": "t"}, status=201))


def send(body=None, key: str | None = "k1", user: int = 1, path: str = "/make", **kwargs):
    headers = {} if key is None else {"Idempotency-Key": key}
    kwargs.setdefault("format", "json")
    request = APIRequestFactory().post(path, body or {}, headers=headers, **kwargs)
    person: Any = SimpleNamespace(pk=user, is_authenticated=True)
    force_authenticate(request, person)
    return Make.as_view()(request)


def made() -> int:
    return Event.objects.count()


def test_a_repeat_gets_the_first_answer_and_has_no_effect() -> None:
    first, second = send({"a": 1}), send({"a": 1})
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.data == second.data
    assert REPLAYED not in first
    assert second[REPLAYED] == "true"
    assert made() == 1


def test_a_repeat_shows_the_object_as_it_is_now() -> None:
    first = send()
    Event.objects.update(type="changed")
    second = send()
    assert (second.status_code, second.data) == (201, first.data | {"type": "changed"})


def test_a_repeat_for_a_deleted_object_responds_like_a_read_and_creates_nothing() -> None:
    send()
    Event.objects.all().delete()
    again = send()
    assert (again.status_code, again.data["code"], again[REPLAYED]) == (404, 17, "true")
    assert made() == 0


def test_a_key_stores_no_text() -> None:
    """Otherwise a text that is deleted everywhere would remain in it."""
    send({"content": "secret"})
    row = IdempotencyKey.objects.values().get()
    assert row.keys() == {
        *("id", "user_id", "key", "fingerprint", "status", "made_id", "created_at"),
    }
    assert "secret" not in str(row)


def test_without_a_key_every_request_counts() -> None:
    send(key=None)
    send(key=None)
    assert made() == 2
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize("other", [{"body": {"a": 2}}, {"path": "/other"}])
def test_the_same_key_for_another_request_is_refused(other) -> None:
    send({"a": 1})
    response = send(**({"body": {"a": 1}} | other))
    assert (response.status_code, response.data["code"]) == (409, 24)
    assert made() == 1


def test_the_order_of_the_fields_makes_no_other_request() -> None:
    send({"a": 1, "b": 2})
    assert send({"b": 2, "a": 1}).status_code == 201
    assert made() == 1


def test_keys_belong_to_their_person() -> None:
    assert send(user=1).data != send(user=2).data
    assert made() == 2


def test_a_refused_request_stores_neither_key_nor_effect() -> None:
    assert send({"fail": 1}).status_code == 404
    assert made() == 0
    assert not IdempotencyKey.objects.exists()
    assert send({"a": 1}).status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 101, "a\tb", "é"])
def test_a_bad_key_is_invalid_input(key) -> None:
    response = send(key=key)
    assert (response.status_code, response.data["code"]) == (400, 13)
    assert list(response.data["fields"]) == ["Idempotency-Key"]
    assert made() == 0


def test_files_are_part_of_the_request() -> None:
    def upload(content: bytes):
        file = SimpleUploadedFile("a.png", content)
        return send({"file": file}, format="multipart")

    first, second, other = upload(b"one"), upload(b"one"), upload(b"two")
    assert first.data == second.data
    assert other.data["code"] == 24
    assert made() == 1


def test_a_key_that_another_request_took_meanwhile_answers_as_that_one(monkeypatch) -> None:
    from socialsite.core.requests import idempotency

    first = send({"a": 1})
    real = idempotency._stored
    calls = []

    def late(owner: int, key: str, fingerprint: str):
        calls.append(key)
        return None if len(calls) == 1 else real(owner, key, fingerprint)

    monkeypatch.setattr(idempotency, "_stored", late)
    assert send({"a": 1}).data == first.data
    assert made() == 1
