"""Keep the tags of posts, in the transactions that write their words."""

from collections.abc import Collection
from dataclasses import dataclass

from feeds.models import Kind, Post, PostContent, PostTag, Tag, Visibility
from feeds.prose import tags_of
from socialsite.core import db

# Posts that a rebuild reads at a time.
STEP = 500


def write(post: Post, content: str) -> None:
    """Store the tags of a new post."""
    if names := tags_of(post.kind, content):
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
    """Return the ids of tags by name; those that are new are created."""
    known = _ids(names)
    # In one order, so that two transactions with the same new tags do not wait for each other.
    missing = sorted(set(names) - known.keys())
    if missing:
        db.insert_ignore(Tag, [Tag(name=name) for name in missing])
        known |= _ids(missing)
    return known


def _ids(names: Collection[str]) -> dict[str, int]:
    return dict(Tag.objects.filter(name__in=names).values_list("name", "pk"))


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


@dataclass
class Rebuilt:
    """What a rebuild read, and what it found wrong."""

    posts: int = 0
    mended: int = 0


def rebuild(after: int, found: Rebuilt) -> int | None:
    """Compare the tags of the next posts with their words, and mend those that differ.

    Counts in `found`; returns the last post's id, or None at the end. `after` begins with 0.
    """
    ids = list(Post.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:STEP])
    for ident in ids:
        found.posts += 1
        found.mended += _mend(ident)
    return ids[-1] if len(ids) == STEP else None


@db.atomic
def _mend(post_id: int) -> bool:
    """Make the tags of a post those of its words; return whether they were not."""
    post = Post.objects.select_for_update().get(pk=post_id)
    content = PostContent.objects.filter(pk=post_id).values_list("content", flat=True).first() or ""
    rows = PostTag.objects.filter(post_id=post_id)
    ids = ids_of([] if post.is_deleted else tags_of(post.kind, content))
    wanted = {_values(row) for row in _rows(post, ids.values())}
    if {_values(row) for row in rows} == wanted:
        return False
    rows.delete()
    PostTag.objects.bulk_create(_rows(post, ids.values()))
    return True


def _values(row: PostTag) -> tuple[object, ...]:
    return row.tag_id, row.position, row.author_id, row.is_public
