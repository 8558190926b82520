"""What is erased of the posts and feeds of a closed account.

A post goes as its author deletes it. Afterwards its words and pictures are erased, and the empty
row too, unless something of others hangs on it: a repost, a comment, a like. Apps above say so
(`Hold`).
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from feeds import actions, cache
from feeds.discovery.search import indexing
from feeds.drafts import actions as drafts
from feeds.models import (
    AuthorHead,
    Draft,
    FanOut,
    FanOutChunk,
    InboxEdge,
    InboxEntry,
    InboxState,
    OpenPoll,
    Post,
    PostAudience,
    PostContent,
    PostImage,
    PostTag,
    PostVersion,
    RecommendedAuthor,
    TagFollow,
    WantedPreview,
)
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.erasing import Eraser, Stage, counted, kept_keys, one_by_one, register, rows

# Posts that are looked at together.
STEP = 200


class Hold(NamedTuple):
    """What another app has at posts.

    `held(ids)` returns those at which something of others hangs; `drop(ids)` deletes what the app
    has at the others, in the transaction that deletes their rows.
    """

    held: Callable[[Collection[int]], set[int]]
    drop: Callable[[Collection[int]], None]


holds: list[Hold] = []


# --- what others see ----------------------------------------------------------------------------
def _live(user_id: int) -> "QuerySet[Post]":
    return _posts(user_id).filter(is_deleted=False)


def _posts(user_id: int) -> "QuerySet[Post]":
    return Post.objects.filter(author_id=user_id)


def _delete(user_id: int, post_id: int) -> None:
    actions.delete(User.known(user_id), post_id)


def _delete_draft(user_id: int, draft_id: int) -> None:
    drafts.delete(User.known(user_id), draft_id)


# --- words --------------------------------------------------------------------------------------
EMPTY: dict[str, Any] = {
    "title": "",
    "note": "",
    "is_note_of_staff": False,
    "content": "",
    "sensitive": False,
    "images": [],
    "video_url": "",
    "video": None,
    "poll": None,
    "link": None,
    "version": 1,
    "edited_at": None,
}


def _written(user_id: int) -> "QuerySet[PostContent]":
    """Return the deleted posts whose row of words is not empty."""
    empty = Q(**{f"{name}__isnull": True for name in ("video", "poll", "link", "edited_at")})
    empty &= Q(title="", note="", content="", video_url="", images=[], version=1)
    return PostContent.objects.filter(post__author_id=user_id, post__is_deleted=True).exclude(empty)


def _erase_words(user_id: int, limit: int) -> int:
    ids = list(_written(user_id).values_list("pk", flat=True)[:limit])
    if ids:
        _empty(ids)
    return len(ids)


@db.atomic
def _empty(ids: Collection[int]) -> None:
    contents = PostContent.objects.filter(pk__in=ids)
    media = {ident for words in contents for ident in words.media_ids()}
    PostImage.objects.filter(media_id__in=media, post_id__in=ids).delete()
    for table in (PostVersion, PostTag, PostAudience, OpenPoll, WantedPreview):
        table._default_manager.filter(post_id__in=ids).delete()
    contents.update(**EMPTY)
    for post_id in ids:
        indexing.refresh(post_id)


# --- empty rows ---------------------------------------------------------------------------------
def _erase_posts(user_id: int, limit: int) -> int:
    """Delete the rows of posts at which nothing of others hangs."""
    after, gone = 0, 0
    while gone < limit:
        found = _posts(user_id).filter(is_deleted=True, pk__gt=after).order_by("pk")
        ids = list(found.values_list("pk", flat=True)[:STEP])
        if not ids:
            break
        after = ids[-1]
        gone += _drop(ids)
    return gone


@db.atomic
def _drop(ids: Collection[int]) -> int:
    """Delete the rows of those of these posts that nothing holds; return how many."""
    # With locks: who is about to hang something on one of them has seen it before its deletion.
    locked = list(Post.objects.select_for_update().filter(pk__in=ids).order_by("pk"))
    held = set(Post.objects.filter(ref_post_id__in=ids).values_list("ref_post_id", flat=True))
    for hold in holds:
        held |= hold.held(ids)
    free = [post for post in locked if post.pk not in held]
    idents = [post.pk for post in free]
    if not idents:
        return 0
    _empty(idents)
    for hold in holds:
        hold.drop(idents)
    FanOutChunk.objects.filter(fanout_id__in=idents).delete()
    FanOut.objects.filter(pk__in=idents).delete()
    PostContent.objects.filter(pk__in=idents).delete()
    Post.objects.filter(pk__in=idents).delete()
    return len(idents)


def _cards_of_reposts(user_id: int) -> set[str]:
    """Return the keys of cached reposts of others: they name the author of the empty post."""
    ids = Post.objects.filter(ref_post__author_id=user_id).values_list("pk", flat=True)
    return {cache.CARDS.key(post_id) for post_id in ids}


kept_keys.append(_cards_of_reposts)


def _head(user_id: int) -> "QuerySet[AuthorHead]":
    live = Post.objects.filter(author_id=OuterRef("author_id"), is_deleted=False)
    return AuthorHead.objects.filter(~Exists(live), pk=user_id)


def _edges(user_id: int) -> "QuerySet[InboxEdge]":
    return InboxEdge.objects.filter(viewer_id=user_id)


def _entries(user_id: int) -> "QuerySet[InboxEntry]":
    """Return the person's own inbox.

    Those of others lost the posts with the follow.
    """
    return InboxEntry.objects.filter(user_id=user_id)


def _erase_edges_of_others(user_id: int, limit: int) -> int:
    """Delete how complete the inboxes of others are for the person: their keys begin with others.

    The inboxes have no post of the person, and nobody follows any more, so nobody reads them.
    """
    viewers = list(relations_queries.ever_related(user_id))
    for start in range(0, len(viewers), STEP):
        some = viewers[start : start + STEP]
        InboxEdge.objects.filter(viewer_id__in=some, author_id=user_id).delete()
    return 0


def _named(user_id: int) -> "QuerySet[PostAudience]":
    return PostAudience.objects.filter(user_id=user_id)


def _erase_named(user_id: int, limit: int) -> int:
    """Take the person out of the readers of posts for named people."""
    ids = list(_named(user_id).values_list("post_id", flat=True)[:limit])
    _named(user_id).filter(post_id__in=ids).delete()
    for post_id in ids:
        cache.edited(post_id)
    return len(ids)


def _fan_outs(user_id: int) -> "QuerySet[FanOut]":
    return FanOut.objects.filter(author_id=user_id)


def _erase_state(user_id: int, limit: int) -> int:
    """Delete the state of the person's inbox, after its entries."""
    gone: int = InboxState.objects.filter(pk=user_id).delete()[0]
    if gone:
        cache.changed_inbox(user_id)
    return gone


