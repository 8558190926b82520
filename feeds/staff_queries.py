"""Reads of posts for staff: deleted ones too, whoever may see them."""

from typing import NamedTuple

from feeds.cards import hydration
from feeds.cards.card import Card
from feeds.models import Post, PostImage, PostVersion
from feeds.queries import VERSIONS_MAX, Version, version_of
from socialsite.core.models import Media


class StaffPost(NamedTuple):
    """A post, whether it is deleted, and how many of its pictures and videos no longer exist.

    The card has those that exist.
    """

    card: Card
    is_deleted: bool
    removed: int


def post(post_id: int) -> StaffPost | None:
    """Return a post with the post that it shows; None if there is no such post."""
    found = Post.objects.filter(pk=post_id).select_related("ref_post").first()
    if found is None:
        return None
    shown, ref_id = found.ref_post, found.ref_post_id
    cards = hydration.unchecked([post_id] if ref_id is None else [post_id, ref_id])
    card = cards[post_id]
    is_ref_gone = shown is None or shown.is_deleted or shown.is_removed
    card["ref"] = None if is_ref_gone else cards.get(ref_id or 0)
    card["ref_gone"] = ref_id is not None and card["ref"] is None
    removed = _leave_out_removed(card) if found.is_deleted else 0
    return StaffPost(card, found.is_deleted or found.is_removed, removed)


def _leave_out_removed(card: Card) -> int:
    """Leave the pictures and the video out of a card whose files were removed; return how many."""
    images, video = card["images"], card["video"]
    ids = {int(image["id"]) for image in images} | ({int(video["id"])} if video else set())
    kept = set(Media.objects.filter(pk__in=ids).values_list("pk", flat=True)) if ids else set()
    card["images"] = [image for image in images if int(image["id"]) in kept]
    if video and int(video["id"]) not in kept:
        card["video"] = None
    return len(ids - kept)


def former_versions(post_id: int) -> list[Version]:
    """Return the last VERSIONS_MAX former versions of a post that is not deleted, newest first."""
    words = ("version", "title", "note", "content", "edited_at")
    rows = PostVersion.objects.filter(post_id=post_id).order_by("-version").values_list(*words)
    return [version_of(*row) for row in rows[:VERSIONS_MAX]]


def with_media(media_id: int) -> list[int]:
    """Return the ids of the posts with a picture or video, deleted ones too."""
    return list(PostImage.objects.filter(media_id=media_id).values_list("post_id", flat=True))
