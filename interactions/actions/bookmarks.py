"""Add and remove bookmarks of posts.

A bookmark changes the count only if its row was really written, as `counts` says.
"""

from typing import TYPE_CHECKING

from feeds import queries as feeds_queries
from interactions import cache
from interactions.actions.counts import change_count, read_count, set_row
from interactions.events import Bookmarked, Unbookmarked
from interactions.models import Bookmark, Counted, SubjectType
from socialsite.core import db
from socialsite.core.errors import NotFound
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def bookmark(user: "User", post_id: int) -> int:
    """Bookmark a post; return its number of bookmarks. A repeat changes nothing.

    Publishes Bookmarked. Raises NotFound if the person may not see the post.
    """
    return _set(user, post_id, kept=True)


@db.atomic
def unbookmark(user: "User", post_id: int) -> int:
    """Remove a bookmark; return the post's number of bookmarks. A repeat changes nothing.

    A bookmark can also be removed after the post became hidden from the person; the number is 0
    then. Publishes Unbookmarked. Raises NotFound if the post is hidden and there is no bookmark.
    """
    return _set(user, post_id, kept=False)


def _set(user: "User", post_id: int, *, kept: bool) -> int:
    key = {"user_id": user.pk, "post_id": post_id}
    own, shown = Bookmark.objects.filter(**key), True
    try:
        feeds_queries.visible_post(user, post_id)
    except NotFound:
        if kept or not own.exists():
            raise
        shown = False
    row = set_row(Bookmark(**key, position=db.now_ms()), own, wanted=kept)
    if row is not None:
        change_count(Counted.BOOKMARK, SubjectType.POST, post_id, 1 if kept else -1)
        publish((Bookmarked if kept else Unbookmarked)(**key))
        cache.post_changed(post_id, user.pk)
    count = read_count(Counted.BOOKMARK, SubjectType.POST, post_id)
    return count if shown else 0
