"""The home page, whose reads are asked in one batch with the sign-in of its reader."""

import contextlib
from typing import Any

from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.request_auth import authentication, cookies
from accounts.request_auth.requests import PageRequest, member
from feeds import actions
from feeds.discovery import public_posts
from feeds.home.page import HomeReading
from feeds.views.pages import page_of, recommended, shown_posts, top_of
from feeds.views.welcome import steps_left
from interactions import queries as interactions_queries
from relations.suggestions import queries as suggestions
from relations.suggestions import wording
from socialsite.core import errors
from socialsite.core.cache import reads
from socialsite.core.cache.reads import Read
from socialsite.core.http import api, page_sizes
from socialsite.core.positions import Position
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import takes

# Below this number of follows the home page suggests people.
FEW_FOLLOWS = 5
SUGGESTED = 3
# The posts above the suggestions.
POSTS_BEFORE = 3


class _Home:
    """The reads of a home page, which are asked in one batch."""

    def __init__(self, user_id: int, cursor: Position | None) -> None:
        decoration = interactions_queries.Decoration(user_id)
        self.user_id, self.cursor = user_id, cursor
        self.reading = HomeReading(user_id, cursor, page_sizes.PAGE_SIZE, decoration)
        self.unread = interactions_queries.Unread([user_id])

    def first(self) -> list[Read[Any]]:
        """Return the reads."""
        return [*self.reading.first(), self.unread]

    @classmethod
    def of(cls, request: PageRequest) -> "_Home | None":
        """Ask for the page of who is signed in, together with the sign-in; None for a guest."""
        sender = None if _is_malformed(request) else authentication.page_user(request)
        if sender is not None:
            parts = cls(sender.user_id, api.cursor_of(request))
            reads.ask(sender, sender.cards, *parts.first())
            with contextlib.suppress(errors.BannedAccessToken):
                sender.admit()
                return parts
        request_budgets.spend(request)
        if not request.user.is_authenticated:
            return None
        parts = cls(request.user.pk, api.cursor_of(request))
        reads.ask(request.visitor.cards, *parts.first())
        return parts


def _is_malformed(request: PageRequest) -> bool:
    """Return whether the address has no place to begin at; its sender must still spend."""
    try:
        api.cursor_of(request)
    except errors.InvalidInput:
        return True
    return False


@require_safe
@takes(in_view=True, GET=(budgets.DEEP_READ,))
def home(request: PageRequest) -> HttpResponseBase:
    """The home feed; guests see what is recommended, as do people who follow nobody.

    The first page also has the first steps while they are due, and for people who follow few others
    some to follow.
    """
    parts = _Home.of(request)
    if parts is None:
        return recommended(request)
    cursor, reading, request.unread = parts.cursor, parts.reading, parts.unread
    page = reading.page()
    if cursor is None:
        actions.mark_first_page_read(parts.user_id, page.items, reading.known_mark)
    context: dict[str, Any] = {"posts": page.items, "next": page.next, "top": top_of(page.items)}
    context["is_first_page"] = cursor is None
    if cursor is not None:
        return page_of(request, "feeds/home.html", context)
    follows = reading.reader.follows
    if len(follows) < FEW_FOLLOWS:
        people = suggestions.suggested(member(request), None, SUGGESTED)
        context |= {"people": wording.with_reasons(people.items), "back": request.path}
        context["posts_before"] = POSTS_BEFORE
    if not page.items and not follows:
        suggested = public_posts.recommended(request.user, None, page_sizes.PAGE_SIZE)
        context["suggested"] = shown_posts(request, suggested)["posts"]
    marked = cookies.STEPS in request.COOKIES
    context["steps"] = steps_left(parts.user_id) if marked else None
    answer = page_of(request, "feeds/home.html", context)
    if marked and context["steps"] is None:
        cookies.put_first_steps(answer, wanted=False)
    return answer
