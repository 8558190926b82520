"""Edit posts.

An edit changes the words, the pictures or the audience of a post, but never its place: its position
and its rows in inboxes stay, so every cursor stays valid. The former words become a `PostVersion`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from feeds import cache
from feeds.actions.post_rules import check_visibility, compose, pictures_of, words_of_repost
from feeds.content import audiences
from feeds.content.previews import actions as previews
from feeds.content.previews.addresses import address_of
from feeds.discovery.tags import indexing
from feeds.events import PostEdited
from feeds.models import (
    NAMED,
    AuthorHead,
    Kind,
    Post,
    PostContent,
    PostImage,
    PostVersion,
    Visibility,
)
from feeds.visibility import visible_to
from socialsite.core import db, events
from socialsite.core.errors import Forbidden, InvalidInput, NotFound, StaleVersion
from socialsite.core.media import pictures as media_pictures
from socialsite.core.media import references
from socialsite.core.text import clean

if TYPE_CHECKING:
    from accounts.models import User

_WIDTHS: list[str] = list(Visibility.values)
_WORDS = ("title", "note", "content", "sensitive")
_KEPT = (*_WORDS, "images")


@db.atomic
def edit(
    author: "User",
    post_id: int,
    version: int,
    *,
    content: str | None = None,
    title: str | None = None,
    images: Sequence[int] | None = None,
    alts: Mapping[int, str] | None = None,
    visibility: str | None = None,
    note: str | None = None,
    sensitive: bool | None = None,
) -> Post:
    """Change one's post, if it still has this version; None keeps a value. Emits PostEdited.

    `images` are ids of the author's own media in their new order; `alts` are new descriptions of
    pictures by id. The audience may only become narrower. An edit that changes nothing keeps the
    version.

    Raises NotFound when there is no such post or the person may not see it, Forbidden when it is
    somebody else's or a repost without words, StaleVersion, InvalidInput (with `fields`) for what
    the limits of `publish` refuse.
    """
    post, before = _locked(author, post_id, version)
    wanted = post.visibility if visibility is None else visibility
    ids = before.picture_ids() if images is None else list(images)
    given = {"content": content, "title": title, "note": note, "sensitive": sensitive}
    after = _words(post, before, given, wanted, len(ids))
    after.images = _pictures(author.pk, before, ids, alts or {})
    narrowed = wanted != post.visibility
    if not narrowed and all(getattr(after, name) == getattr(before, name) for name in _KEPT):
        return post
    _write(post, before, after)
    if narrowed:
        _narrow(post, wanted, after.content)
    # After the head, as `publish` does: the two would wait for each other.
    _use_pictures(post, before, after)
    if narrowed:
        arrange_media(post, after)
    indexing.rewrite(post, before.content, after.content)
    events.publish(PostEdited(post_id, author.pk, version=after.version, narrowed=narrowed))
    transaction.on_commit(partial(cache.edited, post_id), robust=True)
    return post


@db.atomic
def check_edit(
    author: "User",
    post_id: int,
    version: int,
    *,
    visibility: str | None,
    images: int,
    **given: Any,
) -> None:
    """Raise what `edit` would raise; `images` is how many pictures the post would have.

    `given` are its other arguments. An entry asks before it stores pictures.
    """
    post, before = _locked(author, post_id, version)
    _words(post, before, given, visibility or post.visibility, images)


def _locked(author: "User", post_id: int, version: int) -> tuple[Post, PostContent]:
    """Return one's post under its lock, and its words."""
    post = Post.objects.select_for_update().filter(pk=post_id, is_deleted=False).first()
    if post is None or not visible_to(author.pk).filter(pk=post_id).exists():
        raise NotFound
    if post.author_id != author.pk:
        raise Forbidden
    words = PostContent.objects.get(pk=post_id)
    if post.kind == Kind.REPOST and not words.content:
        raise Forbidden(_("A repost without a text cannot be edited."))
    if words.version != version:
        raise StaleVersion
    return post, words


