"""Middleware of the whole site: request limits, security headers, error pages.

Only the admin gets Django's session middleware, for its messages; no session authenticates anyone
(T9).
"""

from collections.abc import Callable

from django.conf import settings
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_deny

from socialsite.core import errors, site
from socialsite.core.http import api, content_policy
from socialsite.core.http.server import body_limits
from socialsite.core.runtime import memory, request_ids
from socialsite.pages.views import error_answer, healthz, readyz

Next = Callable[[HttpRequest], HttpResponseBase]

CHARSETS = ("utf-8", "utf8", "us-ascii")
API_FILE = 'attachment; filename="api.json"'
# Above this body size memory is given back afterwards.
LARGE_BODY = 100 * body_limits.KILO
PROBING = ("GET", "HEAD")
PROBES: dict[str, Next] = {
    "/healthz": xframe_options_deny(healthz),
    "/readyz": xframe_options_deny(readyz),
}
READS = ("GET", "HEAD", "OPTIONS")
PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


class RequestId:
    """Names the request in its answer; outermost.

    The entry points have given the request its id; other servers of Django have not.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        ident = request_ids.current() or request_ids.of_request(request.META.get(request_ids.WSGI))
        with request_ids.within(ident):
            response = self.get_response(request)
        response.headers[request_ids.HEADER] = ident
        return response


class Health:
    """Answers the probes of supervisors and load balancers, which need not know the site's name."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a probe before `Host` is checked, and pass on other requests."""
        probe = PROBES.get(request.path_info) if request.method in PROBING else None
        return probe(request) if probe else self.get_response(request)


class SiteAlong:
    """Reads the settings of the site along with the first round trip of a page or a write.

    Few reads of the API need them; those ask for them.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        if request.method in READS and request.path.startswith("/api/"):
            return self.get_response(request)
        with site.along():
            return self.get_response(request)


class RequestGuard:
    """Refuses bodies that must not be read; innermost, as bodies are read after all middleware."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer 413 to a large body, 400 to one of unknown length, 415 to an odd charset."""
        length = body_limits.announced(
            request.META.get("CONTENT_LENGTH") or "0",
            request.META.get("HTTP_TRANSFER_ENCODING", ""),
        )
        error = self._fault(request, length)
        if error is not None:
            return error_answer(request, error)
        response = self.get_response(request)
        _clear_body(response)
        if length and length >= LARGE_BODY:
            memory.release()
        return response

    @staticmethod
    def _fault(request: HttpRequest, length: int | None) -> errors.AppError | None:
        if length is None:
            return errors.InvalidInput(_("Send a Content-Length."))
        limit = body_limits.limit_of(
            request.method, request.path, request.META.get("CONTENT_TYPE", "")
        )
        if length > limit:
            return errors.PayloadTooLarge(
                _("A request to this address may have at most %(limit)s kB.")
                % {"limit": limit // body_limits.KILO}
            )
        # Python has codecs that are no charsets, and Django would accept any of them.
        if (request.content_params or {}).get("charset", "utf-8").lower() not in CHARSETS:
            return errors.UnsupportedMedia(_("Send UTF-8."))
        return None


def _clear_body(response: HttpResponseBase) -> None:
    """Empty the data that DRF parsed from the body, once the response is rendered.

    DRF's requests and serializers are in reference cycles. The data would stay in memory until a
    full garbage collection, which large bodies make rare.
    """
    context = getattr(response, "renderer_context", None) or {}
    data = getattr(context.get("request"), "_full_data", None)
    if type(data) is dict:  # form data is immutable and has few parts
        data.clear()


class SecurityHeaders:
    """Strict CSP on every response; private responses are not stored.

    API responses that echo input are never shown as a page: a browser that opens one saves it as a
    file with a fixed name.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Add the headers that the view did not set."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", content_policy.PAGE)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        if not request.path.startswith(settings.STATIC_URL):
            response.headers.setdefault("Cache-Control", "no-store")
        if request.path.startswith("/api/v1/"):
            response.headers.setdefault("Content-Disposition", API_FILE)
        return response


class AdminOnlySession(SessionMiddleware):
    """Django's session for `/admin/` only; the rest of the site never loads one."""

    def process_request(self, request: HttpRequest) -> None:
        """Load the session for the admin."""
        if request.path.startswith("/admin/"):
            super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Save the session of the admin."""
        if hasattr(request, "session"):
            return super().process_response(request, response)
        return response


class ErrorPages:
    """Turns every exception of a page into an error page (DRF does the same for the API)."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Replace Django's empty 405 by a page; other errors arrive in `process_exception`."""
        response = self.get_response(request)
        if not isinstance(response, HttpResponseNotAllowed):
            return response
        answer = error_answer(request, errors.MethodNotAllowed())
        answer.headers["Allow"] = response.headers["Allow"]
        return answer

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """Return the site's error page; in debug mode Django shows unexpected errors."""
        error = api.to_app_error(exception)
        if settings.DEBUG and type(error) is errors.UnknownError:
            return None
        return error_answer(request, error)
