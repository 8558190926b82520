"""The vote in a poll."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.request_auth.requests import PageRequest, member
from feeds import queries as feeds_queries
from interactions import actions, queries
from interactions.views._responses import back, refused
from socialsite.core import errors
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes


@require_POST
@takes(POST=(budgets.MARK,))
def post_vote(request: PageRequest, post_id: str) -> HttpResponse:
    """Vote by the fields `poll-<id>`, one for each option; htmx gets the poll with its results.

    A refused vote shows the poll as it is now, and why.
    """
    user, ident = member(request), api.parse_id(post_id)
    wrong: errors.AppError | None = None
    try:
        # The buttons of all posts of a page send one form: each poll has a name of its own.
        sent = request.POST.getlist(f"poll-{ident}")
        actions.vote(user, ident, [api.parse_id(choice, "choices") for choice in sent])
    except (errors.InvalidInput, errors.PollClosed, errors.AlreadyVoted) as error:
        wrong = error
    if wrong is None and not request.htmx:
        return back(request, reverse("post", args=[ident]), f"#poll-{ident}")
    card = queries.decorate(user, [feeds_queries.post(user, ident)])[0]
    context = {"post": card, "wrong": _why(wrong)}
    if wrong is None:
        return render(request, "interactions/_poll.html", context)
    name = "interactions/_poll.html" if request.htmx else "interactions/vote.html"
    return refused(request, name, context, wrong)


def _why(error: errors.AppError | None) -> str:
    if error is None:
        return ""
    return str((error.fields or {}).get("choices", [error.detail])[0])
