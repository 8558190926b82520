"""Threads that race for a fixed number of steps, whatever the machine does meanwhile."""

import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable

from django.db import connections

from socialsite.core.events import enqueue

Step = Callable[[random.Random], object]
# Between two looks at the steps of others; how often they are looked at decides nothing.
PAUSE = 0.002


class Race:
    """Threads that end after their steps, or as soon as one of them finds an error.

    A busy machine might let one thread finish before another one begins. So a step may be `paced`
    by others: it waits while they have done a tenth less of their steps.
    """

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.done: Counter[str] = Counter()
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._others: list[threading.Thread] = []
        self._over = threading.Event()

    def add(self, name: str, step: Step, times: int, *, paced: tuple[str, ...] = ()) -> None:
        """Add a thread that does a step a number of times, not far ahead of the steps named."""
        self._times[name] += times
        lead = max(1, times // 10)

        def is_ahead(number: int) -> bool:
            part = max(0, number - lead)
            return any(self.done[other] * times < self._times[other] * part for other in paced)

        def run(dice: random.Random) -> None:
            for number in range(times):
                while is_ahead(number) and not self.errors:
                    time.sleep(PAUSE)
                if self.errors:
                    return
                step(dice)
                with self._lock:
                    self.done[name] += 1

        self._thread(self._threads, name, run)

    def beside(self, name: str, step: Step) -> None:
        """Add a thread that repeats a step as long as the others run."""

        def run(dice: random.Random) -> None:
            while not (self._over.is_set() or self.errors):
                step(dice)
                with self._lock:
                    self.done[name] += 1
                time.sleep(PAUSE)

        self._thread(self._others, name, run)

    def _thread(
        self, group: list[threading.Thread], name: str, run: Callable[[random.Random], None]
    ) -> None:
        dice = random.Random(f"{name}{len(self._threads) + len(self._others)}")

        def main() -> None:
            try:
                with enqueue.paused():
                    run(dice)
            except BaseException:
                self.errors.append(traceback.format_exc())
            finally:
                connections.close_all()

        group.append(threading.Thread(target=main, name=name))

    def run(self) -> None:
        """Run all threads to their end; fail with the first error."""
        for thread in self._threads + self._others:
            thread.start()
        for thread in self._threads:
            thread.join()
        self._over.set()
        for thread in self._others:
            thread.join()
        assert not self.errors, self.errors[0]
