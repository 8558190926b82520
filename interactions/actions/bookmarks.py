"""Keep a post for oneself, and no longer.

`Subject.bookmark_count` moves in the transaction of the row, and only when the row was really
written, as with likes (T52).
"""

from typing import TYPE_CHECKING

from feeds import queries as feeds
from interactions import cache
from interactions.actions.subjects import locked_subject
from interactions.events import Bookmarked, Unbookmarked
from interactions.models import Bookmark
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
    now = db.now_ms()
    feeds.visible_post(user, post_id)
    subject = locked_subject(post_id)
    rows = Bookmark.objects.filter(user_id=user.pk, post_id=post_id)
    row = rows.first()
    if (row is not None) == kept:
        return subject.bookmark_count
    if row is None:
        Bookmark.objects.create(user_id=user.pk, post_id=post_id, position=now)
        subject.bookmark_count += 1
        publish(Bookmarked(post_id=post_id, user_id=user.pk))
    else:
        row.delete()
        subject.bookmark_count -= 1
        publish(Unbookmarked(post_id=post_id, user_id=user.pk))
    subject.save(update_fields=["bookmark_count", "updated_at"])
    cache.post_changed(post_id, user.pk)
    return subject.bookmark_count
