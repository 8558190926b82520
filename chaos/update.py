"""An installed site is updated and rolled back under load: `make chaos ARGS="update --rounds 3"`.

Three people post and three read, one request after the other. Meanwhile another version is
installed by `site update`, then taken back by `site rollback`, and `site reload` reads the settings
again. No request fails, every acknowledged post is in the feed once, and counts and feeds equal
their definitions.
"""

import json
import sys
import threading
import time
from collections import Counter

from bench.support import harness
from chaos.machines import installed
from chaos.machines.nspawn import Machine, missing
from chaos.machines.visitor import Visitor
from chaos.machines.writers import Writer

NAMES = ("anna", "bert", "cyrus")
PAUSE_SECONDS = 0.02


class Load:
    """Threads that send requests, and the answers that were not as they should be."""

    def __init__(self, machine: Machine) -> None:
        self.writers = [Writer(installed.visitor(machine), name) for name in NAMES]
        self.failures: list[str] = []
        self.answers = Counter[str]()
        self._stop = threading.Event()
        self._threads = [
            *(threading.Thread(target=self._write, args=(writer,)) for writer in self.writers),
            *(threading.Thread(target=self._read, args=(w.person,)) for w in self.writers),
        ]

    def start(self) -> None:
        """Start all threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all threads."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, writer: Writer) -> None:
        while not self._stop.is_set():
            writer.sent += 1
            text, began = f"{writer.name} {writer.sent}", time.time()
            if self._send(writer.person, "POST", "/api/v1/posts", {"content": text}):
                writer.times[text] = (began, time.time())

    def _read(self, person: Visitor) -> None:
        while not self._stop.is_set():
            for path in ("/api/v1/feed", "/", "/static/css/site.css"):
                self._send(person, "GET", path)

    def _send(self, person: Visitor, method: str, path: str, body: object = None) -> bool:
        try:
            status = str(person.send(method, path, body).status)
        except OSError as error:
            status = repr(error)
        self.answers[f"{method} {status}"] += 1
        good = status in ("200", "201")
        if not good:
            self.failures.append(f"{time.time():.1f} {method} {path}: {status}")
        time.sleep(PAUSE_SECONDS)
        return good


def main() -> int:
    """Run the trial."""
    options = harness.arguments("Updates under load.", {"--rounds": 3})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    with Machine("update") as machine:
        installed.install(machine, "BUDGETS=0")
        load = Load(machine)
        seen = 0
        load.start()
        try:
            for number in range(options.rounds):
                changed = machine.root / installed.CHECKOUT.lstrip("/") / "socialsite/version.txt"
                changed.write_text(f"{number}\n")
                for words in (["update", installed.CHECKOUT], ["rollback"], ["reload"]):
                    began = time.time()
                    machine.output("site", *words)
                    found, seen = load.failures[seen:], len(load.failures)
                    print(f"{words[0]} at {began:.1f}, {time.time() - began:.1f} s: {found}")
        finally:
            load.stop()
        wrong = list(load.failures)
        for writer in load.writers:
            posts = Counter(writer.person.all_posts())
            wrong += [
                f"{text} is there {posts[text]} times" for text in writer.times if posts[text] != 1
            ]
        for command in ("recount", "recount_interactions", "verify_feeds"):
            machine.output("site", "manage", command)
    print(json.dumps({"answers": load.answers, "wrong": wrong[:20], "number": len(wrong)}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
