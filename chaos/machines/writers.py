"""People who post to an installed site, and note which posts it acknowledged."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence

from chaos.machines.visitor import Visitor


class Writer:
    """One person, and the times (sent, acknowledged; Unix seconds) of each acknowledged post."""

    def __init__(self, person: Visitor, name: str) -> None:
        if not person.sign_up(name):
            raise SystemExit(f"{name} could not sign up")
        self.person, self.name = person, name
        self.times: dict[str, tuple[float, float]] = {}
        self.sent = 0

    def write(self) -> None:
        """Post once."""
        self.sent += 1
        text, began = f"{self.name} {self.sent}", time.time()
        with contextlib.suppress(OSError):  # no answer: nobody knows whether it was published
            if self.person.post(text):
                self.times[text] = (began, time.time())


@contextlib.contextmanager
def write_until(writers: Sequence[Writer]) -> Iterator[None]:
    """Let all of them post, one post after the other, until the block ends."""
    stop = threading.Event()

    def write(writer: Writer) -> None:
        while not stop.is_set():
            writer.write()

    threads = [threading.Thread(target=write, args=(writer,), daemon=True) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
