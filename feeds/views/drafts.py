"""Pages of drafts: the list, and the composer with a draft in it; nobody else finds them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from feeds import queries as posts
from feeds.drafts import actions, queries
from feeds.drafts.queries import DraftCard
from feeds.views import composer, pages
from socialsite.core import errors
from socialsite.core.http import api, form_keys, page_sizes
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.requests import idempotency, request_budgets
from socialsite.core.requests.request_budgets import READS, takes

# Minutes between local time and UTC, as JavaScript's `getTimezoneOffset` gives them.
OFFSET_MAX = 15 * 60
# The effect of a form that publishes a draft, besides saving it.
PUBLICATION = "publish"
ERRORS = (*composer.ERRORS, errors.QuotaExceeded)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.DRAFT,))
def drafts(request: PageRequest) -> HttpResponse:
    """List one's drafts; POST saves a new one from the composer."""
    me = member(request)
    if request.method == "POST":
        return _saved(request, me, None)
    page = queries.drafts(me, api.cursor_of(request), page_sizes.PAGE_SIZE)
    context = {"drafts": page.items, "next": page.next}
    name = "feeds/drafts/_drafts.html" if pages.is_part(request) else "feeds/drafts/drafts.html"
    return render(request, name, context)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.DRAFT,))
def draft(request: PageRequest, draft_id: str) -> HttpResponse:
    """Show a draft in the composer; POST saves it, and publishes it with `act=publish`."""
    me, ident = member(request), api.parse_id(draft_id)
    if request.method == "POST":
        try:
            return _saved(request, me, queries.draft(me, ident))
        except errors.NotFound:
            if _was_published(request, me):
                return _home(request)
            raise
    found = queries.draft(me, ident)
    return _form(request, found, {**found, "publish_at": (found["publish_at"] or "")[:16]}, {}, 200)


@require_POST
@takes(POST=(budgets.PUBLISH,))
def draft_publish(request: PageRequest, draft_id: str) -> HttpResponse:
    """Publish a draft as it is; if it cannot be a post, the composer says why."""
    me, ident = member(request), api.parse_id(draft_id)
    try:
        found = queries.draft(me, ident)
        _publish(request, me, ident)
    except errors.NotFound:
        if not _was_published(request, me):
            raise
    except errors.InvalidInput as error:
        values = {**found, "publish_at": (found["publish_at"] or "")[:16]}
        return _form(request, found, values, composer.form_errors(error), error.status)
    return _home(request)


@require_POST
@takes(POST=(budgets.DRAFT,))
def draft_delete(request: PageRequest, draft_id: str) -> HttpResponse:
    """Delete a draft."""
    actions.delete(member(request), api.parse_id(draft_id))
    if request.htmx:
        return HttpResponse()
    return HttpResponseRedirect(reverse("drafts"), status=303)


def _saved(request: PageRequest, me: User, found: DraftCard | None) -> HttpResponse:
    """Save what the composer sent; what is wrong is shown there, nothing typed is lost."""
    values: dict[str, Any] = composer.texts(request)
    was_there = found is not None
    # A stored draft is published now; a new post waits for the time of its form.
    wants_post = request.POST.get("act") == "publish" and (was_there or not has_time(request))
    key = "" if found else form_keys.effect_of(request)
    if key and wants_post and _was_published(request, me):
        return _home(request)
    saved = idempotency.made_by(me.pk, key, queries.is_there)
    if saved is not None and not wants_post:
        there = HttpResponseRedirect(reverse("draft", args=[saved]), status=303)
        return form_keys.accepted(request, there)
    items = composer.kept(request, me)
    pictures = composer.shown(items)  # those that the form shows if it is refused
    try:
        composer.check_kept(request, items)
        request_budgets.spend(request)
        time = _stored_time(found) if wants_post else _publish_time(request)
        if wants_post or time is not None:
            buckets.spend(budgets.PUBLISH, me.pk)
        kept = [item.pk for item in items]
        files = composer.chosen_files(request)
        new = {**values, "images": kept, "publish_at": time}
        actions.check(me, new, len(files), is_new=found is None)  # before a picture is kept
        if wants_post or time is not None:
            composer.say_who_does_not_see(request, me, values["kind"])
        new["images"] = kept + composer.new_pictures(request, me, files)
        if found:
            ident = actions.replace(me, int(found["id"]), new).pk
        else:
            ident = idempotency.once(
                me.pk, key, lambda: actions.create(me, new).pk, queries.is_there
            )
        found = queries.draft(me, ident)
        pictures = found["images"]
        if wants_post:
            _publish(request, me, ident)
    except ERRORS as error:
        typed = request.POST.get("publish_at", "")
        shown = {**composer.shown_texts(values, me), "publish_at": typed, "images": pictures}
        answer = _form(request, found, shown, composer.form_errors(error), error.status)
        return api.add_headers(answer, error)
    if wants_post:
        return _home(request)
    # A new draft is opened, to go on with it.
    is_done = was_there or time is not None
    back = reverse("drafts") if is_done else reverse("draft", args=[found["id"]])
    return form_keys.accepted(request, HttpResponseRedirect(back, status=303))


def _publish(request: PageRequest, author: User, draft_id: int) -> None:
    """Publish a draft; the form that did so is known when it arrives again."""
    key = form_keys.effect_of(request, PUBLICATION)
    idempotency.once(author.pk, key, lambda: actions.publish(author, draft_id).pk, posts.is_there)


def _was_published(request: PageRequest, author: User) -> bool:
    """Whether this form published its draft before: that draft is gone."""
    key = form_keys.effect_of(request, PUBLICATION)
    return idempotency.made_by(author.pk, key, posts.is_there) is not None


def _home(request: PageRequest) -> HttpResponse:
    there = HttpResponseRedirect(reverse("home"), status=303)
    return form_keys.accepted(request, there)


def _form(
    request: PageRequest, found: DraftCard | None, values: Any, wrong: Any, status: int
) -> HttpResponse:
    shown = {**values, "draft": found["id"] if found else ""}
    if found:
        shown["updated_at"] = found["updated_at"]
    context = {"draft": found, "values": shown, "form_errors": wrong}
    return render(request, "feeds/drafts/draft.html", context, status=status)


def has_time(request: PageRequest) -> bool:
    """Whether the composer has a time at which to publish."""
    return bool(request.POST.get("publish_at", "").strip())


def _publish_time(request: PageRequest) -> int | None:
    """Read the time to publish, in the zone of the browser if it says which, otherwise in UTC."""
    if not has_time(request):
        return None
    try:
        offset = int(request.POST.get("utc_offset") or 0)
        if abs(offset) > OFFSET_MAX:
            raise ValueError
        local = datetime.fromisoformat(request.POST["publish_at"].strip())
        moment = local.replace(tzinfo=UTC) + timedelta(minutes=offset)
    except (ValueError, OverflowError):
        raise errors.InvalidInput(fields={"publish_at": [_("This is not a time.")]}) from None
    return round(moment.timestamp() * 1000)


def _stored_time(found: DraftCard | None) -> int | None:
    """Return the time at which a draft is published anyway, None if that is past."""
    if found is None or found["publish_at"] is None:
        return None
    time = api.parse_time(found["publish_at"], "publish_at")
    return time if time > datetime.now(UTC).timestamp() * 1000 + 60_000 else None
