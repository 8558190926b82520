"""Page of one's own invitations."""

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from accounts import actions, invites
from accounts.models import Invite
from accounts.request_auth.authentication import signed_in
from accounts.views import forms
from relations import queries as relations_queries
from socialsite.core.ids import number_of
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.times import iso_of

NAMES = ("uses", "days")


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.INVITE,))
def show(request: HttpRequest) -> HttpResponse:
    """Show one's invitations and who came by them; POST makes one."""
    user, _principal = signed_in(request)
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            numbers = {name: forms.number(request, name) for name in NAMES}
            actions.create_invite(user, **numbers)
            return forms.redirect(reverse("invites"))
        except forms.SHOWN as found:
            error = found
    own = invites.of_person(user.pk).items
    came = invites.came_by(own, partial(relations_queries.shown_people, user.pk))
    context = {
        "form_errors": forms.texts_of(error),
        "values": {name: request.POST.get(name, "")[:10] for name in NAMES}
        if error
        else {"uses": "1", "days": "7"},
        "may_invite": invites.may_invite(user),
        "most": {"uses": Invite.USES_MAX, "days": Invite.DAYS_MAX},
        "invitations": [
            {
                "id": one.pk,
                "address": invites.address_of(one),
                "is_open": invites.is_open(one),
                "uses": one.uses,
                "used": one.used,
                "ends_at": iso_of(one.ends_at),
                "people": came.get(one.pk, []),
            }
            for one in own
        ],
    }
    return forms.page(request, "accounts/invites.html", context, error)


@require_POST
@takes(POST=(budgets.INVITE,))
def end(request: HttpRequest, invite_id: str) -> HttpResponse:
    """End an invitation."""
    user, _principal = signed_in(request)
    actions.end_own_invite(user, number_of(invite_id) or 0)
    return forms.redirect(reverse("invites"))
