"""After the most expensive requests the embedded mode uses no more memory than before.

The full stack has the same test beside its others (`deploy/tests/test_stack.py`).
"""

from pathlib import Path

import pytest

from socialsite.core.tests.media.peak import reset_peak, resident
from socialsite.tests.hostile import hostile
from socialsite.tests.stacks import embedded
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.e2e

LEFT_MEGABYTES = 30
PEAK_MEGABYTES = 300


@pytest.mark.slow(reason="starts a site, sends the largest requests")
def test_memory_returns_after_large_requests(tmp_path: Path) -> None:
    with embedded(tmp_path) as site:
        pid = int((tmp_path / "lock").read_text())
        client = hostile.warm_up(site, "mallory")
        before = hostile.megabytes([pid])
        reset_peak(pid)
        hostile.attack(site, client)
        assert resident("VmHWM", pid) < before + PEAK_MEGABYTES
        eventually(lambda: hostile.megabytes([pid]), lambda now: now < before + LEFT_MEGABYTES)
