"""One's notifications, marking them as read, and whose actions notify."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from accounts.push import queries as push_queries
from accounts.request_auth.authentication import signed_in
from accounts.request_auth.requests import PageRequest, member
from interactions import actions, queries
from interactions.kinds import CHOOSABLE
from interactions.notifying import wording
from interactions.queries import Item
from interactions.views._responses import see
from socialsite.core.client import web_push
from socialsite.core.errors import Forbidden
from socialsite.core.http import api, page_sizes, return_addresses
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes

# The tabs of the page, and the kind of notification that each has.
TAB_KINDS = {"all": None, "mentions": "mentioned", "follows": "followed"}


@require_safe
@takes(GET=(budgets.POLL, budgets.DEEP_READ))
def notifications(request: PageRequest) -> HttpResponse:
    """Show the notifications, newest first, in tabs; what was seen is marked by a later request."""
    user = member(request)
    cursor = api.cursor_of(request)
    tab = _tab(request.GET.get("tab", ""))
    page = queries.notifications(user, cursor, page_sizes.PAGE_SIZE, TAB_KINDS[tab])
    card = request.visitor.card
    name = card["username"] if isinstance(card, dict) else card.username
    context = {
        "items": [_shown(item, name) for item in page.items],
        "next": page.next,
        "is_first_page": cursor is None,
        "tab": tab,
        "tabs": {"all": _("All"), "mentions": _("Mentions"), "follows": _("Follows")},
        "seen": _unread_of(page.items),
    }
    partial = request.htmx and cursor is not None
    file = "_notification_page.html" if partial else "notifications.html"
    return render(request, f"interactions/notifications/{file}", context)


def _tab(name: str) -> str:
    return name if name in TAB_KINDS else "all"


def _unread_of(items: Sequence[Item]) -> str:
    """Return the query that marks the unread ones of these as read, as they are; or nothing."""
    unread = [item for item in items if not item["read"]]
    if not unread:
        return ""
    until = max(item["created_at"] for item in unread)
    return urlencode({"until": until, "ids": ",".join(item["id"] for item in unread)})


def _shown(item: Item, name: str) -> dict[str, Any]:
    words, why = wording.sentence(item), wording.reason(item)
    return {**item, "words": words, "why": why, "address": wording.address(item, name)}


@require_POST
@takes(POST=(budgets.NOTIFICATION,))
def notifications_read(request: PageRequest) -> HttpResponse:
    """Mark as read the notifications of the loaded tab: all up to the field `until`."""
    user = member(request)
    until = api.parse_time(request.POST.get("until", ""), "until")
    tab = _tab(request.POST.get("tab", ""))
    actions.read_notifications(user, until, kind=TAB_KINDS[tab])
    return see(reverse("notifications") + ("" if tab == "all" else f"?tab={tab}"))


@require_GET
@takes(GET=(budgets.NOTIFICATION,))
def notifications_seen(request: PageRequest) -> HttpResponse:
    """Mark as read what a page without JavaScript shows, which loads this as a picture.

    Only browsers without scripts load it, after they have shown the page. A link or a picture of
    another site is refused: by the headers with which the browser says where a request comes from,
    or without them by the referring page.
    """
    user = member(request)
    headers = request.headers
    if "Sec-Fetch-Site" in headers:
        source = headers["Sec-Fetch-Site"], headers.get("Sec-Fetch-Dest", "image")
        if source != ("same-origin", "image"):
            raise Forbidden
    elif not return_addresses.own(request, headers.get("Referer")):
        raise Forbidden
    until = api.parse_time(request.GET.get("until", ""), "until")
    ids = request.GET.get("ids", "").split(",")
    actions.read_notifications(
        user, until, [api.parse_id(text, "ids") for text in ids[: page_sizes.PAGE_SIZE]]
    )
    return HttpResponse(status=204)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.NOTIFICATION,))
def notification_settings(request: PageRequest) -> HttpResponse:
    """Show and change whose actions notify, by kind, and which kinds are pushed."""
    user, principal = signed_in(request)
    if request.method == "POST":
        if "pushed" in request.POST:
            pushed = request.POST.getlist("push")
            actions.choose_pushed(user, {name: name in pushed for name in CHOOSABLE})
        else:
            given = {name: request.POST[name] for name in CHOOSABLE if name in request.POST}
            actions.choose_notifications(user, given)
        messages.success(request, _("Saved."))
        return see(reverse("notification_settings"))
    context: dict[str, Any] = {
        "chosen": queries.preferences(user),
        "titles": wording.TITLES,
        "choices": wording.CHOICES,
        "public_key": web_push.public_key(),
        "notices": messages.get_messages(request),
    }
    if web_push.is_on():
        context["push_devices"] = push_queries.devices(user.pk, principal.client)
        context["pushed"] = queries.pushed_kinds(user)
    return render(request, "interactions/notifications/settings.html", context)
