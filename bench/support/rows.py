"""Rows in great numbers, without the ORM: for measuring only."""

from collections.abc import Iterable, Sequence
from typing import Any


def insert(sample: Any, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows that differ from a sample, which is not inserted, in these columns only."""
    from django.db import connection

    fields = type(sample)._meta.concrete_fields
    fixed = [field for field in fields if field.column not in names]
    values = [
        field.get_db_prep_save(field.pre_save(sample, add=True), connection) for field in fixed
    ]
    quote = connection.ops.quote_name
    columns = ", ".join(map(quote, [*names, *(field.column for field in fixed)]))
    places = ", ".join(["%s"] * len(fields))
    table = quote(type(sample)._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({columns}) VALUES ({places})",  # noqa: S608
            [[*row, *values] for row in rows],
        )
