"""Addresses that do nothing but ask who is there, to count what that costs."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from socialsite import urls


class Tiny(APIView):
    """An API view for people who are signed in."""

    def get(self, request: Request) -> Response:
        """Return the id."""
        return Response({"id": str(request.user.pk)})

    post = get


def page(request: HttpRequest) -> HttpResponse:
    """Return the id as a page, if somebody is signed in."""
    return HttpResponse(str(request.user.pk) if request.user.is_authenticated else "nobody")


urlpatterns = [
    path("api/v1/tiny", Tiny.as_view()),
    path("tiny", page),
    path("", include(urls.urlpatterns)),
]
handler404 = urls.handler404
