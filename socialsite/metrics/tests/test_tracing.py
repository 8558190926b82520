"""Traces reach a receiver of OTLP, and without the packages a check says what to install."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from socialsite.core.telemetry import tracing as spans
from socialsite.metrics import tracing

pytestmark = pytest.mark.once

IDENT = "0123456789abcdef" * 2
CODE = f"""
from types import SimpleNamespace
from celery import current_app
from celery.signals import task_postrun, task_prerun
from django.db import connection
from django.test import Client
from socialsite.core import redis
from socialsite.metrics.tests.test_tracing import Task

assert Client(headers={{"X-Request-ID": "{IDENT}"}}).get("/healthz").status_code == 200
task = Task()
task_prerun.send(sender=task)
connection.cursor().execute("SELECT %s", ["a private text"])
redis.call(lambda client: client.set("a private key", "1"))
task_postrun.send(sender=task, state="SUCCESS")
"""


class Task:
    """A task that the request sent, as signals see it."""

    name = "a.task"

    class request:  # noqa: N801  (name of Celery)
        """Its message."""

        is_eager = False
        request_id = IDENT


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[bytes]]]:
    """Yield the address of a receiver, and what it received."""
    bodies: list[bytes] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                bodies.append(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    server.server_close()


def spans_of(bodies: list[bytes]) -> list[Any]:
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

    return [
        span
        for body in bodies
        for resource in trace_service_pb2.ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_a_request_and_its_task_are_one_trace(
    receiver: tuple[str, list[bytes]], tmp_path: Path
) -> None:
    address, bodies = receiver
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    env = kept | {"DATA_DIR": str(tmp_path), "DEMO": "0", "TRUSTED_PROXIES": "1"}
    env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": address}
    command = [sys.executable, "manage.py", "shell", "-c", CODE]
    done = subprocess.run(
        command, env=env, cwd=site_settings.BASE_DIR, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = {span.name: span for span in spans_of(bodies)}
    assert {"GET none", "task a.task", "SQL SELECT", "Redis SET"} <= found.keys()
    for name in ("GET none", "task a.task", "SQL SELECT", "Redis SET"):
        assert found[name].trace_id.hex() == IDENT
        values = {one.key: one.value.string_value for one in found[name].attributes}
        assert values["request.id"] == IDENT
    assert found["SQL SELECT"].parent_span_id == found["task a.task"].span_id
    assert b"private" not in b"".join(bodies)


def test_a_site_without_a_receiver_loads_nothing_and_measures_nothing() -> None:
    assert not spans.is_on()
    with spans.span("a", "SERVER") as span:
        assert span is None
    assert "socialsite.metrics.traces" not in sys.modules


@pytest.mark.parametrize("is_there", [True, False])
def test_a_check_says_which_packages_are_missing(
    is_there: bool, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_command("check")
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:4318"
    if not is_there:
        monkeypatch.setattr(tracing, "PACKAGES", ("opentelemetry.nothing",))
        with pytest.raises(SystemCheckError, match=r"requirements/lock/otel\.txt"):
            call_command("check", fail_level="WARNING")
        call_command("check")  # an update must not fail
        tracing.start()
        assert not spans.is_on()
    else:
        call_command("check", fail_level="WARNING")
