"""Look up the links of posts: claim a post, read the page, store what it shows.

- A claim is a lease: if the process dies, another one takes the post a minute later. Two processes
  at once would only read the page twice.
- A result is kept for a week, so a link that many people post is read once. An address without a
  result is tried again after an hour, for the next post that has it.
- The result goes into the post under its lock, if the post still has that address.
"""

import hashlib
import io
import logging
from functools import partial
from urllib.parse import urlsplit

from django.db import transaction

from feeds import cache
from feeds.content.previews import pages
from feeds.content.previews.addresses import address_of
from feeds.content.previews.pages import Page
from feeds.events import PostPreviewed
from feeds.models import FoundPreview, Post, PostContent, PostImage, WantedPreview
from socialsite.core import db, events, site
from socialsite.core.errors import AppError
from socialsite.core.media import disk_space, encoding, pictures
from socialsite.core.models import Media
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.runtime.failpoints import failpoint

logger = logging.getLogger(__name__)

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
LEASE_MS = MINUTE_MS
# Pauses before the second and the third try.
PAUSES_MS = (MINUTE_MS, 10 * MINUTE_MS)
# A post whose host had no budget left for so long gets no preview.
GIVEN_UP_MS = 24 * HOUR_MS
KEPT_MS, NOTHING_KEPT_MS = 7 * 24 * HOUR_MS, HOUR_MS
PURGE_STEP = 500


def want(post: Post, words: PostContent) -> None:
    """Ask for the preview of a post, in the transaction that writes its words."""
    if address_of(post.kind, words) and site.current().limits.link_previews:
        WantedPreview.objects.update_or_create(pk=post.pk, defaults={"due_at": 0, "tries": 0})


def work_off() -> bool:
    """Look up the link of the next post that is due; return whether there was one."""
    claimed = _claim()
    if claimed is None:
        return False
    try:
        _look_up(claimed)
    except Exception:  # one page must not stop the others
        logger.exception("reading the link of post %s failed; trying again later", claimed.pk)
        _later(claimed)
    return True


@db.atomic
def _claim() -> WantedPreview | None:
    now = db.now_ms()
    rows = WantedPreview.objects.select_for_update(skip_locked=True)
    row = rows.filter(due_at__lte=now).order_by("due_at").first()
    if row is not None:
        row.due_at, row.tries = now + LEASE_MS, row.tries + 1
        row.save(update_fields=["due_at", "tries"])
    return row


def _look_up(row: WantedPreview) -> None:
    post = Post.objects.filter(pk=row.pk, is_deleted=False).first()
    words = PostContent.objects.filter(pk=row.pk).first()
    address = "" if post is None or words is None else address_of(post.kind, words)
    if post is None or not address or not site.current().limits.link_previews:
        _done(row)
        return
    now = db.now_ms()
    found = FoundPreview.objects.filter(pk=_key(address)).first()
    if found is not None and now - found.found_at < (KEPT_MS if found.title else NOTHING_KEPT_MS):
        _show(row, address, pages.kept(found))
        return
    grant = buckets.take(budgets.PREVIEW_HOST, urlsplit(address).hostname or "")
    if not grant.allowed:
        if now - post.position > GIVEN_UP_MS:
            _done(row)
        else:
            # This does not count as a try: no request was sent.
            due = now + round(grant.retry_after * 1000)
            WantedPreview.objects.filter(pk=row.pk).update(due_at=due, tries=row.tries - 1)
        return
    try:
        page = pages.read(address)
    except pages.Later:
        _later(row)
        return
    failpoint("page-read")
    _keep(address, page)
    _show(row, address, page)


def _later(row: WantedPreview) -> None:
    """Try again after a pause, or give up."""
    if row.tries > len(PAUSES_MS):
        _done(row)
    else:
        due = db.now_ms() + PAUSES_MS[row.tries - 1]
        WantedPreview.objects.filter(pk=row.pk).update(due_at=due)


def _done(row: WantedPreview) -> None:
    WantedPreview.objects.filter(pk=row.pk).delete()


def _key(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()


def _keep(address: str, page: Page | None) -> None:
    title, text, picture = page or Page("", "", b"")
    values = {"title": title, "text": text, "picture": picture, "found_at": db.now_ms()}
    FoundPreview.objects.update_or_create(pk=_key(address), defaults=values)


def _show(row: WantedPreview, address: str, page: Page | None) -> None:
    """Store the result in the post. Publishes PostPreviewed."""
    if page is None:
        _done(row)
        return
    owner_id = row.post.author_id
    item = _stored_picture(owner_id, page.picture)
    used = False
    try:
        used = _write(row.pk, address, page, item)
    finally:
        if item is not None and not used:
            pictures.discard([item])


def _stored_picture(owner_id: int, data: bytes) -> Media | None:
    """Store the picture as one of the author's; None if they have no room for it."""
    if not data:
        return None
    try:
        disk_space.check(owner_id)
        picture = encoding.encode(io.BytesIO(data))
        with pictures.no_orphans(picture):
            return pictures.store(owner_id, picture, "")
    except AppError:
        return None


@db.atomic
def _write(post_id: int, address: str, page: Page, item: Media | None) -> bool:
    """Write the preview under the lock of the post; return whether the post has it now."""
    post = Post.objects.select_for_update().filter(pk=post_id).first()
    WantedPreview.objects.filter(pk=post_id).delete()
    if post is None or post.is_deleted:
        return False
    words = PostContent.objects.get(pk=post_id)
    if address_of(post.kind, words) != address or words.link is not None:
        return False
    image = None if item is None else PostContent.image_of(item)
    if item is not None:
        pictures.use(post.author_id, [item.pk])
        PostImage.objects.create(media_id=item.pk, post=post)
    words.link = {"url": address, "title": page.title, "text": page.text, "image": image}
    words.save(update_fields=["link"])
    events.publish(PostPreviewed(post_id, post.author_id))
    transaction.on_commit(partial(cache.edited, post_id), robust=True)
    failpoint("preview-written")
    return True


def purge() -> bool:
    """Delete some results older than a week; return whether there may be more."""
    limit = db.now_ms() - KEPT_MS
    old = FoundPreview.objects.filter(found_at__lt=limit).order_by("found_at")
    keys = list(old.values_list("pk", flat=True)[:PURGE_STEP])
    FoundPreview.objects.filter(pk__in=keys).delete()
    return len(keys) == PURGE_STEP
