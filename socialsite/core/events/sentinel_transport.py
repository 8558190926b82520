"""Kombu's transport of Redis with Sentinel, for a worker that outlives a change of the master.

A master that is cut off from its replicas refuses writes, and taking a message is one. Kombu knows
no such error, and Celery ends the worker. Here it is an error of the connection: the worker asks
the Sentinels for the master again.
"""

import time
from typing import Any

from kombu.transport import redis as transport

# So that a worker does not connect hundreds of times before another master is chosen.
PAUSE_SECONDS = 0.5
_Channel: Any = transport.SentinelChannel
_REFUSALS = transport.SentinelTransport.channel_errors


class Channel(_Channel):
    """Takes messages."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)
        except _REFUSALS:
            time.sleep(PAUSE_SECONDS)
            raise


class Transport(transport.SentinelTransport):
    """Knows the errors of a master that refuses."""

    Channel = Channel
    connection_errors = (*transport.SentinelTransport.connection_errors, *_REFUSALS)
