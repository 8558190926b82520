"""Placeholders of pictures and videos in posts from before there were placeholders."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.db import transaction

from feeds import cache
from feeds.models import Post, PostContent
from socialsite.core import db
from socialsite.core.models import Media

STEP = 500


def copy_placeholders(after: int) -> tuple[int | None, int, int]:
    """Copy the placeholders of pictures to the next posts that show them, above the id `after`.

    Returns the last id, None at the end, how many posts were read, and how many were changed.
    """
    rows = list(
        PostContent.objects.filter(pk__gt=after)
        .order_by("pk")
        .values_list("pk", "images", "link", "video")[:STEP]
    )
    changed = [ident for ident, *parts in rows if any(_lacking(*parts))]
    for ident in changed:
        _copy(ident)
    return rows[-1][0] if len(rows) == STEP else None, len(rows), len(changed)


def _lacking(
    images: list[dict[str, Any]],
    link: dict[str, Any] | None,
    video: dict[str, Any] | None,
) -> Iterator[dict[str, Any]]:
    """Yield what a post stores of its media that says nothing about a placeholder."""
    preview: dict[str, Any] | None = link and link["image"]
    for entry in (*images, preview, video):
        if entry and "placeholder" not in entry:
            yield entry


@db.atomic
def _copy(post_id: int) -> None:
    """Write the placeholders under the lock of the post; its version stays."""
    Post.objects.select_for_update().get(pk=post_id)
    words = PostContent.objects.get(pk=post_id)
    entries = list(_lacking(words.images, words.link, words.video))
    known = Media.objects.in_bulk([int(entry["id"]) for entry in entries])
    for entry in entries:
        found = known.get(int(entry["id"]))
        entry["placeholder"] = "" if found is None else found.placeholder
    words.save(update_fields=["images", "link", "video"])
    transaction.on_commit(partial(cache.edited, post_id), robust=True)
