"""Reads of relations: the state of pairs, the lists of a person, counts.

Every query names the person whose rows it reads (`from_user`), so that the table can be sharded by
it. Lists are newest first by (time of the follow, id of the other person), from covering indexes;
the newest rows of big people's from `cache`.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts import queries as accounts
from accounts.models import User
from relations import cache, states
from relations.models import (
    BLOCKED,
    FOLLOWS_ME,
    I_FOLLOW,
    Relation,
    RelationCount,
    Relationship,
)
from socialsite.core import db
from socialsite.core.errors import UserNotFound
from socialsite.core.pagination import Page, Position, before, cut

Person = dict[str, Any]

# A list page reads on past people it must not show, at most so often; then it is short.
ROUNDS = 5


# --- pairs --------------------------------------------------------------------------------------
def relation(user_id: int | None, target_id: int) -> Relation | None:
    """Return the pair's state from the side of `user_id`; None for no relation and for guests."""
    if user_id is None:
        return None
    return states.of(Relationship.objects.filter(from_user=user_id, to_user=target_id).first())


def relations_of(user_id: int | None, ids: Iterable[int]) -> dict[int, Relation | None]:
    """Return the state towards each of `ids` from the side of `user_id`, in one query."""
    found: dict[int, Relation | None] = dict.fromkeys(ids)
    if user_id is None or not found:
        return found
    rows = Relationship.objects.filter(from_user=user_id, to_user__in=list(found))
    for to_user, state in rows.values_list("to_user_id", "relation"):
        found[to_user] = states.read(state)
    return found


def is_blocked(user_id: int | None, other_id: int) -> bool:
    """True when one of the two blocks the other, so that neither may see what the other has."""
    return states.blocked_either_way(relation(user_id, other_id))


def name(state: Relation | None) -> str | None:
    """Return the name of a state, as the API and the pages say it."""
    return None if state is None else state.name


def locked_follow(viewer_id: int, author_id: int) -> bool:
    """True when viewer follows author, and nobody can change that before this transaction ends."""
    if not connection.in_atomic_block:
        raise RuntimeError("locked_follow() needs a transaction")
    rows = Relationship.objects.filter(from_user=viewer_id, to_user=author_id)
    found = db.rows_locked_in_share(rows.values_list("relation"))
    return bool(found) and found[0][0] in I_FOLLOW


# --- sets, for composition ----------------------------------------------------------------------
def follows_queryset(viewer_id: int) -> "QuerySet[Relationship]":
    """Return the rows of those whom the viewer follows now."""
    return Relationship.objects.filter(from_user=viewer_id, relation__in=I_FOLLOW)


def following_ids(user_id: int) -> "QuerySet[Relationship, int]":
    """Return the ids of those whom the person follows now, in no order."""
    return follows_queryset(user_id).values_list("to_user_id", flat=True)


def follower_ids(author_id: int) -> "QuerySet[Relationship, int]":
    """Return the ids of those who follow the author now, by id ascending."""
    rows = Relationship.objects.filter(from_user=author_id, relation__in=FOLLOWS_ME)
    return rows.order_by("to_user_id").values_list("to_user_id", flat=True)


def ties(user_id: int) -> "QuerySet[Relationship, tuple[int, bool]]":
    """Return whom the person follows, with True, and with whom there is a block, with False."""
    rows = Relationship.objects.filter(from_user=user_id, relation__in=(*I_FOLLOW, *BLOCKED))
    return rows.annotate(follows=Q(relation__in=I_FOLLOW)).values_list("to_user_id", "follows")


def blocked_ids(user_id: int) -> "QuerySet[Relationship, int]":
    """Return the ids of those whom the person blocks or who block the person."""
    rows = Relationship.objects.filter(from_user=user_id, relation__in=BLOCKED)
    return rows.values_list("to_user_id", flat=True)


# --- people -------------------------------------------------------------------------------------
def profile(viewer: User | AnonymousUser, person: User) -> Person:
    """Return a person's card with the viewer's `relation` to them and their `counts`.

    Raises UserNotFound when the person blocks the viewer. Someone whom the viewer blocks is told as
    BLACKLISTING: show nothing of theirs but the way to unblock.
    """
    state = relation(viewer.pk, person.pk)
    card = accounts.cards([person.pk]).get(person.pk)
    if card is None or states.is_blocked(state):
        raise UserNotFound
    return {**card, "relation": name(state), "counts": counts(person.pk)}


def shown_people(viewer_id: int | None, ids: Iterable[int]) -> dict[int, Person]:
    """Return the cards of those of these people whom the viewer may see, with `relation`, by id.

    Left out are closed accounts and those with a block either way. Two queries at most.
    """
    states_by_id = relations_of(viewer_id, ids)
    shown = [one for one, state in states_by_id.items() if not states.blocked_either_way(state)]
    return {
        one: {**card, "relation": name(states_by_id[one])}
        for one, card in accounts.cards(shown).items()
    }


