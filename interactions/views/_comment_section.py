"""The comment section of a post, which several views return."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.request_auth.requests import PageRequest
from feeds import queries as feeds_queries
from interactions import queries
from interactions.views._responses import accepted
from socialsite.core.http import page_sizes


def sort_of(request: PageRequest) -> queries.Sort:
    """Return the sort order of the page that contains the form."""
    return "new" if request.POST.get("sort") == "new" else "hot"


def card_of(request: PageRequest, post_id: int) -> Any:
    """Return the card of a post; raises NotFound if the reader may not see it."""
    return queries.decorate(request.user, [feeds_queries.post(request.user, post_id)])[0]


def section(request: PageRequest, post_id: int, sort: queries.Sort) -> dict[str, Any]:
    """Return the context of a post's comment section, its first page."""
    card = card_of(request, post_id)
    page, status = queries.discussion(request.user, post_id, None, page_sizes.PAGE_SIZE, sort)
    shown = {"comments": page.items, "next": page.next, "sort": sort, "status": status}
    return {"post": card, **shown}


def changed(request: PageRequest, post_id: int, sort: queries.Sort) -> HttpResponse:
    """Answer a write with the current section or a redirect to it."""
    if request.htmx:
        return render(
            request, "interactions/comments/_comments.html", section(request, post_id, sort)
        )
    feeds_queries.visible_post(request.user, post_id)
    query = "" if sort == "hot" else f"?sort={sort}"
    return accepted(request, reverse("post", args=[post_id]) + query + "#comments")
