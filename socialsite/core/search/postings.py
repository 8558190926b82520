"""An index of terms in the database. It lists the objects that have a term, newest first.

The rows of a term lie side by side in the order of lists (position, id), so a page of the newest
objects reads a few rows of each term, however many objects have it, and a cursor is a place in that
order. The tables are ordinary ones: transactions, backups and replicas treat them like all others.
docs/decisions/0017-search.md says why the full-text engines of the databases are not used.

Objects found may be out of date: the caller compares them with their present words.
"""

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection, models

from socialsite.core import db
from socialsite.core.db import Statement
from socialsite.core.db.routing import read_connection
from socialsite.core.positions import NEWEST, Position

# Terms of a question whose frequency is compared, and the rarest of them, which are combined. The
# caller compares the words themselves, which covers the other terms.
CONSIDERED, COMBINED = 24, 5
# The age of the object at this place of a term's list tells how rare the term is.
DEPTH = 100
BATCH = 500


class Posting(models.Model):
    """A term of an object; `weight` is its relevance."""

    pk = models.CompositePrimaryKey("term", "position", "object_id")
    term = models.BigIntegerField(help_text="number of the term")
    position = models.BigIntegerField(help_text="that of the object, Unix ms")
    object_id = models.BigIntegerField()
    weight = models.PositiveSmallIntegerField()

    class Meta:
        abstract = True


class Indexed(models.Model):
    """The terms of an object in the index, which find its rows when it changes."""

    object_id = models.BigIntegerField(primary_key=True)
    position = models.BigIntegerField()
    terms = models.BinaryField(help_text="numbers and weights of the terms, packed")

    class Meta:
        abstract = True


class Index(NamedTuple):
    """The two tables of an index."""

    objects: type[Indexed]
    postings: type[Posting]


# An object with all terms: the sum of their weights, its position and its id.
Match = tuple[int, int, int]


class Block(NamedTuple):
    """A part of an index: its matches, its first place, and the place where the next part begins.

    The matches have no order. `first` is None if nothing is left, `end` at the end of the index.
    """

    matches: list[Match]
    first: Position | None
    end: Position | None


# --- writes -------------------------------------------------------------------------------------
@db.atomic
def write(
    index: Index,
    ident: int,
    position: int,
    read: Callable[[], Mapping[int, int]],
    *,
    whole: bool = False,
) -> bool:
    """Make the rows of an object those of its present terms; return whether they changed.

    `read()` returns the weights of the terms by number. It is called under a lock, so the later of
    two concurrent writers reads the later words. An object without terms is removed. `whole`
    writes all rows anew, in case some were lost.
    """
    objects: Any = index.objects._default_manager
    db.ensure(index.objects(object_id=ident, position=position, terms=b""))
    row = objects.select_for_update().get(pk=ident)
    before, after = unpack(row.terms), dict(read())
    if not after:
        objects.filter(pk=ident).delete()
    elif before == after and row.position == position and not whole:
        return False
    else:
        objects.filter(pk=ident).update(position=position, terms=pack(after))
    whole = whole or row.position != position
    gone = [term for term, weight in before.items() if whole or after.get(term) != weight]
    new = [term for term, weight in after.items() if whole or before.get(term) != weight]
    _remove(index, ident, row.position, gone)
    _insert(index, ident, position, {term: after[term] for term in new})
    return bool(gone or new)


def _remove(index: Index, ident: int, position: int, terms: Sequence[int]) -> None:
    rows = index.postings._default_manager.filter(position=position, object_id=ident)
    for start in range(0, len(terms), BATCH):
        rows.filter(term__in=terms[start : start + BATCH]).delete()


