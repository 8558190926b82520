"""Fixtures of the tests of accounts."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from accounts import tasks
from socialsite.core.events import enqueue, relay


@pytest.fixture
def alice(make_user: Callable[..., Any]) -> Any:
    """A person with a name that tests may type."""
    return make_user("alice1")


@pytest.fixture
def browser(client: Client, alice: Any) -> Client:
    """A browser in which alice is signed in."""
    response = client.post("/login", {"username": alice.username, "password": "right.pass1"})
    assert response.status_code == 303
    return client


@pytest.fixture
def deliver(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """Return a function that sends the wanted mails as a worker does, and returns them."""

    def send(task: str, *args: object) -> bool:
        if task == tasks.send_mail.name:
            tasks.send_mail.apply(args=args, throw=True)
        return True

    def run() -> list[Any]:
        monkeypatch.setattr(enqueue, "send", send)
        before = len(mail.outbox)
        while relay.relay():
            pass
        return mail.outbox[before:]

    return run
