"""Keep a post for oneself, and no longer.

A bookmark moves the number of bookmarks only when its row was really written (T52), as `counts`
says.
"""

from typing import TYPE_CHECKING

from feeds import queries as feeds
from interactions import cache
from interactions.actions.counts import change_count, read_count, set_row
from interactions.events import Bookmarked, Unbookmarked
from interactions.models import Bookmark, Counted, SubjectType
from socialsite.core import db
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def bookmark(user: "User", post_id: int) -> int:
    """Keep a post; returns how many people do. A repeat changes nothing.

    Emits Bookmarked. Raises NotFound when the person may not see it.
    """
    return _set(user, post_id, kept=True)


@db.atomic
def unbookmark(user: "User", post_id: int) -> int:
    """Keep a post no longer; returns how many people do. A repeat changes nothing.

    Emits Unbookmarked. Raises NotFound when the person may not see it: the number is not for them.
    """
    return _set(user, post_id, kept=False)


def _set(user: "User", post_id: int, *, kept: bool) -> int:
    feeds.visible_post(user, post_id)
    key = {"user_id": user.pk, "post_id": post_id}
    row = set_row(
        Bookmark(**key, position=db.now_ms()), Bookmark.objects.filter(**key), wanted=kept
    )
    if row is not None:
        change_count(Counted.BOOKMARK, SubjectType.POST, post_id, 1 if kept else -1)
        publish((Bookmarked if kept else Unbookmarked)(**key))
        cache.post_changed(post_id, user.pk)
    return read_count(Counted.BOOKMARK, SubjectType.POST, post_id)
