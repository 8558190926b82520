"""A steady load on a site, and what it should find at the end."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence

from chaos.machines.journal import Journal
from chaos.machines.listeners import Listener
from chaos.machines.report import wait
from chaos.machines.visitor import Answer, Visitor
from chaos.machines.writers import Writer

NAMES = ("anna", "bert", "cyrus", "dora", "emil", "frida")
PAUSE_SECONDS = 0.02
RETURN_SECONDS = 60


class Load:
    """People who post, read and like, one request after the other, and sockets that stay open.

    `failures` are the answers that were not as they should be, `lost` sockets that stayed closed.
    `likes` has who likes which post by
    its id, as far as it was acknowledged. A journal may have each request too.
    """

    def __init__(
        self,
        people: Sequence[Visitor],
        dice: random.Random,
        sockets: int,
        pause: float = PAUSE_SECONDS,
        journal: Journal | None = None,
    ) -> None:
        self._pause, self._journal = pause, journal or Journal()
        self.writers = [
            Writer(one, name) for one, name in zip(people, NAMES[: len(people)], strict=True)
        ]
        self.failures: list[str] = []
        self.lost = list[str]()
        self.likes = set[tuple[str, int]]()
        self.answers = Counter[str]()
        self._stop = threading.Event()
        self._threads = [
            *(threading.Thread(target=self._write, args=(writer,)) for writer in self.writers),
            *(threading.Thread(target=self._read, args=(w,)) for w in self.writers),
        ]
        listening = itertools.islice(itertools.cycle(self.writers), sockets)
        self.listeners = [Listener(w.person, random.Random(dice.random())) for w in listening]

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
            self.lost.append("a WebSocket did not come back")
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

    def _read(self, writer: Writer) -> None:
        person = writer.person
        while not self._stop.is_set():
            for path in ("/", "/static/css/site.css"):
                self._send(person, "GET", path)
            feed = self._send(person, "GET", "/api/v1/feed")
            for item in feed.json["items"][:1] if feed else ():
                if self._send(person, "PUT", f"/api/v1/posts/{item['id']}/like"):
                    self.likes.add((writer.name, int(item["id"])))

    def _send(self, person: Visitor, method: str, path: str, body: object = None) -> Answer | None:
        """Send a request; return the answer, None if it is a failure."""
        answer, fault, began = None, self._journal.fault, time.monotonic()
        try:
            answer = person.send(method, path, body)
            status = str(answer.status)
        except OSError as error:
            status = repr(error)
        self.answers[f"{method} {status}"] += 1
        is_right = answer is not None and status.startswith("2")
        self._journal.note(fault, began, f"{method} {path}", "" if is_right else status)
        if not is_right:
            self.failures.append(f"{time.time():.1f} {method} {path}: {status}")
        time.sleep(self._pause)
        return answer if is_right else None
