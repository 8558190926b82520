"""Counts of posts, and which of them the reader likes, for post cards."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db.models import Exists, OuterRef, QuerySet, Value

from interactions import cache
from interactions.models import Like, Subject, SubjectType
from socialsite.core.leased import Asked
from socialsite.core.prepared import prepared
from socialsite.core.redis import Batch

if TYPE_CHECKING:
    from accounts.models import User
    from feeds.cards import Card


class Decoration:
    """Puts counts and the reader's likes on post cards, from reads in batches of several apps.

    `ask` as soon as ids of posts are known, again for further ones, and `apply` when those batches
    have run. Cached values cost no query; what is lacking, also of posts that were never asked for,
    is read in two queries at most.
    """

    def __init__(self, viewer_id: int | None) -> None:
        self._me = viewer_id
        self._counts: list[Asked] = []
        self._liked: list[cache.AskedLiked] = []

    def ask(self, batch: Batch, ids: Collection[int]) -> None:
        """Add the reads for some posts to a batch: two commands, one for a guest."""
        posts = list(ids)
        if not posts:
            return
        self._counts.append(cache.COUNTS.ask(batch, posts))
        if self._me is not None:
            self._liked.append(cache.ask_liked(batch, self._me, posts))

    def apply(self, cards: "Sequence[Card]") -> None:
        """Fill in `like_count`, `comment_count` and `liked` of cards and of the posts in them."""
        every = [*cards, *(card["ref"] for card in cards if card["ref"] is not None)]
        ids = {int(card["id"]) for card in every}
        liked = self._known_likes(ids)
        packed = {ident: value for asked in self._counts for ident, value in asked.found.items()}
        lacking = {ident for ident in ids if ident not in packed or ident not in liked}
        packed.update(cache.COUNTS.load(lacking, lambda missing: self._read(missing, liked)))
        for card in every:
            ident = int(card["id"])
            card["like_count"], card["comment_count"] = map(int, packed[ident].split())
            card["liked"] = liked[ident]

    def _known_likes(self, ids: Collection[int]) -> dict[int, bool]:
        """Return which posts are liked as far as that is, or can be, cached."""
        if self._me is None:
            return dict.fromkeys(ids, False)
        found = [asked.found for asked in self._liked]
        liked = {ident: likes for some in found if some for ident, likes in some.items()}
        unknown = [ident for ident in ids if ident not in liked]
        if unknown and None in found:
            newest = partial(_newest_likes, self._me)
            liked |= cache.load_liked(self._me, unknown, lambda limit: newest(limit=limit))
        return liked

    def _read(self, ids: Collection[int], liked: dict[int, bool]) -> dict[int, bytes]:
        """Read counts as they are cached, and note in `liked` which of the posts are liked."""
        # What has no subject was never liked nor talked about.
        found = dict.fromkeys(ids, b"0 0")
        liked.update(dict.fromkeys(ids, False))
        rows = _counts(ids) if self._me is None else _counts_and_likes(ids, self._me)
        for ident, like_count, comment_count, is_mine in rows:
            found[ident] = b"%d %d" % (like_count, comment_count)
            liked[ident] = is_mine
        return found


@prepared
def _newest_likes(user_id: int, *, limit: int) -> "QuerySet[Like, Any]":
    rows = Like.objects.filter(user_id=user_id, subj_type=SubjectType.POST)
    return rows.order_by("-subj_id").values_list("subj_id", "pk")[:limit]


@prepared
def _counts(ids: Collection[int]) -> "QuerySet[Subject, Any]":
    return _counted(ids, Value(False))


@prepared
def _counts_and_likes(ids: Collection[int], user_id: int) -> "QuerySet[Subject, Any]":
    likes = Like.objects.filter(user_id=user_id, subj_type=SubjectType.POST)
    return _counted(ids, Exists(likes.filter(subj_id=OuterRef("subj_id"))))


def _counted(ids: Collection[int], mine: Exists | Value) -> "QuerySet[Subject, Any]":
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=ids)
    columns = ("subj_id", "like_count", "comment_count", "mine")
    return subjects.annotate(mine=mine).values_list(*columns)


def decorate(viewer: "User | None", cards: "list[Card]") -> "list[Card]":
    """Fill in `like_count`, `comment_count` and `liked` of post cards, in two queries at most."""
    decoration, batch = Decoration(None if viewer is None else viewer.pk), Batch()
    every = [*cards, *(card["ref"] for card in cards if card["ref"] is not None)]
    decoration.ask(batch, {int(card["id"]) for card in every})
    batch.run()
    decoration.apply(cards)
    return cards
