"""Queries of a fixed shape, built once: Django takes longer to build a query than to run it.

Queries are still written only with the ORM, and values are passed as parameters.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec

from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.models import QuerySet, Value
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    get_related_populators,
)
from django.db.models.sql import DeleteQuery, UpdateQuery
from django.db.transaction import TransactionManagementError

from socialsite.core import db
from socialsite.core.db import Statement
from socialsite.core.db.routing import read_connection

P = ParamSpec("P")

# Placeholders for values while a query is built: numbers and texts that no query contains by
# itself, so far apart that `value + 1` is not taken for another one.
_STAND_IN, _STEP = 7 * 10**17, 1000
_TEXT = "stand-in "
# Kinds of an argument: an int, a text, None, or a number of ints.
_AN_INT, _A_TEXT, _NONE = -1, -2, -3
# Built queries cached per function: one for every length of a collection.
KEPT = 512


class Compiled(Generic[P]):
    """A query defined by a function; calling it returns the rows."""

    def __init__(self, make: Callable[P, Any]) -> None:
        functools.update_wrapper(self, make)
        self._built = functools.lru_cache(KEPT)(
            lambda shape, names, place: _Built(make, shape, dict(names), place)
        )
        self._columns: int | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[Any]:
        """Run the query."""
        found = self._bound(args, kwargs)
        return [] if found is None else found[0].rows(found[1])

    def first(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the query; return its first row, None if there is none."""
        return next(iter(self(*args, **kwargs)), None)

    def statement(self, *args: P.args, **kwargs: P.kwargs) -> Statement:
        """Return the statement, to be part of another one; no collection may be empty."""
        built, values = self._found(args, kwargs)
        return built.statement(values)

    def columns(self, args: Any, kwargs: Any) -> int:
        """Return the number of columns, the same for all arguments."""
        if self._columns is None:
            self._columns = self._found(args, kwargs)[0].columns
        return self._columns

    def part(self, place: "Place", args: Any, kwargs: Any) -> Statement:
        """Return the statement with the columns of its place in a union."""
        built, values = self._found(args, kwargs, place)
        return built.statement(values)

    def _found(
        self, args: Any, kwargs: Any, place: "Place | None" = None
    ) -> "tuple[_Built, list[Any]]":
        if (found := self._bound(args, kwargs, place)) is None:
            raise ValueError("there is no statement for an empty collection")
        return found

    def _bound(
        self, args: Any, kwargs: Any, place: "Place | None" = None
    ) -> "tuple[_Built, list[Any]] | None":
        """Return the built query for arguments of these kinds, and their values."""
        shape: list[int] = []
        values: list[Any] = []
        for value in args:
            if value is None:
                shape.append(_NONE)
            elif isinstance(value, int):
                shape.append(_AN_INT)
                values.append(int(value))
            elif isinstance(value, str):
                shape.append(_A_TEXT)
                values.append(str(value))
            else:
                many = list(value)
                shape.append(len(many))
                values += many
        if 0 in shape:
            return None
        return self._built(tuple(shape), tuple(sorted(kwargs.items())), place), values


def compiled(make: Callable[P, Any]) -> Compiled[P]:
    """Turn a function that returns a queryset into one that returns its rows.

    The queryset is a `values_list`, or one of models with `select_related` at most. The arguments
    are ints, texts, choices and collections of ints, and become parameters; an empty collection
    gives no rows. None stays None. Values that must be part of the statement, such as a limit, are
    passed by name.
    """
    return Compiled(make)


class Place(NamedTuple):
    """The place of a query in a union: it has so many columns, and then its number, from 0."""

    columns: int
    number: int

    def padded(self, rows: "QuerySet[Any, Any]") -> "QuerySet[Any, Any]":
        """Return a `values_list` with its additional columns."""
        own = rows._fields  # type: ignore[attr-defined]
        padding = [Value(0)] * (self.columns - len(own))
        return rows.values_list(*own, *padding, Value(self.number))


class UnionRead:
    """Compiled queries that are `add`ed one by one and run as one statement, at the same moment.

    All columns are integers.
    """

    def __init__(self) -> None:
        self._queries: list[tuple[Compiled[...], Any, Any]] = []
        self._found: list[list[Any]] = []

    def add(self, query: Compiled[P], *args: P.args, **kwargs: P.kwargs) -> list[Any]:
        """Add a query; return the list that `run` fills with its rows, in no order."""
        self._queries.append((query, args, kwargs))
        found: list[Any] = []
        self._found.append(found)
        return found

    def run(self) -> None:
        """Run the queries, if there are any."""
        if not self._queries:
            return
        widths = [query.columns(args, kwargs) for query, args, kwargs in self._queries]
        most = max(widths)
        parts = [
            query.part(Place(most, number), args, kwargs)
            for number, (query, args, kwargs) in enumerate(self._queries)
        ]
        for found, rows, width in zip(self._found, db.read_union(*parts), widths, strict=True):
            found += [row[:width] for row in rows]


