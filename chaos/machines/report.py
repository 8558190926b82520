"""What a trial measured and found, and its exit code."""

import json
import time
from collections.abc import Callable
from pathlib import Path

POLL_SECONDS = 0.2


class Report:
    """Figures by name, and the facts that were not as they should be."""

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}
        self.wrong: list[str] = []

    def timed(self, name: str, action: Callable[[], object]) -> None:
        """Run an action and keep its time in seconds."""
        began = time.monotonic()
        action()
        self.figure(f"{name} s", time.monotonic() - began)

    def figure(self, name: str, value: float) -> None:
        """Keep a figure."""
        self.figures[name] = round(value, 1)
        print(f"{name}: {value:.1f}", flush=True)

    def check(self, name: str, right: bool, found: object = "") -> None:
        """Note one fact, and what was found instead."""
        print(f"{'ok   ' if right else 'WRONG'} {name}{'' if right else f': {found}'}", flush=True)
        if not right:
            self.wrong.append(name)

    def finish(self, path: Path | None) -> int:
        """Print everything as JSON, write it to `path` if given, and return the exit code."""
        text = json.dumps({"figures": self.figures, "wrong": self.wrong})
        if path:
            path.write_text(text)
        print(text)
        return 1 if self.wrong else 0


def wait(
    condition: Callable[[], bool],
    *,
    seconds: float,
    tolerated: tuple[type[Exception], ...] = (),
) -> bool:
    """Return whether the condition becomes true in time; a tolerated error counts as false."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if condition():
                return True
        except tolerated:
            pass
        time.sleep(POLL_SECONDS)
    return False
