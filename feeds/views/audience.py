"""The page that tells an author who can see a post; and the audience that a browser chose last."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe

from accounts.request_auth.requests import PageRequest, member
from feeds import queries
from feeds.models import Visibility
from socialsite.core.http import api
from socialsite.core.requests.request_budgets import READS, takes

# The name of each audience in a list, and the sentence that explains it. The widest comes first.
NAMES = {
    Visibility.PUBLIC.value: gettext_noop("Everyone"),
    Visibility.QUIET.value: gettext_noop("Unlisted"),
    Visibility.FOLLOWERS.value: gettext_noop("Followers"),
    Visibility.MENTIONED.value: gettext_noop("People named"),
    Visibility.SELF.value: gettext_noop("Only me"),
}
SENTENCES = {
    Visibility.PUBLIC.value: gettext_noop("Everyone can see this post."),
    Visibility.QUIET.value: gettext_noop(
        "Everyone can see this post, by its link and on your profile."
        " Discover, search and tags do not show it."
    ),
    Visibility.FOLLOWERS.value: gettext_noop("Only people who follow you now can see this post."),
    Visibility.MENTIONED.value: gettext_noop(
        "Only the people whom this post named when it was published can see it."
    ),
    Visibility.SELF.value: gettext_noop("Only you can see this post."),
}
COOKIE, KEPT = "audience", timedelta(days=365)


@require_safe
@takes(GET=READS)
def post_audience(request: PageRequest, post_id: str) -> HttpResponse:
    """Show who can see one's own post, in words and numbers."""
    me, ident = member(request), api.parse_id(post_id)
    audience = queries.audience_of(me, ident)
    is_named = audience["visibility"] == Visibility.MENTIONED
    context: dict[str, Any] = {
        "next": None,
        "post": queries.post(me, ident),
        "sentence": _(SENTENCES[audience["visibility"]]),
        "count": audience["people"],
        "people": queries.named_people(me, ident) if is_named else [],
    }
    return render(request, "feeds/post/audience.html", context)


def remembered(request: HttpRequest) -> str:
    """Return the audience that this browser chose last."""
    word = request.COOKIES.get(COOKIE, "")
    return word if word in Visibility.values else Visibility.PUBLIC.value


def remember(answer: HttpResponse, visibility: str) -> HttpResponse:
    """Let the browser keep an audience for its next post, for a year."""
    answer.set_cookie(
        COOKIE,
        visibility,
        max_age=KEPT,
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )
    return answer


def options(widest: str = "") -> Sequence[tuple[str, str]]:
    """Return the audiences with their names, in the present language, from one on."""
    names = [(value, _(name)) for value, name in NAMES.items()]
    first = Visibility.values.index(widest) if widest in Visibility.values else 0
    return names[first:]
