"""Help while a text is written: names and tags that begin as typed, and emoji to choose from."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.naming import search as name_search
from accounts.request_auth.requests import PageRequest, member
from feeds.discovery.tags import queries as tag_queries
from feeds.models import Visibility
from relations import queries as relations_queries
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes
from socialsite.core.text import emojis, tags

# Suggestions for one word; characters of a word that are looked for.
SHOWN, WORD_MAX = 6, 32
NAME_SIGNS = "@＠"
# The relations to the author of people who see a post with these audiences.
SEE = {Visibility.FOLLOWERS.value: ("FOLLOWED", "BI_FOLLOWING"), Visibility.SELF.value: ()}


@require_safe
@takes(GET=(budgets.COMPLETION,))
def completions(request: PageRequest) -> HttpResponse:
    """The people or tags whose name begins as `word`, which starts with `@` or `#`.

    People who may not see a post with the audience `visibility` are marked.
    """
    me = member(request)
    word = request.GET.get("word", "")[:WORD_MAX]
    sign, text = word[:1], word[1:].strip()
    context: dict[str, Any] = {"people": [], "tags": [], "sees": None}
    if text and sign in NAME_SIGNS:
        context["people"] = _people(me, text)
        context["sees"] = SEE.get(request.GET.get("visibility", ""))
    elif text and sign in tags.SIGNS:
        context["tags"] = tag_queries.matching(me, text, SHOWN)
    return render(request, "feeds/writing/completions.html", context)


def _people(me: User, text: str) -> list[relations_queries.Person]:
    """Return people with a text in their name: the one of that username, those followed, others."""
    followed = relations_queries.search_own(me.pk, "following", text, None, SHOWN).items
    others = relations_queries.search_people(me, text, None, SHOWN).items
    found = {person["id"]: person for person in [*followed, *others]}
    key = name_search.key_of(text)
    return sorted(found.values(), key=lambda one: one["username"].lower() != key)[:SHOWN]


@require_safe
@takes(GET=(budgets.COMPLETION,))
def emoji(request: PageRequest) -> HttpResponse:
    """The emoji whose names have all words of `q`; without it common ones."""
    member(request)
    found = emojis.named(request.GET.get("q", "")[:WORD_MAX], get_language() or "")
    context = {"emoji": found, "is_search": "q" in request.GET}
    return render(request, "feeds/writing/emoji.html", context)
