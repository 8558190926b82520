"""Reads of relations: states of pairs, lists of a person, counts.

Every query names the person whose rows it reads (`from_user`), so that the table can be sharded by
person. Lists are newest first, by (time of the follow, id of the other person), and come from
covering indexes without a cache (docs/decisions/0012).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts import finding
from accounts import queries as accounts_queries
from accounts.models import User
from relations.models import (
    BLOCKED,
    FOLLOWS_ME,
    I_FOLLOW,
    Relation,
    RelationCount,
    Relationship,
)
from relations.pairs import states
from socialsite.core import db
from socialsite.core.db import replicas
from socialsite.core.db.compiled import compiled
from socialsite.core.errors import UserNotFound
from socialsite.core.positions import Page, Position, before, cut

Person = dict[str, Any]

# A page skips people it must not show; after this many rounds of reads it may be short.
ROUNDS = 5


# --- pairs --------------------------------------------------------------------------------------
def relation(user_id: int | None, target_id: int) -> Relation | None:
    """Return the pair's state as seen by `user_id`; None for no relation and for guests."""
    if user_id is None:
        return None
    return relations_of(user_id, [target_id])[target_id]


def relations_of(user_id: int | None, ids: Iterable[int]) -> dict[int, Relation | None]:
    """Return the state towards each of `ids` as seen by `user_id`, in one query."""
    found: dict[int, Relation | None] = dict.fromkeys(ids)
    if user_id is None or not found:
        return found
    for to_user, state in _relations(user_id, found):
        found[to_user] = states.read(state)
    return found


@compiled
def _relations(user_id: int, ids: Iterable[int]) -> "QuerySet[Relationship, Any]":
    rows = Relationship.objects.filter(from_user_id=user_id, to_user_id__in=ids)
    return rows.values_list("to_user_id", "relation")


def is_blocked(user_id: int | None, other_id: int) -> bool:
    """Return whether one of the two blocks the other: neither may see the other's content."""
    return states.blocked_either_way(relation(user_id, other_id))


def name(state: Relation | None) -> str | None:
    """Return the name of a state as used by API and pages."""
    return None if state is None else state.name


def locked_follow(viewer_id: int, author_id: int) -> bool:
    """Return whether viewer follows author, and lock that fact until the transaction ends."""
    if not connection.in_atomic_block:
        raise RuntimeError("locked_follow() needs a transaction")
    found = db.rows_locked_in_share(_relations.statement(viewer_id, [author_id]))
    return any(relation in I_FOLLOW for _, relation in found)


# --- sets, for composition ----------------------------------------------------------------------
def follows_queryset(viewer_id: int) -> "QuerySet[Relationship]":
    """Return the rows of the people whom the viewer follows."""
    return Relationship.objects.filter(from_user=viewer_id, relation__in=I_FOLLOW)


def following_ids(user_id: int) -> "QuerySet[Relationship, int]":
    """Return the ids of the people whom the person follows, unordered."""
    return follows_queryset(user_id).values_list("to_user_id", flat=True)


def announced_follows(user_id: int, target_id: int) -> "QuerySet[Relationship]":
    """Return the follow of a person if that person may be notified of it: not of an import."""
    return follows_queryset(user_id).filter(to_user_id=target_id, quiet=False)


def follower_ids(author_id: int) -> "QuerySet[Relationship, int]":
    """Return the ids of the author's followers, ascending."""
    rows = Relationship.objects.filter(from_user=author_id, relation__in=FOLLOWS_ME)
    return rows.order_by("to_user_id").values_list("to_user_id", flat=True)


def new_follower_count(user_id: int, since: int) -> int:
    """Return how many people follow the person since a time (Unix ms), without closed accounts."""
    rows = Relationship.objects.filter(from_user=user_id, relation__in=FOLLOWS_ME)
    people = User.objects.active().filter(pk=OuterRef("to_user_id"))
    return rows.filter(Exists(people), fan_since__gt=since).count()


def ever_related(user_id: int) -> "QuerySet[Relationship, int]":
    """Return the ids of everybody who ever followed or blocked the person, or the reverse."""
    rows = Relationship.objects.filter(from_user=user_id).order_by("to_user_id")
    return rows.values_list("to_user_id", flat=True)


def ties(user_id: int) -> "QuerySet[Relationship, tuple[int, bool]]":
    """Return (id, True) for each followed person and (id, False) for each block, either way."""
    rows = Relationship.objects.filter(from_user=user_id, relation__in=(*I_FOLLOW, *BLOCKED))
    return rows.annotate(follows=Q(relation__in=I_FOLLOW)).values_list("to_user_id", "follows")


def blocked_ids(user_id: int) -> "QuerySet[Relationship, int]":
    """Return the ids of people whom the person blocks or who block the person."""
    rows = Relationship.objects.filter(from_user=user_id, relation__in=BLOCKED)
    return rows.values_list("to_user_id", flat=True)


