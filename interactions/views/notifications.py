"""One's notifications, marking them as read, and whose actions notify."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.tokens.requests import PageRequest, member
from interactions import actions, queries
from interactions.notifying import wording
from interactions.notifying.kinds import CHOOSABLE
from interactions.queries import Item
from interactions.views._answers import see
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.request_budgets import READS, takes

PAGE_SIZE = 20


@require_safe
@takes(GET=(budgets.POLL, budgets.DEEP_READ))
def notifications(request: PageRequest) -> HttpResponse:
    """Show the notifications, newest first; reading them marks nothing."""
    user = member(request)
    cursor = api.page_params(request, default=PAGE_SIZE)[0]
    page = queries.notifications(user, cursor, PAGE_SIZE)
    card = request.visitor.card
    name = card["username"] if isinstance(card, dict) else card.username
    context = {
        "items": [_shown(item, name) for item in page.items],
        "next": page.next,
        "is_first_page": cursor is None,
    }
    partial = request.htmx and cursor is not None
    file = "_notification_page.html" if partial else "notifications.html"
    return render(request, f"interactions/{file}", context)


def _shown(item: Item, name: str) -> dict[str, Any]:
    words, why = wording.sentence(item), wording.reason(item)
    return {**item, "words": words, "why": why, "address": _address(item, name)}


def _address(item: Item, name: str) -> str:
    """Return the address a notification links to; empty if its subject is gone."""
    if item["kind"] == "followed":
        if item["actor_count"] == 1:
            return reverse("profile", args=[item["actors"][0]["username"]])
        return reverse("profile_followers", args=[name])
    if item["post_id"] is None:
        return ""
    if item["subject"]["type"] == "comment":
        return reverse("comment_replies", args=[item["subject"]["id"]])
    anchor = "#comments" if item["kind"] == "commented" else ""
    return reverse("post", args=[item["post_id"]]) + anchor


@require_POST
@takes(POST=(budgets.NOTIFICATION,))
def notifications_read(request: PageRequest) -> HttpResponse:
    """Mark as read the notifications of the loaded page: all up to the field `until`."""
    user = member(request)
    until = api.parse_time(request.POST.get("until", ""), "until")
    actions.read_notifications(user, until)
    return see(reverse("notifications"))


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.NOTIFICATION,))
def notification_settings(request: PageRequest) -> HttpResponse:
    """Show and change whose actions notify, by kind."""
    user = member(request)
    if request.method == "POST":
        given = {name: request.POST[name] for name in CHOOSABLE if name in request.POST}
        actions.choose_notifications(user, given)
        messages.success(request, _("Saved."))
        return see(reverse("notification_settings"))
    context = {
        "chosen": queries.preferences(user),
        "titles": wording.TITLES,
        "choices": wording.CHOICES,
        "notices": messages.get_messages(request),
    }
    return render(request, "interactions/notification_settings.html", context)
