"""The only visibility check for posts (T42), for rows and for plain values."""

from django.db.models import Q

from feeds.home.viewer import Reader
from feeds.models import Post, PostQuerySet, Visibility
from relations import queries as relations_queries


def visible_to(viewer_id: int | None) -> PostQuerySet:
    """Return the posts a reader may see; `None` is an anonymous reader.

    A visible post is not deleted; its author is neither banned nor closed; there is no block in
    either direction; and it is public, or the reader's own, or for followers and the reader is one.
    """
    posts = Post.objects.alive()
    public = Q(visibility=Visibility.PUBLIC)
    if viewer_id is None:
        return posts.filter(public)
    followed = Q(author_id__in=relations_queries.following_ids(viewer_id))
    return posts.exclude(author_id__in=relations_queries.blocked_ids(viewer_id)).filter(
        public | Q(author_id=viewer_id) | followed
    )


def shows(reader: Reader, author_id: int, visibility: str) -> bool:
    """Return the same for a post that is not deleted and whose author's account is open."""
    if author_id == reader.id:
        return True
    if author_id in reader.blocked:
        return False
    return visibility == Visibility.PUBLIC or author_id in reader.follows
