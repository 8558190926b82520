"""Mails through a real SMTP server that hangs, refuses, and works again."""

import email
import email.policy
import socket
import threading
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.core import mail
from rest_framework.test import APIClient

from accounts import actions
from accounts.models import User
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

ADDRESS = "alice@example.org"
Deliver = Callable[[], list[Any]]


class Server:
    """An SMTP server; `mood` is what it does with the next mails."""

    def __init__(self) -> None:
        self.mood = "works"
        self.received: list[EmailMessage] = []
        self.tries = 0

    # The names are those that aiosmtpd calls.
    async def handle_DATA(self, _smtp: SMTP, _who: Session, envelope: Envelope) -> str:  # noqa: N802
        self.tries += 1
        if self.mood == "refuses":
            return "451 Try again later"
        content = envelope.content
        assert isinstance(content, bytes)
        self.received.append(email.message_from_bytes(content, policy=email.policy.default))
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, _smtp: SMTP, _who: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.mood == "rejects":
            return "550 No such person"
        envelope.rcpt_tos.append(address)
        return "250 OK"


class AnyPort(Controller):
    """A controller that lets the system choose the port."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        super()._trigger_server()


@pytest.fixture
def smtp(settings: Any) -> Iterator[Server]:
    """A running server that the site sends its mails to."""
    handler = Server()
    controller = AnyPort(handler, hostname="127.0.0.1", port=0)
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = controller.port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    yield handler
    controller.stop()


@pytest.fixture(autouse=True)
def with_address(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email=ADDRESS, email_key=ADDRESS)


def again(deliver: Deliver) -> None:
    """Let the time come at which a failed mail is tried again."""
    Event.objects.update(available_at=0)
    deliver()


def test_a_mail_that_is_refused_comes_once_the_server_works(
    smtp: Server, alice: User, deliver: Deliver
) -> None:
    smtp.mood = "refuses"
    actions.request_recovery(ADDRESS)
    deliver()
    again(deliver)
    assert (smtp.tries, smtp.received) == (2, [])
    smtp.mood = "works"
    again(deliver)
    again(deliver)
    (found,) = smtp.received
    assert found["To"] == ADDRESS
    assert not Event.objects.exists()
    assert mail.outbox == []


def test_a_server_that_hangs_holds_nothing_up(
    smtp: Server, alice: User, deliver: Deliver, settings: Any
) -> None:
    """The connection is accepted, and nothing ever answers."""
    port, timeout = settings.EMAIL_PORT, settings.EMAIL_TIMEOUT
    with Silent() as silent:
        settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = silent.port, 0.5
        actions.request_recovery(ADDRESS)
        deliver()
        assert silent.accepted.is_set()
    settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = port, timeout
    again(deliver)
    assert len(smtp.received) == 1


def test_a_rejected_address_is_given_up_in_the_end(
    smtp: Server, alice: User, deliver: Deliver, caplog: pytest.LogCaptureFixture
) -> None:
    smtp.mood = "rejects"
    actions.request_recovery(ADDRESS)
    deliver()
    for _ in range(6):
        again(deliver)
    assert not Event.objects.exists()
    assert "given up" in caplog.text
    assert ADDRESS not in caplog.text


def test_a_chosen_mail_arrives_with_both_parts_and_its_headers(
    smtp: Server, alice: User, deliver: Deliver
) -> None:
    body = {"username": "alice1", "password": "right.pass1", "client": "other"}
    for agent in ("curl/8.0", "Mozilla/5.0 (Android 14; Mobile; rv:130.0) Firefox/130.0"):
        APIClient().post("/api/v1/auth/login", body, format="json", HTTP_USER_AGENT=agent)
    deliver()
    (found,) = smtp.received
    assert found["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert "/email/off/" in found["List-Unsubscribe"]
    kinds = [part.get_content_type() for part in found.iter_parts()]
    assert kinds == ["text/plain", "text/html"]


class Silent:
    """A port that accepts connections and never answers."""

    def __enter__(self) -> "Silent":
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.accepted = threading.Event()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self

    def _accept(self) -> None:
        self._connection, _ = self.socket.accept()
        self.accepted.set()

    def __exit__(self, *error: object) -> None:
        self._thread.join()
        self._connection.close()
        self.socket.close()
