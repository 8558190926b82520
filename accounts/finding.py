"""Find people by their names, or the newest ones."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from django.db.models import F, Q, QuerySet

from accounts import queries
from accounts.models import User
from accounts.naming import search
from accounts.queries import Card
from socialsite.core import ids as core_ids
from socialsite.core.db.replicas import Freshness
from socialsite.core.positions import NEWEST, Page, Position, cut

LAST_CHARACTER = "\U0010ffff"
# Rounds of a search.
SEARCHED = 7


def named(text: str) -> "QuerySet[User]":
    """Return the people with open accounts whose username or nickname begins with a text.

    Nobody for a text that is empty. For composition: who is looked for may be known above this app.
    """
    key = search.key_of(text)
    if not key:
        return User.objects.none()
    return User.objects.active().filter(_begins("username_key", key) | _begins("nickname_key", key))


def people(
    text: str,
    cursor: Position | None = None,
    size: int = 20,
    hidden: Callable[[Collection[int]], Collection[int]] = lambda ids: (),
    freshness: Freshness = Freshness.NOW,
) -> Page[Card]:
    """Return listed people whose username or nickname has a text, the newest account first.

    Before all others comes the person whose username is the text. `hidden(ids)` returns those to
    leave out: blocks are known above this app. After SEARCHED rounds of people who are left out a
    page may be short and still have a `next`.
    """
    key = search.key_of(text)
    if not key:
        return Page([], None)

    def shown(people: Iterable[queries.Row]) -> list[Card]:
        cards = _named_cards(key, people)
        omitted = {*hidden([int(card["id"]) for card in cards])} if cards else ()
        return [card for card in cards if int(card["id"]) not in omitted]

    is_first = cursor is None and queries.is_name(key)
    first = shown(queries.open_account(key)) if is_first else []
    kept, reached = [*first], None
    proposed = search.proposed(key, cursor, size + 1, freshness)
    for number, (ids, reached) in enumerate(proposed, start=1):
        others = queries.open_accounts(ids)
        kept += shown(one for one in others if one["username"].lower() != key)
        if len(kept) > size:
            last = kept[size - 1]
            reached = NEWEST if last in first else search.place_of(int(last["id"]))
        if len(kept) > size or number == SEARCHED:
            break
    return Page(kept[:size], None if reached is None else reached.encode())


def _named_cards(key: str, people: Iterable[queries.Row]) -> list[Card]:
    """Return those of these people whose present name has a text, the newest account first."""
    listed = (one for one in people if one["limited_at"] is None)
    found = [one for one in listed if search.has(key, (one["username"], one["nickname"]))]
    return [queries.card_of(one) for one in sorted(found, key=lambda one: -one["id"])]


def new_people(
    cursor: Position | None, size: int, hidden: "QuerySet[Any, int] | None"
) -> Page[Card]:
    """Return all listed people, the newest account first; `hidden` as in `people`."""
    rows = User.objects.listed()
    if hidden is not None:
        rows = rows.exclude(pk__in=hidden)
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor.id)
    found = list(rows.order_by(F("id").desc()).values(*queries.COLUMNS)[: size + 1])
    page = cut(found, size, lambda row: Position(core_ids.ms_of(row["id"]), row["id"]))
    return page.with_items([queries.card_of(row) for row in page.items])


def _begins(field: str, text: str) -> Q:
    """Compare by range: `LIKE BINARY`, Django's startswith on MySQL, does not use the index."""
    return Q(**{f"{field}__gte": text, f"{field}__lt": text + LAST_CHARACTER})
