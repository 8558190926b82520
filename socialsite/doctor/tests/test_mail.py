"""The check of the mail server, on real servers that accept, refuse, hang up or do not exist."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from socialsite.doctor.checks import mail
from socialsite.doctor.findings import ERROR, OK, WARNING, Finding, worst

pytestmark = pytest.mark.once

PASSWORD = b"right"


class Inbox:
    """Keeps the addresses of mails; refuses those at refused.example."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    async def handle_RCPT(  # noqa: N802  (the name that aiosmtpd calls)
        self, _smtp: SMTP, _who: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address.endswith("refused.example"):
            return "550 No such person"
        envelope.rcpt_tos.append(address)
        self.addresses.append(address)
        return "250 OK"


class AnyPort(Controller):
    """A controller that lets the system choose the port."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        super()._trigger_server()


def _log_in(_server: SMTP, _who: Session, _envelope: Envelope, _how: str, data: Any) -> AuthResult:
    return AuthResult(success=data.password == PASSWORD, handled=False)


@contextmanager
def running(settings: Any, **options: Any) -> Iterator[Inbox]:
    """Run a mail server that the settings name."""
    inbox = Inbox()
    controller = AnyPort(inbox, hostname="127.0.0.1", port=0, **options)
    controller.start()
    settings.EMAIL_PORT = controller.port
    try:
        yield inbox
    finally:
        controller.stop()


@pytest.fixture(autouse=True)
def _to_this_machine(settings: Any) -> None:
    settings.EMAIL_BACKEND = mail.SMTP
    settings.EMAIL_HOST, settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = (
        "127.0.0.1",
        "",
        "",
    )
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.DEFAULT_FROM_EMAIL = "Site <site@example.org>"


def texts(findings: Iterable[Finding], level: str) -> str:
    return "\n".join(one.text for one in findings if one.level == level)


def test_a_server_that_answers_is_fine_and_gets_no_mail(settings: Any) -> None:
    with running(settings) as inbox:
        assert worst(mail.mail()) == OK
    assert inbox.addresses == []


def test_a_password_is_tried(settings: Any) -> None:
    options = {"authenticator": _log_in, "auth_require_tls": False, "auth_required": True}
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "site", PASSWORD.decode()
    with running(settings, **options):
        assert worst(mail.mail()) == OK
        settings.EMAIL_HOST_PASSWORD = "wrong"
        assert "refuses the log-in" in texts(mail.mail(), ERROR)


def test_a_server_without_tls_is_an_error_if_tls_is_set(settings: Any) -> None:
    settings.EMAIL_USE_TLS = True
    with running(settings):
        assert worst(mail.mail()) == ERROR


def test_a_server_that_is_not_there_is_an_error(settings: Any) -> None:
    with running(settings):
        pass
    assert "does not answer" in texts(mail.mail(), ERROR)


def test_no_server_is_a_warning(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    assert worst(mail.mail()) == WARNING


@pytest.mark.parametrize(
    "sender", ["noreply@localhost", "noreply@127.0.0.1", "noreply@[::1]", "Site <a@host>"]
)
def test_a_sender_without_a_domain_is_a_warning(settings: Any, sender: str) -> None:
    settings.DEFAULT_FROM_EMAIL = sender
    with running(settings):
        assert sender in texts(mail.mail(), WARNING)


def test_a_password_in_clear_to_another_machine_is_a_warning(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "TIMEOUT_SECONDS", 0.01)
    settings.EMAIL_HOST, settings.EMAIL_HOST_PASSWORD = "192.0.2.1", "secret"
    assert "without encryption" in texts(mail.mail(), WARNING)
    settings.EMAIL_USE_TLS = True
    assert "without encryption" not in texts(mail.mail(), WARNING)


def test_a_mail_is_sent_on_demand(settings: Any) -> None:
    with running(settings) as inbox:
        assert worst(mail.send("me@example.org")) == OK
        assert inbox.addresses == ["me@example.org"]
        assert "was not sent" in texts(mail.send("me@refused.example"), ERROR)
