"""Lists the people who like a post or a comment."""

from typing import TYPE_CHECKING, Any

from feeds import queries as feeds_queries
from interactions.models import Like, SubjectType
from interactions.queries.comments import visible_comment
from relations import queries as relations_queries
from socialsite.core.db import page_filling
from socialsite.core.errors import NotFound
from socialsite.core.positions import Page, Position

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer


def likers(
    viewer: "Viewer",
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
        feeds_queries.visible_post(viewer, subj_id)
    elif visible_comment(viewer, subj_id)[0].deleted:
        raise NotFound
    me = None if viewer is None else viewer.pk
    rows = Like.objects.filter(subj_type=subj_type, subj_id=subj_id).order_by("-pk")
    who: dict[int, int] = {}

    def run(after: Position | None, limit: int) -> list[Position]:
        # Ids are ordered by time, so the time in the cursor is not used.
        some = rows if after is None else rows.filter(pk__lt=after.id)
        likes = list(some.values_list("created_at", "pk", "user_id")[:limit])
        who.update({ident: user_id for _, ident, user_id in likes})
        return [Position(moment, ident) for moment, ident, _ in likes]

    def fetch(ids: list[int], most: int) -> dict[int, dict[str, Any]]:
        people = relations_queries.shown_people(me, [who[ident] for ident in ids])
        return {ident: people[who[ident]] for ident in ids if who[ident] in people}

    return page_filling.fill(fetch, page_filling.walk(run, cursor, size + 1), size)