def search_people(
    viewer: User | AnonymousUser, text: str, cursor: Position | None = None, size: int = 20
) -> Page[Person]:
    """Return people whose name begins with a text, without those with a block either way."""
    hidden = None if viewer.pk is None else blocked_ids(viewer.pk)
    page = accounts.people(text, cursor, size, hidden)
    relations = relations_of(viewer.pk, [int(card["id"]) for card in page.items])
    return page.with_items(
        [{**card, "relation": name(relations[int(card["id"])])} for card in page.items]
    )


# --- lists --------------------------------------------------------------------------------------
def _dated_rows(user_id: int, time: str) -> "QuerySet[Relationship]":
    # A time stands iff its state holds; asking for the time alone keeps to the covering index.
    return Relationship.objects.filter(from_user=user_id, **{f"{time}__isnull": False})


def _following_rows(user_id: int) -> "QuerySet[Relationship]":
    return _dated_rows(user_id, "followed_at")


def _friend_rows(user_id: int) -> "QuerySet[Relationship]":
    return _following_rows(user_id).filter(relation=Relation.BI_FOLLOWING)


def following(
    user_id: int, cursor: Position | None = None, size: int = 20, viewer_id: int | None = None
) -> Page[Person]:
    """Return whom a person follows, the latest follow first.

    To that person themselves also banned and closed accounts, by name: they count below the cap, so
    it must be possible to leave them.
    """
    listing = _big_list("following", user_id, viewer_id)
    return _people(listing, cursor, size, show_closed=user_id == viewer_id)


def followers(
    user_id: int, cursor: Position | None = None, size: int = 20, viewer_id: int | None = None
) -> Page[Person]:
    """Return who follows a person, friends included, the latest follower first."""
    return _people(_big_list("followers", user_id, viewer_id), cursor, size)


def friends(
    user_id: int, cursor: Position | None = None, size: int = 20, viewer_id: int | None = None
) -> Page[Person]:
    """Return whom a person follows and is followed by, by the person's own follow, latest first."""
    return _people(_Listing(_friend_rows(user_id), "followed_at", viewer_id), cursor, size)


def search_own(
    user_id: int, kind: str, text: str, cursor: Position | None = None, size: int = 20
) -> Page[Person]:
    """Return those of a person's own list, one of SEARCHED, whose name begins with a text.

    In the order of the list, three queries a page. What is read is bounded by the rows of the list,
    so by FOLLOW_LIMIT; followers have no such bound and no search.
    """
    named = accounts.named(text).filter(pk=OuterRef("to_user"))
    rows = SEARCHED[kind](user_id).filter(Exists(named))
    return _people(_Listing(rows, "followed_at", user_id), cursor, size)


SEARCHED: dict[str, Callable[[int], "QuerySet[Relationship]"]] = {
    "following": _following_rows,
    "friends": _friend_rows,
}


def blocked(user_id: int, cursor: Position | None = None, size: int = 20) -> Page[Person]:
    """Return whom a person blocks, the latest first; for that person only.

    Of all of them just the name, so that it can be undone.
    """
    rows = Relationship.objects.filter(
        from_user=user_id, relation__in=(Relation.BLACKLISTING, Relation.BI_BLACKLISTING)
    )
    listing = _Listing(rows, "blocked_at", user_id)
    page = _people(listing, cursor, size, show_blocked=True, show_closed=True)
    return page.with_items([{**person, "avatar": "", "bio": ""} for person in page.items])


def page_rows(
    rows: "QuerySet[Relationship]", time: str, cursor: Position | None
) -> "QuerySet[Relationship, tuple[int, int]]":
    """Return (time, other person) of the rows after a position, all from one covering index."""
    older = rows.filter(before(cursor, time, "to_user_id"))
    return older.order_by(f"-{time}", "-to_user_id").values_list(time, "to_user_id")


LISTS: dict[str, Callable[[int, Position | None, int, int | None], Page[Person]]] = {
    "following": following,
    "followers": followers,
    "friends": friends,
}


class _Round(NamedTuple):
    """Some rows of a list with the reader's relation to each; where to go on, None at the end."""

    positions: list[Position]
    relations: dict[int, Relation | None]
    last: Position | None


class _Listing:
    """The rows of one list from its covering index, newest first."""

    def __init__(self, rows: "QuerySet[Relationship]", time: str, viewer_id: int | None) -> None:
        self.rows, self.time, self.viewer_id = rows, time, viewer_id

    def read(self, place: Position | None, want: int) -> _Round:
        """Return the next `want` rows; fewer only at the end."""
        found = self._table(place, want)
        last = found[-1] if len(found) == want else None
        return _Round(found, relations_of(self.viewer_id, [row.id for row in found]), last)

    def _table(self, place: Position | None, want: int) -> list[Position]:
        return [Position(*row) for row in page_rows(self.rows, self.time, place)[:want]]


