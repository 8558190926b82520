"""The first steps of a new person; each may be skipped."""

from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from feeds import queries
from relations import queries as relations_queries
from relations.suggestions import queries as suggestions
from relations.suggestions import wording
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import PEOPLE, takes

# So many follows make a home feed worth reading.
ENOUGH_FOLLOWS = 3
SUGGESTED = 5


@require_safe
@takes(GET=PEOPLE)
def welcome(request: PageRequest) -> HttpResponse:
    """Show the steps and what is done; htmx gets the card for the home page, empty at the end."""
    me = member(request)
    steps = _steps(me)
    if request.htmx and request.htmx.target == "first-steps":
        if not me.first_steps or all(steps.values()):
            return HttpResponse()
        return render(request, "feeds/welcome/_first_steps.html", {"steps": steps})
    page = suggestions.suggested(me, None, SUGGESTED)
    context: dict[str, Any] = {
        "steps": steps,
        "people": wording.with_reasons(page.items),
        "back": request.path,
    }
    return render(request, "feeds/welcome/welcome.html", context)


@require_POST
@takes(POST=(budgets.PROFILE,))
def skip(request: PageRequest) -> HttpResponse:
    """Do not show the steps any more."""
    accounts_actions.end_first_steps(member(request))
    if request.htmx:
        return HttpResponse()
    return HttpResponseRedirect(reverse("home"), status=303)


def _steps(me: User) -> dict[str, bool]:
    """Return which steps are done, by the present facts."""
    return {
        "profile": bool(me.avatar_name and me.bio),
        "people": relations_queries.counts(me.pk)["following"] >= ENOUGH_FOLLOWS,
        "post": queries.post_counts([me.pk]).get(me.pk, 0) > 0,
    }
