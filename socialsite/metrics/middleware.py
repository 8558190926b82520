"""The time that requests take, by route; those that fail or are slow leave a line in the log."""

import functools
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import Histogram

from socialsite.core.runtime.logs import REQUESTS
from socialsite.core.telemetry import tracing
from socialsite.core.telemetry.instruments import HTTP_REQUESTS

logger = logging.getLogger(REQUESTS)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE, OTHER_METHOD = "none", "other"
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


class RequestTimes:
    """Measures each request from here to its response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        began = perf_counter()
        response = self.get_response(request)
        method, route, status = _method(request), _route(request), response.status_code
        seconds = perf_counter() - began
        with suppress(OSError, ValueError):  # its file cannot grow: the answer is what counts
            _series(route, method, status // 100).observe(seconds)
        if status >= 500 or seconds >= settings.SLOW_REQUEST_SECONDS:
            text = "%s %s answered %d after %.3f s"
            extra = {"status_code": status}
            logger.warning(text, method, route_text(route), status, seconds, extra=extra)
        return response


class RequestSpans:
    """Traces each request, if traces are collected."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not tracing.is_on():
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        with tracing.span("request", "SERVER") as span:
            response = self.get_response(request)
            method, route, status = _method(request), _route(request), response.status_code
            route = route_text(route)
            span.update_name(f"{method} {route}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", status)
        return response


def _method(request: HttpRequest) -> str:
    method = request.method or ""
    return method if method in METHODS else OTHER_METHOD


def _route(request: HttpRequest) -> str:
    """Return the pattern of the address, as Django writes it."""
    found = request.resolver_match
    return found.route if found else NO_ROUTE


@functools.cache  # as many as there are routes
def _series(route: str, method: str, hundreds: int) -> Histogram:
    return HTTP_REQUESTS.labels(route_text(route), method, f"{hundreds}xx")


def route_text(route: str) -> str:
    """Return a URL pattern of Django in the way of OpenAPI: `posts/{post_id}`."""
    return _PARAMETER.sub(r"{\1}", route) or "/"
