"""Which shard has which row, if the database is split by Vitess: each app names its tables.

The module `owners` of an app maps each of its tables to a place:

- `Owned(column)`: the column names the owner of a row, mostly a person, and its value the shard.
  `lookups` are other unique columns by which a statement finds a row: Vitess keeps a table of
  each, from the value to the shard. `shared` are such columns with values that several rows have;
  `beside` are columns that name a row of another table that always lies in the same shard.
- `With(table, column)`: a row lies where the row of another table lies that its column names. That
  table has a lookup of this column's values.
- `Copied(reason)`: each shard has a copy, because statements join it with tables of the shards.
- `Whole(reason)`: one database has all rows.

`python -m deploy.vitess` makes Vitess's configuration of it, and a test demands a place for every
table. The site itself reads nothing of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from django.apps import apps

# The apps with tables, and what is installed beside them, whose tables the core names.
APPS = ("socialsite.core", "accounts", "relations", "feeds", "interactions")


@dataclass(frozen=True, kw_only=True)
class _Split:
    """The rows lie in several shards; `beside` has columns and tables."""

    lookups: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Owned(_Split):
    """The rows lie in the shard of the value of `column`."""

    column: str


@dataclass(frozen=True)
class With(_Split):
    """The rows lie where the row of `table` lies whose `id` is the value of `column`."""

    table: str
    column: str


@dataclass(frozen=True)
class Copied:
    """Every shard has a copy of the rows."""

    reason: str


@dataclass(frozen=True)
class Whole:
    """All rows lie in one database."""

    reason: str


Sharded = Owned | With
Place = Sharded | Copied | Whole
Places = Mapping[str, Place]


def places() -> dict[str, Place]:
    """Return the place of each table that a module `owners` names."""
    found: dict[str, Place] = {}
    for app in APPS:
        named: Places = import_module(f"{app}.owners").PLACES
        if twice := found.keys() & named.keys():
            raise ValueError(f"{app}.owners names tables of others: {sorted(twice)}")
        found |= named
    return found


def tables() -> set[str]:
    """Return the tables of all models."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table for model in models if model._meta.managed}
