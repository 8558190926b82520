"""Pages of relations: the lists of a person, the buttons that follow and block, whom I block.

The buttons are plain forms; htmx gets the control in its new state. On the profile of a person a
block changes the whole page, so there the browser is sent to it anew. Of somebody whom I block the
profile shows the name and the way to unblock; where they block me too it stays 404, as for everyone
they block, and `/settings/blocked` is the way.
"""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from accounts import queries as accounts
from accounts.budgeting import PEOPLE, READS, takes
from accounts.models import User
from relations import actions, queries, states
from relations.models import Relation
from socialsite.core import addresses, api, budgets, errors

PAGE_SIZE = 20


@require_safe
@takes(GET=PEOPLE)
def people(request: HttpRequest, username: str, kind: str) -> HttpResponse:
    """A list of one person; whoever blocks that person is sent to the profile, to unblock.

    `?q=` searches where the list is one's own and bounded; elsewhere there is nothing to ask it.
    """
    person = accounts.by_name(username)
    profile = queries.profile(request.user, person)
    if profile["relation"] == Relation.BLACKLISTING.name:
        return HttpResponseRedirect(reverse("profile", args=[person.username]))
    cursor, size = api.page_params(request, default=PAGE_SIZE)
    mine = person.pk == request.user.pk
    searchable = mine and kind in queries.SEARCHED
    text = request.GET.get("q", "").strip() if searchable else ""
    if text:
        page = queries.search_own(person.pk, kind, text, cursor, size)
    else:
        page = queries.LISTS[kind](person.pk, cursor, size, request.user.pk)
    context = {
        "profile": profile,
        "kind": kind,
        "mine": mine,
        "searchable": searchable,
        "q": text,
        "people": page.items,
        "next": page.next,
    }
    template = "relations/list.html"
    if request.htmx and cursor is not None:
        template = "relations/_page.html"
    elif request.htmx and request.htmx.target == "results":
        template = "relations/_results.html"
    return render(request, template, context)


@require_safe
@takes(GET=PEOPLE)
def blocked(request: HttpRequest) -> HttpResponse:
    """The people whom I block. `?username=` leads to blocking somebody by name.

    That is the way to block someone who blocks me, whose pages I cannot see.
    """
    me = _member(request)
    cursor, size = api.page_params(request, default=PAGE_SIZE)
    username = request.GET.get("username", "").strip()
    wrong: errors.AppError | None = None
    if username:
        try:
            target = _other(me, username.removeprefix("@"))
        except (errors.UserNotFound, errors.SelfRelation) as error:
            wrong = error
        else:
            address = reverse("block", args=[target.username])
            return HttpResponseRedirect(f"{address}?{urlencode({'next': request.path})}")
    page = queries.blocked(me.pk, cursor, size)
    context = {
        "people": page.items,
        "next": page.next,
        "undo": True,
        "values": {"username": username},
        "form_errors": {"username": [wrong.detail]} if wrong else {},
    }
    partial = request.htmx and cursor is not None
    template = "relations/_page.html" if partial else "relations/blocked.html"
    return render(request, template, context, status=wrong.status if wrong else 200)


@require_POST
@takes(POST=(budgets.FOLLOW,))
def follow(request: HttpRequest, username: str) -> HttpResponse:
    """Follow or unfollow by the field `follow` = 1 or 0."""
    me = _member(request)
    act = actions.follow if _flag(request, "follow") else actions.unfollow
    target = _anyone(username)
    return _changed(request, target, act(me, target))


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.BLOCK,))
def block(request: HttpRequest, username: str) -> HttpResponse:
    """Block or unblock by the field `block` = 1 or 0; the page asks, for lack of JavaScript."""
    me = _member(request)
    if request.method == "POST":
        act = actions.block if _flag(request, "block") else actions.unblock
        target = _anyone(username)
        return _changed(request, target, act(me, target))
    target = _other(me, username)
    state = queries.relation(me.pk, target.pk)
    if states.blocks(state):
        return HttpResponseRedirect(reverse("blocked"))
    return render(
        request,
        "relations/block.html",
        {"username": target.username, "next": _back(request, target, state)},
    )


def _member(request: HttpRequest) -> User:
    if not request.user.is_authenticated:
        raise errors.NotAuthenticated
    return request.user


def _anyone(username: str) -> User:
    """Return the person of a name; what may be done about a banned one, the action knows."""
    found = accounts.any_by_name(username)
    if found is None:
        raise errors.UserNotFound
    return found


def _other(me: User, username: str) -> User:
    target = _anyone(username)
    if target.pk == me.pk:
        raise errors.SelfRelation
    return target


def _flag(request: HttpRequest, name: str) -> bool:
    """Read a field that is 1 or 0; InvalidInput when it is neither."""
    value = request.POST.get(name)
    if value not in ("0", "1"):
        raise errors.InvalidInput(fields={name: [_("Must be 0 or 1.")]})
    return value == "1"


def _back(request: HttpRequest, person: User, state: Relation | None) -> str:
    """Return where the form came from, if it is on this site and the reader may still see it."""
    profile = reverse("profile", args=[person.username])
    wanted = addresses.own(request, request.POST.get("next") or request.GET.get("next")) or profile
    if addresses.own_path(request, wanted).lower() == profile.lower():
        if not person.is_active:
            return reverse("home")
        if states.is_blocked(state):
            return reverse("blocked")
    return wanted


def _changed(request: HttpRequest, person: User, state: Relation | None) -> HttpResponse:
    """Answer with the new state: htmx gets the control, others go back to where they were."""
    back = _back(request, person, state)
    if not request.htmx:
        return HttpResponseRedirect(back, status=303)
    profile = reverse("profile", args=[person.username])
    came_from = addresses.own_path(request, request.POST.get("next") or profile)
    if "block" in request.POST and came_from.lower() == profile.lower():
        return HttpResponseClientRedirect(back)
    row: dict[str, Any] = {
        "id": str(person.pk),
        "username": person.username,
        "relation": queries.name(state),
    }
    undo = came_from == reverse("blocked")
    return render(request, "relations/_changed.html", {"person": row, "next": back, "undo": undo})
