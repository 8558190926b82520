"""Traces by OpenTelemetry of requests, tasks, events, SQL and Redis.

`start` of `socialsite.metrics.tracing` imports this module only if a receiver is configured. Spans
have no values of parameters, no keys of Redis, and no addresses that contain something of people.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.db import connections
from django.db.backends.signals import connection_created
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from socialsite.core.redis import traced
from socialsite.core.runtime import request_ids
from socialsite.core.telemetry import tracing

SQL_MAX = 2000


class Ids(RandomIdGenerator):
    """Makes the id of the present request that of its trace."""

    def generate_trace_id(self) -> int:
        """Return the id of a trace, which must not be 0."""
        return int(request_ids.current() or "0", 16) or int(super().generate_trace_id())


class Tracer:
    """What `core.telemetry.tracing` measures with."""

    def __init__(self, role: str) -> None:
        resource = Resource.create({"service.name": "socialsite", "service.instance.id": role})
        provider = TracerProvider(resource=resource, id_generator=Ids())
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = provider.get_tracer("socialsite")

    @contextlib.contextmanager
    def measure(self, name: str, kind: str, attributes: Mapping[str, Any]) -> Iterator[Any]:
        """Measure a block in a span."""
        begun = self._tracer.start_as_current_span(
            name,
            context=Context() if kind in ("SERVER", "CONSUMER") else None,
            kind=trace.SpanKind[kind],
            attributes={**attributes, "request.id": request_ids.current()},
            record_exception=False,
            set_status_on_exception=False,
        )
        with begun as span:
            try:
                yield span
            except BaseException as error:
                span.set_status(trace.StatusCode.ERROR, type(error).__name__)
                raise


def install(role: str) -> None:
    """Trace this process."""
    tracing.use(Tracer(role))
    connection_created.connect(_connected, dispatch_uid="traces")
    for connection in connections.all(initialized_only=True):
        _connected(connection)
    traced.install()


def _connected(connection: Any, **_kwargs: object) -> None:
    """Trace a connection; it is opened again after it was lost."""
    if _of_sql not in connection.execute_wrappers:
        connection.execute_wrappers.append(_of_sql)


def _of_sql(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Mapping[str, Any]
) -> Any:
    vendor, text = context["connection"].vendor, str(sql)[:SQL_MAX]
    name = f"SQL {text.split(None, 1)[0].upper()}" if text.strip() else "SQL"
    with tracing.span(name, "CLIENT", db_system_name=vendor, db_query_text=text):
        return execute(sql, params, many, context)
