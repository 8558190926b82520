"""Counts of posts and the reader's actions on them, for post cards."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Exists, IntegerField, OuterRef, QuerySet, Sum
from django.db.models.functions import Cast

from feeds import queries as feeds_queries
from feeds.content.polls import definition
from interactions import cache
from interactions.cache import Mine
from interactions.models import (
    Bookmark,
    CountChange,
    Counted,
    Like,
    Subject,
    SubjectType,
    Tally,
    Vote,
)
from socialsite.core.cache.reads import Values, run
from socialsite.core.db.compiled import UnionRead, compiled
from socialsite.core.redis import Batch

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer
    from feeds.cards.card import Card


class Did(cache.Marked[int]):
    """A person's actions on posts, as bits of `Mine`."""

    def __init__(self, user_id: int) -> None:
        self._id = user_id
        super().__init__(cache.mine(user_id))

    def read(self) -> cache.Fields:
        return cache.pack_mine(_newest(self._id, cache.MINE_MAX + 1))


class Decoration(Values[bytes]):
    """Adds counts and the reader's actions to post cards.

    Cached values cost no query; missing ones are read in two queries at most.
    """

    cache = cache.COUNTS

    def __init__(self, viewer_id: int | None) -> None:
        self._me, self._mine = viewer_id, Did(viewer_id or 0)
        super().__init__()

    def need(self, idents: Collection[int]) -> None:
        super().need(idents)
        if self._me is not None:
            self._mine.need(idents)

    def ask(self, batch: Batch) -> None:
        """Look up new posts with two commands, one for a guest."""
        if self._me is not None:
            self._mine.expect(self._fresh)
            self._mine.ask(batch)
        super().ask(batch)

    def take(self) -> None:
        super().take()
        self._mine.take()

    @property
    def is_cached(self) -> bool:
        return not self.missing and not self._mine.missing

    def lease(self, batch: Batch) -> None:
        super().lease(batch)
        self._mine.lease(batch)

    def query(self, union: UnionRead) -> None:
        """Read the actions to cache; then counts, together with actions that stay unknown."""
        self._mine.query(union)
        self.missing |= self._mine.missing
        super().query(union)

    def fill(self) -> None:
        super().fill()
        self._mine.fill()

    def apply(self, cards: "Sequence[Card]") -> None:
        """Fill in counts and the reader's actions, on cards and on the posts in them."""
        every = [*cards, *(card["ref"] for card in cards if card["ref"] is not None)]
        ids = [int(card["id"]) for card in every]
        self.need(ids)
        run(self)
        packed = self.known
        mine = dict.fromkeys(ids, 0) if self._me is None else self._mine.known
        for ident, card in zip(ids, every, strict=True):
            likes, comments, reposts, bookmarks, *votes = packed[ident].split()
            card["like_count"], card["comment_count"] = int(likes), int(comments)
            card["repost_count"], card["bookmark_count"] = int(reposts), int(bookmarks)
            bits = mine[ident]
            card["liked"] = bits & _LIKED != 0
            card["bookmarked"] = bits & _BOOKMARKED != 0
            card["reposted"] = bits & _REPOSTED != 0
            if (poll := card.get("poll")) is not None:
                people, *counts = map(int, votes) if votes else Tally.of(0, 0)
                voted = [n for n in range(len(Tally.OPTIONS)) if bits >> cache.VOTE_SHIFT + n & 1]
                definition.fill(poll, people, counts, voted, mine=card["mine"])

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        """Read counts in their cached form, and the reader's actions where these are unknown."""
        mine, union = dict.fromkeys(idents, 0), UnionRead()
        me = None if self._mine.known.keys() >= mine.keys() else self._me
        if me is None:
            rows, voted = union.add(_counts, idents), []
        else:
            rows = union.add(_counts_and_mine, idents, me)
            voted = union.add(_votes_of, idents, me)
        changes = union.add(_changes, idents)
        tallies, waiting = union.add(_tallies, idents), union.add(_waiting, idents)
        union.run()
        votes = _sums(tallies, waiting)
        # A post without a subject has no counts yet.
        found = dict.fromkeys(idents, b"0 0 0 0")
        pending = {(ident, counted): by for ident, counted, by in changes}
        for ident, likes, comments, reposts, bookmarks, *own in rows:
            if pending:
                likes += pending.get((ident, _LIKE), 0)
                reposts += pending.get((ident, _REPOST), 0)
                bookmarks += pending.get((ident, _BOOKMARK), 0)
            found[ident] = b"%d %d %d %d" % (likes, comments, reposts, bookmarks)
            if me is not None:
                liked, bookmarked, reposted = own
                mine[ident] = _LIKED * liked | _BOOKMARKED * bookmarked | _REPOSTED * reposted
        for ident, counts in votes.items():
            found[ident] = b" ".join([found[ident], *(b"%d" % number for number in counts)])
        if me is not None:
            for ident, choices in voted:
                mine[ident] |= choices << cache.VOTE_SHIFT
            self._mine.add_found(mine)
        return found

    def decode(self, found: Mapping[int, bytes]) -> Mapping[int, bytes]:
        return found


