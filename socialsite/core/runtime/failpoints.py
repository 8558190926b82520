"""Named places where a process kills itself, so that tests can crash it exactly there.

`FAILPOINT=name:n` in the environment kills the process (SIGKILL) when it passes that name for the
n-th time.
"""

import itertools
import os
import signal

from django.conf import settings

_passages = itertools.count(1)


def failpoint(name: str) -> None:
    """Kill the process if the environment says so; otherwise do nothing."""
    if not settings.FAILPOINT:
        return
    wanted, _, count = settings.FAILPOINT.partition(":")
    if wanted == name and next(_passages) == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
