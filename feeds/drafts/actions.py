"""Save, delete and publish drafts.

A draft belongs to its author; for everybody else it does not exist. Publishing creates the post and
deletes the draft in one transaction, so a draft becomes one post however often it is tried.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts import queries as accounts_queries
from feeds import actions
from feeds.actions.post_rules import KEPT, WRITTEN, limits
from feeds.content.polls import definition
from feeds.models import Draft, DraftImage, Post, PostContent
from socialsite.core import db
from socialsite.core.errors import (
    AppError,
    Forbidden,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    Suspended,
)
from socialsite.core.media import pictures, video_links
from socialsite.core.media.videos import uploads as videos

if TYPE_CHECKING:
    from accounts.models import User

logger = logging.getLogger(__name__)

# The farthest publish time.
AHEAD = timedelta(days=366)
# Fields that a draft and the post that it becomes have in common, besides the pictures.
COLUMNS = (
    *("kind", "title", "note", "content", "video_url", "video"),
    *("visibility", "sensitive", "poll"),
)
# Drafts processed in one go.
STEP = 100
MS = timedelta(milliseconds=1)


def check(author: "User", values: Mapping[str, Any], files: int, *, is_new: bool) -> None:
    """Raise what `create` or `replace` would, before `files` more pictures are stored."""
    if is_new:
        _check_quota(author)
    scratch = Draft(author_id=author.pk, updated_at=db.now_ms())
    _fill(scratch, {**values, "images": [*values.get("images", ()), *range(files)]})


@db.atomic
def create(author: "User", values: Mapping[str, Any]) -> Draft:
    """Save a new draft; `values` are columns of Draft, and `images`, ids of the author's media.

    Raises InvalidInput (with `fields`), QuotaExceeded.
    """
    _check_quota(author)
    now = db.now_ms()
    draft = Draft(author_id=author.pk, created_at=now, updated_at=now)
    _fill(draft, values)
    draft.save(force_insert=True)
    _set_images(draft, values.get("images", ()))
    _use_video(draft, None)
    return draft


@db.atomic
def replace(author: "User", draft_id: int, values: Mapping[str, Any]) -> Draft:
    """Save a draft anew: what is not in `values` is empty. Raises NotFound, InvalidInput."""
    draft = _locked(author.pk, draft_id)
    fresh = Draft(pk=draft.pk, author_id=author.pk, created_at=draft.created_at)
    fresh.updated_at = db.now_ms()
    _fill(fresh, values)
    # The author stays, as they determine the shard.
    fields = {field.attname for field in Draft._meta.concrete_fields} - {"id", "author_id"}
    fresh.save(force_update=True, update_fields=fields)
    _set_images(fresh, values.get("images", ()))
    _use_video(fresh, draft.video)
    return fresh


@db.atomic
def delete(author: "User", draft_id: int) -> None:
    """Delete a draft. Raises NotFound."""
    _delete(_locked(author.pk, draft_id))


@db.atomic
def publish(author: "User", draft_id: int) -> Post:
    """Publish a draft now, as `feeds.actions.publish` does, and delete it.

    Raises NotFound, and InvalidInput for what a post may not be; the draft stays then.
    """
    return _publish(author, _locked(author.pk, draft_id))


@db.atomic
def rewrite(author: "User", post_id: int) -> Draft:
    """Delete one's own post and save its words and pictures as a draft, both or neither.

    Raises NotFound if the author has no such post, Forbidden for a repost, QuotaExceeded.
    """
    post = Post.objects.select_for_update().filter(pk=post_id, author_id=author.pk).first()
    if post is None or post.is_deleted or post.is_removed:
        raise NotFound
    if post.kind not in WRITTEN:
        raise Forbidden
    words = PostContent.objects.get(pk=post_id)
    kept = pictures.own(author.pk, words.picture_ids())
    pictures.describe(kept, {int(image["id"]): image["alt"] for image in words.images})
    actions.delete(author, post_id)
    given: dict[str, Any] = {"kind": post.kind, "visibility": post.visibility}
    if words.poll is not None:
        given["poll"] = definition.given_again(words.poll, post.position)
    if words.video is not None and videos.state_of(int(words.video["id"])) is not None:
        given["video"] = int(words.video["id"])
    given.setdefault("video", None)
    values = given | {name: getattr(words, name) for name in COLUMNS if name not in given}
    return create(author, {**values, "images": [item.pk for item in kept]})


def publish_due() -> int:
    """Publish the drafts whose time has come; return how many became posts.

    After an outage they are published late, each once. A draft that cannot be published, for
    example since its author is banned or suspended, loses its time and says so.
    """
    due = Draft.objects.filter(publish_at__lte=db.now_ms()).order_by("publish_at")
    return sum(map(_publish_due, due.values_list("pk", flat=True)[:STEP]))


def _publish_due(draft_id: int) -> bool:
    try:
        return _publish_scheduled(draft_id)
    except AppError as error:
        logger.info("draft %s was not published: %s", draft_id, error.name)
        now = db.now_ms()
        due = Draft.objects.filter(pk=draft_id, publish_at__lte=now)
        due.update(publish_at=None, failed_at=now, updated_at=now)
    except Exception:
        # The next run tries it again; the other drafts do not wait for it.
        logger.exception("draft %s was not published", draft_id)
    return False


@db.atomic
def _publish_scheduled(draft_id: int) -> bool:
    """Publish a draft if its time has come and no other worker is at it."""
    rows = Draft.objects.select_for_update(skip_locked=True)
    draft = rows.filter(pk=draft_id, publish_at__lte=db.now_ms()).first()
    if draft is None:
        return False
    author = accounts_queries.by_id(draft.author_id)
    if author.is_suspended:
        raise Suspended
    _publish(author, draft)
    return True


def _publish(author: "User", draft: Draft) -> Post:
    images = list(draft.pictures.values_list("media_id", flat=True))
    values: dict[str, Any] = {name: getattr(draft, name) for name in COLUMNS}
    post = actions.publish(author, images=images, **values)
    _delete(draft)
    return post


def purge() -> int:
    """Delete some drafts that nobody changed for DRAFT_DAYS; return how many were looked at."""
    limit = db.now_ms() - timedelta(days=settings.DRAFT_DAYS) // MS
    old = Draft.objects.filter(publish_at=None, updated_at__lt=limit)
    ids = list(old.values_list("pk", flat=True)[:STEP])
    for draft_id in ids:
        _purge_one(draft_id, limit)
    return len(ids)


@db.atomic
def _purge_one(draft_id: int, limit: int) -> None:
    rows = Draft.objects.select_for_update()
    draft = rows.filter(pk=draft_id, publish_at=None, updated_at__lt=limit).first()
    if draft is not None:
        _delete(draft)


def _check_quota(author: "User") -> None:
    """Raise QuotaExceeded; drafts saved at the same moment may exceed the limit a little."""
    if Draft.objects.filter(author_id=author.pk).count() >= Draft.MOST:
        message = _("At most %(limit)s drafts. Publish or delete one first.")
        raise QuotaExceeded(message % {"limit": Draft.MOST})


def _locked(author_id: int, draft_id: int) -> Draft:
    draft = Draft.objects.select_for_update().filter(pk=draft_id, author_id=author_id).first()
    if draft is None:
        raise NotFound
    return draft


def _fill(draft: Draft, values: Mapping[str, Any]) -> None:
    """Set the columns, as far as given; a draft may be incomplete, but not longer than a post."""
    for name in (*COLUMNS, "publish_at"):
        if name in values:
            setattr(draft, name, values[name])
    texts = {name: keep(getattr(draft, name)) for name, keep in KEPT.items()}
    for name, text in texts.items():
        setattr(draft, name, text)
    wrong = limits(draft.kind, draft.visibility, texts, len(values.get("images", ())))
    if len(draft.video_url) > video_links.URL_MAX:
        message = _("At most %(limit)s characters.") % {"limit": video_links.URL_MAX}
        wrong["video_url"] = [message]
    if draft.poll is not None:
        draft.poll = definition.tidy(draft.poll)
        begins = draft.publish_at or draft.updated_at
        if flaws := definition.flaws(draft.poll, begins, whole=False):
            wrong["poll"] = flaws
    if draft.publish_at is not None:
        if draft.publish_at <= draft.updated_at:
            wrong["publish_at"] = [_("This time is in the past.")]
        elif draft.publish_at > draft.updated_at + AHEAD // MS:
            wrong["publish_at"] = [_("Choose a time within a year.")]
    if wrong:
        raise InvalidInput(fields=wrong)


def _set_images(draft: Draft, ids: Sequence[int]) -> None:
    """Link the pictures in this order; those that the draft had before are released."""
    wanted = list(dict.fromkeys(ids))
    had = set(draft.pictures.values_list("media_id", flat=True))
    pictures.by_ids(draft.author_id, wanted)
    draft.pictures.all().delete()
    DraftImage.objects.bulk_create(
        DraftImage(draft=draft, media_id=ident, number=number)
        for number, ident in enumerate(wanted)
    )
    pictures.use(draft.author_id, wanted)
    pictures.release(draft.author_id, ids=had - set(wanted))


def _use_video(draft: Draft, before: int | None) -> None:
    """Use the video of a draft, and release the one that it had before."""
    if draft.video == before:
        return
    if draft.video is not None:
        videos.by_id(draft.author_id, draft.video)
        pictures.use(draft.author_id, [draft.video])
    if before is not None:
        pictures.release(draft.author_id, ids=[before])


def _delete(draft: Draft) -> None:
    ids = list(draft.pictures.values_list("media_id", flat=True))
    ids += [] if draft.video is None else [draft.video]
    draft.pictures.all().delete()
    draft.delete()
    if ids:
        pictures.release(draft.author_id, ids=ids)