# Plain numbers: the bits of an enum cost more than the whole of a card.
_LIKED, _BOOKMARKED, _REPOSTED = Mine.LIKED.value, Mine.BOOKMARKED.value, Mine.REPOSTED.value
_LIKE, _BOOKMARK, _REPOST = Counted.LIKE.value, Counted.BOOKMARK.value, Counted.REPOST.value


def _newest(user_id: int, limit: int) -> cache.Rows:
    kinds = (_newest_likes, _newest_bookmarks, _newest_reposts, _newest_votes)
    union = UnionRead()
    likes, bookmarks, reposts, votes = (union.add(kind, user_id, limit=limit) for kind in kinds)
    union.run()
    return cache.Rows(
        sorted(likes, reverse=True),
        sorted((post for (post,) in bookmarks), reverse=True),
        sorted((post for (post,) in reposts), reverse=True),
        sorted(votes, reverse=True),
    )


def _sums(
    tallies: Iterable[Sequence[int]], waiting: Iterable[Sequence[int]]
) -> dict[int, list[int]]:
    """Return the counts of each poll with votes: its tally and the votes that wait for a fold."""
    sums: dict[int, list[int]] = defaultdict(lambda: Tally.of(0, 0))
    added = [(ident, Tally.of(choices, number)) for ident, choices, number in waiting]
    for ident, counts in [(row[0], row[1:]) for row in tallies] + added:
        sums[ident] = [one + other for one, other in zip(sums[ident], counts, strict=True)]
    return sums


@compiled
def _newest_likes(user_id: int, *, limit: int) -> "QuerySet[Like, Any]":
    rows = Like.objects.filter(user_id=user_id, thread=0).order_by("-subj_id")
    return rows.values_list("subj_id", "pk")[:limit]


@compiled
def _newest_bookmarks(user_id: int, *, limit: int) -> "QuerySet[Bookmark, Any]":
    rows = Bookmark.objects.filter(user_id=user_id).order_by("-post_id")
    return rows.values_list("post_id")[:limit]


@compiled
def _newest_reposts(user_id: int, *, limit: int) -> "QuerySet[Any, Any]":
    rows = feeds_queries.reposts_without_words(user_id).order_by("-ref_post_id")
    return rows.values_list("ref_post_id")[:limit]


@compiled
def _newest_votes(user_id: int, *, limit: int) -> "QuerySet[Vote, Any]":
    rows = Vote.objects.filter(user_id=user_id).order_by("-post_id")
    choices = Cast("choices", IntegerField())
    return rows.values_list("post_id", choices)[:limit]


@compiled
def _counts(ids: Collection[int]) -> "QuerySet[Subject, Any]":
    return _counted(ids)


@compiled
def _counts_and_mine(ids: Collection[int], user_id: int) -> "QuerySet[Subject, Any]":
    likes = Like.objects.filter(user_id=user_id, subj_type=SubjectType.POST)
    bookmarks = Bookmark.objects.filter(user_id=user_id)
    return _counted(
        ids,
        Exists(likes.filter(subj_id=OuterRef("subj_id"))),
        Exists(bookmarks.filter(post_id=OuterRef("subj_id"))),
        Exists(
            feeds_queries.reposts_without_words(user_id).filter(ref_post_id=OuterRef("subj_id"))
        ),
    )


def _counted(ids: Collection[int], *mine: Exists) -> "QuerySet[Subject, Any]":
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=ids)
    names = ("like_count", "comment_count", "repost_count", "bookmark_count")
    # MariaDB returns a DECIMAL if a union mixes signed and unsigned columns.
    counts = [Cast(name, IntegerField()) for name in names]
    return subjects.values_list("subj_id", *counts, *mine)


@compiled
def _changes(ids: Collection[int]) -> "QuerySet[CountChange, Any]":
    """Select changes that are not folded into the counts yet."""
    changes = CountChange.objects.filter(subj_type=SubjectType.POST, subj_id__in=ids).order_by()
    # MariaDB's SUM returns a DECIMAL.
    by = changes.values("subj_id", "counted").annotate(by=Cast(Sum("by"), IntegerField()))
    counted = Cast("counted", IntegerField())
    return by.values_list("subj_id", counted, "by")


@compiled
def _tallies(ids: Collection[int]) -> "QuerySet[Tally, Any]":
    counts = [Cast(name, IntegerField()) for name in Tally.COUNTS]
    return Tally.objects.filter(pk__in=ids).values_list("pk", *counts)


@compiled
def _waiting(ids: Collection[int]) -> "QuerySet[Vote, Any]":
    """Select votes that are not folded into the tallies yet, by their choices."""
    votes = Vote.objects.filter(waiting__in=ids).order_by().values("waiting", "choices")
    counted = votes.annotate(votes=Count("pk"))
    choices = Cast("choices", IntegerField())
    return counted.values_list("waiting", choices, "votes")


@compiled
def _votes_of(ids: Collection[int], user_id: int) -> "QuerySet[Vote, Any]":
    rows = Vote.objects.filter(post_id__in=ids, user_id=user_id)
    choices = Cast("choices", IntegerField())
    return rows.values_list("post_id", choices)


def decorate(viewer: "Viewer", cards: "list[Card]") -> "list[Card]":
    """Fill in counts and the reader's actions on post cards, in two queries at most."""
    Decoration(None if viewer is None else viewer.pk).apply(cards)
    return cards
