"""The composer publishes a post."""

from typing import Any

from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from feeds import actions, queries
from feeds.models import Kind
from feeds.views import audience, composer, drafts
from feeds.views.pages import shown_posts
from interactions import queries as interactions_queries
from socialsite.core.http import api, form_keys, page_sizes
from socialsite.core.models import Media
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import idempotency, request_budgets
from socialsite.core.requests.request_budgets import takes


@require_POST
@takes(in_form=True, POST=(budgets.PUBLISH,))
def post_create(request: PageRequest) -> HttpResponseBase:
    """Publish from the composer; what is wrong is shown at its field, nothing typed is lost.

    A form that is sent again publishes once. htmx gets the card of the post. A form with a time is
    saved as a draft that is published then.
    """
    if drafts.has_time(request):
        return drafts.drafts(request)
    me = member(request)
    values: dict[str, Any] = composer.texts(request)
    kept = composer.kept(request, me)
    try:
        made = _published(request, me, values, kept)
    except composer.ERRORS as error:
        shown = {**composer.shown_texts(values, me), "images": composer.shown(kept)}
        context: dict[str, Any] = {"form_errors": composer.form_errors(error), "values": shown}
        name = "feeds/writing/_composer_only.html"
        if not request.htmx:
            page = queries.home_feed(me, None, page_sizes.PAGE_SIZE)
            context |= shown_posts(request, page) | {"is_first_page": True}
            name = "feeds/home.html"
        return api.add_headers(render(request, name, context, status=error.status), error)
    if request.htmx:
        card = interactions_queries.decorate(me, [queries.post(me, made)])[0]
        answer = render(request, "feeds/_card.html", {"post": card})
    else:
        answer = form_keys.accepted(request, HttpResponseRedirect(reverse("home"), status=303))
    return audience.remember(answer, values["visibility"])


def _published(request: PageRequest, me: User, values: dict[str, Any], items: list[Media]) -> int:
    """Publish what the composer sent, and return the id of the post; raises composer.ERRORS."""
    key = form_keys.effect_of(request)
    made = idempotency.made_by(me.pk, key, queries.is_there)
    if made is not None:
        return made
    files, kept = composer.chosen_files(request), []
    if values["kind"] != Kind.VIDEO:
        composer.check_kept(request, items)
        kept = [item.pk for item in items]
    # Before a picture is kept for nothing.
    actions.compose(images=len(kept) + len(files), **values)
    composer.say_who_does_not_see(request, me, values["kind"])
    request_budgets.spend(request)
    images = kept + composer.new_pictures(request, me, files)
    return idempotency.once(
        me.pk, key, lambda: actions.publish(me, images=images, **values).pk, queries.is_there
    )
