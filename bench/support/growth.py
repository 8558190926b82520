"""What a site of the shape of B9 needs at each size, computed from what the benchmarks measured.

`python -m bench.support.growth` prints the tables of docs/scaling.md; a test compares them. All
measured figures are read from the tables of docs/benchmarks.md, so another measurement there
changes the results here. Nothing is assumed about people except the shape of the benchmarks: the
ages of its follows and posts make its rates.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/benchmarks.md"
SIZES = (1_000_000, 10_000_000, 30_000_000, 100_000_000)
# The days in which the posts and follows of `bench.support.population` were made.
POST_DAYS, FOLLOW_DAYS, DAY = 90, 998, 86_400
# What grows with every day; inboxes are trimmed.
GROWING = {
    *("feeds_post", "feeds_postcontent", "feeds_postterm", "feeds_searchedpost", "feeds_posttag"),
    *("interactions_subject", "interactions_like"),
    *("interactions_comment", "interactions_commentcontent"),
}
ENTRY = r"^\| bytes of a cached entry of an inbox +\| ([\d.]+) \|"
MEMORIES = (12, 64, 256)  # GB
SHARDS, SHARD_MEMORY = 16, 64


class Table(NamedTuple):
    """A table of the database at a million people: rows and bytes for each person."""

    name: str
    rows: float
    bytes: int


def cells(name: str, *, containing: int) -> list[str]:
    """Return the cells behind the name in the only row of docs/benchmarks.md with so many cells."""
    found = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if re.match(rf"\| {re.escape(name)} +\|", line)
    ]
    (row,) = [row[1:] for row in found if len(row) == containing]
    return row


def figure(pattern: str) -> float:
    """Return the number of the first row of docs/benchmarks.md that matches.

    Raises ValueError if there is none.
    """
    found = re.search(pattern, DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"no row {pattern}")
    return float(found[1])


def tables() -> list[Table]:
    """Return the measured tables, without the tags: all sizes had the same 20,000."""
    text = DOCUMENT.read_text(encoding="utf-8")
    row = r"^\| (\w+) +\| +(\d+) \| +\d+ \| +\d+ \| +(\d+) \| +\d+ \|$"
    return [
        Table(name, int(rows) / 1_000_000, int(size))
        for name, rows, size in re.findall(row, text, re.MULTILINE)
        if name != "feeds_tag"
    ]


def rows_of(name: str) -> float:
    """Return the rows of a table for each person."""
    return next(table.rows for table in tables() if table.name == name)


# --- for each person ------------------------------------------------------------------------------
def bytes_a_person() -> int:
    """Return the bytes of all tables with their indexes."""
    return sum(table.bytes for table in tables())


def bytes_a_day() -> float:
    """Return the bytes for each person of what stays of a day: posts, likes, comments."""
    return sum(table.bytes for table in tables() if table.name in GROWING) / POST_DAYS


def redis_bytes_a_person() -> float:
    """Return the bytes of all inbox rows, if Redis caches every inbox whole."""
    return rows_of("feeds_inboxentry") * figure(ENTRY)


def lookup_rows_a_person() -> float:
    """Return the rows of the lookup tables that grow with what people do: ids and names."""
    by_id = ("feeds_post", "interactions_subject", "interactions_comment")
    return sum(map(rows_of, by_id)) + 2 * rows_of("accounts_user")


def lookup_bytes_a_person() -> float:
    """Return the bytes of these rows, each as large as a row of three numbers without an index."""
    (edge,) = [one.bytes / one.rows for one in tables() if one.name == "feeds_inboxedge"]
    return lookup_rows_a_person() * edge


# --- rates ----------------------------------------------------------------------------------------
def writes_a_second(people: int) -> dict[str, float]:
    """Return how many of each kind a site of this shape has on average."""
    return {
        "posts": people * rows_of("feeds_post") / POST_DAYS / DAY,
        "likes": people * rows_of("interactions_like") / POST_DAYS / DAY,
        "comments": people * rows_of("interactions_comment") / POST_DAYS / DAY,
        "follows": people * rows_of("feeds_inboxedge") / FOLLOW_DAYS / DAY,
    }


def inbox_rows_a_second(people: int) -> float:
    """Return how many rows the fan-outs insert on average."""
    return people * rows_of("feeds_inboxentry") / POST_DAYS / DAY


def transactions_a_second() -> float:
    """Return how many raw transactions of three rows eight connections made."""
    return float(cells("raw transactions", containing=4)[1])


def comments_a_second() -> float:
    """Return how many comments by API two cores took that ran everything, clients included."""
    return float(cells("comments", containing=4)[1])


def fanout_rows_a_second() -> float:
    """Return how many rows a worker with two processes inserts if 100 of 1,000 inboxes are cached.

    Of chunks of 1,000: the first of two measurements.
    """
    return figure(r"^\| fan-out, 100 cached +\| +\d+ \| +(\d+) \|")


def cores(people: int) -> float:
    """Return the cores that answer one warm page of the feed by API a day for each person."""
    return people * figure(r"^\| feed by API +\|(?:[^|]+\|){6} +([\d.]+) \|") / 1000 / DAY


def socket_kb() -> float:
    """Return the memory of an idle socket, of 5,000."""
    return figure(r"^\| kB of memory each +\| ([\d.]+) \|$")


def cold_ratio() -> float:
    """Return how many times a page of the feed takes if Redis has nothing, at a million people."""
    cold = cells("home feed", containing=5)[2]
    warm = cells("home feed, warm", containing=5)[2]
    return float(cold) / float(warm)


# --- limits ---------------------------------------------------------------------------------------
def people_in(gigabytes: float, each: float) -> float:
    """Return how many people fit into so much memory, in millions."""
    return gigabytes * 1e9 / each / 1e6


def days_on_disk(gigabytes: float, people: int) -> float:
    """Return for how many days more than 90 a disk has the tables of so many people."""
    return (gigabytes * 1e9 / people - bytes_a_person()) / bytes_a_day()


# --- tables of the guide --------------------------------------------------------------------------
def _number(value: float) -> str:
    """Return a number with about three digits."""
    if value >= 1000:
        return f"{value:,.0f}"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    text = [f"| {' | '.join(line)} |" for line in lines]
    text.insert(1, "|---|" + "--:|" * (len(lines[0]) - 1))
    return "\n".join(text)


def _people(people: int) -> str:
    return f"{people // 1_000_000} M"


def bytes_table() -> str:
    """Return the disk of each table, in GB."""
    rows = [
        [f"`{one.name}`", str(one.bytes), *(_number(size * one.bytes / 1e9) for size in SIZES)]
        for one in tables()
    ]
    each = bytes_a_person()
    total = ["all", f"{each:,}", *(_number(size * each / 1e9) for size in SIZES)]
    return _table(["GB of", "bytes a person", *map(_people, SIZES)], [*rows, total])


def rates_table() -> str:
    """Return what a site of each size has a second, and needs."""
    lines: list[tuple[str, Callable[[int], float]]] = [
        (f"{kind} a second", lambda people, kind=kind: writes_a_second(people)[kind])  # type: ignore[misc]
        for kind in writes_a_second(1)
    ]
    lines += [
        ("these together", lambda people: sum(writes_a_second(people).values())),
        ("inbox rows a second", inbox_rows_a_second),
        (
            "rows of all inboxes, millions",
            lambda people: people * rows_of("feeds_inboxentry") / 1e6,
        ),
        ("GB of Redis for all inboxes", lambda people: people * redis_bytes_a_person() / 1e9),
        ("GB of sockets, if 1 % of the people are there", lambda n: n * 0.01 * socket_kb() / 1e6),
        ("cores for a page a day and person", cores),
        ("GB of tables more a day", lambda people: people * bytes_a_day() / 1e9),
        ("GB of lookup tables of shards", lambda people: people * lookup_bytes_a_person() / 1e9),
    ]
    rows = [[name, *(_number(of(size)) for size in SIZES)] for name, of in lines]
    return _table(["", *map(_people, SIZES)], rows)


def limits_table() -> str:
    """Return up to which number of people one of each part is enough."""
    each = bytes_a_person()
    sharded = each + lookup_bytes_a_person()
    peak = SIZES[-1]
    rate = sum(writes_a_second(peak).values())
    writes, by_api = rate / transactions_a_second(), rate / comments_a_second()
    inserted = inbox_rows_a_second(peak) / fanout_rows_a_second()
    rows = [
        *(
            [f"a primary with {memory} GB for tables", f"{_number(people_in(memory, each))} M"]
            for memory in MEMORIES
        ),
        [
            f"{SHARDS} shards with {SHARD_MEMORY} GB each",
            f"{_number(people_in(SHARDS * SHARD_MEMORY, sharded))} M",
        ],
        *(
            [
                f"a Redis with {memory} GB for inboxes",
                f"{_number(people_in(memory, redis_bytes_a_person()))} M",
            ]
            for memory in MEMORIES[:2]
        ),
        ["a core for pages, each person reads one a day", f"{_number(1 / cores(1_000_000))} M"],
        ["raw transactions of a primary used by writes at 100 M", f"{writes * 100:.1f} %"],
        ["writes by API of the measured machine used at 100 M", f"{by_api * 100:.0f} %"],
        ["rows of a worker for fan-outs used at 100 M", f"{inserted * 100:.1f} %"],
    ]
    return _table(["part", "people, or share"], rows)


if __name__ == "__main__":
    print(bytes_table(), rates_table(), limits_table(), sep="\n\n")
