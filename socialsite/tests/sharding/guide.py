"""The tables of docs/shards.md."""

from collections.abc import Iterable

from deploy.vitess import vschema
from socialsite.core.sharding import Copied, Owned, Place, With, places
from socialsite.tests.sharding.crossings import CROSS_SHARD, SEVERAL_OWNERS, WORDS


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _owner(place: Place) -> str:
    if isinstance(place, Owned):
        return f"`{place.column}`"
    if isinstance(place, With):
        return f"with `{place.table}`, by `{place.column}`"
    return "a copy in each shard" if isinstance(place, Copied) else "not split"


def owners() -> str:
    """Return the place of each table."""
    rows = []
    for name, place in sorted(places().items()):
        others: tuple[str, ...] = ()
        if isinstance(place, Owned | With):
            others = (*place.lookups, *place.shared, *(column for column, _ in place.beside))
        rows.append((f"`{name}`", _owner(place), _code(others), place.reason))
    return table(("table", "a row lies by", "found also by", "why"), rows)


def cross_shard() -> str:
    """Return the statements that name no owner."""
    rows = [
        (f"`{one.function}`", _code(one.tables), WORDS[one.how], one.reason) for one in CROSS_SHARD
    ]
    return table(("function", "tables", "Vitess", "why"), rows)


def several_owners() -> str:
    """Return the transactions for several owners."""
    rows = [(f"`{one.function}`", _code(one.tables), one.reason) for one in SEVERAL_OWNERS]
    return table(("function", "tables", "why, and what repairs it"), rows)


def constraints() -> str:
    """Return the constraints whose rows are in different databases."""
    rows = [(f"`{name}.{column}`", f"`{target}`") for name, column, target in vschema.crossing()]
    return table(("column", "names a row of"), rows)
