"""Kills processes that run but do not answer, so that the supervisor starts them again.

A stopped or deadlocked worker keeps its socket open, and requests that reach it wait.
"""

import threading
from collections.abc import Iterable

from deploy.services.service import Service

PROBE_SECONDS = 2.0
# A missed probe has also waited five seconds: a worker that waits for the database for a minute is
# left alone.
MISSES = 12


def watch(services: Iterable[Service]) -> None:
    """Probe those services that are `probed`, each in a thread, until this process ends."""
    for service in services:
        if service.probed:
            name = f"{service.name} liveness"
            threading.Thread(target=_watch, args=(service,), name=name, daemon=True).start()


def _watch(service: Service) -> None:
    pause = threading.Event()
    missed, answered = 0, 0  # probes, and the process that has answered one: others may be starting
    while not pause.wait(PROBE_SECONDS):
        pid = service.pid
        if service.is_ready():
            missed, answered = 0, pid
        elif service.running and pid == answered == service.pid:
            missed += 1
            if missed == MISSES:
                if service.echo:
                    service.echo(service.name, "does not answer and is killed")
                service.kill()
