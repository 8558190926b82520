"""The first steps of a new person; each may be skipped."""

from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from accounts.queries import StepsOfProfile
from accounts.request_auth import cookies
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
    """Show the steps and what is done."""
    me = member(request)
    page = suggestions.suggested(me, None, SUGGESTED)
    context: dict[str, Any] = {
        "steps": _steps(me.pk, accounts_queries.first_steps(me.pk)),
        "people": wording.with_reasons(page.items),
        "back": request.path,
    }
    return render(request, "feeds/welcome/welcome.html", context)


@require_POST
@takes(POST=(budgets.PROFILE,))
def skip(request: PageRequest) -> HttpResponse:
    """Do not show the steps any more."""
    accounts_actions.end_first_steps(member(request))
    back = HttpResponseRedirect(reverse("home"), status=303)
    answer = HttpResponse() if request.htmx else back
    cookies.put_first_steps(answer, wanted=False)
    return answer


def steps_left(user_id: int) -> dict[str, bool] | None:
    """Return which steps are done, for Home; None if all are, or the person dismissed them."""
    account = accounts_queries.first_steps(user_id)
    if not account.wanted:
        return None
    steps = _steps(user_id, account)
    return None if all(steps.values()) else steps


def _steps(user_id: int, account: StepsOfProfile) -> dict[str, bool]:
    """Return which steps are done, by the present facts."""
    return {
        "profile": account.has_profile,
        "people": relations_queries.counts(user_id)["following"] >= ENOUGH_FOLLOWS,
        "post": queries.post_counts([user_id]).get(user_id, 0) > 0,
    }
