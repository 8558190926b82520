"""Hydration: from the ids of an index to what a reader sees (A24, C11, E9).

The parts of a post that are the same for everybody are cached by its id, people by theirs; whether
this reader may see it is asked after the cache (T48b), and what belongs to the reader alone is put
on top by a companion, in the same round trips.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict

import orjson
from django.db.models import QuerySet

from accounts import queries as accounts
from feeds import cache, foresight, video
from feeds.models import Kind, Post
from feeds.readers import Reader
from feeds.visibility import shows
from socialsite.core import media
from socialsite.core.json import iso
from socialsite.core.prepared import prepared
from socialsite.core.redis import Batch
from socialsite.core.unpacked import Unpacked

AUTHOR_FIELDS = ("id", "username", "nickname", "avatar")


class Image(TypedDict):
    """One picture of a post; `width` and `height` are those of the full picture in pixels."""

    id: str
    url: str
    thumb: str
    width: int
    height: int
    alt: str


class Card(TypedDict):
    """A post as a reader sees it. Counts and what the reader did are filled in by interactions.

    `position` is the publish time in Unix ms, which `created_at` says for people.
    """

    id: str
    kind: str
    author: dict[str, Any]
    title: str
    content: str
    images: list[Image]
    video_url: str
    created_at: str
    position: int
    visibility: str
    like_count: int
    comment_count: int
    repost_count: int
    bookmark_count: int
    liked: bool
    bookmarked: bool
    reposted: bool
    mine: bool
    ref: "Card | None"
    ref_gone: bool


class Facts(TypedDict):
    """The cached parts of a post that is not deleted; `ref` is the post it reposts.

    `card` is its Card but for what depends on the reader or changes: to be filled in a copy only.
    """

    author: int
    visibility: str
    kind: str
    ref: int | None
    ref_author: int | None
    card: Card


class Companion(Protocol):
    """Puts on cards what another app knows of posts, asked for in the same batches."""

    def ask(self, batch: Batch, ids: Collection[int]) -> None:
        """Add the reads for some posts to a batch."""

    def prepare(self, batch: Batch, ids: Collection[int]) -> None:
        """Add what is needed to cache what was asked for in vain to a batch."""

    def apply(self, cards: Sequence[Card]) -> None:
        """Fill in the cards, after the batches have run."""


class Hydration:
    """The cards of one page, in as few round trips as there is something to ask.

    With `followed_only` posts of others than the reader and the followed are left out: a cached
    inbox may still have those of somebody who was followed a moment ago (T41).
    """

    def __init__(
        self, reader: Reader, companion: Companion | None = None, *, followed_only: bool = False
    ) -> None:
        self._reader, self._companion = reader, companion
        self._followed_only = followed_only
        self._likely: set[int] = set()
        self._facts: dict[int, Facts | None] = {}
        self._missing: set[int] = set()
        self._asked: list[tuple[Collection[int], Any]] = []
        self._wanted: set[int] = set()
        self._people: dict[int, dict[str, Any]] = {}
        self._people_asked: list[accounts.AskedCards] = []
        self._people_wanted: set[int] = set()

    def ask(self, batch: Batch, ids: Iterable[int], authors: Iterable[int] = ()) -> None:
        """Add the reads of posts, and of people known to be their authors, to a batch."""
        fresh = [ident for ident in ids if ident not in self._wanted]
        if fresh:
            self._wanted.update(fresh)
            self._asked.append((fresh, cache.CARDS.ask(batch, fresh)))
            if self._companion is not None:
                self._companion.ask(batch, fresh)
        people = {author for author in authors if author not in self._people_wanted}
        if people:
            self._people_wanted |= people
            self._people_asked.append(accounts.ask_cards(batch, people))

    def expect(self, authors: Iterable[int]) -> None:
        """Say who wrote some of the posts that come next: they are asked for along with them."""
        self._likely.update(authors)

    def cards(self, ids: Sequence[int], most: int | None = None) -> dict[int, Card]:
        """Return the cards of those posts that the reader may see, by id; the first `most`.

        Two round trips, one more for the sources of reposts.
        """
        self._collect()
        known = [facts["author"] for facts in self._facts.values() if facts is not None]
        fresh = [ident for ident in ids if ident not in self._wanted]
        self._ask_now(fresh, {*known, *foresight.writers(fresh), *(self._likely if fresh else ())})
        self._load(ids)
        found = [facts for ident in ids if (facts := self._shown(ident)) is not None]
        if self._followed_only:
            mine, followed = self._reader.id, self._reader.follows
            found = [one for one in found if one["author"] in followed or one["author"] == mine]
        sources = [facts["ref"] for facts in found if facts["ref"] is not None]
        people = [facts["author"] for facts in found]
        people += [facts["ref_author"] for facts in found if facts["ref_author"]]
        self._ask_now(sources, people)
        self._load(sources)
        self._meet(set(people))
        cards: dict[int, Card] = {}
        for facts in found:
            card = self._card(facts)
            if card is None:
                continue
            if facts["kind"] == Kind.REPOST:
                source = None if facts["ref"] is None else self._shown(facts["ref"])
                card["ref"] = None if source is None else self._card(source)
                card["ref_gone"] = card["ref"] is None
            cards[int(card["id"])] = card
            if len(cards) == most:
                break
        if self._companion is not None:
            self._companion.apply(list(cards.values()))
        return cards

    def _ask_now(self, ids: Iterable[int], authors: Iterable[int]) -> None:
        batch = Batch()
        self.ask(batch, ids, authors)
        batch.run()
        self._collect()

    def _collect(self) -> None:
        """Take the posts that were asked for."""
        for ids, asked in self._asked:
            found = asked.found
            for ident in ids:
                if ident in found:
                    self._facts[ident] = self._learned(ident, found[ident])
                else:
                    self._missing.add(ident)
        self._asked = []

    def _meet(self, needed: set[int]) -> None:
        """Take the people who were asked for; of those asked for in vain, only the needed."""
        for people in self._people_asked:
            for author, person in people.cards(needed).items():
                whole: Mapping[str, Any] = person
                self._people[author] = {name: whole[name] for name in AUTHOR_FIELDS}
        self._people_asked = []
        self._people_wanted &= self._people.keys() | needed

    def _load(self, ids: Collection[int]) -> None:
        """Read posts that no cache has from the database; of those asked for too early, none."""
        missing = self._missing.intersection(ids)
        if not missing:
            return
        self._missing -= missing
        # Where the posts are lost, so is what goes with them: the leases of all in one round trip.
        batch = Batch()
        lease = cache.CARDS.lease(batch, missing)
        for people in self._people_asked:
            people.prepare(batch, foresight.writers(missing))
        if self._companion is not None:
            self._companion.prepare(batch, missing)
        batch.run()
        for ident, packed in cache.CARDS.load(missing, read_facts, lease).items():
            self._facts[ident] = self._learned(ident, packed)

    @staticmethod
    def _learned(ident: int, packed: bytes) -> Facts | None:
        if not packed:
            return None
        facts = _unpack(ident, packed)
        foresight.wrote(ident, facts["author"])
        return facts

    def _shown(self, ident: int) -> Facts | None:
        facts = self._facts.get(ident)
        if facts is None or not shows(self._reader, facts["author"], facts["visibility"]):
            return None
        return facts

    def _card(self, facts: Facts) -> Card | None:
        """Fill in what the reader makes of a post; None of a banned or closed author."""
        person = self._people.get(facts["author"])
        if person is None:
            return None
        card = facts["card"].copy()
        card["author"], card["mine"] = person, facts["author"] == self._reader.id
        return card


@prepared
def _rows(ids: Collection[int]) -> "QuerySet[Post, Any]":
    return Post.objects.filter(pk__in=ids, is_deleted=False).values_list(
        "id",
        "author_id",
        "kind",
        "position",
        "visibility",
        "ref_post_id",
        "ref_post__author_id",
        "content_row__title",
        "content_row__content",
        "content_row__images",
        "content_row__video_url",
    )


def read_facts(ids: Collection[int]) -> dict[int, bytes]:
    """Read packed Facts of posts from the database in one query; b"" for those that are gone."""
    found = {row[0]: _pack(*row) for row in _rows(ids)}
    return {ident: found.get(ident, b"") for ident in ids}


# What was unpacked last, beside the text it came from: many readers are shown the same posts (E10).
_unpacked: Unpacked[Facts] = Unpacked(4_000_000)


def _unpack(ident: int, packed: bytes) -> Facts:
    known = _unpacked.get(ident)
    if known is not None and known[0] == packed:
        return known[1]
    facts: Facts = orjson.loads(packed)
    _unpacked.keep(ident, packed, facts)
    return facts


def _pack(
    ident: int,
    author: int,
    kind: str,
    position: int,
    visibility: str,
    ref: int | None,
    ref_author: int | None,
    title: str,
    content: str,
    images: list[dict[str, Any]],
    video_url: str,
) -> bytes:
    card = Card(
        id=str(ident),
        kind=kind,
        author={},
        title=title,
        content=content,
        images=[
            Image(
                id=image["id"],
                url=media.url_of(image["name"]),
                thumb=media.url_of(image["thumb"]),
                width=image["width"],
                height=image["height"],
                alt=image["alt"],
            )
            for image in images
        ],
        # What older versions took is not given to anybody.
        video_url=video_url if video.host_of(video_url) else "",
        created_at=iso(position),
        position=position,
        visibility=visibility,
        like_count=0,
        comment_count=0,
        repost_count=0,
        bookmark_count=0,
        liked=False,
        bookmarked=False,
        reposted=False,
        mine=False,
        ref=None,
        ref_gone=False,
    )
    facts = Facts(
        author=author, visibility=visibility, kind=kind, ref=ref, ref_author=ref_author, card=card
    )
    return orjson.dumps(facts)
