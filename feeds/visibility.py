"""The only visibility check for posts (T42), for rows and for plain values."""

from collections.abc import Collection

from django.db.models import Q

from feeds.models import OPEN, Post, PostQuerySet, Visibility, named_to
from feeds.readers import Reader
from relations import queries as relations_queries


def visible_to(viewer_id: int | None) -> PostQuerySet:
    """Return the posts a reader may see; `None` is an anonymous reader.

    A visible post is not deleted; its author is neither banned nor closed; there is no block in
    either direction; and the reader is in its audience: it is public or quiet, or the reader's own,
    or for followers and the reader is one, or for the people it names and the reader is one.
    """
    posts = Post.objects.alive()
    public = Q(visibility__in=OPEN)
    if viewer_id is None:
        return posts.filter(public)
    followed = Q(
        visibility=Visibility.FOLLOWERS,
        author_id__in=relations_queries.following_ids(viewer_id),
    )
    return posts.exclude(author_id__in=relations_queries.blocked_ids(viewer_id)).filter(
        public | Q(author_id=viewer_id) | followed | named_to(viewer_id)
    )


def shows(reader: Reader, author_id: int, visibility: str, named: Collection[int] = ()) -> bool:
    """Return the same for a post that is not deleted and whose author's account is open.

    `named` are the ids of the `PostAudience` of a post for MENTIONED.
    """
    if author_id == reader.id:
        return True
    if author_id in reader.blocked:
        return False
    if visibility in OPEN:
        return True
    if visibility == Visibility.FOLLOWERS:
        return author_id in reader.follows
    return visibility == Visibility.MENTIONED and reader.id in named
