"""docs/configuration.md lists every setting."""

import re
from pathlib import Path
from typing import Any

import pytest

from socialsite.env import Env
from socialsite.tests.documents.documents import ROOT

pytestmark = pytest.mark.once

ROW = re.compile(r"^\| `([A-Z_]+)` \| (.*?) ?\| (.*) \|$", re.MULTILINE)


def _said(default: Any) -> str:
    """Return a default in the form of the tables."""
    if isinstance(default, bool):
        return str(int(default))
    if isinstance(default, Path):
        return default.name
    return "" if default in ("", []) else str(default)


def test_the_tables_list_every_variable_once_and_no_other() -> None:
    rows = ROW.findall((ROOT / "docs/configuration.md").read_text())
    assert sorted(name for name, _, _ in rows) == sorted(Env.model_fields)
    for name, default, description in rows:
        field = Env.model_fields[name]
        assert (default, description) == (_said(field.default), field.description), name
