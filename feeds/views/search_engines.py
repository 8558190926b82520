"""Answers for search engines: `sitemap.xml` and `robots.txt`."""

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import conditional_page, require_safe

from accounts.request_auth.requests import PageRequest
from feeds.discovery import public_posts
from feeds.discovery.tags import queries as tag_queries
from socialsite.core.requests.request_budgets import READS, takes

# Posts and tags in the map of the site.
NEWEST, TAGS = 1000, 100
SITEMAP = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
)
# A cache must ask each time whether the answer is still right.
ANEW = {"Cache-Control": "no-cache"}
FRESH = {"Cache-Control": "public, max-age=3600"}
NOT_FOR_ROBOTS = ("/admin/", "/api/", "/i18n/", "/settings/", "/report/", "/search")


@require_safe
@conditional_page
@takes(GET=READS)
def sitemap(request: PageRequest) -> HttpResponse:
    """The map of the site (sitemaps.org): newest public posts, their authors, tags in use."""
    posts = public_posts.newest_public(NEWEST)
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
