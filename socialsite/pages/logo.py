"""The logo of the site: that of the design, or the one that staff uploaded."""

from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.views.decorators.http import require_safe

from socialsite.core.errors import NotFound
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.site import logos
from socialsite.pages.accent import YEAR
from socialsite.pages.links import url

# The file of an uploaded logo in the place of each one of the design.
_FILES = {
    "logo.svg": "192",
    "favicon.svg": "192",
    "logo-512.png": "512",
    "app-192.png": "192",
    "app-touch-180.png": "touch",
    "app-maskable-512.png": "maskable",
}


@lru_cache(64)
def picture(logo: str, name: str) -> str:
    """Return the address of a picture of the design, or of what a logo of one's own puts there."""
    return url("logo", logo, _FILES[name]) if logo else static(f"img/{name}")


@require_safe
@takes(GET=READS)
def file(request: HttpRequest, logo: str, name: str) -> HttpResponse:
    """A file of the site's logo; the address names it, so that browsers keep the answer."""
    found = logos.file_of(logo, name)
    if found is None:
        raise NotFound
    return HttpResponse(found, content_type="image/png", headers=YEAR)
