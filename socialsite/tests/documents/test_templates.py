"""Templates cut texts with `shortened` or `beginning`, which know visible characters."""

import re

import pytest
from django.conf import settings

pytestmark = pytest.mark.once

SLICE = re.compile(r"""[\w")\]]+\[:\s*\w+\s*\]""")
# Times in ISO format, and lists.
HARMLESS = re.compile(r"""(created_at|publish_at|ends_at|images|posts)("\])?\[:""")


def test_no_template_cuts_a_text_by_its_code_points() -> None:
    found = {
        f"{path.relative_to(settings.BASE_DIR)}: {match[0]}"
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        for line in path.read_text(encoding="utf-8").splitlines()
        for match in SLICE.finditer(line)
        if not HARMLESS.search(match[0])
    }
    assert found == set()