def _insert(index: Index, ident: int, position: int, weights: Mapping[int, int]) -> None:
    # In one order, so that two writers do not wait for each other.
    rows = [
        index.postings(term=term, position=position, object_id=ident, weight=weights[term])
        for term in sorted(weights)
    ]
    index.postings._default_manager.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def is_right(index: Index, ident: int, position: int, wanted: Mapping[int, int]) -> bool:
    """Return whether the rows of an object are those of these terms."""
    row: Any = index.objects._default_manager.filter(pk=ident).first()
    if row is None:
        return not wanted
    if row.position != position or unpack(row.terms) != dict(wanted):
        return False
    rows: Any = index.postings._default_manager.filter(position=position, object_id=ident)
    terms, stored = list(wanted), dict[int, int]()
    for start in range(0, len(terms), BATCH):
        part = rows.filter(term__in=terms[start : start + BATCH])
        stored |= dict(part.values_list("term", "weight"))
    return stored == dict(wanted)


def pack(weights: Mapping[int, int]) -> bytes:
    """Return terms and weights as bytes."""
    terms = sorted(weights)
    packed = array("q", terms), array("H", [weights[term] for term in terms])
    return b"".join(part.tobytes() for part in packed)


def unpack(packed: bytes) -> dict[int, int]:
    """Return what `pack` packed."""
    count = len(packed) // 10
    terms, weights = array("q"), array("H")
    terms.frombytes(bytes(packed[: 8 * count]))
    weights.frombytes(bytes(packed[8 * count :]))
    return dict(zip(terms, weights, strict=True))


# --- reads --------------------------------------------------------------------------------------
def block(index: Index, terms: Collection[int], below: Position | None, size: int) -> Block:
    """Return the objects with all of these terms among the next `size` ones of the rarest term."""
    combined = _rarest(index, list(terms)[:CONSIDERED], below)
    rows = _rows(index, combined, below or NEWEST, size)
    places = [(position, ident) for _, position, ident in rows]
    found = [(score, position, ident) for score, position, ident in rows if score is not None]
    first = Position(*max(places)) if places else None
    return Block(found, first, Position(*min(places)) if len(places) == size else None)


def _rarest(index: Index, terms: list[int], below: Position | None) -> list[int]:
    """Return at most COMBINED of these terms, beginning with the rarest one here."""
    if len(terms) < 2:
        return terms
    newest = (below or NEWEST).ts_ms
    statements = [
        Statement(
            f"SELECT position, {number} FROM {_table(index)}"  # noqa: S608
            " WHERE term = %s AND position <= %s"
            f" ORDER BY position DESC LIMIT 1 OFFSET {DEPTH - 1}",
            (term, newest),
        )
        for number, term in enumerate(terms)
    ]
    found = db.read_union(*statements)
    depths = {term: rows[0][0] if rows else -1 for term, rows in zip(terms, found, strict=True)}
    return sorted(terms, key=lambda term: (depths[term], term))[:COMBINED]


def _rows(
    index: Index, terms: Sequence[int], below: Position, size: int
) -> Sequence[tuple[int | None, int, int]]:
    """Return the next places of the first term, each with its score if it has all terms.

    Each term is looked up only where all terms before it are.
    """
    table, (ts_ms, ident) = _table(index), below
    sql = (
        f"SELECT weight, position, object_id FROM {table} WHERE term = %s AND position <= %s"  # noqa: S608
        " AND (position < %s OR object_id < %s) ORDER BY position DESC, object_id DESC LIMIT %s"
    )
    if len(terms) > 1:
        weights = " + ".join(f"t{number}.weight" for number in range(len(terms)))
        joins = "".join(
            f" LEFT JOIN {table} t{number} ON t{number}.term = %s"
            f" AND t{number}.position = t{number - 1}.position"
            f" AND t{number}.object_id = t{number - 1}.object_id"
            for number in range(1, len(terms))
        )
        sql = f"SELECT {weights}, t0.position, t0.object_id FROM ({sql}) t0{joins}"  # noqa: S608
    with read_connection().cursor() as cursor:
        # Names come from the model; values are passed as parameters.
        cursor.execute(sql, [terms[0], ts_ms, ts_ms, ident, size, *terms[1:]])
        return cursor.fetchall()


def _table(index: Index) -> str:
    return connection.ops.quote_name(index.postings._meta.db_table)
