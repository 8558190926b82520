"""Publish, repost and delete posts.

Publishing writes the author's outbox and a fan-out that is not done yet, in one transaction with
the event; from that commit on every follower's feed has the post, because readers pull what is not
delivered (T30, spec I).
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from feeds import cache, tiers
from feeds.actions import removing
from feeds.actions.post_rules import compose, pictures_of, words_of_repost
from feeds.content import audiences
from feeds.content.polls.definition import Given
from feeds.content.previews import actions as previews
from feeds.discovery.tags import indexing
from feeds.events import PostDeleted, PostPublished, PostReposted, RepostDeleted
from feeds.models import (
    NAMED,
    OPEN,
    AuthorHead,
    FanOut,
    Kind,
    Mode,
    OpenPoll,
    Post,
    PostContent,
    PostImage,
    PostVersion,
    Visibility,
)
from feeds.queries import reposts_without_words
from feeds.visibility import visible_to
from relations import queries as relations_queries
from socialsite.core import db, events
from socialsite.core.db.compiled import compiled, compiled_update
from socialsite.core.errors import Forbidden, NotFound
from socialsite.core.media import pictures as media_pictures
from socialsite.core.media.videos import uploads as videos
from socialsite.core.positions import Position
from socialsite.core.rights import Right

if TYPE_CHECKING:
    from accounts.models import User

_HEAD_COLUMNS = ("last_position", "last_pulled_position", "post_count", "named_count", "mode")


def publish(
    author: "User",
    *,
    content: str = "",
    kind: str = Kind.MICRO,
    title: str = "",
    images: Sequence[int] = (),
    video_url: str = "",
    video: int | None = None,
    visibility: str = Visibility.PUBLIC,
    note: str = "",
    sensitive: bool = False,
    poll: Given | None = None,
    at_ms: int | None = None,
    imported: bool = False,
) -> Post:
    """Publish a post; `images` are ids of the author's own media. Emits PostPublished.

    `video` is the id of an uploaded video of the author, which may still be processed.

    With a `note`, readers see that line and unfold the rest; `sensitive` blurs the pictures. A
    `poll` may stand with any of them; its end is checked against the time of the publication.

    `at_ms` (Unix ms, never in the future) publishes in the past: for posts that come from
    elsewhere, not for requests. Every feed is exact all the same: the post is pulled while its
    fan-out is open and in the inboxes afterwards; what is below a backfill or a trimmed inbox is
    pulled anyway. Only the read mark may already be past it.
    An `imported` post is pushed to nobody, and nobody is notified of it or of the end of its poll.
    Raises InvalidInput (with `fields`) for what the limits refuse.
    """
    words = compose(
        content=content,
        kind=kind,
        title=title,
        video_url=video_url,
        visibility=visibility,
        images=len(images),
        video=video,
        note=note,
        sensitive=sensitive,
        poll=poll,
        now=at_ms,
    )
    words.images = pictures_of(author.pk, images)
    named: set[int] = set()
    if visibility == Visibility.MENTIONED:
        named = audiences.named_in(author.pk, kind, words.content)
    return _publish(
        author.pk, kind, visibility, words, at_ms, named=named, video=video, imported=imported
    )


@db.atomic
def repost(
    author: "User",
    post_id: int,
    content: str = "",
    *,
    visibility: str = "",
    at_ms: int | None = None,
    imported: bool = False,
) -> tuple[Post, bool]:
    """Show somebody's post in one's own name, with words or without.

    A repost of a repost shows what that one shows. It has the `visibility` of that post, or a
    narrower one. `at_ms` and `imported` are as in
    `publish`.

    Returns the repost, and whether it is new: a person has one repost without words of a post, and
    gets that one again. Emits PostPublished and PostReposted.
    Raises InvalidInput (`content`), NotFound when the person may not see the post, or the one that
    it shows; Forbidden when it is somebody else's and not for everybody.
    """
    words = words_of_repost(content)
    source = _source(author, post_id)
    audience = audiences.narrower(visibility or source.visibility, source.visibility)
    if imported and audience == Visibility.MENTIONED:
        audience = Visibility.SELF
    # Under the lock: of two at once the second finds the repost of the first.
    locked_head(author.pk)
    if not words.content:
        made = reposts_without_words(author.pk).filter(ref_post_id=source.pk).first()
        if made is not None:
            return made, False
    post = _publish(
        author.pk,
        Kind.REPOST,
        audience,
        words,
        at_ms,
        source.pk,
        named=audiences.of(source.pk) if audience == Visibility.MENTIONED else (),
        imported=imported,
    )
    events.publish(
        PostReposted(post.pk, author.pk, ref_id=source.pk, ref_author_id=source.author_id)
    )
    return post, True


@db.atomic
def undo_repost(author: "User", post_id: int) -> None:
    """Delete one's repost without words of a post; without one nothing changes.

    Works also for a post that the person may not see any more; NotFound when there is neither a
    repost nor a post to be seen.
    """
    # A repost that people may not see reveals nothing, not even the post that it shows.
    seen = visible_to(author.pk).filter(pk=post_id).first()
    source_id = post_id if seen is None else seen.ref_post_id or post_id
    made = reposts_without_words(author.pk).filter(ref_post_id=source_id).first()
    if made is not None:
        delete(author, made.pk)
    elif seen is None:
        raise NotFound


def _source(author: "User", post_id: int) -> Post:
    """Return the post that a repost of this one shows."""
    visible = visible_to(author.pk)
    source = visible.filter(pk=post_id).first()
    if source is not None and source.ref_post_id is not None:
        source = visible.filter(pk=source.ref_post_id).first()
    if source is None:
        raise NotFound
    if source.visibility not in OPEN and source.author_id != author.pk:
        raise Forbidden(_("Only posts that everybody can see can be reposted."))
    return source


def locked_head(author_id: int) -> AuthorHead:
    """Lock an author's head, creating it if need be: their posts come one after another."""
    head: AuthorHead | None = _head.first(author_id)
    if head is None:
        db.ensure(AuthorHead(author_id=author_id))
        head = cast("AuthorHead", _head.first(author_id))
    return head