# --- people -------------------------------------------------------------------------------------
def profile(viewer: User | AnonymousUser, person: User) -> Person:
    """Return a person's card with the viewer's `relation` to them and their `counts`.

    Raises UserNotFound when the person blocks the viewer. For a person whom the viewer blocks,
    `relation` is BLACKLISTING: show only the name and the unblock button.
    """
    state = relation(viewer.pk, person.pk)
    card = accounts_queries.cards([person.pk]).get(person.pk)
    if card is None or states.is_blocked(state):
        raise UserNotFound
    return {**card, "relation": name(state), "counts": counts(person.pk)}


def shown_people(
    viewer_id: int | None, ids: Iterable[int], *, listed_only: bool = False
) -> dict[int, Person]:
    """Return the cards of these people with `relation`, by id, as far as the viewer may see them.

    Omits closed accounts and those with a block in either direction; with `listed_only` also people
    whom staff limited. At most two queries.
    """
    states_by_id = relations_of(viewer_id, ids)
    shown = [one for one, state in states_by_id.items() if not states.blocked_either_way(state)]
    return {
        one: {**card, "relation": name(states_by_id[one])}
        for one, card in accounts_queries.cards(shown, listed_only=listed_only).items()
    }


def search_people(
    viewer: User | AnonymousUser, text: str, cursor: Position | None = None, size: int = 20
) -> Page[Person]:
    """Return people whose name has a text in it; omits those with a block in either direction."""
    known: dict[int, Relation | None] = {}

    def hidden(ids: Collection[int]) -> list[int]:
        known.update(relations_of(viewer.pk, ids))
        return [ident for ident in ids if states.blocked_either_way(known[ident])]

    freshness = replicas.for_reader(viewer.pk)
    return _named(finding.people(text, cursor, size, hidden, freshness), known)


def new_people(viewer: User | AnonymousUser, cursor: Position | None, size: int) -> Page[Person]:
    """Return all people, the newest account first, as far as the viewer may see them."""
    page = finding.new_people(cursor, size, _hidden_from(viewer))
    return _with_relations(viewer, page)


def _hidden_from(viewer: User | AnonymousUser) -> "QuerySet[Any, int] | None":
    return None if viewer.pk is None else blocked_ids(viewer.pk)


def _with_relations(
    viewer: User | AnonymousUser, page: Page[accounts_queries.Card]
) -> Page[Person]:
    return _named(page, relations_of(viewer.pk, [int(card["id"]) for card in page.items]))


def _named(
    page: Page[accounts_queries.Card], relations: Mapping[int, Relation | None]
) -> Page[Person]:
    return page.with_items(
        [{**card, "relation": name(relations[int(card["id"])])} for card in page.items]
    )


# --- lists --------------------------------------------------------------------------------------
def _dated_rows(user_id: int, time: str) -> "QuerySet[Relationship]":
    # A time is set iff its state holds; filtering by the time alone uses the covering index.
    return Relationship.objects.filter(from_user=user_id, **{f"{time}__isnull": False})


def _following_rows(user_id: int) -> "QuerySet[Relationship]":
    return _dated_rows(user_id, "followed_at")


def _friend_rows(user_id: int) -> "QuerySet[Relationship]":
    return _following_rows(user_id).filter(relation=Relation.BI_FOLLOWING)


def newest_follows(user_id: int, most: int) -> list[Position]:
    """Return (time of the follow, id) of the people whom a person followed last."""
    return _page(user_id, None, most, kind="following")


def following(
    user_id: int, cursor: Position | None = None, size: int = 20, viewer_id: int | None = None
) -> Page[Person]:
    """Return the people whom a person follows, the latest follow first.

    That person also sees banned and closed accounts, by name: they count towards the cap, so it
    must be possible to unfollow them.
    """
    listing = _Listing(partial(_page, user_id, kind="following"), viewer_id)
    return _people(listing, cursor, size, show_closed=user_id == viewer_id)


def followers(
    user_id: int, cursor: Position | None = None, size: int = 20, viewer_id: int | None = None
) -> Page[Person]:
    """Return a person's followers, friends included, the latest follower first."""
    listing = _Listing(partial(_page, user_id, kind="followers"), viewer_id)
    return _people(listing, cursor, size)


def friends(
    user_id: int, cursor: Position | None = None, size: int = 20, viewer_id: int | None = None
) -> Page[Person]:
    """Return the people with a mutual follow, by the person's own follow, latest first."""
    return _people(_Listing(partial(_page, user_id, kind="friends"), viewer_id), cursor, size)


