"""Vitess's configuration is that of the models, and has the form that Vitess reads.

Vitess itself does not run here.
"""

from typing import Any

import jsonschema
import pytest
from django.apps import apps
from django.db import models

from deploy.vitess import vschema
from deploy.vitess.__main__ import files
from socialsite.core import sharding
from socialsite.core.sharding import Owned, Sharded, With

pytestmark = pytest.mark.embedded

TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


# The messages SrvVSchema, Keyspace, Vindex, Table, ColumnVindex and AutoIncrement of Vitess's
# proto/vschema.proto, as far as they are used here.
TABLE = _object(
    [],
    type={"enum": ["sequence", "reference"]},
    source={"type": "string"},
    column_vindexes={
        "type": "array",
        "items": _object(
            ["columns", "name"],
            columns={"type": "array", "items": {"type": "string"}, "minItems": 1},
            name={"type": "string"},
        ),
    },
    auto_increment=_object(
        ["column", "sequence"], column={"type": "string"}, sequence={"type": "string"}
    ),
)
VINDEX = _object(
    ["type"],
    type={"enum": ["xxhash", "consistent_lookup", "consistent_lookup_unique"]},
    params=TEXTS,
    owner={"type": "string"},
)
KEYSPACE = _object(
    ["sharded", "tables"],
    sharded={"type": "boolean"},
    foreign_key_mode={"enum": ["disallow", "unmanaged", "managed"]},
    vindexes={"type": "object", "additionalProperties": VINDEX},
    tables={"type": "object", "additionalProperties": TABLE},
)
SRV_VSCHEMA = _object(["keyspaces"], keyspaces={"type": "object", "additionalProperties": KEYSPACE})


@pytest.fixture(scope="module")
def keyspaces() -> dict[str, Any]:
    found: dict[str, Any] = vschema.vschema()["keyspaces"]
    return found


def test_the_committed_files_are_those_of_the_models() -> None:
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m deploy.vitess`"


def test_every_table_has_a_place() -> None:
    assert set(sharding.places()) == sharding.tables()


def test_who_owns_a_row_is_a_column_and_other_places_have_a_reason() -> None:
    for table, place in sharding.places().items():
        if isinstance(place, Owned | With):
            columns = {field.column for field in vschema.model(table)._meta.concrete_fields}
            assert {place.column, *place.lookups, *place.shared} <= columns, table
        else:
            assert place.reason, table


def test_a_row_lies_only_with_rows_that_are_found_by_their_id() -> None:
    places = sharding.places()
    for table, place in vschema.sharded(places).items():
        with_whom = [place.table] if isinstance(place, With) else []
        for name in with_whom + [name for _, name in place.beside]:
            other = places[name]
            assert isinstance(other, Owned | With), table
            assert "id" in other.lookups, table


def test_the_file_has_the_form_of_a_vschema() -> None:
    jsonschema.validate(vschema.vschema(), SRV_VSCHEMA)


def test_every_name_in_the_vschema_has_a_meaning(keyspaces: dict[str, Any]) -> None:
    shards, whole = keyspaces[vschema.SHARDED], keyspaces[vschema.UNSHARDED]
    assert not shards["tables"].keys() & whole["tables"].keys() - _copied()
    for name, table in shards["tables"].items():
        if table.get("type") == "reference":
            assert table["source"] == f"{vschema.UNSHARDED}.{name}"
            continue
        used = [one["name"] for one in table["column_vindexes"]]
        assert set(used) <= shards["vindexes"].keys(), name
        # The first one decides about the shard, so it leads to one.
        assert shards["vindexes"][used[0]]["type"] != "consistent_lookup", name
        if numbers := table.get("auto_increment"):
            keyspace, sequence = numbers["sequence"].split(".")
            assert keyspaces[keyspace]["tables"][sequence] == {"type": "sequence"}, name
    for name, vindex in shards["vindexes"].items():
        if vindex["type"] == vschema.HASH:
            continue
        columns = vindex["params"]["from"].split(",")
        # Tables that use the vindex of another one come without its columns.
        (own,) = [
            one
            for one in shards["tables"][vindex["owner"]]["column_vindexes"]
            if one["name"] == name
        ]
        assert own["columns"] == columns
        assert vindex["params"]["table"] in shards["tables"]


def _copied() -> set[str]:
    places = sharding.places().items()
    return {table for table, place in places if isinstance(place, sharding.Copied)}


def test_what_is_unique_in_a_shard_is_unique_on_the_site() -> None:
    """MySQL checks a shard alone; ids are numbered by sequences or random."""
    for table, place in vschema.sharded(sharding.places()).items():
        for columns in _unique(vschema.model(table)):
            beside = [column for column, _ in place.beside]
            named = {place.column, *place.lookups, *beside} & set(columns)
            assert named or columns == ("id",), (table, columns)


def _unique(model: type[models.Model]) -> list[tuple[str, ...]]:
    fields = {field.name: str(field.column) for field in model._meta.concrete_fields}
    single = [
        (str(field.column),)
        for field in model._meta.concrete_fields
        if getattr(field, "unique", False) and field.column
    ]
    constraints = [
        tuple(fields[name] for name in one.fields)
        for one in model._meta.constraints
        if isinstance(one, models.UniqueConstraint) and one.fields
    ]
    together = [tuple(fields[name] for name in names) for names in model._meta.unique_together]
    return [*single, *constraints, *together]


def test_a_constraint_within_a_shard_does_not_cross() -> None:
    crossing = {(table, column) for table, column, _ in vschema.crossing()}
    assert ("accounts_tokenversion", "user_id") not in crossing
    assert ("otp_static_statictoken", "device_id") not in crossing
    assert ("accounts_invitedperson", "invite_id") not in crossing
    assert ("accounts_staffact", "user_id") in crossing


def test_lookup_tables_and_sequences_are_created(keyspaces: dict[str, Any]) -> None:
    made = set(vschema.tables().split())
    ours = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    for keyspace in keyspaces.values():
        assert keyspace["tables"].keys() - ours <= made


def test_every_kind_of_place_is_read(keyspaces: dict[str, Any]) -> None:
    shards = keyspaces[vschema.SHARDED]["tables"]
    post: Sharded = Owned("author_id", lookups=("id",))
    assert vschema.primary(post) == "xxhash"
    assert shards["feeds_post"]["column_vindexes"] == [
        {"columns": ["author_id"], "name": "xxhash"},
        {"columns": ["id"], "name": "feeds_post_by_id"},
    ]
    assert shards["feeds_postcontent"] == {
        "column_vindexes": [{"columns": ["post_id"], "name": "feeds_post_by_id"}]
    }
    assert shards["feeds_post_by_id"] == {
        "column_vindexes": [{"columns": ["id"], "name": "xxhash"}]
    }
    assert shards["accounts_user"]["column_vindexes"][-1] == {
        "columns": ["email_key", "id"],
        "name": "accounts_user_by_email_key",
    }
    assert shards["relations_relationship"]["auto_increment"] == {
        "column": "id",
        "sequence": "socialsite_whole.relations_relationship_seq",
    }
