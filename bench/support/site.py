"""The site under WSGI with some extra addresses, as a baseline for the others.

- `bench/guarded` and `bench/open` return the same bytes, but only the first authenticates.
- `bench/bytes/<name>` is a view that does nothing: it returns a file of the folder BENCH_BODIES.
"""

import functools
import os
import sys
import types
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")

from socialsite.wsgi import application

__all__ = ["application"]


def _add_addresses() -> None:
    from django.conf import settings
    from django.http import HttpRequest, HttpResponse
    from django.urls import include, path
    from rest_framework.permissions import AllowAny
    from rest_framework.request import Request
    from rest_framework.response import Response
    from rest_framework.views import APIView

    class Guarded(APIView):
        """For people who are signed in."""

        def get(self, request: Request) -> Response:
            return Response({"ok": True})

    class Open(Guarded):
        """For everybody; credentials are ignored."""

        authentication_classes = ()
        permission_classes = (AllowAny,)

    @functools.cache
    def body(name: str) -> bytes:
        return (Path(os.environ["BENCH_BODIES"]) / name).read_bytes()

    def same_bytes(request: HttpRequest, name: str) -> HttpResponse:
        return HttpResponse(body(name))

    urls = types.ModuleType("bench.support.urls")
    urls.urlpatterns = [  # type: ignore[attr-defined]
        path("api/v1/bench/guarded", Guarded.as_view()),
        path("api/v1/bench/open", Open.as_view()),
        path("bench/bytes/<str:name>", same_bytes),
        path("", include("socialsite.urls")),
    ]
    sys.modules[urls.__name__] = urls
    settings.ROOT_URLCONF = urls.__name__


_add_addresses()
