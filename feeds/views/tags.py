"""Pages of tags: the posts of one, those of all that one follows, and the tags in use."""

from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.request_auth.requests import PageRequest, member
from feeds.discovery.tags import actions, queries
from feeds.views.pages import is_part, page_of, shown_posts
from socialsite.core import errors
from socialsite.core.http import api, page_sizes
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes

SHOWN = 10


@require_safe
@takes(GET=READS)
def tags(request: PageRequest) -> HttpResponse:
    """The posts with tags that the reader follows, and the tags in use; guests see the latter."""
    context: dict[str, Any] = {"posts": [], "next": None, "followed": []}
    if request.user.is_authenticated:
        me = member(request)
        page = queries.posts_of_followed(me, api.cursor_of(request), page_sizes.PAGE_SIZE)
        context = shown_posts(request, page)
        if not is_part(request):
            context["followed"] = queries.followed(me)
    if not is_part(request):
        context["trending"] = queries.trending(request.user, SHOWN)
    return page_of(request, "feeds/tags/tags.html", context)


@require_safe
@takes(GET=READS)
def tag(request: PageRequest, name: str) -> HttpResponse:
    """The posts with a tag, newest first."""
    found = queries.named(name)
    page = queries.posts(request.user, found, api.cursor_of(request), page_sizes.PAGE_SIZE)
    context = shown_posts(request, page)
    if not is_part(request):
        context["tag"] = queries.one(request.user, found)
    return page_of(request, "feeds/tags/tag.html", context)


@require_POST
@takes(POST=(budgets.FOLLOW,))
def tag_follow(request: PageRequest, name: str) -> HttpResponse:
    """Follow a tag or stop, by the field `follow` = 1 or 0; htmx gets the button."""
    me = member(request)
    wanted = request.POST.get("follow")
    if wanted not in ("0", "1"):
        raise errors.InvalidInput(fields={"follow": [_("Must be 0 or 1.")]})
    if wanted == "1":
        actions.follow(me, name)
    else:
        actions.unfollow(me, name)
    found = queries.named(name)
    if request.htmx:
        context = {"tag": queries.one(me, found)}
        return render(request, "feeds/tags/_follow_only.html", context)
    return HttpResponseRedirect(reverse("tag", args=[found.name]), status=303)
