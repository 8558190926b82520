"""The page of the search, in tabs: posts, people, tags."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.request_auth.requests import PageRequest
from feeds.discovery.search import language, paging
from feeds.discovery.tags import queries as tag_queries
from feeds.views.pages import is_part, page_of
from interactions import queries as interactions_queries
from relations import queries as relations_queries
from socialsite.core.errors import InvalidInput
from socialsite.core.http import api, page_sizes
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes

# People with such a name who are shown above the posts; tags of a page.
PEOPLE, TAGS = 3, 20


@require_safe
@takes(GET=(budgets.SEARCH,))
def search(request: PageRequest) -> HttpResponse:
    """Posts by their words, people by their names, tags; a question that is wrong is explained."""
    tabs = [("posts", _("Posts")), ("people", _("People")), ("tags", _("Tags"))]
    tab = request.GET.get("tab", "")
    tab = tab if tab in dict(tabs) else "posts"
    text = request.GET.get("q", "").strip()
    context: dict[str, Any] = {"q": text, "tab": tab, "tabs": tabs, "sort": paging.DEFAULT}
    context |= {"posts": [], "people": [], "tags": [], "next": None}
    asked = urlencode({"q": text})
    context["asked"] = asked
    if tab == "tags":
        context["tags"] = tag_queries.matching(request.user, text, TAGS) if text else []
        return render(request, "feeds/search.html", context)
    if tab == "people":
        context["more"] = f"?{asked}&tab=people&"
        if text:
            found = relations_queries.search_people(
                request.user, text, api.cursor_of(request), page_sizes.PAGE_SIZE
            )
            context |= {"people": found.items, "next": found.next}
        name = "relations/_page.html" if is_part(request) else "feeds/search.html"
        return render(request, name, context)
    return _posts(request, text, context)


def _posts(request: PageRequest, text: str, context: dict[str, Any]) -> HttpResponse:
    sort = paging.sort_of(request.GET.get("sort"), strict=False)
    context |= {"sort": sort, "more": f"?{context['asked']}&sort={sort}&"}
    if not text:
        return render(request, "feeds/search.html", context)
    cursor = request.GET.get("cursor", "")
    try:
        question = language.parse(text)
    except InvalidInput as error:
        context["wrong"] = (error.fields or {})["q"][0]
        return render(request, "feeds/search.html", context, status=error.status)
    page = paging.page(request.user, question, sort, cursor, page_sizes.PAGE_SIZE)
    context |= {
        "posts": interactions_queries.decorate(request.user, page.items),
        "next": page.next,
    }
    if not cursor:
        people = relations_queries.search_people(request.user, text, None, PEOPLE)
        context["people"], context["more_people"] = people.items, people.next is not None
    return page_of(request, "feeds/search.html", context)
