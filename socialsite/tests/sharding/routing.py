"""Where Vitess sends a statement: a model of its planner, for statements as the site writes them.

A source of a statement is a table in its FROM. It is found

- by value: its owner's column, or a column with a lookup, is compared with values;
- beside another source: both are compared on columns with the same vindex, so their rows are in the
  same shard;
- after another source: its column with a vindex is compared with a column or subselect that is read
  before, so each step names the owner by value;
- or not at all: every shard is asked.

Vitess refuses a few forms across shards (`go/vt/vtgate/planbuilder`): a subselect in an OR, a
subselect of a value that depends on rows outside, a change of a vindex's column, and changes with
subselects or limits. They are found as well.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache

import sqlglot
from sqlglot import exp

from deploy.vitess import vschema
from socialsite.core.sharding import Owned, Place, With

# MariaDB returns the ids that it numbered; on MySQL Django asks for the last one.
RETURNING = r" RETURNING `\w+`\.`\w+`$"
NO_STATEMENTS = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK", "SET ", "ANALYZE", "SELECT 1")
Query = exp.Select | exp.Update | exp.Delete


class How(IntEnum):
    """How the shard of a source is found; from `ALL` on a statement needs a reason."""

    WHOLE = 0
    VALUE = 1
    BESIDE = 2
    AFTER = 3
    ALL = 4
    MOVED = 5
    REFUSED = 6


@dataclass(frozen=True)
class Use:
    """A table in a statement."""

    table: str
    how: How
    why: str = ""


@dataclass
class Source:
    """A table of one FROM, and how its shard is found."""

    table: str
    how: How
    # The sources in the same shard have the same group.
    group: object = field(default_factory=object)


Sources = dict[str, Source]


def plain(sql: str) -> str:
    """Return a statement with values for its placeholders, the same for lists of any length."""
    sql = sql.replace("%s", "1").replace("%%", "%")
    sql = re.sub(r"\b1(?:, 1)+", "1, 1", sql)
    return re.sub(r"(\(1(?:, 1)?\))(?:, \(1(?:, 1)?\))+", r"\1", sql)


class Router:
    """Finds the shards of statements, by the places of tables."""

    def __init__(self, places: dict[str, Place]) -> None:
        self.places = places

    @cache  # noqa: B019  (one router lives as long as its test)
    def uses(self, sql: str) -> tuple[Use, ...]:
        """Return the tables that a statement uses; `sql` is `plain`."""
        if sql.upper().startswith(NO_STATEMENTS):
            return ()
        tree = sqlglot.parse_one(re.sub(RETURNING, "", sql), dialect="mysql")
        if isinstance(tree, exp.Insert):
            return (*self._insert(tree),)
        return (*self._query(tree, {}),)

    # --- vindexes -------------------------------------------------------------------------------
    def vindexes(self, table: str) -> dict[str, str]:
        """Return column and vindex of a table: the owner's column first."""
        place = self.places.get(table)
        if not isinstance(place, Owned | With):
            return {}
        found = {column: vschema.lookup(table, column) for column in place.shared}
        found |= {column: vschema.lookup(table, column) for column in place.lookups}
        found |= {column: vschema.lookup(other, "id") for column, other in place.beside}
        return {place.column: vschema.primary(place)} | found

    # --- statements -----------------------------------------------------------------------------
    def _insert(self, tree: exp.Insert) -> Iterator[Use]:
        target = tree.this
        table, columns = target.this.name, [column.name for column in target.expressions]
        place = self.places.get(table)
        if isinstance(place, Owned | With):
            yield self._inserted(tree, table, columns, place)
        else:
            yield Use(table, How.WHOLE)
        if not isinstance(tree.expression, exp.Values):
            yield from self._query(tree.expression, {})

    def _inserted(self, tree: exp.Insert, table: str, columns: list[str], place: Place) -> Use:
        assert isinstance(place, Owned | With)
        if tree.args.get("conflict"):
            for change in tree.args["conflict"].expressions:
                column = change.this.name
                if column in self.vindexes(table) and not _is_value_of(change.expression, column):
                    return Use(table, How.REFUSED, f"ON DUPLICATE KEY UPDATE {column}")
        if place.column not in columns:
            return Use(table, How.REFUSED, f"INSERT without {place.column}")
        if isinstance(tree.expression, exp.Values):
            return Use(table, How.VALUE)
        chosen = tree.expression.selects[columns.index(place.column)].unalias()
        return Use(table, How.VALUE if _is_value(chosen) else How.MOVED)

    def _query(self, tree: exp.Expr, outer: Sources) -> Iterator[Use]:
        if isinstance(tree, exp.Subquery):
            yield from self._query(tree.this, outer)
        elif isinstance(tree, exp.SetOperation):
            yield from self._query(tree.left, outer)
            yield from self._query(tree.right, outer)
        elif isinstance(tree, exp.Select | exp.Update | exp.Delete):
            yield from self._block(tree, outer)
        else:
            raise TypeError(f"not a statement that is known: {tree.sql(dialect='mysql')[:300]}")

    def _block(self, tree: Query, outer: Sources) -> Iterator[Use]:
        found, derived = self._sources(tree)
        for inner in derived:
            yield from self._query(inner, outer)
        conditions = [*_conditions(tree)]
        while self._find(found, outer, conditions):
            pass
        inside = [*self._subselects(tree, found, outer)]
        crossing = len({id(one.group) for one in found.values() if one.how}) > 1 or any(
            one.how == How.ALL for one in found.values()
        )
        changing = not isinstance(tree, exp.Select)
        for source in found.values():
            if changing and source.how == How.ALL and tree.args.get("limit"):
                yield Use(source.table, How.REFUSED, "a change of all shards with a limit")
            elif changing and (crossing and len(found) > 1):
                yield Use(source.table, How.REFUSED, "a change of joined tables")
            elif changing and (column := self._changed(tree, source.table)):
                yield Use(source.table, How.REFUSED, f"SET {column}")
            else:
                yield Use(source.table, source.how)
        yield from inside

    def _changed(self, tree: Query, table: str) -> str | None:
        """Return the owner's column if an UPDATE sets it."""
        if not isinstance(tree, exp.Update):
            return None
        owner = next(iter(self.vindexes(table)), None)
        return next((one.this.name for one in tree.expressions if one.this.name == owner), None)

    def _sources(self, tree: Query) -> tuple[Sources, list[exp.Expr]]:
        """Return the tables of a FROM, and its derived tables."""
        first = tree.this if not isinstance(tree, exp.Select) else None
        origin = tree.args.get("from_") or tree.args.get("from")
        nodes = [first] if isinstance(first, exp.Table) else [origin.this] if origin else []
        if nodes:
            nodes += [join.this for join in nodes[0].args.get("joins") or []]
        nodes += [join.this for join in tree.args.get("joins") or []]
        found: Sources = {}
        derived = []
        for node in nodes:
            if isinstance(node, exp.Table):
                place = self.places.get(node.name)
                how = How.ALL if isinstance(place, Owned | With) else How.WHOLE
                found[node.alias_or_name] = Source(node.name, how)
            else:
                derived.append(node)
        return found, derived

    # --- how sources are found ------------------------------------------------------------------
    def _find(self, found: Sources, outer: Sources, conditions: list[exp.Expr]) -> bool:
        """Find the shard of one more source, or a better way to it; return whether one was."""
        for condition in conditions:
            for column, other in _compared(condition):
                source = self._of(column, found)
                if source is None or source.how in (How.WHOLE, How.VALUE):
                    continue
                vindex = self.vindexes(source.table).get(column.name)
                if vindex is None:
                    continue
                how, group = self._way(vindex, other, found, outer)
                if how < source.how:
                    source.how, source.group = how, group or source.group
                    return True
        return False

    def _way(
        self, vindex: str, other: exp.Expr, found: Sources, outer: Sources
    ) -> tuple[How, object]:
        if _is_value(other):
            return How.VALUE, None
        if isinstance(other, exp.Query | exp.Subquery):
            return How.AFTER, None
        if isinstance(other, exp.Column):
            known = self._of(other, found) or self._of(other, outer)
            if known is not None and known.how < How.ALL:
                if self.vindexes(known.table).get(other.name) == vindex:
                    return How.BESIDE, known.group
                return How.AFTER, None
            if known is not None and self.vindexes(known.table).get(other.name) == vindex:
                # In the shard of a row that is looked for in all shards.
                return (
                    (How.BESIDE, known.group)
                    if known.how == How.ALL and outer
                    else (
                        How.ALL,
                        None,
                    )
                )
        return How.ALL, None

    def _of(self, column: exp.Column, sources: Sources) -> Source | None:
        if column.table:
            return sources.get(column.table)
        return next(iter(sources.values())) if len(sources) == 1 else None

    # --- subselects -----------------------------------------------------------------------------
    def _subselects(self, tree: Query, found: Sources, outer: Sources) -> Iterator[Use]:
        for inner in _direct_subselects(tree):
            uses = [*self._query(inner, {**outer, **found})]
            beside = all(use.how in (How.WHOLE, How.BESIDE) for use in uses)
            correlated = any(
                column.table in found or column.table in outer
                for column in inner.find_all(exp.Column)
                if column.table not in _names(inner)
            )
            why = ""
            if not beside and isinstance(tree, exp.Update | exp.Delete):
                why = "a change with a subselect"
            elif not beside and correlated and not isinstance(inner.parent, exp.Exists):
                why = "a subselect that depends on rows outside"
            elif not beside and not _at_top(inner, tree):
                why = "a subselect in an OR"
            for use in uses:
                refused = why and use.how not in (How.WHOLE, How.BESIDE)
                yield Use(use.table, How.REFUSED, why) if refused else use


