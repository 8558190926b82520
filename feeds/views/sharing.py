"""What other programs read about public pages: oEmbed, the map of the site, `robots.txt`."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404, resolve, reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe

from accounts.tokens.requests import PageRequest
from feeds import queries
from feeds.discovery.tags import queries as tag_queries
from feeds.views import embed
from socialsite.core.http import api, errors
from socialsite.core.rate_limits.request_budgets import READS, takes

# Posts and tags in the map of the site.
NEWEST, TAGS = 1000, 100
SITEMAP = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
)
FRESH_SECONDS = 3600
# A cache must ask each time whether the answer is still right.
ANEW = {"Cache-Control": "no-cache"}
FRESH = {"Cache-Control": f"public, max-age={FRESH_SECONDS}"}
NOT_FOR_ROBOTS = ("/admin/", "/api/", "/i18n/", "/settings/", "/report/", "/search")
# Of a width or height in pixels.
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
        "provider_name": "socialsite",
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


@require_safe
@conditional_page
@takes(GET=READS)
def sitemap(request: PageRequest) -> HttpResponse:
    """The map of the site (sitemaps.org): newest public posts, their authors, tags in use."""
    posts = queries.newest_public(NEWEST)
    tags = tag_queries.trending(None, TAGS)
    paths = [reverse("home"), reverse("recommended"), reverse("tags")]
    paths += [reverse("tag", args=[tag["name"]]) for tag in tags]
    paths += dict.fromkeys(reverse("profile", args=[username]) for _id, username in posts)
    paths += [reverse("post", args=[ident]) for ident, _username in posts]
    places = ((settings.SITE_URL + path,) for path in paths)
    urls = format_html_join("", "<url><loc>{}</loc></url>", places)
    return HttpResponse(
        format_html(SITEMAP, urls), content_type="application/xml; charset=utf-8", headers=ANEW
    )


@require_safe
@takes(GET=READS)
def robots(request: PageRequest) -> HttpResponse:
    """Which pages programs should leave out (RFC 9309), and where the map of the site is."""
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in NOT_FOR_ROBOTS)]
    lines += ["", f"Sitemap: {settings.SITE_URL}{reverse('sitemap')}", ""]
    text = "\n".join(lines)
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=FRESH)
