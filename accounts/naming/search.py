"""Find people by any part of a username or nickname.

The index has each pair of characters of both names, and single characters other than ASCII letters
and digits. Names that have all pairs of a text are compared with it. A single letter or digit is in
many names: they are found among the newest people.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from django.db.models import F, QuerySet

from accounts.models import NameTerm, SearchedName, User
from socialsite.core import ids as core_ids
from socialsite.core.db import replicas
from socialsite.core.db.compiled import compiled
from socialsite.core.db.replicas import Freshness
from socialsite.core.positions import MAX_TS_MS, Position
from socialsite.core.search import postings, words
from socialsite.core.text import folding
from socialsite.core.text.spans import without_at

INDEX = postings.Index(SearchedName, NameTerm)
BLOCK, BLOCK_MAX, GROWTH = 60, 1600, 4
STEP = 1000


def key_of(text: str) -> str:
    """Return a text or a name as both are compared; empty for nothing to find."""
    return " ".join(folding.plain(without_at(text)).split())[: User.NICKNAME_MAX]


def has(key: str, names: Iterable[str]) -> bool:
    """Return whether one of these names has a text."""
    return any(key in key_of(name) for name in names)


def terms_of(names: Iterable[str]) -> dict[int, int]:
    """Return the terms of a person's names, all with the weight 0."""
    found: set[str] = set()
    for name in names:
        key = key_of(name)
        found |= {one for one in key if not _is_plain(one)} | set(words.pairs(key))
    return {words.number(term): 0 for term in found}


def _is_plain(character: str) -> bool:
    return character.isascii() and character.isalnum()


def proposed(
    key: str, below: Position | None, first: int, freshness: Freshness
) -> Iterator[tuple[list[int], Position | None]]:
    """Yield ids of people whose names may have a text, the newest first, and where to go on.

    Usually everybody proposed for one or two characters has them: then `first` people are enough.
    """
    if len(key) == 1 and _is_plain(key):
        yield from _newest(below, freshness)
        return
    terms = [words.number(term) for term in dict.fromkeys(words.pairs(key) or [key])]
    size = first if len(terms) == 1 else BLOCK
    while True:
        block = replicas.read(freshness, postings.block, INDEX, terms, below, size)
        below = block.end
        yield [ident for _, _, ident in block.matches], below
        if below is None:
            return
        size = min(size * GROWTH, BLOCK_MAX)


def _newest(
    below: Position | None, freshness: Freshness
) -> Iterator[tuple[list[int], Position | None]]:
    last = core_ids.MAX_ID if below is None else below.id
    while True:
        ids = replicas.read(freshness, _ids_below, last, count=BLOCK)
        below = place_of(ids[-1]) if len(ids) == BLOCK else None
        yield ids, below
        if below is None:
            return
        last = below.id


@compiled
def _ids_below(last: int, *, count: int) -> "QuerySet[User, int]":
    people = User.objects.filter(pk__lt=last).order_by(F("id").desc())
    return people.values_list("pk", flat=True)[:count]


def place_of(user_id: int) -> Position:
    """Return the place of a person among all people."""
    return Position(min(max(core_ids.ms_of(user_id), 0), MAX_TS_MS), user_id)


# --- writes -------------------------------------------------------------------------------------
def refresh(user_id: int, *, whole: bool = False) -> bool:
    """Make the terms of a person those of their present names; return whether they changed."""
    read = partial(_present, user_id)
    return postings.write(INDEX, user_id, place_of(user_id).ts_ms, read, whole=whole)


def _present(user_id: int) -> Mapping[int, int]:
    people = User.objects.filter(pk=user_id).exclude(username_key__startswith=User.ERASED)
    names: QuerySet[User, tuple[str, str]] = people.values_list("username", "nickname")
    return terms_of(names.first() or ())


def rebuild(after: int) -> tuple[Sequence[int], int]:
    """Correct the terms of the next people; return their ids, and how many were wrong."""
    people = User.objects.filter(pk__gt=after).order_by("pk")
    people = people.exclude(username_key__startswith=User.ERASED)
    found = list(people.values_list("pk", "username", "nickname")[:STEP])
    wrong = 0
    for ident, *names in found:
        if not postings.is_right(INDEX, ident, place_of(ident).ts_ms, terms_of(names)):
            wrong += refresh(ident, whole=True)
    return [ident for ident, *_ in found], wrong
