"""One id through the request, what it publishes, the tasks it sends, and every line they log."""

import asyncio
import io
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from celery.signals import before_task_publish, task_postrun, task_prerun
from django.db import transaction
from django.test import Client

from socialsite import wsgi
from socialsite.core.events import DomainEvent, publish, registry, relay
from socialsite.core.models import Event
from socialsite.core.runtime import request_ids
from socialsite.core.runtime.logs import Line

CLAIM, OTHER = "0123456789abcdef" * 2, "f" * 32
HEADER = {"X-Request-ID": CLAIM}


@pytest.fixture(autouse=True)
def _no_request() -> Iterator[None]:
    request_ids.begin("")
    yield
    request_ids.begin("")


@pytest.fixture
def lines() -> Iterator[Callable[[], list[str]]]:
    """Return the lines that all loggers wrote."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(Line())
    logging.getLogger().addHandler(handler)
    yield lambda: out.getvalue().splitlines()
    logging.getLogger().removeHandler(handler)


def answer(headers: dict[str, str]) -> str:
    return str(Client(headers=headers).get("/healthz").headers["X-Request-ID"])


# --- where it begins ----------------------------------------------------------------------------
def test_a_client_without_a_proxy_cannot_choose_it(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 0
    found = {answer(HEADER), answer(HEADER)}
    assert len(found) == 2
    assert CLAIM not in found
    assert all(map(request_ids.is_id, found))


def test_that_of_the_proxy_counts(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 1
    assert answer(HEADER) == CLAIM


@pytest.mark.parametrize(
    "claim", ["", "x", CLAIM.upper(), f"{CLAIM}0", f"{CLAIM}\n", f"{CLAIM}, {OTHER}", "٣" * 32]
)
def test_one_of_another_form_is_replaced(settings: Any, claim: str) -> None:
    settings.TRUSTED_PROXIES = 1
    found = request_ids.of_request(claim)
    assert request_ids.is_id(found)
    assert found != claim


def test_wsgi_begins_with_it(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 1
    sent: list[Any] = []
    environ = {
        **{"REQUEST_METHOD": "GET", "PATH_INFO": "/healthz", "SERVER_NAME": "x"},
        **{"SERVER_PORT": "80", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http"},
        "HTTP_X_REQUEST_ID": CLAIM,
    }
    wsgi.application(environ, lambda status, headers: sent.append(dict(headers)))
    assert sent[0]["X-Request-ID"] == request_ids.current() == CLAIM


def test_asgi_begins_with_it_and_each_task_has_its_own(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 1
    seen: dict[str, str] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0)
        seen[scope["name"]] = await asyncio.to_thread(request_ids.current)

    async def serve() -> None:
        named = request_ids.Named(application)
        given = {"a": [CLAIM], "b": [OTHER], "c": [CLAIM, OTHER], "d": []}
        headers = {
            name: [(b"x-request-id", one.encode()) for one in some] for name, some in given.items()
        }
        some = [named({"name": name, "headers": headers[name]}, None, None) for name in given]
        await asyncio.gather(*some)

    asyncio.run(serve())
    assert (seen["a"], seen["b"]) == (CLAIM, OTHER)
    assert len(set(seen.values())) == 4
    assert all(map(request_ids.is_id, seen.values()))


# --- what a request leaves behind ---------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Knocked(DomainEvent):
    """An event for these tests only."""

    aggregate_type: ClassVar[str] = "door"
    aggregate_field: ClassVar[str] = "door_id"

    door_id: int


def message() -> dict[str, Any]:
    """Return the headers of a message of the broker that is sent now."""
    headers: dict[str, Any] = {}
    before_task_publish.send(sender="a", headers=headers)
    return headers


@pytest.fixture
def handled() -> Iterator[list[tuple[str, Any]]]:
    """Ids under which handlers of Knocked ran, and those in messages that they sent."""
    found: list[tuple[str, Any]] = []

    def note(event: DomainEvent) -> None:
        found.append((request_ids.current(), message().get("request_id")))

    for stage in ({}, {"after": True}):
        registry.on(Knocked, **stage)(note)
    yield found
    for handlers in registry._handlers.values():
        handlers[:] = [handler for handler in handlers if handler is not note]


def knock(ident: str) -> None:
    with request_ids.within(ident), transaction.atomic():
        publish(Knocked(door_id=1))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [1, 3])  # one is applied in the transaction of its claim
def test_handlers_and_their_tasks_have_the_id_of_the_publisher(
    number: int, handled: list[tuple[str, Any]]
) -> None:
    idents = [f"{one:032x}" for one in range(number)]
    for ident in idents:
        knock(ident)
    request_ids.begin(OTHER)
    relay.relay()
    assert sorted(handled) == sorted([(ident, ident) for ident in idents] * 2)
    assert request_ids.current() == OTHER


@pytest.mark.django_db(transaction=True)
def test_an_event_without_a_request_is_stored_without_an_id(handled: list[tuple[str, Any]]) -> None:
    knock("")
    assert Event.objects.get().payload == {"type": "Knocked", "doorId": 1}
    request_ids.begin(OTHER)
    relay.relay()
    assert handled == [(OTHER, OTHER)] * 2


@dataclass(eq=False)
class Task:
    """The attributes of a task that signals read."""

    request: SimpleNamespace
    name: str = "a"


@pytest.mark.parametrize("sent", [{}, {"request_id": CLAIM}, {"request_id": "x"}])
def test_a_task_has_the_id_of_its_message_or_one_of_its_own(sent: dict[str, str]) -> None:
    assert "request_id" not in message()
    seen = []
    for _ in range(2):
        task = Task(SimpleNamespace(is_eager=False, **sent))
        task_prerun.send(sender=task)
        seen.append(request_ids.current())
        assert message()["request_id"] == seen[-1]
        task_postrun.send(sender=task, state="SUCCESS")
        assert request_ids.current() == ""
    assert all(map(request_ids.is_id, seen))
    assert (set(seen) == {CLAIM}) == (sent.get("request_id") == CLAIM)


# --- what the log says --------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_failed_request_leaves_one_line_without_personal_data(
    settings: Any, monkeypatch: pytest.MonkeyPatch, lines: Callable[[], list[str]]
) -> None:
    settings.TRUSTED_PROXIES = 1

    def broken(*args: object, **kwargs: object) -> None:
        raise ValueError("broken")

    client = Client(raise_request_exception=False, headers=HEADER)
    monkeypatch.setattr("django.core.handlers.base.BaseHandler.resolve_request", broken)
    page = client.get("/search?q=private")
    assert page.status_code == 500
    assert CLAIM in page.content.decode()
    (line,) = [line for line in lines() if " socialsite.requests: " in line]
    assert f" WARNING {CLAIM} " in line
    assert "GET none answered 500 after " in line
    assert "private" not in line


@pytest.mark.django_db
def test_a_slow_request_leaves_a_line_with_its_route(
    settings: Any, lines: Callable[[], list[str]]
) -> None:
    Client().get("/api/v1/posts/1?private=1")
    assert not [line for line in lines() if "socialsite.requests" in line]
    settings.SLOW_REQUEST_SECONDS = 0
    Client().get("/api/v1/posts/1?private=1")
    (line,) = [line for line in lines() if "socialsite.requests" in line]
    assert "GET api/v1/posts/{post_id} answered 404 after " in line
