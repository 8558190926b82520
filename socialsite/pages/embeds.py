"""Pages that other sites may show in a frame: only `/posts/{id}/embed`, with every answer of it.

No cookie reaches such a page, so its answer is the same for everybody: nobody is signed in there,
and its language is that of the browser.
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


class Embeds:
    """Removes the cookies of a request for a page to embed, and lets any site frame the answer.

    This middleware is outside of all others that read cookies or forbid frames.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer without cookies, and replace the headers about frames."""
        if not is_embed(request):
            return self.get_response(request)
        request.COOKIES = {}
        response = self.get_response(request)
        del response.headers["X-Frame-Options"]
        response.headers["Content-Security-Policy"] = content_policy.EMBED
        return response
