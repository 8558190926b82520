"""The like buttons, and the pages of people who like something."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.request_auth.requests import PageRequest, member
from interactions import actions, queries
from interactions.models import SubjectType
from interactions.views._responses import back, see
from socialsite.core import errors
from socialsite.core.http import api, page_sizes, return_addresses
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_POST
@takes(POST=(budgets.MARK,))
def post_like(request: PageRequest, post_id: str) -> HttpResponse:
    """Like or unlike by the field `liked` = 1 or 0; htmx gets the button in its new state."""
    ident = api.parse_id(post_id)
    count, liked = _set(request, SubjectType.POST, ident)
    if request.htmx:
        post = {"id": str(ident), "like_count": count, "liked": liked}
        page = reverse("post", args=[ident])
        is_own_page = return_addresses.own_path(request, request.htmx.current_url) == page
        context = {"post": post, "is_own_page": is_own_page}
        return render(request, "interactions/_like.html", context)
    return back(request, reverse("post", args=[ident]), f"#like-{ident}")


@require_POST
@takes(POST=(budgets.MARK,))
def comment_like(request: PageRequest, comment_id: str) -> HttpResponse:
    """Like or unlike a comment by the same field; htmx gets the button in its new state."""
    ident = api.parse_id(comment_id)
    count, liked = _set(request, SubjectType.COMMENT, ident)
    if request.htmx:
        comment = {"id": str(ident), "like_count": count, "liked": liked}
        return render(request, "interactions/comments/_comment_like.html", {"comment": comment})
    try:
        _found, post = queries.visible_comment(request.user, ident)
    except errors.NotFound:  # the like of a hidden comment was removed
        return see(reverse("home"))
    return back(request, reverse("post", args=[post.pk]), f"#comment-{ident}")


def _set(request: PageRequest, subj_type: SubjectType, ident: int) -> tuple[int, bool]:
    user = member(request)
    wanted = request.POST.get("liked")
    if wanted not in ("0", "1"):
        raise errors.InvalidInput(fields={"liked": [_("Must be 0 or 1.")]})
    act = actions.like if wanted == "1" else actions.unlike
    return act(user, subj_type, ident), wanted == "1"


@require_safe
@takes(GET=READS)
def post_likes(request: PageRequest, post_id: str) -> HttpResponse:
    """Show the people who like a post."""
    ident = api.parse_id(post_id)
    return _likers(request, SubjectType.POST, ident, reverse("post", args=[ident]))


@require_safe
@takes(GET=READS)
def comment_likes(request: PageRequest, comment_id: str) -> HttpResponse:
    """Show the people who like a comment."""
    ident = api.parse_id(comment_id)
    subject_page = reverse("comment_replies", args=[ident])
    return _likers(request, SubjectType.COMMENT, ident, subject_page)


def _likers(
    request: PageRequest, subj_type: SubjectType, ident: int, subject_page: str
) -> HttpResponse:
    cursor = api.cursor_of(request)
    page = queries.likers(request.user, subj_type, ident, cursor, page_sizes.PAGE_SIZE)
    context = {"people": page.items, "next": page.next, "subject_page": subject_page}
    partial = request.htmx and cursor is not None
    name = "relations/_page.html" if partial else "interactions/likers.html"
    return render(request, name, context)
