"""Who likes a post or a comment."""

from typing import TYPE_CHECKING, Any

from feeds import queries as feeds
from interactions.models import Like, SubjectType
from interactions.queries.comments import visible_comment
from relations import queries as relations
from socialsite.core.errors import NotFound
from socialsite.core.pagination import Page, Position, cut

if TYPE_CHECKING:
    from accounts.models import User

# Each time a page is not full yet, this many times more likes are looked at, up to the maximum.
REFILL_GROWTH, REFILL_MAX = 4, 1000


def likers(
    viewer: "User | None",
    subj_type: int,
    subj_id: int,
    cursor: Position | None = None,
    size: int = 20,
) -> Page[dict[str, Any]]:
    """Return a page of the people who like something, the newest like first.

    Cards with `relation`, the reader's state towards each. People who are banned or gone, or with a
    block either way to the reader, are left out, and made up for from further down: the number of
    likes stays everybody's. Raises NotFound when the reader may not see it.
    """
    if subj_type == SubjectType.POST:
        feeds.visible_post(viewer, subj_id)
    elif visible_comment(viewer, subj_id)[0].deleted:
        raise NotFound
    me = None if viewer is None else viewer.pk
    found: list[tuple[Position, dict[str, Any]]] = []
    rows = Like.objects.filter(subj_type=subj_type, subj_id=subj_id).order_by("-pk")
    # Ids go by time: the cursor's time is there for those who read it, and is not asked for.
    last, limit = None if cursor is None else cursor.id, size + 1
    while len(found) <= size:
        some = rows if last is None else rows.filter(pk__lt=last)
        likes = list(some.values_list("created_at", "pk", "user_id")[:limit])
        people = relations.shown_people(me, [user_id for _, _, user_id in likes])
        found += [
            (Position(moment, ident), people[user_id])
            for moment, ident, user_id in likes
            if user_id in people
        ]
        if len(likes) < limit:
            break
        last, limit = likes[-1][1], min(limit * REFILL_GROWTH, REFILL_MAX)
    page = cut(found, size, lambda item: item[0])
    return page.with_items([person for _, person in page.items])