class _BigListing(_Listing):
    """The same rows from the cache where it knows them; what the reader did is in them at once.

    The cache follows a little later than the commit. The reader's own place in the list is taken
    from the reader's row, which is read for the relations anyway.
    """

    def __init__(
        self, kind: cache.Kind, owner: int, rows: "QuerySet[Relationship]", viewer_id: int | None
    ) -> None:
        super().__init__(rows, cache.TIME[kind], viewer_id)
        self.kind, self.owner = kind, owner
        # A follow has the same time in both rows of the pair.
        self.mirror = "followed_at" if kind == "followers" else "fan_since"

    def read(self, place: Position | None, want: int) -> _Round:
        """Return the next `want` rows, one more or less for the reader; no `last` is the end."""
        found, lease = cache.page(self.kind, self.owner, place, want)
        if found is None:
            answer = super().read(place, want)
            if lease:
                self._fill(lease, full=answer.last is not None)
            return answer
        last = found[-1] if len(found) == want else None
        if self.viewer_id is None:
            return _Round(found, relations_of(None, [row.id for row in found]), last)
        ids = {row.id for row in found} | {self.owner}
        mine = Relationship.objects.filter(from_user=self.viewer_id, to_user__in=ids)
        seen = {row[0]: row[1:] for row in mine.values_list("to_user_id", "relation", self.mirror)}
        relations = {row.id: states.read(seen.get(row.id, (None,))[0]) for row in found}
        relations[self.viewer_id] = None
        since = seen.get(self.owner, (None, None))[1]
        return _Round(self._with_viewer(found, since, place, last), relations, last)

    def _with_viewer(
        self,
        found: list[Position],
        since: int | None,
        place: Position | None,
        last: Position | None,
    ) -> list[Position]:
        """Put the reader where their own row says, if that is between `place` and `last`."""
        viewer = self.viewer_id or 0
        others = [row for row in found if row.id != viewer]
        if since is None:
            return others
        own = Position(since, viewer)
        if (place is not None and own >= place) or (last is not None and own < last):
            return others
        return sorted([*others, own], reverse=True)

    def _fill(self, lease: str, *, full: bool) -> None:
        """Cache a list of a person with many followers; the lease is older than these reads."""
        if full and follower_count(self.owner) >= cache.BIG_FROM:
            cache.fill(self.kind, self.owner, lease, self._table(None, cache.CAP + 1))
        else:
            cache.decline(self.kind, self.owner)


def _big_list(kind: cache.Kind, owner: int, viewer_id: int | None) -> _Listing:
    """Return a list that is cached for big people; their own lists they read from the table."""
    time = cache.TIME[kind]
    rows = _dated_rows(owner, time)
    if viewer_id == owner:
        return _Listing(rows, time, viewer_id)
    return _BigListing(kind, owner, rows, viewer_id)


def _people(
    listing: _Listing,
    cursor: Position | None,
    size: int,
    *,
    show_blocked: bool = False,
    show_closed: bool = False,
) -> Page[Person]:
    """Return a page of cards with `relation`, the viewer's state towards each by name or None.

    Leaves out closed accounts and those with a block either way to the viewer, unless they are to
    be shown, and reads on until the page is full: three queries a round, fewer where caches know
    the rows or the cards, each round twice as wide. After ROUNDS rounds the page may be short; its
    cursor then goes on from the last row examined (T39).
    """
    people: list[tuple[Position, Person]] = []
    place = cursor
    for step in range(ROUNDS):
        found = listing.read(place, (size + 1) << step)
        ids = [position.id for position in found.positions]
        cards = accounts.cards(ids, closed=show_closed)
        for position in found.positions:
            state, card = found.relations[position.id], cards.get(position.id)
            if card and (show_blocked or not states.blocked_either_way(state)):
                people.append((position, {**card, "relation": name(state)}))
        if len(people) > size or found.last is None:
            page = cut(people, size, lambda entry: entry[0])
            return page.with_items([person for _, person in page.items])
        place = found.last
    return Page([person for _, person in people], place.encode() if place else None)


# --- counts -------------------------------------------------------------------------------------
def counts(user_id: int) -> dict[str, int]:
    """Return `following`, `followers` and `friends` of a person."""
    row = RelationCount.objects.filter(pk=user_id).first() or RelationCount()
    return {"following": row.following, "followers": row.followers, "friends": row.friends}


def follower_count(author_id: int) -> int:
    """Return how many follow the author, as counted so far."""
    row = RelationCount.objects.filter(pk=author_id).values_list("followers", flat=True)
    return row.first() or 0
