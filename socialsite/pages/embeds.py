"""Answers that are the same for everybody: pages for frames of other sites, and files for programs.

No cookie reaches them and they set none: nobody is signed in there, and the language is that of the
browser. Only `/posts/{id}/embed` may be shown in a frame, with every answer of it.
"""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from socialsite.core.http import content_policy

Next = Callable[[HttpRequest], HttpResponseBase]


def is_embed(request: HttpRequest) -> bool:
    """Return True for the address of a page to embed."""
    parts = request.path.split("/")
    return len(parts) == 4 and bool(parts[2]) and parts[1::2] == ["posts", "embed"]


# Addresses of files for programs; feeds end in FEED.
FILES = (
    *("/favicon.ico", "/oembed", "/robots.txt", "/sitemap.xml"),
    *("/manifest.webmanifest", "/sw.js", "/offline"),
)
FEED = "/feed.atom"
NAMED = ("/accent/", "/logo/")


class Embeds:
    """Removes the cookies of requests for such answers, and lets any site frame a page to embed.

    This middleware is outside of all others that read cookies or forbid frames.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer without cookies, and replace the headers about frames."""
        embedded = is_embed(request)
        path = request.path
        if embedded or path in FILES or path.endswith(FEED) or path.startswith(NAMED):
            request.COOKIES = {}
        response = self.get_response(request)
        if not embedded:
            return response
        del response.headers["X-Frame-Options"]
        response.headers["Content-Security-Policy"] = content_policy.EMBED
        return response
