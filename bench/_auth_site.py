"""The site under WSGI with two addresses more, which do the same for guests and for people.

Both return the same bytes through the same middleware; one asks who is there. `bench.auth` measures
the difference.
"""

import os
import sys
import types

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")

from socialsite.wsgi import application

__all__ = ["application"]


def _add_addresses() -> None:
    from django.conf import settings
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
        """For everybody; no credential is looked at."""

        authentication_classes = ()
        permission_classes = (AllowAny,)

    urls = types.ModuleType("bench._auth_urls")
    urls.urlpatterns = [  # type: ignore[attr-defined]
        path("api/v1/bench/guarded", Guarded.as_view()),
        path("api/v1/bench/open", Open.as_view()),
        path("", include("socialsite.urls")),
    ]
    sys.modules[urls.__name__] = urls
    settings.ROOT_URLCONF = urls.__name__


_add_addresses()