def _words(
    post: Post, before: PostContent, given: Mapping[str, Any], visibility: str, images: int
) -> PostContent:
    """Return the new words, where None keeps a value; the same rules apply as for a new post."""
    values = {
        name: getattr(before, name) if given.get(name) is None else given[name] for name in _WORDS
    }
    if visibility in _WIDTHS and _WIDTHS.index(visibility) < _WIDTHS.index(post.visibility):
        message = _("The audience of a post can only become narrower.")
        raise InvalidInput(fields={"visibility": [message]})
    if before.is_note_of_staff:
        _check_note_of_staff(before, values)
    if post.kind == Kind.REPOST:
        return _words_of_quote(values, visibility, images)
    return compose(
        **values,
        kind=post.kind,
        video_url=before.video_url,
        video=None if before.video is None else int(before.video["id"]),
        kept_poll=before.poll,
        visibility=visibility,
        images=images,
    )


def _check_note_of_staff(before: PostContent, values: Mapping[str, Any]) -> None:
    if clean(values["note"]) != before.note:
        text = _("The staff wrote this content note; you cannot change it.")
        raise InvalidInput(fields={"note": [text]})
    if not values["sensitive"]:
        text = _("The staff blurred the pictures; you cannot change it.")
        raise InvalidInput(fields={"sensitive": [text]})


def _words_of_quote(values: Mapping[str, Any], visibility: str, images: int) -> PostContent:
    check_visibility(visibility)
    for field, is_given in {**values, "content": False, "images": images}.items():
        if is_given:
            raise InvalidInput(fields={field: [_("A repost has only a text.")]})
    words = words_of_repost(values["content"])
    if not words.content:
        # It would become a second repost without words of the same post.
        raise InvalidInput(fields={"content": [_("Write something.")]})
    return words


def _pictures(
    author_id: int, before: PostContent, ids: Sequence[int], alts: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Return the pictures in their new order; those that stay keep their description."""
    kept = {int(image["id"]): image for image in before.images}
    added = pictures_of(author_id, [ident for ident in ids if ident not in kept])
    known = kept | {int(image["id"]): image for image in added}
    if not alts.keys() <= set(ids):
        raise InvalidInput(fields={"alts": [_("The post does not have this picture.")]})
    texts = {ident: {"alt": media_pictures.clean_alt(text)} for ident, text in alts.items()}
    return [{**known[ident], **texts.get(ident, {})} for ident in ids]


def keep_version(post: Post, before: PostContent) -> None:
    """Keep the words of a post as a former version."""
    db.insert(
        PostVersion(
            post=post,
            version=before.version,
            title=before.title,
            note=before.note,
            content=before.content,
            edited_at=before.edited_at,
        )
    )


def _write(post: Post, before: PostContent, after: PostContent) -> None:
    keep_version(post, before)
    after.is_note_of_staff = before.is_note_of_staff
    after.post, after.video_url, after.video = post, before.video_url, before.video
    if address_of(post.kind, after) == address_of(post.kind, before):
        after.link = before.link
    else:
        previews.want(post, after)
    after.version = before.version + 1
    after.edited_at = max(db.now_ms(), before.edited_at or post.position)
    after.save(force_update=True)


def _use_pictures(post: Post, before: PostContent, after: PostContent) -> None:
    """Use added pictures, and release those that the post does not have any more."""
    old, new = set(before.media_ids()), set(after.media_ids())
    media_pictures.use(post.author_id, new - old)
    PostImage.objects.bulk_create(PostImage(media_id=ident, post=post) for ident in new - old)
    if old - new:
        PostImage.objects.filter(post=post, media_id__in=old - new).delete()
        media_pictures.release(post.author_id, ids=old - new)


def _narrow(post: Post, wanted: str, content: str) -> None:
    """Change the audience of a post, and the author's count of posts for named people."""
    was_named = post.visibility in NAMED
    audiences.narrow(post, wanted, content)
    Post.objects.filter(pk=post.pk).update(visibility=wanted)
    if wanted in NAMED and not was_named:
        heads = AuthorHead.objects.filter(author_id=post.author_id)
        heads.update(named_count=F("named_count") + 1)


def arrange_media(post: Post, words: PostContent) -> None:
    """Make the pictures as public as their post is now: on commit, and again by the event."""
    ids = set(words.media_ids())
    references.changed(post.author_id, ids)
    if ids:
        transaction.on_commit(partial(references.arrange, ids), robust=True)