@compiled_update
def _set_head(author_id: int, *values: int) -> "tuple[QuerySet[AuthorHead], dict[str, Any]]":
    rows = AuthorHead.objects.filter(author_id=author_id)
    return rows, dict(zip(_HEAD_COLUMNS, values, strict=True))


@compiled
def _head(author_id: int) -> "QuerySet[AuthorHead]":
    return AuthorHead.objects.select_for_update().filter(author_id=author_id)


@db.atomic
def _publish(
    author_id: int,
    kind: str,
    visibility: str,
    words: PostContent,
    at_ms: int | None,
    ref_id: int | None = None,
    *,
    named: Collection[int] = (),
    video: int | None = None,
    imported: bool = False,
) -> Post:
    followers = relations_queries.follower_count(author_id)
    head = locked_head(author_id)
    tier = tiers.mode_for(followers, Mode(head.mode))
    head.mode, mode = tier, tiers.of_post(tier, visibility, imported=imported)
    # The head's lock makes positions of one author follow the order of commits.
    position = max(db.now_ms(), head.last_position)
    if at_ms is not None:
        if at_ms > position:
            raise ValueError("a post is never published in the future")
        position = at_ms
    post = db.insert(
        Post(
            author_id=author_id,
            kind=kind,
            ref_post_id=ref_id,
            visibility=visibility,
            position=position,
            mode=mode,
        )
    )
    _insert_words(post, words, video)
    if named:
        audiences.write(post, named)
    renews_pulled = _advance(head, post)
    is_pushed = tiers.is_pushed(mode)
    if is_pushed:
        db.insert(FanOut(post=post, author_id=author_id, position=position, mode=mode))
    events.publish(PostPublished(post.pk, author_id, renews_pulled=renews_pulled))
    if renews_pulled:
        transaction.on_commit(cache.PULLED.renew, robust=True)
    update_caches = partial(
        cache.published,
        author_id,
        Position(position, post.pk),
        pushed=is_pushed,
    )
    transaction.on_commit(update_caches, robust=True)
    return post


