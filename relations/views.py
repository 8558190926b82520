"""Pages of relations: lists of a person, follow and block buttons, the list of blocked people.

The buttons are plain forms; htmx replaces the button by its new state. On a profile a block changes
the whole page, so there the browser loads it again. The profile of a person I block shows only the
name and the unblock button.

A person is hidden from me who blocks me, is banned, or closed the account. For them these pages
answer as for an unknown name (docs/moderation.md), except about my own acts: I can unfollow whom I
follow, and unblock whom I block. Blocking accepts every name, with the same answer for all;
`/settings/blocked` is the way to block a hidden person.
"""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from accounts import queries as accounts_queries
from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from relations import actions, queries
from relations.models import Relation
from relations.pairs import states
from relations.suggestions import actions as suggestion_actions
from relations.suggestions import queries as suggestions
from relations.suggestions import wording
from socialsite.core import errors
from socialsite.core.http import api, page_sizes, return_addresses
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import PEOPLE, READS, takes
from socialsite.core.text.spans import without_at

PANEL_SIZE = 3


@require_safe
@takes(GET=PEOPLE)
def people(request: PageRequest, username: str, kind: str) -> HttpResponse:
    """Show one list of a person; redirect a reader who blocks that person to the profile.

    `?q=` searches one's own bounded lists; other lists ignore it.
    """
    person = accounts_queries.by_name(username)
    profile = queries.profile(request.user, person)
    if profile["relation"] == Relation.BLACKLISTING.name:
        return HttpResponseRedirect(reverse("profile", args=[person.username]))
    cursor, size = api.page_params(request)
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
def blocked(request: PageRequest) -> HttpResponse:
    """Show the people I block. `?username=` redirects to blocking a person by name.

    That is the way to block a person who blocks me, whose pages I cannot see.
    """
    me = member(request)
    cursor, size = api.page_params(request)
    username = request.GET.get("username", "").strip()
    wrong: errors.AppError | None = None
    if username:
        try:
            found = _Named(me, without_at(username))
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
def follow(request: PageRequest, username: str) -> HttpResponse:
    """Follow or unfollow, by the field `follow` = 1 or 0."""
    me = member(request)
    wanted = _flag(request, "follow")
    found = _Named(me, username)
    # One's own follow of a hidden person counts towards the cap, so it can be ended.
    if found.person is None or (found.is_hidden and (wanted or not states.follows(found.state))):
        raise errors.UserNotFound
    try:
        found.state = (actions.follow if wanted else actions.unfollow)(me, found.person)
    except (errors.Blacklisted, errors.UserBanned):  # since the check above
        raise errors.UserNotFound from None
    return _changed(request, found, reverse("home"))


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.FOLLOW,))
def remove(request: PageRequest, username: str) -> HttpResponse:
    """Remove a follower; GET shows a page that asks to confirm."""
    me = member(request)
    found = _Named(me, username)
    # The follow of a hidden person can be ended, as one's own can.
    if found.person is None or (found.is_hidden and not states.is_followed(found.state)):
        raise errors.UserNotFound
    if request.method == "POST":
        found.state = actions.remove_follower(me, found.person)
        return _changed(request, found, reverse("home"))
    back = _back(request, found, reverse("home"))
    return render(request, "relations/remove.html", {"username": found.username, "next": back})


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.BLOCK,))
def block(request: PageRequest, username: str) -> HttpResponse:
    """Block or unblock, by the field `block` = 1 or 0; GET shows a page that asks to confirm."""
    me = member(request)
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


@require_safe
@takes(GET=PEOPLE)
def suggested(request: PageRequest) -> HttpResponse:
    """Show people to follow; htmx gets the panel of another page, with a few of them."""
    me = member(request)
    in_panel = bool(request.htmx) and request.htmx.target == "suggestions"
    cursor, size = api.page_params(
        request, default=PANEL_SIZE if in_panel else page_sizes.PAGE_SIZE
    )
    page = suggestions.suggested(me, cursor, size)
    back = return_addresses.own(request, request.htmx.current_url) if in_panel else None
    context = {
        "people": wording.with_reasons(page.items),
        "next": page.next,
        "back": return_addresses.own_path(request, back) if back else request.get_full_path(),
    }
    name = "relations/_suggestions_panel.html" if in_panel else "relations/suggested.html"
    return render(request, name, context)


@require_POST
@takes(POST=(budgets.MARK,))
def dismiss(request: PageRequest, user_id: str) -> HttpResponse:
    """Never suggest a person again."""
    suggestion_actions.dismiss(member(request), api.parse_id(user_id))
    if request.htmx:
        return HttpResponse()
    back = return_addresses.own(request, request.POST.get("next")) or reverse("suggested")
    return HttpResponseRedirect(back, status=303)


class _Named:
    """Meaning of a name for a reader: a visible person, a hidden person, or nobody."""

    def __init__(self, me: User, typed: str) -> None:
        """Look up a name. Raises UserNotFound for an impossible name, SelfRelation."""
        if not accounts_queries.is_name(typed):
            raise errors.UserNotFound
        self.typed, self.person = typed, accounts_queries.any_by_name(typed)
        if self.person is not None and self.person.pk == me.pk:
            raise errors.SelfRelation
        self.state = None if self.person is None else queries.relation(me.pk, self.person.pk)

    @property
    def is_hidden(self) -> bool:
        """True for a person whom the reader must not see, and for nobody."""
        person = self.person
        return person is None or not person.is_active or states.is_blocked(self.state)

    @property
    def username(self) -> str:
        """The name as its person spells it; of a hidden person as the reader typed it."""
        shown = None if self.is_hidden else self.person
        return self.typed if shown is None else shown.username


def _flag(request: PageRequest, name: str) -> bool:
    """Read a field that is 1 or 0. Raises InvalidInput for any other value."""
    value = request.POST.get(name)
    if value not in ("0", "1"):
        raise errors.InvalidInput(fields={name: [_("Must be 0 or 1.")]})
    return value == "1"


def _back(request: PageRequest, found: _Named, instead: str) -> str:
    """Return the page of this site that sent the form; `instead` of a hidden person's profile."""
    profile = reverse("profile", args=[found.username])
    wanted = (
        return_addresses.own(request, request.POST.get("next") or request.GET.get("next"))
        or profile
    )
    if found.is_hidden and return_addresses.own_path(request, wanted).lower() == profile.lower():
        return instead
    return wanted


def _changed(request: PageRequest, found: _Named, instead: str) -> HttpResponse:
    """Answer with the new state: htmx gets the button, other clients a redirect to their page."""
    back = _back(request, found, instead)
    if not request.htmx:
        return HttpResponseRedirect(back, status=303)
    profile = reverse("profile", args=[found.username])
    came_from = return_addresses.own_path(request, request.POST.get("next") or profile)
    if "block" in request.POST and came_from.lower() == profile.lower():
        return HttpResponseClientRedirect(back)
    relation = queries.name(found.state)
    at_list = came_from == reverse("blocked")
    if "block" in request.POST and found.is_hidden:
        # The reader's own side, derived from this action alone.
        relation = Relation.BLACKLISTING.name if _flag(request, "block") else None
        at_list = True
    ident = "" if found.person is None else str(found.person.pk)
    row: dict[str, Any] = {"id": ident, "username": found.username, "relation": relation}
    context = {"person": row, "next": back, "undo": at_list}
    return render(request, "relations/_changed.html", context)
