"""The site as an app on a phone: its manifest, its service worker, its page for no connection.

These answers are the same for everybody, so `socialsite/pages/embeds.py` keeps cookies off them.
"""

import hashlib
import json

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe

from socialsite.core import site
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.pages import accent, logo

FRESH = {"Cache-Control": "public, max-age=3600"}
# A cache must ask each time whether the answer is still right.
ANEW = {"Cache-Control": "no-cache"}
# The colours `--bg` and `--accent` of the light theme; a manifest has one of each.
BACKGROUND, GREEN = "#f5f6f3", "#0b6e5f"
# The files of the page for no connection. The worker keeps others when a page loads them.
FILES = ("css/tokens.css", "css/site.css", "js/theme.js", "img/logo.svg", "img/favicon.svg")


@require_safe
@takes(GET=READS)
def manifest(request: HttpRequest) -> HttpResponse:
    """The web app manifest (W3C), in the language of the browser."""
    here = site.current()
    about = _(
        "A social site without an algorithm: all posts of the people you follow, newest first."
    )
    values = {
        "id": "/",
        "name": here.name,
        "short_name": here.name,
        "description": here.description or about,
        "lang": translation.get_language(),
        "dir": "ltr",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": BACKGROUND,
        "theme_color": accent.tokens(here.accent)["accent"][0] if here.accent else GREEN,
        "icons": [
            _icon(here.logo, "app-192.png", 192),
            _icon(here.logo, "logo-512.png", 512),
            _icon(here.logo, "app-maskable-512.png", 512, "maskable"),
        ],
        "shortcuts": [
            {"name": _("Write a post"), "url": reverse("home")},
            {"name": _("Notifications"), "url": reverse("notifications")},
        ],
    }
    return JsonResponse(values, content_type="application/manifest+json", headers=FRESH)


def _icon(own_logo: str, name: str, size: int, purpose: str = "any") -> dict[str, str]:
    place = logo.picture(own_logo, name)
    return {"src": place, "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}


@require_safe
@conditional_page
@takes(GET=READS)
def worker(request: HttpRequest) -> HttpResponse:
    """The service worker; another version with each change of its files, or of the settings."""
    folder = settings.BASE_DIR / "static"
    code = (folder / "worker" / "sw.js").read_text()
    scripts = sorted((folder / "js").rglob("*.js"))
    names = [static(str(path.relative_to(folder))) for path in scripts]
    here = site.current()
    files = [static(name) for name in FILES]
    if here.logo:
        files.append(logo.picture(here.logo, "logo.svg"))
    if here.accent:
        files.append(reverse("accent", args=(here.accent[1:],)))
    kept = "\n".join([code, here.name, *names, *files])
    version = hashlib.sha256(kept.encode()).hexdigest()[:12]
    offline = reverse("offline")
    named = {
        "VERSION": version,
        "FILES": [offline, *files],
        "OFFLINE": offline,
        "STATIC_URL": settings.STATIC_URL,
    }
    lines = [f"const {name} = {json.dumps(value)};\n" for name, value in named.items()]
    return HttpResponse(
        "".join(lines) + code, content_type="text/javascript; charset=utf-8", headers=ANEW
    )


@require_safe
@takes(GET=READS)
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the worker shows without a connection, in all languages: it is kept once."""
    texts = []
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            texts.append(
                {
                    "lang": code,
                    "title": _("You are offline"),
                    "detail": _("This page needs a connection to the site."),
                    "again": _("Try again"),
                    "home": _("Go to the home page"),
                }
            )
    return render(request, "offline.html", {"texts": texts})
