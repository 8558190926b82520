"""Starts traces by OpenTelemetry, if a receiver is configured and the packages are installed."""

import importlib.util
import logging
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from socialsite.core.telemetry import instruments

logger = logging.getLogger(__name__)

PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
HINT = ".venv/bin/python -m pip install --require-hashes -r requirements/lock/otel.txt"
MISSING = "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages of OpenTelemetry are not installed"


def start() -> None:
    """Trace this process, if that is configured; without the packages the site works untraced."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        return
    if not is_installed():
        logger.error("%s: %s", MISSING, HINT)
        return
    from socialsite.metrics import traces  # needs the packages

    traces.install(instruments.ROLE)


def is_installed() -> bool:
    """Return whether the packages are installed."""
    try:
        return all(importlib.util.find_spec(name) for name in PACKAGES)
    except ModuleNotFoundError:
        return False


@register
def check(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report missing packages."""
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT and not is_installed():
        return [Warning(f"{MISSING}.", hint=HINT, id="socialsite.W001")]
    return []
