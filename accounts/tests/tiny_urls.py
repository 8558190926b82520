"""URLs that only authenticate, to measure the cost of that."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from socialsite import urls


class Tiny(APIView):
    """An API view for signed-in people."""

    def get(self, request: Request) -> Response:
        """Return the person's id."""
        return Response({"id": str(request.user.pk)})

    post = get


def page(request: HttpRequest) -> HttpResponse:
    """Return the person's id as a page, if somebody is signed in."""
    return HttpResponse(str(request.user.pk) if request.user.is_authenticated else "nobody")


urlpatterns = [
    path("api/v1/tiny", Tiny.as_view()),
    path("tiny", page),
    path("", include(urls)),
]
handler404 = urls.handler404
