"""docs/architecture.md lists the handlers of events; all documents name files that exist."""

import dataclasses
import re
from pathlib import Path

import pytest

from socialsite.core.events import DomainEvent, _camel, registry
from socialsite.core.events.registry import Stage
from socialsite.tests.documents.documents import ROOT, texts

pytestmark = pytest.mark.once

STAGES = (Stage.WITHIN, Stage.RELAY, Stage.AFTER)
ROW = re.compile(r"^\| `([A-Z]\w+)` \|(.*)\|(.*)\|(.*)\|$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# A path in backticks that begins with a folder of the repository.
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)/?`")
CHANGES = "## Where do I find, where do I put"


def _documents() -> list[tuple[Path, str]]:
    return [(path, text) for path, text in texts() if path.suffix == ".md"]


def _short(name: str) -> str:
    return name.removeprefix("socialsite.").replace(".subscribers.", ".")


def _declared(base: type[DomainEvent]) -> set[type[DomainEvent]]:
    """Return the events of the site, without base classes and events of tests."""
    found = set()
    for event in base.__subclasses__():
        found |= _declared(event)
        if not event.__name__.startswith("_") and ".tests" not in event.__module__:
            found.add(registry.event_types[event.__name__])
    return found


def test_the_table_of_events_is_the_registry() -> None:
    rows = {
        name: [re.findall(r"`([\w.]+)`", cell) for cell in cells]
        for name, *cells in ROW.findall((ROOT / "docs/architecture.md").read_text())
    }
    for event in _declared(DomainEvent):
        handlers = [
            [
                _short(f"{handler.__module__}.{handler.__name__}")
                for handler in registry.handlers(event, stage)
                if ".tests" not in handler.__module__
            ]
            for stage in STAGES
        ]
        assert rows.pop(event.__name__, None) == handlers, event.__name__
    assert rows == {}


def test_twenty_changes_have_their_place() -> None:
    _, _, table = (ROOT / "docs/architecture.md").read_text().partition(CHANGES)
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 20
    assert [row for row in rows if not PATH.search(row)] == []


def test_every_path_in_a_document_exists() -> None:
    missing = [
        f"{document}: {path}"
        for document, text in _documents()
        for path in PATH.findall(text)
        if (ROOT / path.split("/")[0]).is_dir() and not (ROOT / path).exists()
        # Programs write to this folder.
        if not path.startswith("data/")
    ]
    assert missing == []


def test_every_relative_link_of_a_document_leads_to_a_file() -> None:
    broken = []
    for document, text in _documents():
        for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
            address, _, heading = link.partition("#")
            if ":" in address:
                continue
            target = (ROOT / document).parent / address if address else ROOT / document
            if not target.exists() or (heading and heading not in _anchors(target)):
                broken.append(f"{document}: {link}")
    assert broken == []


def _anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, in the form of code forges."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_table_of_the_change_stream_is_what_leaves_the_site() -> None:
    text = (ROOT / "docs/scaling.md").read_text()
    found = {}
    for types, aggregate, fields, _order in re.findall(
        r"^\| (`[A-Z].*?) \| `(\w+)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE
    ):
        for name in re.findall(r"`(\w+)`", types):
            found[name] = (aggregate, set(re.findall(r"`(\w+)`", fields)))
    expected = {}
    for event in _declared(DomainEvent):
        if event.streamed:
            names = {field.name for field in dataclasses.fields(event)} - event.withheld
            expected[event.__name__] = (event.aggregate_type, {_camel(name) for name in names})
        else:
            assert f"`{event.__name__}`" in text
    assert found == expected
