"""Create, edit and delete comments."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget

from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from feeds import queries as feeds_queries
from interactions import actions, queries
from interactions.models import Comment
from interactions.views._comment_section import card_of, changed, section, sort_of
from interactions.views._responses import accepted, back, refused, see, wrong_in
from interactions.views.threads import thread_context
from socialsite.core import errors
from socialsite.core.http import api, form_keys, form_warnings, page_sizes, return_addresses
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import idempotency, request_budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_POST
@takes(in_form=True, POST=(budgets.COMMENT,))
def comment_create(request: PageRequest, post_id: str) -> HttpResponse:
    """Comment or reply; errors are shown at the field, and the typed text is kept.

    htmx gets the section, newest first, so that the comment is visible; for a reply it gets the
    thread.
    """
    user = member(request)
    ident = api.parse_id(post_id)
    parent = request.POST.get("parent")
    parent_id = None
    try:
        parent_id = api.parse_id(parent, "parent") if parent else None
        made = _commented(request, user, ident, parent_id)
    except (errors.InvalidInput, errors.CommentsClosed, errors.RateLimited) as error:
        return _refused(request, ident, parent_id, error)
    root_id = queries.comment(user, made)["root_id"] if parent_id is not None else None
    if root_id is None:
        return changed(request, ident, "new")
    return _replied(request, ident, made, int(root_id))


def _commented(request: PageRequest, user: User, post_id: int, parent_id: int | None) -> int:
    """Write a comment and return its id; a form that arrives twice writes one."""
    key = form_keys.effect_of(request)
    made = idempotency.made_by(user.pk, key, queries.comment_is_there)
    if made is not None:
        return made
    content = request.POST.get("content", "")
    form_warnings.check(request, queries.unseen_in_comment(user, content, post_id))
    request_budgets.spend(request)
    return idempotency.once(
        user.pk,
        key,
        lambda: actions.comment(user, post_id, content, parent_id).pk,
        queries.comment_is_there,
    )


def _refused(
    request: PageRequest, post_id: int, parent_id: int | None, error: errors.AppError
) -> HttpResponse:
    """Show the refused form again."""
    if request.htmx and isinstance(error, errors.RateLimited):
        raise error  # shown as a toast; the form stays as it is
    content = request.POST.get("content", "")
    wrong = wrong_in(error)
    if parent_id is None:
        context = section(request, post_id, sort_of(request)) | {
            "form_errors": wrong,
            "values": {"content": content},
        }
        name = "interactions/comments/_comments.html" if request.htmx else "feeds/post/post.html"
        return refused(request, name, context, error)
    context = thread_context(request, parent_id) | {
        "reply": str(parent_id),
        "reply_content": content,
        "reply_errors": wrong,
    }
    if not request.htmx:
        # Comments may have been closed meanwhile: the form with the typed text is shown all the
        # same.
        context |= {"status": "open"}
        return refused(request, "interactions/comments/thread.html", context, error)
    context |= {"plain": False}
    answer = refused(request, "interactions/comments/_reply_form_only.html", context, error)
    return reswap(retarget(answer, f"#reply-{parent_id}"), "innerHTML")


def _replied(request: PageRequest, post_id: int, reply_id: int, root_id: int) -> HttpResponse:
    """Show the thread with the reply, or only the reply if the thread is long."""
    page = queries.replies(request.user, root_id, None, page_sizes.PAGE_SIZE)
    if not request.htmx:
        shown = root_id if page.next is None else reply_id
        address = reverse("comment_replies", args=[shown])
        return accepted(request, f"{address}#comment-{reply_id}")
    replies: dict[str, Any] = {"items": page.items, "next": None}
    if page.next is not None:
        replies["items"] = [queries.comment(request.user, reply_id)]
    context = {
        "post": card_of(request, post_id),
        "comment": queries.comment(request.user, root_id),
        "replies": replies,
        "sort": sort_of(request),
    }
    return render(request, "interactions/comments/_thread.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.EDIT,))
def comment_edit(request: PageRequest, comment_id: str) -> HttpResponse:
    """Edit one's own comment; errors are shown at the field, and the typed text is kept.

    If the comment was changed meanwhile, its present text is shown beside the typed one.
    """
    user = member(request)
    ident = api.parse_id(comment_id)
    comment = queries.comment(user, ident)
    if not comment["mine"]:
        raise errors.NotFound if comment["deleted"] else errors.Forbidden
    context: dict[str, Any] = {
        "comment": comment,
        "content": comment["content"],
        "version": comment["version"],
        "form_errors": {},
        "present": None,
    }
    if request.method != "POST":
        return render(request, "interactions/edit.html", context)
    context["content"] = request.POST.get("content", "")
    try:
        version = api.parse_id(request.POST.get("version", ""), "version")
        post_id = queries.visible_comment(user, ident)[1].pk
        named = queries.unseen_in_comment(user, context["content"], post_id, comment["content"])
        form_warnings.check(request, named)
        request_budgets.spend(request)
        actions.edit_comment(user, ident, context["content"], version)
    except errors.StaleVersion as error:
        present = queries.comment(user, ident)
        context |= {"present": present, "version": present["version"]}
        return render(request, "interactions/edit.html", context, status=error.status)
    except (errors.InvalidInput, errors.CommentsClosed, errors.RateLimited) as error:
        context |= {"version": request.POST.get("version", ""), "form_errors": wrong_in(error)}
        return refused(request, "interactions/edit.html", context, error)
    shown = comment["root_id"] or comment["id"]
    return accepted(request, reverse("comment_replies", args=[shown]) + f"#comment-{ident}")


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.DELETE,))
def comment_delete(request: PageRequest, comment_id: str) -> HttpResponse:
    """Ask whether to delete a comment; POST deletes it.

    The others stay where they are: the page, its order, its loaded pages. htmx gets what is left of
    the comment, or the section if that is empty now.
    """
    user = member(request)
    if request.method != "POST":
        return _ask(request, api.parse_id(comment_id))
    comment = actions.delete_comment(user, api.parse_id(comment_id), address_of(request))
    post_id = comment.subject.subj_id
    try:
        left = _left_of(user, comment)
        if not request.htmx:
            feeds_queries.visible_post(user, post_id)
            return _page_without(request, comment, left)
        card = card_of(request, post_id)
        if not card["comment_count"]:
            page = reverse("post", args=[post_id])
            if (request.htmx.current_url_abs_path or page).partition("?")[0] != page:
                return HttpResponseClientRedirect(f"{page}#comments")  # this page is gone
            return retarget(changed(request, post_id, sort_of(request)), "#comments")
        context = {"post": card, "comment": left, "sort": sort_of(request)}
        context["status"] = queries.comment_status(user, post_id)
        return render(request, "interactions/comments/_removed.html", context)
    except errors.NotFound:  # one's own comment on a post that is now hidden
        home = reverse("home")
        return HttpResponseClientRedirect(home) if request.htmx else see(home)


def _left_of(user: User, comment: Comment) -> queries.CommentCard | None:
    """Return the tombstone of a deleted root that has replies."""
    if comment.root_id is not None:
        return None
    try:
        card = queries.comment(user, comment.pk)
    except errors.NotFound:
        return None
    return card if card["reply_count"] else None


def _page_without(
    request: PageRequest, comment: Comment, left: queries.CommentCard | None
) -> HttpResponse:
    """Redirect to the page of the form; of a comment that is gone with its page to the post."""
    post_page = reverse("post", args=[comment.subject.subj_id])
    if sort_of(request) != "hot":
        post_page += f"?sort={sort_of(request)}"
    own = reverse("comment_replies", args=[comment.pk])
    if left is None and return_addresses.own_path(request, request.POST.get("next", "")) == own:
        return see(f"{post_page}#comments")
    return back(request, post_page, f"#comment-{comment.pk}" if left else "#comments")


def _ask(request: PageRequest, comment_id: int) -> HttpResponse:
    """Render the question before a comment is deleted; with a script a dialog asks it."""
    _found, post = queries.visible_comment(request.user, comment_id)
    comment = queries.comment(request.user, comment_id)
    if comment["deleted"]:
        raise errors.NotFound
    if not comment["mine"] and post.author_id != request.user.pk:
        raise errors.Forbidden
    thread = reverse("comment_replies", args=[comment["root_id"] or comment["id"]])
    back_to = return_addresses.own(request, request.GET.get("next")) or thread
    context = {"comment": comment, "back_to": back_to}
    return render(request, "interactions/delete.html", context)