def _insert_words(post: Post, words: PostContent, video: int | None) -> None:
    # A retried transaction writes the same words again under another id.
    words.post = post
    author_id = post.author_id
    if video is not None:
        videos.by_id(author_id, video)  # a picture is none
    media = dict.fromkeys([*words.picture_ids(), *([] if video is None else [video])])
    media_pictures.use(author_id, media)
    words.video = None if video is None else videos.entry(author_id, video)
    db.insert(words)
    PostImage.objects.bulk_create(PostImage(media_id=ident, post=post) for ident in media)
    imported = tiers.is_imported(post.mode)
    if words.poll is not None and not (imported and words.poll["ends_at"] <= db.now_ms()):
        db.insert(OpenPoll(post=post, ends_at=words.poll["ends_at"]))
    if not imported:
        previews.want(post, words)
    indexing.write(post, words.content)


def _advance(head: AuthorHead, post: Post) -> bool:
    """Count a new post in the head of its author.

    Returns whether the cached sets of authors who are pulled do not reach this post.
    """
    known_until = tiers.pulled_until(head.last_pulled_position)
    head.last_position = max(head.last_position, post.position)
    head.post_count += 1
    head.named_count += post.visibility in NAMED
    if tiers.is_pulled(post.mode):
        head.last_pulled_position = max(head.last_pulled_position, post.position)
    _set_head(post.author_id, *(getattr(head, name) for name in _HEAD_COLUMNS))
    return tiers.pulled_until(head.last_pulled_position) > known_until


@db.atomic
def refresh_video(media_id: int) -> None:
    """Store the present state of a video in the posts that show it."""
    for post_id in PostImage.objects.filter(media_id=media_id).values_list("post_id", flat=True):
        Post.objects.select_for_update().get(pk=post_id)  # as an edit does
        entry = videos.state_of(media_id)
        if entry is not None:
            PostContent.objects.filter(pk=post_id, video__isnull=False).update(video=entry)


@db.atomic
def delete(
    actor: "User",
    post_id: int,
    address: str = "",
    grounds: accounts_actions.Grounds = accounts_actions.NO_GROUNDS,
) -> None:
    """Delete a post: its author, or staff; deleting twice changes nothing.

    Erases its former versions. Emits PostDeleted, and RepostDeleted when it is one. Reposts of it
    stay: they say it is gone. What staff delete is removed instead, so that they can restore it
    (`removing`); the author reads their `grounds`.

    Raises NotFound when there is no such post or the actor may not see it, Forbidden when it is
    somebody else's, TwoFactorNeeded for staff who may not use their powers yet.
    """
    post = Post.objects.select_for_update().filter(pk=post_id).first()
    if post is None or (post.is_deleted and post.author_id != actor.pk):
        raise NotFound
    own = post.author_id == actor.pk
    if not own and not accounts_queries.moderates(actor, Right.CONTENT):
        seen = visible_to(actor.pk).filter(pk=post_id).exists()
        raise Forbidden if seen else NotFound
    if post.is_deleted:
        return
    if not own:
        if not post.is_removed:
            removing.remove(actor, post, address, grounds)
        return
    _erase(post)


@db.atomic
def finish_removal(post_id: int) -> None:
    """Delete a removed post for good."""
    post = Post.objects.select_for_update().filter(pk=post_id, is_removed=True).first()
    if post is not None and not post.is_deleted:
        _erase(post)


def _erase(post: Post) -> None:
    """Delete a locked post."""
    Post.objects.filter(pk=post.pk).update(is_deleted=True)
    heads = AuthorHead.objects.filter(author_id=post.author_id, post_count__gt=0)
    heads.update(
        post_count=F("post_count") - 1,
        named_count=F("named_count") - int(post.visibility in NAMED or post.is_removed),
    )
    # After the head, as `_publish` does: the two would wait for each other.
    _release_words(post)
    events.publish(PostDeleted(id=post.pk, author_id=post.author_id))
    if not post.is_removed:
        removing.publish_if_repost(RepostDeleted, post)
    place = Position(post.position, post.pk)
    transaction.on_commit(partial(cache.deleted, post.author_id, place), robust=True)


def _release_words(post: Post) -> None:
    """End the uses of a deleted post: its media, former versions, tags, named people and poll."""
    words = PostContent.objects.filter(pk=post.pk).first() or PostContent()
    if media := words.media_ids():
        media_pictures.release(post.author_id, ids=media)
    if words.version > 1:
        PostVersion.objects.filter(post_id=post.pk).delete()
    indexing.remove(post, words.content)
    if post.visibility == Visibility.MENTIONED:
        audiences.erase(post.pk)
    if words.poll is not None:
        OpenPoll.objects.filter(pk=post.pk).delete()
