"""The README tells the truth about configuration."""

import re
from pathlib import Path

from django.conf import settings

from socialsite.env import Env


def test_the_configuration_table_lists_every_variable_and_no_other() -> None:
    text = Path(settings.BASE_DIR, "README.md").read_text()
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*?) ?\| (.*) \|$", text, flags=re.MULTILINE)
    assert [name for name, _, _ in rows] == list(Env.model_fields)
    for name, _, description in rows:
        assert description == Env.model_fields[name].description
