"""Pages of relations: the lists of a person, the follow button."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts import queries as accounts
from relations import actions, limits, queries
from relations.models import Relation
from socialsite.core import api, errors

PAGE_SIZE = 20


@require_safe
def people(request: HttpRequest, username: str, kind: str) -> HttpResponse:
    """A list of one person; whoever blocks that person is sent to the profile, to unblock."""
    person = accounts.by_name(username)
    profile = queries.profile(request.user, person)
    if profile["relation"] == Relation.BLACKLISTING.name:
        return HttpResponseRedirect(reverse("profile", args=[person.username]))
    cursor, size = api.page_params(request, default=PAGE_SIZE)
    page = queries.LISTS[kind](person.pk, cursor, size, request.user.pk)
    context = {"profile": profile, "kind": kind, "people": page.items, "next": page.next}
    partial = request.htmx and cursor is not None
    template = "relations/_page.html" if partial else "relations/list.html"
    return render(request, template, context)


@require_POST
def follow(request: HttpRequest, username: str) -> HttpResponse:
    """Follow or unfollow by the field `follow` = 1 or 0; htmx gets the button in its new state."""
    if not request.user.is_authenticated:
        raise errors.NotAuthenticated
    wanted = request.POST.get("follow")
    if wanted not in ("0", "1"):
        raise errors.InvalidInput(fields={"follow": [_("Must be 0 or 1.")]})
    limits.FOLLOW.spend(request.user.pk)
    target = accounts.by_name(username)
    act = actions.follow if wanted == "1" else actions.unfollow
    relation = queries.name(act(request.user, target))
    if request.htmx:
        person = accounts.cards([target.pk])[target.pk] | {"relation": relation}
        return render(request, "relations/_follow.html", {"person": person})
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()):
        back = reverse("profile", args=[target.username])
    return HttpResponseRedirect(back, status=303)
