"""Upload a video without JavaScript, and show how far the video of a post is."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from feeds import queries
from feeds.drafts import actions as drafts
from feeds.drafts import queries as draft_queries
from feeds.models import Kind
from feeds.views import composer
from socialsite.core import db, errors
from socialsite.core.http import api, form_keys
from socialsite.core.media.videos import captions, uploads
from socialsite.core.media.videos import queries as videos_queries
from socialsite.core.models import Video
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.requests import idempotency, request_budgets
from socialsite.core.requests.request_budgets import READS, takes

ERRORS = (*composer.ERRORS, errors.QuotaExceeded, errors.Forbidden)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.VIDEO,))
def videos(request: PageRequest) -> HttpResponse:
    """Show the form for a video; POST stores it in a new draft, where its text is written."""
    me = member(request)
    if request.method != "POST":
        return render(request, "feeds/writing/video.html", {"form_errors": {}})
    try:
        made = _draft_with(request, me)
    except ERRORS as error:
        wrong = error.fields or {"file": [error.detail]}
        context = {"form_errors": wrong}
        answer = render(request, "feeds/writing/video.html", context, status=error.status)
        return api.add_headers(answer, error)
    there = HttpResponseRedirect(reverse("draft", args=[made]), status=303)
    return form_keys.accepted(request, there)


def _draft_with(request: PageRequest, me: User) -> int:
    """Store the video of the form, and return the id of the draft that has it."""
    file = request.FILES.get("file")
    if file is None or not file.size:
        raise errors.InvalidInput(fields={"file": [_("Choose a video.")]})
    key = form_keys.effect_of(request)
    made = idempotency.made_by(me.pk, key, draft_queries.is_there)
    if made is not None:
        return made
    uploads.check(me.pk, file.size)
    empty: dict[str, Any] = {"kind": Kind.VIDEO.value}
    drafts.check(me, empty, 0, is_new=True)  # before a video is kept for nothing
    request_budgets.spend(request)
    buckets.spend(budgets.DRAFT, me.pk)
    video = uploads.add(me.pk, file, file.size)
    return idempotency.once(
        me.pk,
        key,
        lambda: drafts.create(me, {**empty, "video": video.pk}).pk,
        draft_queries.is_there,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.EDIT,))
def video_texts(request: PageRequest, ident: str) -> HttpResponse:
    """Show the description and the captions of one's own video; POST changes them.

    `remove` has a language whose captions are removed.
    """
    owner, video = member(request).pk, api.parse_id(ident)
    found = videos_queries.progress(owner, video)
    context: dict[str, Any] = {
        "video": found,
        "languages": captions.languages(),
        "alt": found["alt"],
        "chosen": get_language(),
        "form_errors": {},
        "notices": messages.get_messages(request),
    }
    if request.method != "POST":
        return render(request, "feeds/writing/video_texts.html", context)
    try:
        request_budgets.spend(request)
        _store_texts(request, owner, video)
    except (errors.InvalidInput, errors.RateLimited) as error:
        context["form_errors"] = error.fields or {"__all__": [error.detail]}
        context["alt"] = request.POST.get("alt", "")
        context["chosen"] = request.POST.get("language", "")
        answer = render(request, "feeds/writing/video_texts.html", context, status=error.status)
        return api.add_headers(answer, error)
    messages.success(request, _("Your changes are saved."))
    return HttpResponseRedirect(request.path, status=303)


@db.atomic
def _store_texts(request: PageRequest, owner: int, video: int) -> None:
    """Store the fields of the form; a file with the language that was chosen for it."""
    if "remove" in request.POST:
        captions.remove(owner, video, request.POST["remove"])
        return
    captions.describe(owner, video, request.POST.get("alt", ""))
    file = request.FILES.get("file")
    if file is not None:
        captions.put(owner, video, request.POST.get("language", ""), file.read())


@require_safe
@takes(GET=(*READS, budgets.POLL))
def post_video(request: PageRequest, post_id: str) -> HttpResponse:
    """Show the video of a post, for its author with the progress while it is processed."""
    card = queries.post(request.user, api.parse_id(post_id))
    video = card["video"]
    if video is None:
        raise errors.NotFound
    progress, detail = 0, ""
    if card["mine"]:
        own = videos_queries.progress(int(card["author"]["id"]), int(video["id"]))
        progress, detail = own["progress"], own["detail"]
    context = {
        "post": card,
        "progress": progress,
        "detail": detail,
        "is_waiting": video["state"] == Video.State.PROCESSING,
    }
    return render(request, "feeds/_video.html", context)
