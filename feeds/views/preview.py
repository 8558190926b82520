"""The preview of an article in the composer; nothing is published."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from accounts.tokens.requests import PageRequest, member
from feeds.drafts import queries
from feeds.models import Kind, PostContent
from feeds.views import composer
from socialsite.core.http import api, errors
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.request_budgets import takes
from socialsite.core.text import clean

TEXT_MAX = PostContent.TEXT_MAX[Kind.ARTICLE]


@require_POST
@takes(POST=(budgets.PREVIEW,))
def preview(request: PageRequest) -> HttpResponse:
    """Show the text of the composer as an article, above the composer; htmx gets the article.

    `draft` in the query is the id of the draft that is in the composer.
    """
    me = member(request)
    values: dict[str, Any] = composer.texts(request)
    content, wrong = clean(values["content"]), {}
    items = composer.kept(request, me)
    images = composer.shown(items)
    if len(content) > TEXT_MAX:
        error = errors.InvalidInput(fields={"content": [composer.too_long(TEXT_MAX)]})
        if request.htmx:
            raise error
        wrong, content = composer.form_errors(error), ""
    shown = {**composer.shown_texts(values), "images": images}
    if "draft" in request.GET:
        found = queries.draft(me, api.parse_id(request.GET["draft"], "draft"))
        typed = request.POST.get("publish_at", "")
        shown |= {"draft": found["id"], "updated_at": found["updated_at"], "publish_at": typed}
    context = {"content": content, "images": images, "values": shown, "form_errors": wrong}
    name = "feeds/writing/_preview.html" if request.htmx else "feeds/writing/preview.html"
    return render(request, name, context, status=400 if wrong else 200)
