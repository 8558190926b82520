"""Pages of interactions: the like button, the comments below a post.

Each form works without JavaScript (a redirect back); htmx gets the part that replaces itself.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from accounts.devices import address_of
from accounts.models import User
from feeds import queries as feeds
from interactions import actions, queries
from interactions.models import SubjectType
from socialsite.core import api, errors

PAGE_SIZE = 20
UNPROCESSABLE = 422


@require_POST
def post_like(request: HttpRequest, post_id: str) -> HttpResponse:
    """Like or unlike by the field `liked` = 1 or 0; htmx gets the button in its new state."""
    user = _member(request)
    wanted = request.POST.get("liked")
    if wanted not in ("0", "1"):
        raise errors.InvalidInput(fields={"liked": [_("Must be 0 or 1.")]})
    ident = api.parse_id(post_id)
    act = actions.like if wanted == "1" else actions.unlike
    count = act(user, SubjectType.POST, ident)
    if request.htmx:
        post = {"id": str(ident), "like_count": count, "liked": wanted == "1"}
        return render(request, "interactions/_like.html", {"post": post})
    return _back(request, reverse("post", args=[ident]), f"#like-{ident}")


@require_POST
def comment_create(request: HttpRequest, post_id: str) -> HttpResponse:
    """Comment; what is wrong is shown at the field, and nothing typed is lost."""
    user = _member(request)
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
    user = _member(request)
    comment = actions.delete_comment(user, api.parse_id(comment_id), address_of(request))
    try:
        return _comments(request, comment.subject.subj_id)
    except errors.NotFound:  # one's own words on a post that one no longer sees
        home = reverse("home")
        return HttpResponseClientRedirect(home) if request.htmx else _see(home)


def _member(request: HttpRequest) -> User:
    """Return who asks; NotAuthenticated for a guest."""
    if not isinstance(request.user, User):
        raise errors.NotAuthenticated
    return request.user


def _comments(request: HttpRequest, post_id: int) -> HttpResponse:
    """Answer a write: the section as it is now, or the way back to it."""
    if request.htmx:
        context = _section(request, post_id)
        return render(request, "interactions/_comments.html", context)
    feeds.visible_post(request.user, post_id)
    return _see(reverse("post", args=[post_id]) + "#comments")


def _section(request: HttpRequest, post_id: int) -> dict[str, Any]:
    """Return the context of a post's comment section, its first page."""
    card = queries.decorate(request.user, [feeds.post(request.user, post_id)])[0]
    page = queries.comments(request.user, post_id, None, PAGE_SIZE)
    return {"post": card, "comments": page.items, "next": page.next}


def _back(request: HttpRequest, fallback: str, anchor: str) -> HttpResponse:
    """Return to the page that the form's field `next` names, if it is one of ours."""
    address = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(address, {request.get_host()}, request.is_secure()):
        address = fallback
    return _see(address.partition("#")[0] + anchor)


def _see(address: str) -> HttpResponse:
    return HttpResponseRedirect(address, status=303)
