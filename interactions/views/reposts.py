"""The repost menu, and the page for a repost with text."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from accounts.request_auth.requests import PageRequest, member
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.cards import repost_grouping
from interactions import queries
from interactions.views._responses import accepted, back, refused, wrong_in
from socialsite.core import errors
from socialsite.core.http import api, form_keys, form_warnings
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import idempotency, request_budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.PUBLISH,))
def post_repost(request: PageRequest, post_id: str) -> HttpResponse:
    """Repost: at once without text, or from a separate page with text.

    Errors are shown at the field, and the typed text is kept. htmx gets the menu.
    """
    user = member(request)
    ident = api.parse_id(post_id)
    if request.method != "POST":
        return _form(request, ident)
    content = request.POST.get("content")
    try:
        key = form_keys.effect_of(request) if content else ""
        made = idempotency.made_by(user.pk, key, feeds_queries.is_there)
        if made is None:
            _say_who_does_not_see(request, ident, content or "")
            request_budgets.spend(request)
            made = idempotency.once(
                user.pk,
                key,
                lambda: feeds_actions.repost(user, ident, content or "")[0].pk,
                feeds_queries.is_there,
            )
    except (errors.InvalidInput, errors.RateLimited) as error:
        return _form(request, ident, content or "", error)
    if content is not None:
        return accepted(request, reverse("post", args=[made]))
    return _changed(request, ident)


def _say_who_does_not_see(request: PageRequest, post_id: int, content: str) -> None:
    user = member(request)
    visibility = feeds_queries.visible_post(user, post_id).visibility
    form_warnings.check(request, queries.unseen_in_post(user, content, visibility))


@require_POST
@takes(POST=(budgets.MARK,))
def repost_undo(request: PageRequest, post_id: str) -> HttpResponse:
    """Delete one's repost without text."""
    user = member(request)
    ident = api.parse_id(post_id)
    feeds_actions.undo_repost(user, ident)
    try:
        return _changed(request, ident)
    except errors.NotFound:  # one's own repost of a post that is now hidden
        return HttpResponseClientRedirect(reverse("home"))


def _form(
    request: PageRequest, post_id: int, content: str = "", error: errors.AppError | None = None
) -> HttpResponse:
    context = {
        "post": _cards(request, post_id)[1],
        "values": {"content": content},
        "form_errors": {} if error is None else wrong_in(error),
    }
    if error is None:
        return render(request, "interactions/repost.html", context)
    return refused(request, "interactions/repost.html", context, error)


def _changed(request: PageRequest, post_id: int) -> HttpResponse:
    if not request.htmx:
        return back(request, reverse("post", args=[post_id]), f"#repost-{post_id}")
    card, source = _cards(request, post_id)
    context = {"post": repost_grouping.shown_by(card), "source": source}
    return render(request, "interactions/_repost.html", context)


def _cards(request: PageRequest, post_id: int) -> tuple[Any, Any]:
    """Return the cards of a post and of its original; NotFound if the reader may not see both."""
    card: Any = queries.decorate(request.user, [feeds_queries.post(request.user, post_id)])[0]
    if card["ref_gone"]:
        raise errors.NotFound
    return card, card["ref"] or card