# --- parts of statements --------------------------------------------------------------------------
def _is_value(node: exp.Expr) -> bool:
    """Return whether a side of a comparison has only values."""
    return not any(node.find_all(exp.Column, exp.Query, exp.Subquery))


def _is_value_of(node: exp.Expr, column: str) -> bool:
    """Return whether an expression is VALUES(column), which Vitess permits."""
    return node.name != column or not isinstance(node, exp.Column)


def _conditions(tree: Query) -> Iterator[exp.Expr]:
    """Yield what must be true: of WHERE and of all joins."""
    nodes = [where.this] if (where := tree.args.get("where")) else []
    joins = [*(tree.args.get("joins") or [])]
    if origin := tree.args.get("from_") or tree.args.get("from"):
        joins += origin.this.args.get("joins") or []
    nodes += [join.args["on"] for join in joins if join.args.get("on")]
    for node in nodes:
        yield from _and(node)


def _and(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _and(node.left)
        yield from _and(node.right)
    else:
        yield node


def _compared(node: exp.Expr) -> Iterator[tuple[exp.Column, exp.Expr]]:
    """Yield a column and what it must be equal to."""
    if isinstance(node, exp.EQ):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            column = one.unnest()
            if isinstance(column, exp.Column):
                yield column, other.unnest()
    elif isinstance(node, exp.In) and isinstance(node.this, exp.Column):
        if query := node.args.get("query"):
            yield node.this, query
        elif all(_is_value(one) for one in node.expressions):
            yield node.this, node.expressions[0]


def _direct_subselects(tree: Query) -> Iterator[exp.Select]:
    """Yield the subselects in conditions and columns, not those within them."""
    origin = tree.args.get("from_") or tree.args.get("from")
    for inner in tree.find_all(exp.Select):
        if inner is tree:
            continue
        parent = inner.parent
        while parent is not None and parent is not tree:
            if isinstance(parent, exp.Select) or parent is origin:
                break
            parent = parent.parent
        if parent is tree:
            yield inner


def _names(inner: exp.Select) -> set[str]:
    return {table.alias_or_name for table in inner.find_all(exp.Table)}


def _at_top(inner: exp.Select, tree: Query) -> bool:
    """Return whether a subselect is a condition by itself, or gives one value."""
    node: exp.Expr = inner
    while isinstance(node.parent, exp.Subquery | exp.Paren):
        node = node.parent
    if not isinstance(node.parent, exp.In | exp.Exists):
        return True
    node = node.parent
    while (parent := node.parent) is not None and parent is not tree:
        if not isinstance(parent, exp.And | exp.Not | exp.Paren | exp.Where):
            return False
        node = parent
    return True


def compared_values(tree: exp.Expr) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns that a change compares with values, and the values."""
    assert isinstance(tree, exp.Update | exp.Delete)
    for condition in _conditions(tree):
        for column, other in _compared(condition):
            if isinstance(condition, exp.In) and _is_value(other):
                yield column.name, [one.name for one in condition.expressions]
            elif _is_value(other):
                yield column.name, [other.name]
