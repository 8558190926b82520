"""What feeds adds to the archive of a person's own data."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from feeds.models import Draft, DraftImage, Post, PostAudience, PostVersion, TagFollow
from socialsite.core.exports.archives import file_of
from socialsite.core.exports.parts import Field, Part, Record, in_steps
from socialsite.core.models import Media, Video
from socialsite.core.times import iso


def _posts(user_id: int) -> Iterator[Record]:
    """Yield the posts that are neither deleted nor removed by staff, oldest first."""
    rows = Post.objects.filter(author_id=user_id, is_deleted=False, is_removed=False)
    for step in in_steps(rows.select_related("content_row"), "id"):
        ids = [post.pk for post in step]
        versions, named = _versions(ids), _named(ids)
        for post in step:
            words = post.content_row
            yield {
                "id": str(post.pk),
                "kind": post.kind,
                "visibility": post.visibility,
                "at": iso(post.position),
                "title": words.title,
                "note": words.note,
                "content": words.content,
                "sensitive": words.sensitive,
                "media": [*map(_image, words.images), *_video(words.video)],
                "video_url": words.video_url,
                "poll": _poll(words.poll),
                "repost_of": str(post.ref_post_id) if post.ref_post_id else None,
                "named": named[post.pk],
                "version": words.version,
                "edited_at": iso(words.edited_at) if words.edited_at else None,
                "former_versions": versions[post.pk],
            }


def _image(image: dict[str, Any]) -> Record:
    return {"id": str(image["id"]), "file": file_of(image["name"]), "alt": image["alt"]}


def _video(video: dict[str, Any] | None) -> list[Record]:
    if not video or video["state"] != Video.State.READY:
        return []
    return [{"id": str(video["id"]), "file": file_of(video["name"]), "alt": video.get("alt", "")}]


def _poll(poll: dict[str, Any] | None) -> Record | None:
    if not poll:
        return None
    keys = ("options", "multiple")
    return {key: poll[key] for key in keys} | {"ends_at": iso(poll["ends_at"])}


def _versions(ids: Collection[int]) -> dict[int, list[Record]]:
    found = defaultdict[int, list[Record]](list)
    for row in PostVersion.objects.filter(post_id__in=ids).order_by("post_id", "version"):
        found[row.post_id].append(
            {
                "version": row.version,
                "title": row.title,
                "note": row.note,
                "content": row.content,
                "edited_at": iso(row.edited_at) if row.edited_at else None,
            }
        )
    return found


def _named(ids: Collection[int]) -> dict[int, list[str]]:
    found = defaultdict[int, list[str]](list)
    rows = PostAudience.objects.filter(post_id__in=ids).order_by("post_id", "user_id")
    for post_id, user_id in rows.values_list("post_id", "user_id"):
        found[post_id].append(str(user_id))
    return found


_MEDIA = Field("array", "objects with id, `file` (a path in the archive) and alt (description)")
_WORDS = {
    "title": Field("string", "of an article"),
    "note": Field("string", "content note; readers see it first"),
    "content": Field("string", "the text, in Markdown if it is an article"),
    "sensitive": Field("boolean", "whether the pictures are blurred first"),
    "media": _MEDIA,
    "video_url": Field("string", "address of a video elsewhere"),
}
POSTS = Part(
    "posts",
    _("Posts"),
    {
        "id": Field("string", "number of the post"),
        "kind": Field("string", "micro, article, video or repost"),
        "visibility": Field("string", "public, quiet, followers, mentioned or self"),
        "at": Field("string", "time of the publication"),
        **_WORDS,
        "poll": Field("object|null", "options, multiple and ends_at"),
        "repost_of": Field("string|null", "number of the post that is reposted or quoted"),
        "named": Field("array", "numbers of the accounts that see a post for people named"),
        "version": Field("integer", "1, and one more for each edit"),
        "edited_at": Field("string|null", "time of the last edit"),
        "former_versions": Field("array", "objects with version, title, note, content, edited_at"),
    },
    _posts,
)


def _drafts(user_id: int) -> Iterator[Record]:
    for step in in_steps(Draft.objects.filter(author_id=user_id), "id"):
        files = _draft_files(step)
        for draft in step:
            yield {
                "kind": draft.kind,
                "visibility": draft.visibility,
                "title": draft.title,
                "note": draft.note,
                "content": draft.content,
                "sensitive": draft.sensitive,
                "media": files[draft.pk],
                "video_url": draft.video_url,
                "poll": draft.poll,
                "publish_at": iso(draft.publish_at) if draft.publish_at else None,
                "created_at": iso(draft.created_at),
                "updated_at": iso(draft.updated_at),
            }


def _draft_files(drafts: Sequence[Draft]) -> dict[int, list[Record]]:
    rows = DraftImage.objects.filter(draft__in=drafts).order_by("draft_id", "number")
    pairs = list(rows.values_list("draft_id", "media_id"))
    pairs += [(draft.pk, draft.video) for draft in drafts if draft.video]
    media = Media.objects.in_bulk([ident for _draft, ident in pairs])
    found = defaultdict[int, list[Record]](list)
    for draft_id, ident in pairs:
        if item := media.get(ident):
            one = {"id": str(item.pk), "file": file_of(item.name), "alt": item.alt}
            found[draft_id].append(one)
    return found


DRAFTS = Part(
    "drafts",
    _("Drafts"),
    {
        "kind": Field("string", "micro, article or video"),
        "visibility": Field("string", "as of posts"),
        **_WORDS,
        "poll": Field("object|null", "as it was entered"),
        "publish_at": Field("string|null", "planned time"),
        "created_at": Field("string", ""),
        "updated_at": Field("string", ""),
    },
    _drafts,
)


def _tags(user_id: int) -> Iterator[Record]:
    rows = TagFollow.objects.filter(user_id=user_id).order_by("tag__name")
    for name in rows.values_list("tag__name", flat=True):
        yield {"name": name}


TAGS = Part("followed_tags", _("Followed tags"), {"name": Field("string", "")}, _tags)
PARTS = (POSTS, DRAFTS, TAGS)
