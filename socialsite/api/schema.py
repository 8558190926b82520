"""The OpenAPI document and its page, which browsers and proxies may cache for some minutes.

The document is the same for everybody, in every language and as long as the process lives, so it is
built once in each format.
"""

import hashlib
import threading
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.encoding import force_bytes
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from socialsite.core.http import api
from socialsite.core.rate_limits import budgets

FRESH = "public, max-age=300"

_made: dict[str, tuple[bytes, str]] = {}
_making = threading.Lock()


class _Refusing:
    """Answers errors with the API's envelope, whatever the format of successful responses."""

    def handle_exception(self, exc: Exception) -> Any:
        """Return the envelope."""
        return api.error_response(api.to_app_error(exc))


class SchemaView(_Refusing, SpectacularAPIView):
    """The OpenAPI document, as YAML or JSON."""

    takes = {"GET": (budgets.SCHEMA,)}

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the document, or 304 if the client already has it."""
        renderer = request.accepted_renderer
        text, tag = self._document(renderer)
        name = f'inline; filename="socialsite.{renderer.format}"'
        headers = {"Content-Disposition": name, "ETag": tag, "Cache-Control": FRESH}
        answer = HttpResponse(text, content_type=renderer.media_type, headers=headers)
        patch_vary_headers(answer, ["Accept"])
        return get_conditional_response(request._request, tag, response=answer) or answer

    def _document(self, renderer: BaseRenderer) -> tuple[bytes, str]:
        """Return the document in the format of a renderer, and its entity tag."""
        with _making:
            if renderer.media_type not in _made:
                with translation.override("en"):
                    document = self.generator_class().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
                    text = force_bytes(renderer.render(document, renderer_context={}))
                _made[renderer.media_type] = text, f'"{hashlib.sha256(text).hexdigest()[:32]}"'
            return _made[renderer.media_type]


class DocsView(_Refusing, SpectacularSwaggerSplitView):
    """The page for reading and trying the API."""

    takes = {"GET": (budgets.SCHEMA,)}
    url_name = "schema"
    template_name = "socialsite/docs.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer as DRF does.

        The page may be cached, but its script has the reader's CSRF token.
        """
        answer = super().dispatch(request, *args, **kwargs)
        if answer.status_code == 200 and "script" not in request.GET:
            answer.headers["Cache-Control"] = FRESH
        return answer
