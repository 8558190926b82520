"""The settings page of the archive of one's own data, and its file."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from accounts import sign_in_log
from accounts.request_auth.authentication import signed_in
from accounts.views import forms
from socialsite.core import db, errors
from socialsite.core.exports import jobs
from socialsite.core.http import api
from socialsite.core.models import Export
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.times import iso
from socialsite.pages import media_files


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.EXPORT,))
def show(request: HttpRequest) -> HttpResponse:
    """Show the archive, if there is one; POST asks for a new one."""
    user, _principal = signed_in(request)
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            jobs.request(user.pk)
            return forms.redirect(reverse("export"))
        except forms.SHOWN as found:
            error = found
    row = jobs.newest(user.pk)
    context = {
        "export": row,
        "expires_at": iso(jobs.expires_at(row)) if row is not None else "",
        "days": jobs.DAYS,
        "form_errors": forms.texts_of(error),
        "notices": messages.get_messages(request),
    }
    return forms.page(request, "accounts/export.html", context, error)


@require_safe
@takes(GET=(budgets.EXPORT_FILE,))
def fetch(request: HttpRequest, export_id: str) -> HttpResponseBase:
    """Send the file; ask for the password first if the log-in was a while ago."""
    user, principal = signed_in(request)
    try:
        return file_of(request, user.pk, principal.client, export_id)
    except errors.FreshLoginNeeded:
        query = urlencode({"next": reverse("export")})
        return forms.redirect(f"{reverse('prove')}?{query}")


def own(user_id: int, export_id: str) -> Export:
    """Return an archive of a person. Raises NotFound."""
    row = Export.objects.filter(pk=api.parse_id(export_id), owner_id=user_id).first()
    if row is None:
        raise errors.NotFound
    return row


def file_of(request: HttpRequest, user_id: int, client: str, export_id: str) -> HttpResponseBase:
    """Return the file. Raises NotFound, and FreshLoginNeeded if the log-in was a while ago."""
    row = own(user_id, export_id)
    if row.state != Export.State.READY or jobs.expires_at(row) < db.now_ms():
        raise errors.NotFound
    if not sign_in_log.is_fresh(user_id, client):
        raise errors.FreshLoginNeeded
    day = iso(row.created_at)[:10]
    headers = {"Content-Disposition": f'attachment; filename="archive-{day}.zip"'}
    name = jobs.stored_name(row.name)
    return media_files.sent(request, name, media_files.PRIVATE, headers)
