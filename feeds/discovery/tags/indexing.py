"""Store the tags of posts, in the transactions that write their words; purge unused tags."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, QuerySet

from feeds.content.plain_text import tags_of
from feeds.models import Kind, Post, PostContent, PostTag, Tag, TagFollow, Visibility
from socialsite.core import db

# Tags that a purge reads at a time.
STEP = 500


def _names(post: Post, content: str) -> list[str]:
    """Return the tags that lead to a post with these words; none to a quiet or removed one."""
    is_quiet = post.visibility == Visibility.QUIET or post.is_removed
    return [] if is_quiet else tags_of(post.kind, content)


def write(post: Post, content: str) -> None:
    """Store the tags of a new post."""
    if names := _names(post, content):
        PostTag.objects.bulk_create(_rows(post, ids_of(names).values()))


def rewrite(post: Post, before: str, after: str) -> None:
    """Store the tags of a post whose words or audience changed."""
    remove(post, before)
    write(post, after)


def remove(post: Post, content: str) -> None:
    """Remove the tags of a post with these words."""
    # Before articles were Markdown, tags in their code counted too.
    if post.kind == Kind.ARTICLE or tags_of(post.kind, content):
        PostTag.objects.filter(post_id=post.pk).delete()


def ids_of(names: Collection[str]) -> dict[str, int]:
    """Return the ids of tags by name; those that are new are created.

    None of them is purged before the end of the transaction.
    """
    known = _ids(names)
    # In one order, so that two transactions with the same new tags do not wait for each other.
    missing = sorted(set(names) - known.keys())
    if missing:
        db.insert_ignore(Tag, [Tag(name=name) for name in missing])
        known |= _ids(missing)
    return known


def _ids(names: Collection[str]) -> dict[str, int]:
    rows = Tag.objects.filter(name__in=names).values_list("name", "pk")
    return dict(db.rows_locked_in_share(rows))


def _rows(post: Post, tag_ids: Collection[int]) -> list[PostTag]:
    is_public = post.visibility == Visibility.PUBLIC
    return [
        PostTag(
            tag_id=ident,
            position=post.position,
            post_id=post.pk,
            author_id=post.author_id,
            is_public=is_public,
        )
        for ident in tag_ids
    ]


# --- unused tags --------------------------------------------------------------------------------
def purge(after: int) -> int | None:
    """Delete those of the next tags that no post has and nobody follows.

    Returns the last tag's id, or None at the end; `after` begins with 0. Hidden tags stay hidden.
    """
    ids = list(Tag.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:STEP])
    for ident, name in _unused(ids).values_list("pk", "name"):
        _purge(ident, name)
    return ids[-1] if len(ids) == STEP else None


def _unused(ids: Collection[int]) -> "QuerySet[Tag]":
    of_tag = {"tag_id": OuterRef("pk")}
    is_used = Exists(PostTag.objects.filter(**of_tag)) | Exists(TagFollow.objects.filter(**of_tag))
    return Tag.objects.filter(~is_used, pk__in=ids, is_hidden=False)


@db.atomic
def _purge(tag_id: int, name: str) -> None:
    """Delete a tag if it is still unused; who is about to use it waits, and creates it anew.

    It is locked by its name: `_ids` locks the entry of that index only, not the row.
    """
    tag = Tag.objects.select_for_update().filter(name=name).first()
    if tag is not None and tag.pk == tag_id and _unused([tag_id]).exists():
        tag.delete()


# --- rebuilding ---------------------------------------------------------------------------------
@db.atomic
def repair(post_id: int) -> bool:
    """Make the tags of a post those of its words; return whether they differed."""
    post = Post.objects.select_for_update().get(pk=post_id)
    content = PostContent.objects.filter(pk=post_id).values_list("content", flat=True).first() or ""
    rows = PostTag.objects.filter(post_id=post_id)
    ids = ids_of([] if post.is_deleted else _names(post, content))
    wanted = {_values(row) for row in _rows(post, ids.values())}
    if {_values(row) for row in rows} == wanted:
        return False
    rows.delete()
    PostTag.objects.bulk_create(_rows(post, ids.values()))
    return True


def _values(row: PostTag) -> tuple[object, ...]:
    return row.tag_id, row.position, row.author_id, row.is_public
