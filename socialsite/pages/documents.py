"""Pages of the site's longer texts: about, rules, terms, privacy, with their versions."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from socialsite.core import site
from socialsite.core.errors import NotFound
from socialsite.core.ids import number_of
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.site import documents
from socialsite.core.site.documents import Kind
from socialsite.retention import KEPT


@require_safe
@takes(GET=READS)
def document(request: HttpRequest, kind: Kind) -> HttpResponse:
    """Show the current version of a text, or the one of `?version=`."""
    here = site.current()
    wanted = request.GET.get("version", "")
    shown = _version(kind, wanted) if wanted else documents.current(here, kind)
    context = {
        "kind": kind,
        "document": shown,
        "is_current": shown.version == here.documents.get(kind, 0),
        "versions": documents.versions(kind) if shown.version else [],
        "others": here.texts[1:],
        "version": settings.VERSION,
        "kept": _kept() if kind == Kind.PRIVACY else [],
    }
    return render(request, "document.html", context)


def _kept() -> list[tuple[Promise, str]]:
    """Return each kind of personal data, and for how long it is kept."""
    rows = []
    for one in KEPT:
        days = one.days()
        text = ngettext("%(days)s day", "%(days)s days", days) % {"days": days}
        rows.append((one.title, text if days else _("not stored")))
    return rows


def _version(kind: Kind, wanted: str) -> documents.Document:
    found = documents.of_version(kind, number_of(wanted) or 0)
    if found is None:
        raise NotFound
    return found