def search_own(
    user_id: int, kind: str, text: str, cursor: Position | None = None, size: int = 20
) -> Page[Person]:
    """Return the people in a person's own list, one of SEARCHED, whose name begins with a text.

    In the order of the list; three queries a page. The list is bounded by FOLLOW_LIMIT; followers
    have no such bound and no search.
    """
    named = finding.named(text).filter(pk=OuterRef("to_user"))
    rows = SEARCHED[kind](user_id).filter(Exists(named))

    def page(place: Position | None, want: int) -> list[Position]:
        found = page_rows(rows, "followed_at", place)[:want]
        return [Position(*row) for row in found]

    return _people(_Listing(page, user_id), cursor, size)


SEARCHED: dict[str, Callable[[int], "QuerySet[Relationship]"]] = {
    "following": _following_rows,
    "friends": _friend_rows,
}


def blocked(user_id: int, cursor: Position | None = None, size: int = 20) -> Page[Person]:
    """Return the people whom a person blocks, latest first; for that person only.

    Shows only their names, so that the person can unblock them.
    """
    listing = _Listing(partial(_page, user_id, kind="blocked"), user_id)
    page = _people(listing, cursor, size, show_blocked=True, show_closed=True)
    return page.with_items([{**person, "avatar": "", "bio": ""} for person in page.items])


def page_rows(
    rows: "QuerySet[Relationship]", time: str, cursor: Position | None
) -> "QuerySet[Relationship, tuple[int, int]]":
    """Return (time, other person) of the rows after a position, from one covering index."""
    older = rows.filter(before(cursor, time, "to_user_id"))
    return older.order_by(f"-{time}", "-to_user_id").values_list(time, "to_user_id")


def _blocked_rows(user_id: int) -> "QuerySet[Relationship]":
    return Relationship.objects.filter(
        from_user=user_id, relation__in=(Relation.BLACKLISTING, Relation.BI_BLACKLISTING)
    )


# The rows of each list, and the time that they are ordered by.
_ROWS: dict[str, tuple[Callable[[int], "QuerySet[Relationship]"], str]] = {
    "following": (_following_rows, "followed_at"),
    "followers": (lambda user_id: _dated_rows(user_id, "fan_since"), "fan_since"),
    "friends": (_friend_rows, "followed_at"),
    "blocked": (_blocked_rows, "blocked_at"),
}


def _page(user_id: int, place: Position | None, want: int, *, kind: str) -> list[Position]:
    return [Position(*row) for row in _rows(user_id, place, kind=kind, want=want)]


@compiled
def _rows(
    user_id: int, place: Position | None, *, kind: str, want: int
) -> "QuerySet[Relationship, tuple[int, int]]":
    rows, time = _ROWS[kind]
    return page_rows(rows(user_id), time, place)[:want]


LISTS: dict[str, Callable[[int, Position | None, int, int | None], Page[Person]]] = {
    "following": following,
    "followers": followers,
    "friends": friends,
}


class _Round(NamedTuple):
    """Some rows of a list with the reader's relation to each; the next position or None."""

    positions: list[Position]
    relations: dict[int, Relation | None]
    last: Position | None


class _Listing:
    """The rows of one list from its covering index, newest first, with the viewer's relations."""

    def __init__(
        self, page: Callable[[Position | None, int], list[Position]], viewer_id: int | None
    ) -> None:
        self._page, self.viewer_id = page, viewer_id

    def read(self, place: Position | None, want: int) -> _Round:
        """Return the next `want` rows; fewer only at the end."""
        found = self._page(place, want)
        last = found[-1] if len(found) == want else None
        return _Round(found, relations_of(self.viewer_id, [row.id for row in found]), last)


def _people(
    listing: _Listing,
    cursor: Position | None,
    size: int,
    *,
    show_blocked: bool = False,
    show_closed: bool = False,
) -> Page[Person]:
    """Return a page of cards with `relation`, the name of the viewer's state towards each, or None.

    Omits closed accounts and those with a block in either direction to the viewer, unless they are
    requested, and reads on until the page is full: three queries a round, fewer with cache hits,
    each round twice as wide. After ROUNDS rounds the page may be short; its cursor then continues
    after the last row examined (T39).
    """
    people: list[tuple[Position, Person]] = []
    place = cursor
    for step in range(ROUNDS):
        found = listing.read(place, (size + 1) << step)
        ids = [position.id for position in found.positions]
        cards = accounts_queries.cards(ids, closed=show_closed)
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
    following, followers, friends = _counts.first(user_id) or (0, 0, 0)
    return {"following": following, "followers": followers, "friends": friends}


@compiled
def _counts(user_id: int) -> "QuerySet[RelationCount, Any]":
    rows = RelationCount.objects.filter(pk=user_id)
    return rows.values_list("following", "followers", "friends")


def follower_count(author_id: int) -> int:
    """Return the author's number of followers, as counted so far."""
    return sum(_followers(author_id))


@compiled
def _followers(user_id: int) -> "QuerySet[RelationCount, int]":
    return RelationCount.objects.filter(pk=user_id).values_list("followers", flat=True)
