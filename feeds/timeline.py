"""Reading the home feed as push-pull: which sources there are, and how a page is made of them.

The feed of v is the posts of v and of everyone v follows now, newest first. A page is the merge of
sources that are each complete above the last item they give (spec I, exact pull rule):

1. the inbox, joined to the current follows;
2. posts not pushed to all;
3. posts whose fan-out is not done;
4. posts at or below what the inbox was backfilled or trimmed to;
5. the reader's own.

2, 4 and 5 are read as the newest posts of a set of authors. Reading more of an author than is
needed is harmless, since every post of a followed author belongs in the feed; so the set only has
to hold everyone who may have a post among the wanted ones that is not in the inbox.

The order of the reads makes them one consistent view without a snapshot: what says "the inbox has
it" (fan-out done, backfill done) is read before the inbox, what says "the inbox lost it" (its
floor) after.
"""

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from feeds.cards import Card, cards
from feeds.merge import merge
from feeds.models import AuthorHead, FanOut, InboxEdge, InboxEntry, InboxState, Post
from feeds.visibility import visible_to
from relations import queries as relations
from socialsite.core.pagination import Page, Position, before

# A few more inbox rows than wanted, for those of people followed no longer.
SLACK = 5
# Rounds double, so that a page costs a bounded number of queries whatever the gate hides.
ROUND_MAX = 400
ROUNDS_MAX = 7


class Timeline:
    """One reading of one reader's feed."""

    def __init__(self, viewer_id: int) -> None:
        self.viewer_id = viewer_id
        # Without banned and closed accounts: the gate would hide all they ever posted, row by row.
        follows = relations.following_ids(viewer_id).filter(to_user__in=User.objects.active())
        self.follows = set(follows)
        edges = InboxEdge.objects.filter(viewer_id=viewer_id, backfilled_from__isnull=False)
        pairs = edges.values_list("author_id", "backfilled_from")
        self.backfilled = {author: floor or 0 for author, floor in pairs}

    def run(self, cursor: Position | None, size: int) -> list[Position]:
        """Return the first `size` positions after the cursor."""
        open_fanouts = FanOut.objects.filter(
            state__lt=FanOut.State.DONE, author_id__in=self.follows
        )
        unfinished = newest(open_fanouts, "post_id", cursor, size)
        pushed = self._pushed(cursor, size)
        # With a full run of the inbox, nothing older than its end is among the first `size`.
        horizon = pushed[-1].ts_ms if len(pushed) == size else 0
        authors = [*self._pulled_authors(horizon), self.viewer_id]
        pulled = Post.objects.filter(author_id__in=authors, is_deleted=False)
        return merge([pushed, unfinished, newest(pulled, "id", cursor, size)], size)

    def _pushed(self, cursor: Position | None, size: int) -> list[Position]:
        """Read the inbox; rows of people who are not followed now are passed over (T41)."""
        kept: list[Position] = []
        limit = size + SLACK
        while True:
            rows = InboxEntry.objects.filter(user_id=self.viewer_id)
            rows = rows.filter(before(cursor, "publish_time", "post_id"))
            found = list(
                rows.order_by("-publish_time", "-post_id").values_list(
                    "publish_time", "post_id", "author_id"
                )[:limit]
            )
            kept += [Position(ts, post) for ts, post, author in found if author in self.follows]
            if len(kept) >= size or len(found) < limit:
                return kept[:size]
            cursor = Position(*found[-1][:2])
            limit = min(limit * 2, ROUND_MAX)

    def _pulled_authors(self, horizon: int) -> list[int]:
        """Return followed authors who may have a post at or above `horizon` that was not pushed."""
        state = InboxState.objects.filter(viewer_id=self.viewer_id)
        inbox_floor = state.values_list("inbox_floor", flat=True).first() or 0
        reach = max(horizon, 1)
        if inbox_floor >= reach:
            pulled = set(self.follows)
        else:
            covered = {a for a in self.follows if self.backfilled.get(a, reach) < reach}
            tiered = AuthorHead.objects.filter(
                author_id__in=covered, last_pulled_position__gte=reach
            )
            pulled = (self.follows - covered) | set(tiered.values_list("author_id", flat=True))
        if not pulled:
            return []
        heads = AuthorHead.objects.filter(author_id__in=pulled, last_position__gte=reach)
        return list(heads.values_list("author_id", flat=True))


def newest(rows: "QuerySet[Any]", ident: str, cursor: Position | None, size: int) -> list[Position]:
    """Return the first `size` positions of rows after the cursor."""
    found = rows.filter(before(cursor, "position", ident)).order_by("-position", f"-{ident}")
    return [Position(*pair) for pair in found.values_list("position", ident)[:size]]


def walk(
    run: Callable[[Position | None, int], list[Position]], cursor: Position | None, size: int
) -> Iterator[list[Position]]:
    """Yield ever older runs of positions after the cursor, the first of `size`."""
    while True:
        found = run(cursor, size)
        if found:
            yield found
        if len(found) < size:
            return
        cursor = found[-1]
        size = min(size * 2, ROUND_MAX)


def fill(viewer_id: int | None, runs: Iterator[list[Position]], size: int) -> Page[Card]:
    """Make one page of runs; what the gate hides is made up for from further down (A27, T39).

    The page is full, or the list ends with it; only after ROUNDS_MAX rounds of hidden posts is it
    short and has a `next` all the same.
    """
    kept: list[Card] = []
    last: Position | None = None
    for number, run in enumerate(runs, start=1):
        visible = {int(card["id"]): card for card in cards(viewer_id, [p.id for p in run])}
        for position in run:
            if position.id not in visible:
                continue
            if len(kept) == size and last is not None:
                return Page(kept, last.encode())
            kept.append(visible[position.id])
            last = position
        if number == ROUNDS_MAX:
            reached = last if len(kept) == size and last is not None else run[-1]
            return Page(kept, reached.encode())
    return Page(kept, None)


def page(viewer_id: int, cursor: Position | None, size: int) -> Page[Card]:
    """Return one page of the home feed."""
    return fill(viewer_id, walk(Timeline(viewer_id).run, cursor, size + 1), size)


def count_newer(viewer_id: int, mark: Position, limit: int) -> int:
    """Return how many visible posts of others stand above the mark, at most `limit`."""
    count = 0
    of_others = visible_to(viewer_id).exclude(author_id=viewer_id)
    for number, run in enumerate(walk(Timeline(viewer_id).run, None, limit), start=1):
        newer = [position.id for position in run if position > mark]
        count += of_others.filter(pk__in=newer).count()
        if count >= limit or len(newer) < len(run) or number == ROUNDS_MAX:
            break
    return min(count, limit)
