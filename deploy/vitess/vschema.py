"""The VSchema of both keyspaces, and the tables that Vitess needs besides those of the models.

The sharded keyspace has the tables with an owner. A row lies in the shard of the hash of its
owner's id; a lookup table leads to it from another column. The unsharded keyspace has all other
tables, the sequences that number rows, and the originals of the tables that every shard copies.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models

from socialsite.core.sharding import Copied, Owned, Place, Sharded, Whole, With, places

SHARDED, UNSHARDED = "socialsite", "socialsite_whole"
HASH = "xxhash"
KEYSPACE_ID = "keyspace_id"


def lookup(table: str, column: str) -> str:
    """Return the name of a lookup table; its vindex has the same."""
    return f"{table}_by_{column}"


def sequence(table: str) -> str:
    """Return the name of the sequence that numbers the rows of a table."""
    return f"{table}_seq"


def primary(place: Sharded) -> str:
    """Return the name of the vindex that finds the shard of a row."""
    return HASH if isinstance(place, Owned) else lookup(place.table, "id")


def sharded(found: dict[str, Place]) -> dict[str, Sharded]:
    """Return the tables with an owner."""
    return {name: place for name, place in found.items() if isinstance(place, Owned | With)}


def vschema() -> dict[str, Any]:
    """Return the VSchema of both keyspaces, in the form of Vitess's SrvVSchema."""
    found = places()
    return {
        "keyspaces": {
            SHARDED: {
                "sharded": True,
                # The constraints within a shard stay; `crossing` names those that cannot.
                "foreign_key_mode": "unmanaged",
                "vindexes": dict(_vindexes(found)),
                "tables": dict(_sharded_tables(found)),
            },
            UNSHARDED: {"sharded": False, "tables": dict(_whole_tables(found))},
        }
    }


def _vindexes(found: dict[str, Place]) -> Iterator[tuple[str, Any]]:
    yield HASH, {"type": HASH}
    for table, place in sharded(found).items():
        for column in (*place.lookups, *place.shared):
            unique = column in place.lookups
            yield (
                lookup(table, column),
                {
                    "type": "consistent_lookup_unique" if unique else "consistent_lookup",
                    "params": {
                        "table": lookup(table, column),
                        "from": ",".join(_from(table, place, column)),
                        "to": KEYSPACE_ID,
                    },
                    "owner": table,
                },
            )


def _from(table: str, place: Sharded, column: str) -> list[str]:
    """Return the columns of a lookup table: with the primary key if values repeat."""
    return [column] if column in place.lookups else [column, _column(model(table)._meta.pk)]


def _sharded_tables(found: dict[str, Place]) -> Iterator[tuple[str, Any]]:
    for table, place in sharded(found).items():
        entry: dict[str, Any] = {
            "column_vindexes": [
                {"columns": [place.column], "name": primary(place)},
                *(
                    {"columns": _from(table, place, column), "name": lookup(table, column)}
                    for column in (*place.lookups, *place.shared)
                ),
                *(
                    {"columns": [column], "name": lookup(other, "id")}
                    for column, other in place.beside
                ),
            ]
        }
        if column := numbered(table):
            entry["auto_increment"] = {
                "column": column,
                "sequence": f"{UNSHARDED}.{sequence(table)}",
            }
        yield table, entry
        for column in (*place.lookups, *place.shared):
            yield (
                lookup(table, column),
                {"column_vindexes": [{"columns": [column], "name": HASH}]},
            )
    for table, kept in found.items():
        if isinstance(kept, Copied):
            yield table, {"type": "reference", "source": f"{UNSHARDED}.{table}"}


def _whole_tables(found: dict[str, Place]) -> Iterator[tuple[str, Any]]:
    for table, place in found.items():
        if isinstance(place, Whole | Copied):
            yield table, {}
    for table in sharded(found):
        if numbered(table):
            yield sequence(table), {"type": "sequence"}


def model(table: str) -> type[models.Model]:
    """Return the model of a table."""
    everyone = apps.get_models(include_auto_created=True)
    return next(one for one in everyone if one._meta.db_table == table)


def numbered(table: str) -> str | None:
    """Return the column that the database numbers, None if rows come with an id."""
    key = model(table)._meta.pk
    return _column(key) if isinstance(key, models.AutoField | models.BigAutoField) else None


def crossing() -> list[tuple[str, str, str]]:
    """Return table, column and target of the constraints whose rows are in different shards."""
    found = places()
    return sorted(
        (one._meta.db_table, _column(field), field.remote_field.model._meta.db_table)
        for one in apps.get_models(include_auto_created=True)
        for field in one._meta.concrete_fields
        if isinstance(field, models.ForeignKey)
        and vars(field)["db_constraint"]
        and not _together(found, one._meta.db_table, field)
    )


def _column(field: "models.Field[Any, Any]") -> str:
    return str(field.column)


def _together(found: dict[str, Place], table: str, field: "models.ForeignKey[Any, Any]") -> bool:
    """Return whether a row is always in the database of the row that its column names."""
    place, target = found[table], found[field.remote_field.model._meta.db_table]
    if isinstance(place, Whole | Copied) or isinstance(target, Whole | Copied):
        return isinstance(place, Whole) and isinstance(target, Whole)
    if place.column != field.column:
        return False
    if isinstance(place, With):
        return place.table == field.remote_field.model._meta.db_table
    return isinstance(target, Owned) and target.column == field.target_field.column


# --- SQL ----------------------------------------------------------------------------------------
def tables() -> str:
    """Return the SQL of the lookup tables and of the sequences."""
    found = sharded(places())
    text = f"-- Made by `python -m deploy.vitess`. In the keyspace {SHARDED}:\n"
    for table, place in found.items():
        for column in (*place.lookups, *place.shared):
            text += _lookup_sql(table, column, _from(table, place, column))
    text += f"\n-- In the keyspace {UNSHARDED}:\n"
    for table in filter(numbered, found):
        name = sequence(table)
        text += (
            f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, next_id BIGINT, cache BIGINT)"
            f" COMMENT 'vitess_sequence';\n"
            f"INSERT INTO {name} (id, next_id, cache) VALUES (0, 1, 1000);\n"
        )
    return text


def _lookup_sql(table: str, column: str, columns: list[str]) -> str:
    fields = {field.column: field for field in model(table)._meta.concrete_fields}
    typed = ", ".join(f"`{name}` {_type(fields[name])}" for name in columns)
    key = ", ".join(f"`{name}`" for name in columns)
    return (
        f"CREATE TABLE {lookup(table, column)} "
        f"({typed}, {KEYSPACE_ID} VARBINARY(10), PRIMARY KEY ({key}));\n"
    )


def _type(field: "models.Field[Any, Any]") -> str:
    if isinstance(field, models.CharField):
        return f"VARCHAR({field.max_length}) COLLATE utf8mb4_bin"
    return "BIGINT"
