"""The menu of a post: what its reader can do with it and with its author."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.request_auth.requests import PageRequest
from feeds import queries
from feeds.models import OPEN, Kind
from relations import queries as relations_queries
from socialsite.core.http import api, return_addresses
from socialsite.core.requests.request_budgets import READS, takes


@require_safe
@takes(GET=READS)
def post_menu(request: PageRequest, post_id: str) -> HttpResponse:
    """A page of the acts; htmx gets only these, for a panel beside the button of a card."""
    card = queries.post(request.user, api.parse_id(post_id))
    relation = None
    if request.user.is_authenticated and not card["mine"]:
        state = relations_queries.relation(request.user.pk, int(card["author"]["id"]))
        relation = relations_queries.name(state)
    page = reverse("post", args=[card["id"]])
    context = {
        "post": card,
        "follows": relation in ("FOLLOWING", "BI_FOLLOWING"),
        "can_edit": card["mine"] and (card["kind"] != Kind.REPOST or bool(card["content"])),
        "can_embed": card["visibility"] in OPEN,
        "address": request.build_absolute_uri(page),
        "on_own_page": return_addresses.own_path(request, request.htmx.current_url) == page,
    }
    return render(
        request, "feeds/post/_menu.html" if request.htmx else "feeds/post/menu.html", context
    )
