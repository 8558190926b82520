"""The comments below a post."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from accounts.devices import address_of
from feeds import queries as feeds
from interactions import actions, queries
from interactions.views._answers import member, see
from socialsite.core import api, errors

PAGE_SIZE = 20
UNPROCESSABLE = 422


@require_POST
def comment_create(request: HttpRequest, post_id: str) -> HttpResponse:
    """Comment; what is wrong is shown at the field, and nothing typed is lost."""
    user = member(request)
    ident = api.parse_id(post_id)
    content = request.POST.get("content", "")
    parent = request.POST.get("parent")
    try:
        parent_id = api.parse_id(parent, "parent") if parent else None
        actions.comment(user, ident, content, parent_id)
    except (errors.InvalidInput, errors.CommentsClosed) as error:
        wrong = (error.fields or {}).get("content")
        context = _section(request, ident) | {
            "form_errors": {"content": wrong} if wrong else {"__all__": [error.detail]},
            "values": {"content": content},
        }
        name = "interactions/_comments.html" if request.htmx else "feeds/post.html"
        return render(request, name, context, status=UNPROCESSABLE)
    return _comments(request, ident)


@require_POST
def comment_delete(request: HttpRequest, comment_id: str) -> HttpResponse:
    """Delete a comment and show what is left of the section."""
    user = member(request)
    comment = actions.delete_comment(user, api.parse_id(comment_id), address_of(request))
    try:
        return _comments(request, comment.subject.subj_id)
    except errors.NotFound:  # one's own words on a post that one no longer sees
        home = reverse("home")
        return HttpResponseClientRedirect(home) if request.htmx else see(home)


def _comments(request: HttpRequest, post_id: int) -> HttpResponse:
    """Answer a write: the section as it is now, or the way back to it."""
    if request.htmx:
        context = _section(request, post_id)
        return render(request, "interactions/_comments.html", context)
    feeds.visible_post(request.user, post_id)
    return see(reverse("post", args=[post_id]) + "#comments")


def _section(request: HttpRequest, post_id: int) -> dict[str, Any]:
    """Return the context of a post's comment section, its first page."""
    card = queries.decorate(request.user, [feeds.post(request.user, post_id)])[0]
    page = queries.comments(request.user, post_id, None, PAGE_SIZE)
    return {"post": card, "comments": page.items, "next": page.next}