register(
    one_by_one("posts", Stage.SHOWN, _live, _delete),
    one_by_one(
        "drafts",
        Stage.SHOWN,
        lambda user_id: Draft.objects.filter(author_id=user_id),
        _delete_draft,
    ),
    rows(
        "recommendation",
        Stage.SHOWN,
        lambda user_id: RecommendedAuthor.objects.filter(pk=user_id),
    ),
    rows("followed tags", Stage.SHOWN, lambda user_id: TagFollow.objects.filter(user_id=user_id)),
    Eraser("words of posts", Stage.ROWS, _erase_words, counted(_written)),
    rows("fan-outs", Stage.ROWS, _fan_outs),
    rows("inbox entries", Stage.ROWS, _entries),
    rows("inbox edges", Stage.ROWS, _edges),
    Eraser("inbox edges of others", Stage.ROWS, _erase_edges_of_others, lambda user_id: 0),
    Eraser(
        "inbox state",
        Stage.ROWS,
        _erase_state,
        counted(lambda user_id: InboxState.objects.filter(pk=user_id)),
    ),
    Eraser("named in posts", Stage.ROWS, _erase_named, counted(_named)),
    Eraser("empty posts", Stage.ROWS, _erase_posts, lambda user_id: 0),
    rows("head of posts", Stage.ROWS, _head),
    erased={
        "feeds.Draft.author": "drafts",
        "feeds.RecommendedAuthor.author": "recommendation",
        "feeds.TagFollow.user": "followed tags",
        "feeds.FanOut.author": "fan-outs",
        "feeds.InboxEntry.user": "inbox entries",
        "feeds.InboxEntry.author": "relations",
        "feeds.InboxEdge.viewer": "inbox edges",
        "feeds.InboxEdge.author": "inbox edges of others",
        "feeds.InboxState.viewer": "inbox state",
        "feeds.PostAudience.user": "named in posts",
        "feeds.PostTag.author": "words of posts",
        "feeds.AuthorHead.author": "head of posts",
    },
    kept={
        "feeds.Post.author": "an empty post at which something of others hangs",
    },
    texts=(
        "feeds.PostContent.title",
        "feeds.PostContent.note",
        "feeds.PostContent.content",
        "feeds.PostContent.images",
        "feeds.PostContent.video_url",
        "feeds.PostContent.video",
        "feeds.PostContent.poll",
        "feeds.PostContent.link",
        "feeds.PostVersion.title",
        "feeds.PostVersion.note",
        "feeds.PostVersion.content",
        "feeds.Draft.title",
        "feeds.Draft.note",
        "feeds.Draft.content",
        "feeds.Draft.video_url",
        "feeds.Draft.poll",
        "feeds.Tag.name",
        "feeds.FoundPreview.title",
        "feeds.FoundPreview.text",
    ),
)
