"""Hydration: turns the ids of an index into cards as the reader sees them (A24, C11, E9).

Parts of a post that are the same for everybody are cached by post id, people by their id. The
reader's permission is checked after the cache (T48b). A companion adds the reader's own data, such
as likes, in the same round trips.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import orjson
from django.db.models import QuerySet

from accounts import queries as accounts_queries
from feeds import cache
from feeds.cards import prefetch
from feeds.cards.card import COLUMNS, Card, Facts, Row, pack, row_of
from feeds.content.polls import definition
from feeds.models import Kind, Post, PostAudience, Visibility
from feeds.readers import Reader
from feeds.visibility import shows
from socialsite.core.cache.reads import Read, Values, run
from socialsite.core.cache.unpacked import Unpacked
from socialsite.core.db.compiled import compiled
from socialsite.core.errors import NotFound

AUTHOR_FIELDS = ("id", "username", "nickname", "avatar")


class Companion(Protocol):
    """A read that adds data of another app to cards."""

    def expect(self, idents: Iterable[int]) -> None:
        """Look up some posts in the next round trip, whether they are needed or not."""

    def need(self, idents: Collection[int]) -> None:
        """Answer for some posts after the next `run`."""

    def apply(self, cards: Sequence[Card]) -> None:
        """Finish the read, and fill in the cards."""


class Hydration:
    """The cards of one page, in as few round trips as possible.

    `followed_only` excludes posts of people whom the reader does not follow: a cached inbox may
    still contain those of somebody who was just unfollowed (T41). `listed_only` excludes posts of
    people whom staff limited, and reposts of them.
    """

    def __init__(
        self,
        reader: Reader,
        companion: Companion | None = None,
        *,
        followed_only: bool = False,
        listed_only: bool = False,
    ) -> None:
        self._reader, self._companion = reader, companion
        self._followed_only, self._listed_only = followed_only, listed_only
        self._likely: set[int] = set()
        self._posts = Posts()
        self._people = accounts_queries.Cards()
        self._faces: dict[int, dict[str, Any]] = {}
        # Reads that share the round trips of the posts and finish once these are known.
        self._along: list[Any] = [self._people] if companion is None else [self._people, companion]

    def expect(self, ids: Sequence[int]) -> list[Read[Any]]:
        """Return reads of posts that are probably needed, to be asked together with others."""
        self._posts.expect(ids)
        self._people.expect(prefetch.writers(ids))
        if self._companion is not None:
            self._companion.expect(ids)
        return [self._posts, *self._along]

    def expect_by(self, authors: Iterable[int]) -> None:
        """Expect these authors in the next posts: they are looked up together with them."""
        self._likely.update(authors)

    def cards(self, ids: Sequence[int], most: int | None = None) -> dict[int, Card]:
        """Return cards of the posts that the reader may see, by id; the first `most`.

        There are three runs: the posts; reposted posts and people; the companion.
        """
        facts = self._posts.known
        self._need(ids)
        if self._posts.missing:
            self._people.need(prefetch.writers(ids))
        if not self._posts.is_asked:
            self._people.expect(self._likely)
        run(self._posts, ahead=self._along)
        found = [one for ident in ids if (one := self._shown(facts.get(ident))) is not None]
        if self._followed_only:
            mine, followed = self._reader.id, self._reader.follows
            found = [one for one in found if one["author"] in followed or one["author"] == mine]
        people = {one["author"] for one in found}
        people |= {one["ref_author"] for one in found if one["ref_author"]}
        self._need([one["ref"] for one in found if one["ref"] is not None])
        self._people.need(people)
        run(self._posts, self._people, ahead=self._along[1:])
        for author, person in self._people.known.items():
            if person is not None and author in people:
                whole: Mapping[str, Any] = person
                self._faces[author] = {name: whole[name] for name in AUTHOR_FIELDS}
        if self._listed_only:
            found = [one for one in found if self._is_listed(one)]
        cards: dict[int, Card] = {}
        for one in found:
            card = self._card(one)
            if card is None:
                continue
            if one["kind"] == Kind.REPOST:
                source = None if one["ref"] is None else self._shown(facts.get(one["ref"]))
                card["ref"] = None if source is None else self._card(source)
                card["ref_gone"] = card["ref"] is None
            cards[int(card["id"])] = card
            if len(cards) == most:
                break
        if self._companion is not None:
            self._companion.apply(list(cards.values()))
        return cards

    def _need(self, ids: Sequence[int]) -> None:
        self._posts.need(ids)
        if self._companion is not None:
            self._companion.need(ids)

    def _shown(self, facts: Facts | None) -> Facts | None:
        if facts is None:
            return None
        seen = shows(self._reader, facts["author"], facts["visibility"], facts["named"])
        return facts if seen else None

    def _is_listed(self, facts: Facts) -> bool:
        known = self._people.known
        writers = (known.get(facts["author"]), known.get(facts["ref_author"] or 0))
        return not any(one is not None and one.get("is_limited") for one in writers)

    def _card(self, facts: Facts) -> Card | None:
        """Return the card for this reader; None if the author is banned or closed."""
        person = self._faces.get(facts["author"])
        if person is None:
            return None
        card = facts["card"].copy()
        card["author"], card["mine"] = person, facts["author"] == self._reader.id
        if card["poll"] is not None:
            card["poll"] = definition.for_reader(card["poll"])
        return card


def written(post: Post) -> Card:
    """Return a new post, not a repost, as its author sees it; its rows are not read again.

    Raises NotFound if the author was banned meanwhile.
    """
    person = accounts_queries.cards([post.author_id]).get(post.author_id)
    if person is None:
        raise NotFound
    card = _of_row(row_of(post), person)
    card["mine"] = True
    if (poll := card["poll"]) is not None:
        definition.fill(poll, 0, [0] * len(poll["options"]), [], mine=True)
    return card


def unchecked(ids: Collection[int]) -> dict[int, Card]:
    """Return posts by id, deleted ones too; whether a reader may see them is not asked.

    They are read from the tables, and a repost has no `ref`.
    """
    rows = [Row(*row) for row in Post.objects.filter(pk__in=ids).values_list(*COLUMNS.values())]
    people = accounts_queries.cards({row.author_id for row in rows}, closed=True)
    cards = {row.id: _of_row(row, people[row.author_id]) for row in rows}
    for card in cards.values():
        if card["poll"] is not None:
            card["poll"] = definition.for_reader(card["poll"])
    return cards


def _of_row(row: Row, person: Mapping[str, Any]) -> Card:
    card: Card = orjson.loads(pack(row, ()))["card"]
    card["author"] = {name: person[name] for name in AUTHOR_FIELDS}
    return card


@compiled
def _rows(ids: Collection[int]) -> "QuerySet[Post, Any]":
    there = Post.objects.filter(pk__in=ids, is_deleted=False, is_removed=False)
    return there.values_list(*COLUMNS.values())


def _named(ids: Collection[int]) -> Mapping[int, list[int]]:
    """Return the named people of posts; empty lists for other posts."""
    people: defaultdict[int, list[int]] = defaultdict(list)
    if ids:
        rows = PostAudience.objects.filter(post_id__in=ids).order_by("user_id")
        for post_id, user_id in rows.values_list("post_id", "user_id"):
            people[post_id].append(user_id)
    return people


class Posts(Values[Facts | None]):
    """Facts of posts, None for deleted ones; records the authors for the prefetch."""

    cache = cache.CARDS

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        """Read packed Facts in one query; b"" for deleted posts."""
        rows = [Row(*row) for row in _rows(idents)]
        named = _named([row.id for row in rows if row.visibility == Visibility.MENTIONED])
        packed = {row.id: pack(row, named[row.id]) for row in rows}
        return {ident: packed.get(ident, b"") for ident in idents}

    def decode(self, found: Mapping[int, bytes]) -> dict[int, Facts | None]:
        learned: dict[int, Facts | None] = {}
        for ident, packed in found.items():
            learned[ident] = facts = _unpack(ident, packed) if packed else None
            if facts is not None:
                prefetch.record_author(ident, facts["author"])
        return learned


# Unpacked values with their packed form: many readers see the same posts (E10).
_unpacked: Unpacked[Facts] = Unpacked(1_500_000)


def _unpack(ident: int, packed: bytes) -> Facts:
    known = _unpacked.get(ident)
    if known is not None and known[0] == packed:
        return known[1]
    facts: Facts = orjson.loads(packed)
    _unpacked.store(ident, packed, facts)
    return facts
