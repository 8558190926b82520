"""The guides to shards and to growth show the tables that the code makes."""

import pytest

from bench.support import growth
from deploy.services.site_processes import PROJECT_DIR
from socialsite.tests.sharding import guide

pytestmark = pytest.mark.once


def read(name: str) -> str:
    return (PROJECT_DIR / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "table", [guide.owners, guide.cross_shard, guide.several_owners, guide.constraints]
)
def test_the_guide_to_shards_has_the_tables_of_the_code(table) -> None:
    assert table() in read("shards.md"), table()


@pytest.mark.parametrize("table", [growth.bytes_table, growth.rates_table, growth.limits_table])
def test_the_guide_to_scaling_has_the_computed_tables(table) -> None:
    assert table() in read("scaling.md"), table()


def test_growth_is_computed_from_the_measured_tables() -> None:
    measured = {table.name: table for table in growth.tables()}
    inbox = measured["feeds_inboxentry"]
    # 15,938,372 rows and 881 MB of a million people.
    assert (inbox.rows, inbox.bytes) == (15.938372, 881)
    assert growth.rows_of("feeds_inboxentry") == inbox.rows
    # All of the document except the tags, of which each size had as many; it rounds once more.
    assert abs(growth.bytes_a_person() + 3 - 7101) <= 1
    assert measured.keys() >= growth.GROWING
    assert growth.people_in(12, 7101) == pytest.approx(1.69, abs=0.01)
    # 1.75 million posts of a million people in 90 days.
    assert growth.writes_a_second(1_000_000)["posts"] == pytest.approx(1_750_000 / 90 / 86_400)


def test_a_figure_that_no_table_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        growth.figure(r"^\| furlongs +\| (\d+) \|")


def test_rates_are_those_of_the_days_in_which_the_benchmark_writes() -> None:
    from bench.support import population

    assert population.OLDEST_POST - population.NEWEST == growth.POST_DAYS
    assert population.OLDEST_FOLLOW - population.NEWEST == growth.FOLLOW_DAYS


def test_the_text_has_the_figures_that_it_names() -> None:
    text = " ".join(read("scaling.md").split())
    for figure in (
        f"{growth.rows_of('feeds_inboxentry'):.1f} rows of inboxes",
        f"{growth.figure(growth.ENTRY)} bytes of a cached entry",
        f"{growth.socket_kb()} kB each",
        f"{growth.lookup_rows_a_person():.1f} rows for each person",
        f"{growth.transactions_a_second():,.0f} raw transactions",
        f"{growth.fanout_rows_a_second():,.0f} rows a second",
        f"{growth.cold_ratio():.1f} times as long",
        f"{growth.days_on_disk(1000, 100_000_000):.0f} days",
    ):
        assert figure in text, figure
