"""docs/metrics.md lists what `/metrics` shows."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from socialsite import metrics
from socialsite.core.telemetry import instruments
from socialsite.tests.browser.scraper import scrape
from socialsite.tests.documents.documents import ROOT

ROW = re.compile(r"^\| `(socialsite_\w+)`", re.MULTILINE)
NAME = re.compile(r'"(socialsite_\w+)"')
SUFFIX = re.compile(r"_total$")


def documented() -> list[str]:
    return ROW.findall((ROOT / "docs/metrics.md").read_text())


def in_the_code() -> set[str]:
    """Return the names of all figures and instruments, also those that have no value yet."""
    files = [*Path(metrics.__path__[0]).glob("*.py"), Path(instruments.__file__)]
    return {name for path in files for name in NAME.findall(path.read_text())}


@pytest.mark.once
def test_each_metric_has_one_line_and_no_other_has() -> None:
    assert sorted(documented()) == sorted(in_the_code())


@pytest.mark.django_db
def test_a_scrape_shows_only_what_is_documented() -> None:
    families = list(text_string_to_metric_families(scrape()))
    known = {SUFFIX.sub("", name) for name in documented()}
    assert {SUFFIX.sub("", family.name) for family in families} <= known
    registered = {SUFFIX.sub("", one.name) for one in instruments.REGISTRY.collect()}
    assert registered <= known
    assert registered <= {SUFFIX.sub("", family.name) for family in families}
