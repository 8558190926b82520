"""Shared parts of all API views: the error envelope, JSON, parameters, paging.

Every error is sent as `{"code", "error", "detail", "fields"?}` with its HTTP status; a success has
no code (T14). Ids are 64-bit and are sent as strings.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from socialsite.core import errors
from socialsite.core.http.json import dumps
from socialsite.core.http.page_sizes import FEED_MAX, FEED_SIZE, LIST_MAX, LIST_SIZE
from socialsite.core.ids import number_of
from socialsite.core.positions import MAX_TS_MS, Position

logger = logging.getLogger(__name__)

RETRY_AFTER_UNAVAILABLE = 3


def parse_id(value: str, field: str = "id") -> int:
    """Parse a 63-bit id from a path or query; raises InvalidInput if it is malformed."""
    found = number_of(value)
    if found is None:
        raise errors.InvalidInput(fields={field: [_("This is not an id.")]})
    return found


def parse_time(value: str, field: str) -> int:
    """Parse a `created_at` of `core.http.json.iso` into Unix ms; raises InvalidInput."""
    try:
        moment = datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        raise errors.InvalidInput(fields={field: [_("This is not a time.")]}) from None
    return round(moment.timestamp() * 1000)


def page_params(
    request: HttpRequest | Request, *, default: int = LIST_SIZE, maximum: int = LIST_MAX
) -> tuple[Position | None, int]:
    """Parse `cursor`, `size` and `max_time` (ms, lossy on ties); raises InvalidInput."""
    query = request.GET
    size = size_of(request, default=default, maximum=maximum)
    cursor, max_time = query.get("cursor"), query.get("max_time")
    if cursor:
        return Position.decode(cursor), size
    if max_time:
        return Position(_int_param(max_time, "max_time", 0, 0, MAX_TS_MS), 0), size
    return None, size


def feed_params(request: HttpRequest | Request) -> tuple[Position | None, int]:
    """Do the same with the sizes of a list of posts."""
    return page_params(request, default=FEED_SIZE, maximum=FEED_MAX)


def cursor_of(request: HttpRequest | Request) -> Position | None:
    """Return the place after which a page begins; raises InvalidInput."""
    return page_params(request)[0]


def size_of(request: HttpRequest | Request, *, default: int, maximum: int) -> int:
    """Parse `size`; raises InvalidInput."""
    return _int_param(request.GET.get("size"), "size", default, 1, maximum)


def _int_param(text: str | None, field: str, default: int, low: int, high: int) -> int:
    if text is None or text == "":
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and low <= int(text) <= high):
        message = _("Must be a whole number from %(low)s to %(high)s.") % {"low": low, "high": high}
        raise errors.InvalidInput(fields={field: [message]})
    return int(text)


def read(
    serializer_class: type[serializers.Serializer[Any]],
    data: Any,
    error: type[errors.AppError] = errors.InvalidInput,
) -> dict[str, Any]:
    """Validate input and return plain values; raises `error` with its `fields` if it is invalid."""
    serializer = serializer_class(data=data)
    if not serializer.is_valid():
        raise error(fields=_flat(serializer.errors))
    return cast("dict[str, Any]", serializer.validated_data)


def _flat(detail: Any) -> dict[str, list[str]]:
    """Flatten DRF's error tree into field → texts."""
    if isinstance(detail, Mapping):
        return {str(key): _texts(value) for key, value in detail.items() if value}
    return {"non_field_errors": _texts(detail)}


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _texts(part)]
    return [str(value)]


def to_app_error(error: BaseException) -> errors.AppError:
    """Translate errors of Django, DRF and the database into the project's errors."""
    match error:
        case errors.AppError():
            return error
        case exceptions.ValidationError():
            return errors.InvalidInput(fields=_flat(error.detail))
        case exceptions.ParseError():
            return errors.InvalidInput(_("The request could not be parsed."))
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return errors.NotAuthenticated()
        case exceptions.PermissionDenied() | PermissionDenied():
            return errors.Forbidden()
        case exceptions.NotFound() | Http404():
            return errors.NotFound()
        case exceptions.MethodNotAllowed():
            return errors.MethodNotAllowed()
        case exceptions.UnsupportedMediaType():
            return errors.UnsupportedMedia(_("This content type is not supported here."))
        case exceptions.Throttled():
            return errors.RateLimited(retry_after=int(getattr(error, "wait", None) or 1))
        case RequestDataTooBig():
            return errors.PayloadTooLarge()
        case SuspiciousOperation() | BadRequest() | MultiPartParserError() | UnreadablePostError():
            return errors.InvalidInput(_("The request could not be parsed."))
        case OSError() if error.errno in errors.DISK_FULL:
            logger.error("disk full: %s", error)
            return errors.Unavailable(retry_after=RETRY_AFTER_UNAVAILABLE)
        case OperationalError() | InterfaceError():
            logger.error("database unavailable: %s", error)
            return errors.Unavailable(retry_after=RETRY_AFTER_UNAVAILABLE)
        case DatabaseError():
            logger.error("database error", exc_info=error)
            return errors.UnknownError()
        case _:
            logger.error("unexpected error", exc_info=error)
            return errors.UnknownError()


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """Render every error as the envelope; DRF's exception handler."""
    set_rollback()
    found = to_app_error(error)
    return Response(found.envelope(), status=found.status, headers=error_headers(found))


def error_headers(error: errors.AppError) -> dict[str, str]:
    """Return the response headers of an error."""
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def add_headers(response: HttpResponse, error: errors.AppError) -> HttpResponse:
    """Add the headers of an error to the page that shows it; return the page."""
    for name, value in error_headers(error).items():
        response.headers[name] = value
    return response


def error_response(error: errors.AppError) -> HttpResponse:
    """Return the envelope outside of DRF (middleware, unmatched addresses)."""
    return HttpResponse(
        dumps(error.envelope()),
        status=error.status,
        content_type="application/json",
        headers=error_headers(error),
    )


class ErrorSerializer(serializers.Serializer[Any]):
    """The error envelope, for the OpenAPI document."""

    code = serializers.IntegerField(help_text="stable number, see the table of codes")
    error = serializers.CharField(help_text="stable name of the code")
    detail = serializers.CharField(help_text="one sentence for people, in the reader's language")
    fields_ = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="input field → error text",
    )
    closes_at = serializers.CharField(
        required=False, help_text="with ACCOUNT_CLOSING: from when the account is erased"
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Rename the last field to `fields`, a name that cannot be a class attribute here."""
        found = super().get_fields()
        found["fields"] = found.pop("fields_")
        return found
