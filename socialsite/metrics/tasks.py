"""What tasks carry and measure: the id of a request, the time they waited and the time they took.

Also those of the embedded mode. A task that no request sent has an id of its own.
"""

import time
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from socialsite.core.runtime import request_ids
from socialsite.core.telemetry import tracing
from socialsite.core.telemetry.instruments import TASK_WAITS, TASKS

SENT_AT = "sent_at"  # in the headers of a message


@before_task_publish.connect
def _sent(headers: dict[str, Any] | None = None, **_kwargs: object) -> None:
    if headers is not None:
        headers[SENT_AT] = time.time()
        if ident := request_ids.current():
            headers[request_ids.MESSAGE] = ident


@task_prerun.connect
def _begun(sender: Any, **_kwargs: object) -> None:
    request = sender.request
    if request.is_eager:  # called in the process of its caller, as a function
        return
    ident = getattr(request, request_ids.MESSAGE, None)
    request_ids.begin(str(ident) if request_ids.is_id(ident) else request_ids.new())
    request.span = tracing.span(f"task {sender.name}", "CONSUMER")
    request.span.__enter__()
    request.began = time.perf_counter()
    sent_at = getattr(request, SENT_AT, None)
    if isinstance(sent_at, int | float):
        # The clocks of two machines may differ.
        TASK_WAITS.labels(sender.name).observe(max(0.0, time.time() - sent_at))


@task_postrun.connect
def _ended(sender: Any, state: str | None = None, **_kwargs: object) -> None:
    began = getattr(sender.request, "began", None)
    if began is not None:
        outcome = (state or "unknown").lower()
        TASKS.labels(sender.name, outcome).observe(time.perf_counter() - began)
        sender.request.span.__exit__(None, None, None)
        request_ids.begin("")
