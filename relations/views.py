"""Pages of relations: the lists of a person, the buttons that follow and block, whom I block.

The buttons are plain forms; htmx gets the control in its new state. On the profile of a person a
block changes the whole page, so there the browser is sent to it anew. Of somebody whom I block the
profile shows the name and the way to unblock.

Somebody is hidden from me who blocks me, is banned, or closed the account. These pages answer for
them as for a name that nobody has (docs/moderation.md), except where the answer is about what I did
myself: whom I follow I can leave, and whom I block I can unblock. Blocking takes every name, and
answers the same whoever has it; `/settings/blocked` is the way to block somebody hidden.
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
            found = _Named(me, username.removeprefix("@"))
        except (errors.UserNotFound, errors.SelfRelation) as error:
            wrong = error
        else:
            address = reverse("block", args=[found.typed])
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
    wanted = _flag(request, "follow")
    found = _Named(me, username)
    # One's own follow of somebody hidden counts below the cap, so it can be ended.
    if found.person is None or (found.is_hidden and (wanted or not states.follows(found.state))):
        raise errors.UserNotFound
    try:
        found.state = (actions.follow if wanted else actions.unfollow)(me, found.person)
    except (errors.Blacklisted, errors.UserBanned):  # this very moment
        raise errors.UserNotFound from None
    return _changed(request, found, reverse("home"))


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.BLOCK,))
def block(request: HttpRequest, username: str) -> HttpResponse:
    """Block or unblock by the field `block` = 1 or 0; the page asks, for lack of JavaScript."""
    me = _member(request)
    if request.method == "POST":
        wanted = _flag(request, "block")
        found = _Named(me, username)
        if wanted and found.person is not None:
            found.state = actions.block(me, found.person)
        elif not wanted:
            if found.person is None or (found.is_hidden and not states.blocks(found.state)):
                raise errors.UserNotFound
            found.state = actions.unblock(me, found.person)
        return _changed(request, found, reverse("blocked"))
    found = _Named(me, username)
    if states.blocks(found.state):
        return HttpResponseRedirect(reverse("blocked"))
    back = _back(request, found, reverse("blocked"))
    return render(request, "relations/block.html", {"username": found.username, "next": back})


class _Named:
    """Whom a name means to a reader: somebody shown, somebody hidden, or nobody."""

    def __init__(self, me: User, typed: str) -> None:
        """Look the name up; UserNotFound for what nobody can be called, SelfRelation."""
        if not accounts.is_name(typed):
            raise errors.UserNotFound
        self.typed, self.person = typed, accounts.any_by_name(typed)
        if self.person is not None and self.person.pk == me.pk:
            raise errors.SelfRelation
        self.state = None if self.person is None else queries.relation(me.pk, self.person.pk)

    @property
    def is_hidden(self) -> bool:
        """True for whoever the reader must not see, and for nobody."""
        person = self.person
        return person is None or not person.is_active or states.is_blocked(self.state)

    @property
    def username(self) -> str:
        """The name as its person writes it, of somebody hidden as the reader does."""
        shown = None if self.is_hidden else self.person
        return self.typed if shown is None else shown.username


def _member(request: HttpRequest) -> User:
    if not request.user.is_authenticated:
        raise errors.NotAuthenticated
    return request.user


def _flag(request: HttpRequest, name: str) -> bool:
    """Read a field that is 1 or 0; InvalidInput when it is neither."""
    value = request.POST.get(name)
    if value not in ("0", "1"):
        raise errors.InvalidInput(fields={name: [_("Must be 0 or 1.")]})
    return value == "1"


def _back(request: HttpRequest, found: _Named, instead: str) -> str:
    """Return where the form came from on this site; `instead` of the profile of somebody hidden."""
    profile = reverse("profile", args=[found.username])
    wanted = addresses.own(request, request.POST.get("next") or request.GET.get("next")) or profile
    if found.is_hidden and addresses.own_path(request, wanted).lower() == profile.lower():
        return instead
    return wanted


def _changed(request: HttpRequest, found: _Named, instead: str) -> HttpResponse:
    """Answer with the new state: htmx gets the control, others go back to where they were."""
    back = _back(request, found, instead)
    if not request.htmx:
        return HttpResponseRedirect(back, status=303)
    profile = reverse("profile", args=[found.username])
    came_from = addresses.own_path(request, request.POST.get("next") or profile)
    if "block" in request.POST and came_from.lower() == profile.lower():
        return HttpResponseClientRedirect(back)
    relation = queries.name(found.state)
    at_list = came_from == reverse("blocked")
    if "block" in request.POST and found.is_hidden:
        # One's own side of it, and nothing to be done but this.
        relation = Relation.BLACKLISTING.name if _flag(request, "block") else None
        at_list = True
    ident = "" if found.person is None else str(found.person.pk)
    row: dict[str, Any] = {"id": ident, "username": found.username, "relation": relation}
    context = {"person": row, "next": back, "undo": at_list}
    return render(request, "relations/_changed.html", context)
