"""The preview of an article in the composer, or in the form of edits; nothing is published."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from feeds import queries
from feeds.drafts import queries as drafts
from feeds.models import Kind, PostContent
from feeds.views import composer, pages
from socialsite.core import errors
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes
from socialsite.core.text import clean

TEXT_MAX = PostContent.TEXT_MAX[Kind.ARTICLE]


@require_POST
@takes(POST=(budgets.PREVIEW,))
def preview(request: PageRequest) -> HttpResponse:
    """Show the text of the composer as an article, above the composer; htmx gets the article.

    `draft` in the query is the id of the draft that is in the composer, `post` that of the article
    whose form of edits was sent.
    """
    me = member(request)
    if "post" in request.GET:
        return _of_edit(request, me)
    values: dict[str, Any] = composer.texts(request)
    content, wrong = clean(values["content"]), {}
    items = composer.kept(request, me)
    images = composer.shown(items)
    if len(content) > TEXT_MAX:
        error = errors.InvalidInput(fields={"content": [composer.too_long(TEXT_MAX)]})
        if request.htmx:
            raise error
        wrong, content = composer.form_errors(error), ""
    typed = request.POST.get("publish_at", "")
    shown = {**composer.shown_texts(values, me), "images": images, "publish_at": typed}
    if "draft" in request.GET:
        found = drafts.draft(me, api.parse_id(request.GET["draft"], "draft"))
        shown |= {"draft": found["id"], "updated_at": found["updated_at"]}
    context = {"content": content, "images": images, "values": shown, "form_errors": wrong}
    name = "feeds/writing/_preview.html" if request.htmx else "feeds/writing/preview.html"
    return render(request, name, context, status=400 if wrong else 200)


def _of_edit(request: PageRequest, author: User) -> HttpResponse:
    """Show what was typed as the article would look, above the form of edits."""
    card = queries.post(author, api.parse_id(request.GET["post"], "post"))
    if not card["mine"] or card["kind"] != Kind.ARTICLE:
        raise errors.Forbidden
    kept = composer.kept(request, author)
    context = pages.edit_context(card, request.POST, kept)
    content, wrong = clean(request.POST.get("content", "")), {}
    if len(content) > TEXT_MAX:
        wrong = {"content": [composer.too_long(TEXT_MAX)]}
    else:
        stay = [image for image in context["images"] if not image["removed"]]
        context |= {"content": content, "shown_images": stay + context["kept"]}
    context |= {"version": request.POST.get("version", ""), "form_errors": wrong}
    return render(request, "feeds/writing/edit.html", context, status=400 if wrong else 200)
