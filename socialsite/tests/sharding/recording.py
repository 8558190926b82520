"""Records which statements run, which function runs each, and whose rows a transaction changes."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from django.db import connection
from sqlglot import exp, parse_one

from deploy.services.site_processes import PROJECT_DIR
from deploy.vitess import vschema
from socialsite.core.sharding import Owned, Place, With
from socialsite.tests.sharding.routing import RETURNING, compared_values, plain

# What runs the statements of others.
CARRIERS = ("socialsite.core.db", "socialsite.core.cache")
# Applies the handlers of several events in one transaction, or of one.
RELAY = "socialsite.core.events.relay"
# The outbox has owners of its own: every action that publishes writes into the shard of an event.
OUTBOX = {"core_event", "core_streamrecord"}
CHANGES = ("INSERT", "UPDATE", "DELETE")
WHOLE = "whole"

Owners = set[str]


@dataclass
class Recorder:
    """The statements of a run, and the transactions with rows of several owners."""

    places: dict[str, Place]
    # Nothing is recorded without an address.
    address: str = ""
    # Text without values → the functions that ran it; and one address.
    functions: dict[str, set[str]] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    # The function of a transaction → tables that it changed for several owners.
    several: dict[str, set[str]] = field(default_factory=dict)
    _depth: int = 0
    _name: str = ""
    _changed: dict[str, Owners] = field(default_factory=dict)
    _resolving: bool = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Record the statements of the block."""
        with connection.execute_wrapper(self._record):
            yield

    def _record(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if self._resolving:
            return execute(sql, params, many, context)
        if self.address and "SAVEPOINT" not in sql:
            frames = [*frames_of(sys._getframe(1))]
            text = plain(sql)
            self.functions.setdefault(text, set()).add(running(frames))
            self.addresses.setdefault(text, self.address)
            if sql.startswith(CHANGES) and self._depth:
                # Before it runs: what it deletes has an owner now.
                self._change(sql, params or (), frames)
        result = execute(sql, params, many, context)
        if sql.startswith("SAVEPOINT"):
            self._depth += 1
        elif sql.startswith("RELEASE SAVEPOINT"):
            self._depth -= 1
            if not self._depth:
                self._end()
        return result

    def _end(self) -> None:
        """Keep the transaction if its rows have several owners."""
        changed, name = self._changed, self._name
        self._changed, self._name = {}, ""
        if len(set().union(*changed.values())) > 1:
            self.several.setdefault(name, set()).update(changed)

    # --- owners ---------------------------------------------------------------------------------
    def _change(self, sql: str, params: Sequence[Any], frames: Sequence[str]) -> None:
        tree = parse_one(re.sub(RETURNING, "", valued(sql, params)), dialect="mysql")
        target = tree.find(exp.Table)
        assert target is not None
        if target.name in OUTBOX:
            return
        self._name = self._name or acting(frames)
        owners = self._changed.setdefault(target.name, set())
        place = self.places[target.name]
        if not isinstance(place, Owned | With):
            owners.add(WHOLE)
            return
        self._resolving = True
        try:
            owners.update(self._owners(tree, target.name, place))
        finally:
            self._resolving = False

    def _owners(self, tree: exp.Expr, table: str, place: Owned | With) -> Owners:
        if isinstance(tree, exp.Insert):
            if not isinstance(tree.expression, exp.Values):
                return {f"rows of {table}"}
            at = [column.name for column in tree.this.expressions].index(place.column)
            values = [row.expressions[at].name for row in tree.expression.expressions]
            return {self._owner(table, place.column, value) for value in values}
        for column, values in compared_values(tree):
            if column in (place.column, "id"):
                return {self._owner(table, column, value) for value in values}
        return {f"rows of {table}"}

    def _owner(self, table: str, column: str, value: str) -> str:
        """Return the value whose hash is the shard of the rows with a value."""
        place = self.places[table]
        assert isinstance(place, Owned | With)
        if column == place.column:
            if isinstance(place, Owned):
                return value
            return self._owner(place.table, "id", value)
        key = vschema.model(table)._meta.pk.column
        with connection.cursor() as cursor:
            # The names come from models.
            cursor.execute(f"SELECT {place.column} FROM {table} WHERE {key} = %s", [value])  # noqa: S608
            row = cursor.fetchone()
        return "gone" if row is None else self._owner(table, place.column, str(row[0]))


def valued(sql: str, params: Sequence[Any]) -> str:
    """Return a statement with its values, for a parser."""

    def literal(value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool | int):
            return str(int(value))
        return "'" + re.sub(r"[^\w .@:-]", "", str(value)) + "'"

    values = iter(params)
    return re.sub(r"%(.)", lambda hit: literal(next(values)) if hit[1] == "s" else hit[1], sql)


# --- functions ------------------------------------------------------------------------------------
def frames_of(frame: FrameType | None) -> Iterator[str]:
    """Yield module and name of the functions of the site that run, the innermost first."""
    while frame is not None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        inside = path.removeprefix(f"{PROJECT_DIR}/")
        if inside != path and not inside.startswith(".venv") and name[0] != "<":
            module = str(Path(inside).with_suffix("")).replace("/", ".").removesuffix(".__init__")
            yield f"{module}.{name}"
        frame = frame.f_back


def running(frames: Sequence[str]) -> str:
    """Return the function that runs a statement, without what carries it."""
    ours = [name for name in frames if not name.startswith(CARRIERS) and ".tests." not in name]
    return ours[0] if ours else "tests"


def acting(frames: Sequence[str]) -> str:
    """Return the function of the outermost transaction; that of the relay for handlers."""
    inside = [place for place, name in enumerate(frames) if name == "socialsite.core.db.run"]
    if not inside:
        return running(frames)
    outermost = inside[-1]
    called = [name for name in frames[:outermost] if not name.startswith(CARRIERS)]
    if not called:
        return running(frames)
    return RELAY if called[-1].startswith(RELAY) else called[-1]
