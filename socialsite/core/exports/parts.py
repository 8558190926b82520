"""The parts of an archive: lists of records with a documented schema, and tables in CSV."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.functional import Promise

STEP = 500  # rows read by one query
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record: its JSON types, divided by `|`, and its meaning in English."""

    types: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Part:
    """A list of records: `data/<name>.json` and pages of their own in an archive.

    `read` yields the records of a person with exactly these fields. Its memory must not grow with
    their number. Times are texts in ISO 8601, ids are texts.
    """

    name: str
    title: Promise
    fields: Mapping[str, Field]
    read: Callable[[int], Iterable[Record]]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the file."""
        properties = {
            name: {"type": field.types.split("|"), "description": field.meaning}
            for name, field in self.fields.items()
        }
        record = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        return {"title": self.name, "type": "array", "items": record}


@dataclass(frozen=True, slots=True)
class Table:
    """A table in CSV, `<name>.csv`, with or without a header.

    `read` gets the person and the domain of this site, which the addresses of people end with.
    """

    name: str
    header: Sequence[str]
    read: Callable[[int, str], Iterable[Sequence[str]]]


def in_steps(rows: "QuerySet[Any]", by: str = "pk") -> Iterator[list[Any]]:
    """Yield the rows in lists of at most STEP, ordered by a unique column with an index.

    Each list is one query, so that no transaction stays open while an archive is written.
    """
    after = None
    while True:
        found = rows if after is None else rows.filter(**{f"{by}__gt": after})
        step = list(found.order_by(by)[:STEP])
        if step:
            yield step
            after = getattr(step[-1], by)
        if len(step) < STEP:
            return
