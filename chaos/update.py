"""An installed site is updated and rolled back under load: `make chaos ARGS="update --rounds 3"`.

The site of the version before is installed. Three people, who follow each other, post, read and
like, one request after the other, and others keep WebSockets open, which come back as pages do.
Meanwhile `site update` installs this version, `site rollback` takes it back, and `site reload`
reads the settings again. No request fails, every acknowledged post is in each feed once, no event
is left, and counts and feeds equal their definitions.
"""

import itertools
import json
import random
import sys
import threading
import time
from collections import Counter

from bench.support import harness
from chaos.machines import installed
from chaos.machines.listeners import Listener
from chaos.machines.nspawn import Machine, missing
from chaos.machines.report import wait
from chaos.machines.visitor import Answer, Visitor
from chaos.machines.writers import Writer

# The commit of v0.1.0: a clone may lack the tag.
BEFORE = "ba8bcbc9"
NEW = "/root/new"
NAMES = ("anna", "bert", "cyrus")
SOCKETS = 20
PAUSE_SECONDS = 0.02
RETURN_SECONDS = 60
EVENTS = "from socialsite.core.models import Event; print('events', Event.objects.count())"


class Load:
    """Threads that send requests, and the answers that were not as they should be."""

    def __init__(self, machine: Machine, dice: random.Random) -> None:
        self.writers = [Writer(installed.visitor(machine), name) for name in NAMES]
        self.failures: list[str] = []
        self.answers = Counter[str]()
        self._stop = threading.Event()
        self._threads = [
            *(threading.Thread(target=self._write, args=(writer,)) for writer in self.writers),
            *(threading.Thread(target=self._read, args=(w.person,)) for w in self.writers),
        ]
        people = itertools.islice(itertools.cycle(self.writers), SOCKETS)
        self.listeners = [Listener(w.person, random.Random(dice.random())) for w in people]

    def start(self) -> None:
        """Let everybody follow the others, and start all threads."""
        ids = [w.person.get("/api/v1/users/me").json["id"] for w in self.writers]
        for writer, ident in itertools.product(self.writers, ids):
            if ident != writer.person.get("/api/v1/users/me").json["id"]:
                self._send(writer.person, "POST", f"/api/v1/users/{ident}/follow")
        for thread in self._threads:
            thread.start()
        for listener in self.listeners:
            listener.start()

    def stop(self) -> None:
        """End all threads, the sockets after they came back."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if not wait(lambda: all(one.is_open for one in self.listeners), seconds=RETURN_SECONDS):
            self.failures.append("a WebSocket did not come back")
        for listener in self.listeners:
            listener.stop()
            self.failures += listener.refusals

    def missing(self) -> list[str]:
        """Return which acknowledged posts are not in each feed once."""
        texts = [text for writer in self.writers for text in writer.times]
        feeds = {w.name: Counter(w.person.all_posts()) for w in self.writers}
        return [
            f"{text} is {posts[text]} times in the feed of {name}"
            for name, posts in feeds.items()
            for text in texts
            if posts[text] != 1
        ]

    def sockets(self) -> dict[str, object]:
        """Return how sockets closed, and how many came back in the busiest second."""
        closes = sum((one.closes for one in self.listeners), Counter[int]())
        seconds = Counter(int(at) for one in self.listeners for at in one.returns[1:])
        return {"closes": closes, "most in a second": max(seconds.values(), default=0)}

    def _write(self, writer: Writer) -> None:
        while not self._stop.is_set():
            writer.sent += 1
            text, began = f"{writer.name} {writer.sent}", time.time()
            if self._send(writer.person, "POST", "/api/v1/posts", {"content": text}):
                writer.times[text] = (began, time.time())

    def _read(self, person: Visitor) -> None:
        while not self._stop.is_set():
            for path in ("/", "/static/css/site.css"):
                self._send(person, "GET", path)
            feed = self._send(person, "GET", "/api/v1/feed")
            for item in feed.json["items"][:1] if feed else ():
                self._send(person, "PUT", f"/api/v1/posts/{item['id']}/like")

    def _send(self, person: Visitor, method: str, path: str, body: object = None) -> Answer | None:
        """Send a request; return the answer, None if it is a failure."""
        answer = None
        try:
            answer = person.send(method, path, body)
            status = str(answer.status)
        except OSError as error:
            status = repr(error)
        self.answers[f"{method} {status}"] += 1
        time.sleep(PAUSE_SECONDS)
        if answer is not None and status.startswith("2"):
            return answer
        self.failures.append(f"{time.time():.1f} {method} {path}: {status}")
        return None


def change(machine: Machine, load: Load, rounds: int) -> None:
    """Update, take the update back and read the settings again, some times."""
    seen = 0
    for words in (["update", NEW], ["rollback"], ["reload"]) * rounds:
        began = time.time()
        machine.output("site", *words)
        found, seen = load.failures[seen:], len(load.failures)
        print(f"{words[0]} at {began:.1f}, {time.time() - began:.1f} s: {found}", flush=True)


def events(machine: Machine) -> str:
    """Return how many events wait in the outbox."""
    return machine.output("site", "manage", "shell", "-c", EVENTS)


def main() -> int:
    """Run the trial."""
    options = harness.arguments("Updates under load.", {"--rounds": 3}, {"--before": BEFORE})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    with Machine("update") as machine:
        installed.install(machine, "BUDGETS=0", version=options.before)
        machine.check_out(NEW)
        load = Load(machine, random.Random(options.seed))
        load.start()
        try:
            change(machine, load, options.rounds)
        finally:
            load.stop()
        wrong = [*load.failures, *load.missing()]
        if not wait(lambda: "events 0" in events(machine), seconds=RETURN_SECONDS):
            wrong.append(f"left: {events(machine)}")
        for command in ("recount", "recount_interactions", "verify_feeds"):
            machine.output("site", "manage", command)
        if wrong:
            units = ("-u", "socialsite-sockets", "-u", "socialsite-nginx")
            print(machine.output("journalctl", "-o", "short-unix", "--no-pager", *units))
    found = {"answers": load.answers, "sockets": load.sockets(), "wrong": wrong[:20]}
    print(json.dumps({**found, "number": len(wrong)}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
