"""Spans of traces, for code that need not know whether anybody collects them.

Without a tracer (`use`) nothing is measured. With one, the spans of all processes that work for a
request are one trace: the id of the request is the id of the trace.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

_tracers: list[Any] = []


def use(tracer: Any) -> None:
    """Measure with this tracer of OpenTelemetry from now on."""
    _tracers[:] = [tracer]


def is_on() -> bool:
    """Return whether there is a tracer."""
    return bool(_tracers)


def span(name: str, kind: str = "INTERNAL", **attributes: Any) -> Any:
    """Measure a block; the span or None is the block's value. Names of attributes have _ for a dot.

    `kind` is a name of `opentelemetry.trace.SpanKind`; a SERVER or a CONSUMER has no parent. Texts
    of errors are left out, as they may contain personal data.
    """
    return _measured(name, kind, attributes) if _tracers else contextlib.nullcontext()


@contextlib.contextmanager
def _measured(name: str, kind: str, attributes: dict[str, Any]) -> Iterator[Any]:
    named = {key.replace("_", "."): value for key, value in attributes.items()}
    with _tracers[0].measure(name, kind, named) as made:
        yield made
