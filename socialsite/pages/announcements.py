"""The button that dismisses an announcement."""

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from accounts.request_auth.requests import PageRequest, member
from accounts.views import forms
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes
from socialsite.core.site import announcements


@require_POST
@takes(POST=(budgets.MARK,))
def dismiss(request: PageRequest, announcement_id: str) -> HttpResponse:
    """Show the announcement to its reader no more, and lead back to the page."""
    announcements.dismiss(member(request).pk, api.parse_id(announcement_id))
    return forms.redirect(forms.safe_next(request))
