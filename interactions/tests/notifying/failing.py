"""A mail backend that fails."""

from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import EmailMessage


class Backend(BaseEmailBackend):
    """Refuses all mails."""

    def send_messages(self, email_messages: list[EmailMessage]) -> int:  # type: ignore[override]
        """Fail as a server that is down."""
        raise OSError("down")