class CompiledWrite(Compiled[P]):
    """An update or a deletion defined by a function; calling it returns the number of rows."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> int:  # type: ignore[override]
        """Run the statement."""
        with connection.cursor() as cursor:
            cursor.execute(*self.statement(*args, **kwargs))
            return int(cursor.rowcount)


def compiled_update(
    make: "Callable[P, tuple[QuerySet[Any, Any], dict[str, Any]]]",
) -> CompiledWrite[P]:
    """Turn a function that returns a queryset and its new values into one that updates its rows."""
    return CompiledWrite(make)


def compiled_delete(make: "Callable[P, QuerySet[Any, Any]]") -> CompiledWrite[P]:
    """Turn a function that returns a queryset into one that deletes its rows.

    Unlike Django's `delete` it sends no signals and deletes no rows of other tables.
    """

    @functools.wraps(make)
    def rows(*args: P.args, **kwargs: P.kwargs) -> tuple[QuerySet[Any, Any], None]:
        return make(*args, **kwargs), None

    return CompiledWrite(rows)


class _Built:
    """One statement, and the argument that belongs to each of its parameters."""

    def __init__(
        self,
        make: Callable[..., Any],
        shape: tuple[int, ...],
        names: dict[str, Any],
        place: Place | None,
    ) -> None:
        stand_ins: list[Any] = []
        count = 0
        for kind in shape:
            first = _STAND_IN + count * _STEP
            if kind == _NONE:
                stand_ins.append(None)
                continue
            if kind == _AN_INT:
                stand_ins.append(first)
            elif kind == _A_TEXT:
                stand_ins.append(f"{_TEXT}{first}")
            else:
                stand_ins.append([first + number * _STEP for number in range(kind)])
            count += max(kind, 1)
        made = make(*stand_ins, **names)
        queryset, values = made if isinstance(made, tuple) else (made, {})
        if place is not None:
            queryset = place.padded(queryset)
        query = queryset.query
        if values is None:
            query = query.chain(DeleteQuery)
        elif values:
            query = query.chain(UpdateQuery)
            query.add_update_values(values)
        # Not kept: it belongs to the connection of this thread, and holds the whole query.
        compiler = query.get_compiler(DEFAULT_DB_ALIAS)
        self._sql, parameters = compiler.as_sql()
        self._parameters = [_index(value, count) for value in parameters]
        used = {place for place, _ in self._parameters if place is not None}
        if used != set(range(count)):
            raise ValueError(f"not every value is a parameter of {self._sql}")
        columns = [column[0] for column in compiler.select or ()]
        self.columns = len(columns)
        # Index and expression of each column with converters.
        self._converted = [(i, columns[i]) for i in compiler.get_converters(columns)]
        self._is_locking = query.select_for_update
        self._is_flat = queryset._iterable_class is FlatValuesListIterable
        is_model = queryset._iterable_class is ModelIterable and values == {}
        if is_model and (query.annotation_select or queryset._prefetch_related_lookups):
            raise ValueError("a compiled query of models has no annotations and prefetches nothing")
        self._instance = _instance_maker(compiler) if is_model else None

    def statement(self, values: Sequence[Any]) -> Statement:
        """Return the statement with its parameters."""
        return Statement(
            self._sql,
            [constant if place is None else values[place] for place, constant in self._parameters],
        )

    def rows(self, values: Sequence[Any]) -> list[Any]:
        """Run the statement. Raises TransactionManagementError for a lock without a transaction."""
        if self._is_locking and not connection.in_atomic_block:
            raise TransactionManagementError("select_for_update needs a transaction")
        source = connection if self._is_locking else read_connection()
        with source.cursor() as cursor:
            cursor.execute(*self.statement(values))
            rows = cursor.fetchall()
        if self._converted:
            rows = self._convert(rows)
        if self._instance is not None:
            return [self._instance(row) for row in rows]
        return [row[0] for row in rows] if self._is_flat else list(rows)

    def _convert(self, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Convert rows as `SQLCompiler.apply_converters` does, for this thread's connection."""
        found = [list(row) for row in rows]
        for place, column in self._converted:
            converters = connection.ops.get_db_converters(column)
            for convert in [*converters, *column.get_db_converters(connection)]:
                for row in found:
                    row[place] = convert(row[place], column, connection)
        return [tuple(row) for row in found]


def _instance_maker(compiler: Any) -> Callable[[Sequence[Any]], models.Model]:
    """Return the function that makes an instance of a row, as `ModelIterable` does."""
    fields = compiler.klass_info["select_fields"]
    own = slice(fields[0], fields[-1] + 1)
    names = [column[0].target.attname for column in compiler.select[own]]
    # The type stubs are those of a later Django, which takes one argument more.
    related = get_related_populators(  # type: ignore[call-arg]
        compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS
    )
    from_db = compiler.klass_info["model"].from_db

    def instance(row: Sequence[Any]) -> models.Model:
        made: models.Model = from_db(DEFAULT_DB_ALIAS, names, row[own])
        for populator in related:
            populator.populate(row, made)
        return made

    return instance


def _index(value: Any, count: int) -> tuple[int | None, Any]:
    """Return the index of the argument behind a parameter, or None and the parameter itself."""
    if isinstance(value, str) and value.startswith(_TEXT):
        value = int(value.removeprefix(_TEXT))
    if isinstance(value, int) and _STAND_IN <= value < _STAND_IN + count * _STEP:
        place, changed = divmod(value - _STAND_IN, _STEP)
        if changed:
            raise ValueError("an argument is changed before it becomes a parameter")
        return place, None
    return None, value
