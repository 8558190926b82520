"""The bookmark button, and the page of one's bookmarks."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.request_auth.requests import PageRequest, member
from interactions import actions, queries
from interactions.views._responses import back
from socialsite.core import errors
from socialsite.core.http import api, page_sizes
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_POST
@takes(POST=(budgets.MARK,))
def post_bookmark(request: PageRequest, post_id: str) -> HttpResponse:
    """Add or remove a bookmark, by the field `bookmarked` = 1 or 0; htmx gets the button."""
    user = member(request)
    wanted = request.POST.get("bookmarked")
    if wanted not in ("0", "1"):
        raise errors.InvalidInput(fields={"bookmarked": [_("Must be 0 or 1.")]})
    ident = api.parse_id(post_id)
    act = actions.bookmark if wanted == "1" else actions.unbookmark
    count = act(user, ident)
    if request.htmx:
        post = {"id": str(ident), "bookmark_count": count, "bookmarked": wanted == "1"}
        return render(request, "interactions/_bookmark.html", {"post": post})
    return back(request, reverse("post", args=[ident]), f"#bookmark-{ident}")


@require_safe
@takes(GET=READS)
def bookmarks(request: PageRequest) -> HttpResponse:
    """Show one's bookmarks, which nobody else can see."""
    user = member(request)
    cursor = api.cursor_of(request)
    page = queries.bookmarks(user, cursor, page_sizes.PAGE_SIZE)
    partial = request.htmx and "cursor" in request.GET
    name = "feeds/_page.html" if partial else "interactions/bookmarks.html"
    return render(request, name, {"posts": page.items, "next": page.next})
