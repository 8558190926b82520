"""Read suggestions: each person shown is one whom the reader could follow at this moment."""

from collections import defaultdict
from collections.abc import Collection
from typing import TypedDict

from accounts import queries as accounts_queries
from accounts.models import User
from accounts.queries import Card
from relations import queries
from relations.models import FOLLOWS_ME, Dismissal, Relation, Relationship
from relations.queries import Person
from relations.suggestions import candidates
from socialsite.core.positions import Page, Position

COMMON = 3
# Candidates that are looked at together: in most sites all of them.
STEP = 100


class Reason(TypedDict):
    """Why somebody is suggested.

    `followed`: `count` people whom the reader follows follow them, `common` are the first of these.
    `popular`: many people follow them.
    """

    kind: str
    common: list[Card]
    count: int


class Suggestion(Person):
    """A person, and the reason why they are suggested."""

    reason: Reason


def suggested(viewer: User, cursor: Position | None, size: int) -> Page[Suggestion]:
    """Return a page of people to follow, best first.

    Nobody is shown whom the reader follows, with whom there is a block, who is banned or limited,
    or of whom the reader said that they are not interesting.
    """
    ids = list(dict.fromkeys([*candidates.of(viewer.pk), *candidates.of(candidates.SITE)]))
    gone = set(
        Dismissal.objects.filter(user_id=viewer.pk, other_id__in=ids).values_list(
            "other_id", flat=True
        )
    )
    found: dict[int, Person] = {}
    place = 0 if cursor is None else cursor.ts_ms
    while len(found) < size and place < len(ids):
        step = ids[place : place + max(size, STEP)]
        asked = [ident for ident in step if ident not in gone and ident != viewer.pk]
        shown = queries.shown_people(viewer.pk, asked, listed_only=True)
        for ident in step:
            place += 1
            person = shown.get(ident)
            if person is not None and person["relation"] in _FREE:
                found[ident] = person
                if len(found) == size:
                    break
    reasons = _reasons(viewer.pk, found)
    items = [Suggestion(**person, reason=reasons[ident]) for ident, person in found.items()]
    following = Position(place, 0).encode() if place < len(ids) else None
    return Page(items, following)


_FREE = (None, Relation.FOLLOWED.name)


def _reasons(viewer_id: int, ids: Collection[int]) -> dict[int, Reason]:
    """Return the reasons for these people, as the relations are now."""
    mine = queries.following_ids(viewer_id)
    rows = Relationship.objects.filter(
        from_user__in=ids, relation__in=FOLLOWS_ME, to_user__in=list(mine)
    )
    common: dict[int, list[int]] = defaultdict(list)
    for ident, friend in rows.order_by("to_user_id").values_list("from_user_id", "to_user_id"):
        common[ident].append(friend)
    cards = accounts_queries.cards({friend for friends in common.values() for friend in friends})
    reasons = {}
    for ident in ids:
        friends = [cards[friend] for friend in common[ident] if friend in cards]
        kind = "followed" if friends else "popular"
        reasons[ident] = Reason(kind=kind, common=friends[:COMMON], count=len(friends))
    return reasons
