"""The page of the admin with all findings, for staff with the right of operation."""

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from socialsite.core.rights import Right
from socialsite.core.staff_home.tiles import Tile, ago
from socialsite.doctor import reports
from socialsite.doctor.findings import ERROR, OK, UNKNOWN, WARNING

LEVEL_NAMES = {
    OK: gettext_lazy("OK"),
    UNKNOWN: gettext_lazy("Unknown"),
    WARNING: gettext_lazy("Warning"),
    ERROR: gettext_lazy("Error"),
}
TILE = Tile(gettext_lazy("Server checks"), reports.figure, page="doctor", rights=Right.OPERATION)


def doctor(request: HttpRequest) -> HttpResponse:
    """Show the findings; a POST lets the checks run again."""
    if not request.user.rights & Right.OPERATION:  # type: ignore[union-attr]
        raise PermissionDenied
    if request.method == "POST":
        reports.forget()
        return HttpResponseRedirect(reverse("doctor"))
    report = reports.current()
    rows = [
        (check.title, [(finding, LEVEL_NAMES[finding.level]) for finding in findings])
        for check, findings in report.by_urgency
    ]
    context = {
        **admin.site.each_context(request),
        "title": _("Server checks"),
        "rows": rows,
        "made": ago(report.made_at),
    }
    return TemplateResponse(request, "socialsite/doctor.html", context)
