"""Threads: replies below a comment, the reply form, and the settings by the post's author."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.request_auth.requests import PageRequest, member
from interactions import actions, queries
from interactions.views._comment_section import card_of, changed, sort_of
from interactions.views._responses import back, see
from socialsite.core import errors
from socialsite.core.http import api, page_sizes
from socialsite.core.positions import Position
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes


def thread_context(
    request: PageRequest, comment_id: int, cursor: Position | None = None
) -> dict[str, Any]:
    """Return the context of the page of one comment and its replies."""
    found, post = queries.visible_comment(request.user, comment_id)
    page = queries.replies(request.user, comment_id, cursor, page_sizes.PAGE_SIZE)
    return {
        "post": card_of(request, post.pk),
        "comment": queries.comment(request.user, found.pk),
        "replies": {"items": page.items, "next": page.next},
        "status": queries.comment_status(request.user, post.pk),
        "reply_at": reverse("comment_replies", args=[comment_id]) + "?",
        "plain": True,
        "listed": False,
    }


@require_safe
@takes(GET=READS)
def comment_replies(request: PageRequest, comment_id: str) -> HttpResponse:
    """Show a comment and its replies; htmx gets a page of the replies."""
    ident = api.parse_id(comment_id)
    cursor = api.cursor_of(request)
    context = thread_context(request, ident, cursor)
    context["reply"] = request.GET.get("reply", "")
    if request.htmx:
        context |= {"plain": False, "is_first_page": cursor is None}
        return render(request, "interactions/comments/_replies.html", context)
    return render(request, "interactions/comments/thread.html", context)


@require_safe
@takes(GET=READS)
def comment_reply(request: PageRequest, comment_id: str) -> HttpResponse:
    """Return the reply form, which htmx puts below the comment; without htmx the replies' page."""
    member(request)
    ident = api.parse_id(comment_id)
    if not request.htmx:
        address = reverse("comment_replies", args=[ident])
        return see(f"{address}?reply={ident}#comment-{ident}")
    _found, post = queries.visible_comment(request.user, ident)
    comment = queries.comment(request.user, ident)
    if comment["deleted"]:
        raise errors.NotFound
    context = {"post": card_of(request, post.pk), "comment": comment}
    return render(request, "interactions/comments/_reply_form_only.html", context)


@require_POST
@takes(POST=(budgets.MARK,))
def comment_pin(request: PageRequest, comment_id: str) -> HttpResponse:
    """Pin or unpin a comment, by the field `pinned` = 1 or 0; htmx gets the section."""
    user = member(request)
    wanted = request.POST.get("pinned")
    if wanted not in ("0", "1"):
        raise errors.InvalidInput(fields={"pinned": [_("Must be 0 or 1.")]})
    ident = api.parse_id(comment_id)
    (actions.pin if wanted == "1" else actions.unpin)(user, ident)
    _found, post = queries.visible_comment(user, ident)
    if request.htmx:
        return changed(request, post.pk, sort_of(request))
    return back(request, reverse("post", args=[post.pk]), f"#comment-{ident}")


@require_POST
@takes(POST=(budgets.MARK,))
def comment_settings(request: PageRequest, post_id: str) -> HttpResponse:
    """Open, close or feature the comments, by the field `status`; htmx gets the section."""
    user = member(request)
    ident = api.parse_id(post_id)
    actions.set_comment_status(user, ident, request.POST.get("status", ""))
    return changed(request, ident, sort_of(request))
