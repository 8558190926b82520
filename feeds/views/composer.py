"""Read what the composer sent, for a new post and for a draft."""

from itertools import zip_longest
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from accounts.request_auth.requests import PageRequest
from feeds.cards.card import Image, shown_image
from feeds.content.plain_text import signs
from feeds.content.polls.definition import OPTIONS_MAX, Given
from feeds.models import Kind, PostContent, Visibility
from interactions import queries as interactions_queries
from socialsite.core import errors
from socialsite.core.http import api, form_warnings
from socialsite.core.media import pictures
from socialsite.core.media.videos import queries as video_queries
from socialsite.core.models import Media
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.text import clean
from socialsite.core.times import iso

# Digits of the time that a poll lasts.
SECONDS_DIGITS = 9
FIELDS = ("kind", "title", "note", "content", "video_url", "visibility")
# Fields at which the form says what is wrong; it says all else above them.
SHOWN_AT = (*FIELDS, "images", "video", "poll", "publish_at", form_warnings.ERROR)
# These show the composer again.
ERRORS = (
    errors.InvalidInput,
    errors.UnsupportedMedia,
    errors.PayloadTooLarge,
    errors.RateLimited,
    errors.Unavailable,
)


def texts(request: PageRequest) -> dict[str, Any]:
    """Return the texts and choices of the composer."""
    values: dict[str, Any] = {name: request.POST.get(name, "") for name in FIELDS}
    values["sensitive"] = is_sensitive(request)
    values["poll"] = _poll(request)
    values["kind"] = values["kind"] or Kind.MICRO.value
    values["visibility"] = values["visibility"] or Visibility.PUBLIC.value
    # Without JavaScript the fields of the other kinds are sent too.
    if values["kind"] == Kind.MICRO:
        values["title"] = ""
    if values["kind"] != Kind.VIDEO:
        values["video_url"] = ""
    values["video"] = _video(request) if values["kind"] == Kind.VIDEO else None
    return values


def _video(request: PageRequest) -> int | None:
    """Return the id of the uploaded video of the form, None for none. Raises InvalidInput."""
    sent = request.POST.get("video", "")
    return api.parse_id(sent, "video") if sent else None


def _poll(request: PageRequest) -> Given | None:
    """Return the poll of the form, without its empty options; None if all are empty."""
    sent = [request.POST.get(f"option-{number}", "") for number in range(OPTIONS_MAX)]
    options = [option for option in sent if clean(option)]
    if not options:
        return None
    end = request.POST.get("poll_end", "")
    # A number of seconds; or the time that the draft has.
    lasts = int(end) if end.isascii() and end.isdecimal() and len(end) <= SECONDS_DIGITS else None
    return Given(
        options=options,
        multiple=request.POST.get("multiple") == "1",
        ends_at=_time(end) if lasts is None else None,
        lasts=lasts,
    )


def _time(text: str) -> int | None:
    try:
        return api.parse_time(text, "poll")
    except errors.InvalidInput:
        return None


def shown_texts(values: dict[str, Any], author: User) -> dict[str, Any]:
    """Return texts of the author's form as the composer shows them again."""
    poll = values["poll"]
    if poll is not None and poll["ends_at"] is not None:
        poll = {**poll, "ends_at": iso(poll["ends_at"])}
    video = values.get("video")
    own = None if video is None else video_queries.by_ids(author.pk, [video]).get(video)
    return {**values, "poll": poll, "video": own}


def is_sensitive(request: PageRequest) -> bool:
    """Return whether the form says that its pictures are sensitive."""
    return request.POST.get("sensitive") == "1"


def kept(request: PageRequest, author: User) -> list[Media]:
    """Return the author's stored pictures that the form keeps, in its order, as it describes them.

    They were uploaded when they were chosen, or belong to the draft in the composer. Pictures that
    are no longer stored are left out, and a description that is too long is not stored: see
    `check_kept`. Raises InvalidInput.
    """
    items = pictures.own(author.pk, _sent_ids(request))
    given = {item.pk: request.POST.get(f"alt-{item.pk}", item.alt) for item in items}
    long = {ident for ident, text in given.items() if pictures.is_long_alt(text)}
    pictures.describe(items, {ident: given[ident] for ident in given if ident not in long})
    for item in items:
        item.alt = given[item.pk] if item.pk in long else item.alt
    return items


def check_kept(request: PageRequest, items: list[Media]) -> None:
    """Raise InvalidInput if the form keeps a picture that is not among these, its author's.

    The same if one of the descriptions is too long.
    """
    if any(pictures.is_long_alt(item.alt) for item in items):
        message = _("The description of a picture may have at most %(limit)s characters.")
        raise errors.InvalidInput(fields={"images": [message % {"limit": Media.ALT_MAX}]})
    if set(_sent_ids(request)) - {item.pk for item in items}:
        message = _("Some pictures are no longer stored. Add them again, or go on without them.")
        raise errors.InvalidInput(fields={"images": [message]})


def _sent_ids(request: PageRequest) -> list[int]:
    # One more than allowed, so that too many are refused.
    sent = request.POST.getlist("keep")[: PostContent.IMAGES_MAX + 1]
    return [api.parse_id(ident, "images") for ident in sent]


def shown(items: list[Media]) -> list[Image]:
    """Return stored pictures as the composer shows them."""
    return [shown_image(PostContent.image_of(item)) for item in items]


def too_long(limit: int) -> errors.Text:
    """Return the sentence about a text that has more characters than this."""
    return _("At most %(limit)s characters.") % {"limit": limit}


def chosen_files(request: PageRequest) -> list[Any]:
    """Return the pictures that were chosen in the composer; a video has none."""
    if request.POST.get("kind") == Kind.VIDEO:
        return []
    return [file for file in request.FILES.getlist("images") if file.size]


def say_who_does_not_see(request: PageRequest, author: User, kind: str, before: str = "") -> None:
    """Raise InvalidInput, once, if the text names somebody who may not see it; `before` did not."""
    content = signs(kind, clean(request.POST.get("content", "")))
    visibility = request.POST.get("visibility") or Visibility.PUBLIC.value
    known = signs(kind, before)
    named = interactions_queries.unseen_in_post(author, content, visibility, before=known)
    form_warnings.check(request, named)


def form_errors(error: errors.AppError) -> dict[str, Any]:
    """Return what is wrong by the field of the form that shows it."""
    general = (errors.RateLimited, errors.QuotaExceeded)
    at = "__all__" if isinstance(error, general) else "images"
    wrong = error.fields or {at: [error.detail]}
    return {
        (field if field in SHOWN_AT else "__all__"): messages for field, messages in wrong.items()
    }


def new_pictures(request: PageRequest, author: User, files: list[Any]) -> list[int]:
    """Store the pictures of a form; return their ids."""
    if not files:
        return []
    buckets.spend(budgets.UPLOAD, author.pk, cost=len(files))
    alts = request.POST.getlist("alt")[: len(files)]
    uploads: Any = zip_longest(files, alts, fillvalue="")
    return [item.pk for item in pictures.store_all(author.pk, list(uploads))]
