"""oEmbed: the code that shows a public post on another site."""

from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.request_auth.requests import PageRequest
from feeds import queries
from feeds.views import embed
from socialsite.core import errors, site
from socialsite.core.http import api
from socialsite.core.requests.request_budgets import READS, takes

FRESH_SECONDS = 3600
# Digits of a width or height in pixels.
SIZE_DIGITS = 5


@require_safe
@takes(GET=READS)
def oembed(request: PageRequest) -> HttpResponse:
    """The code that embeds a public post, for a program that knows its address (oembed.com).

    404 for every other address, 501 for another format than JSON.
    """
    if request.GET.get("format", "json") != "json":
        return HttpResponse(_("Only JSON."), status=501, content_type="text/plain; charset=utf-8")
    card = queries.post(None, _post_id(request))
    width = _at_most(request, "maxwidth", embed.WIDTH)
    height = _at_most(request, "maxheight", embed.height_of(card))
    author = card["author"]
    values = {
        "version": "1.0",
        "type": "rich",
        "title": embed.label_of(card),
        "author_name": author["nickname"] or author["username"],
        "author_url": request.build_absolute_uri(reverse("profile", args=[author["username"]])),
        "provider_name": site.current().name,
        "provider_url": request.build_absolute_uri("/"),
        "cache_age": FRESH_SECONDS,
        "html": embed.code_of(request, card, width, height),
        "width": width,
        "height": height,
    }
    # Any page may read what guests see.
    return JsonResponse(values, headers={"Access-Control-Allow-Origin": "*"})


def _at_most(request: HttpRequest, name: str, pixels: int) -> int:
    """Return a size of the frame, or what the program allows if that is less: the frame scrolls."""
    text = request.GET.get(name, "")
    is_size = text.isascii() and text.isdecimal() and len(text) <= SIZE_DIGITS
    return min(pixels, int(text)) if is_size else pixels


def _post_id(request: HttpRequest) -> int:
    """Return the id in the address `url` of a post, with or without the host; raises NotFound."""
    try:
        parts = urlsplit(request.GET.get("url", ""))
        found = resolve(parts.path)
        if parts.netloc in ("", request.get_host()) and found.url_name in ("post", "post_embed"):
            return api.parse_id(found.kwargs["post_id"])
    except (ValueError, Resolver404, errors.InvalidInput):
        raise errors.NotFound from None
    raise errors.NotFound
