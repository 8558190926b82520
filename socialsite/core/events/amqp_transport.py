"""Kombu's transport of RabbitMQ with the time-outs that the one of Redis has.

Without them a server that hangs while a queue is declared, or a channel is closed, is waited for
without an end.
"""

from typing import Any

from kombu.transport import pyamqp


class Transport(pyamqp.Transport):
    """Waits for a connection, and for each answer, as long as the options allow, in seconds."""

    client: Any

    def establish_connection(self) -> Any:
        """Connect. Raises OSError."""
        options = self.client.transport_options or {}
        if connecting := options.get("socket_connect_timeout"):
            self.client.connect_timeout = connecting
        connection = super().establish_connection()
        connection.transport.sock.settimeout(options.get("socket_timeout"))
        return connection


class SSLTransport(Transport):
    """The same over TLS."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.client.ssl:
            self.client.ssl = True
