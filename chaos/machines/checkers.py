"""Couples who write and compare, and readers who fill the caches, on all processes of a site."""

import contextlib
import random
import threading
import time
from collections.abc import Iterator, Sequence

from chaos.machines.couples import Couple, Person
from chaos.machines.journal import Journal, Wrong
from chaos.machines.sites import Process

READ_SECONDS = 0.1


class Checkers:
    """So many couples, each with a thread that writes and one that reads."""

    def __init__(
        self, processes: Sequence[Process], number: int, dice: random.Random, pause: float = 0.05
    ) -> None:
        self.journal, self._processes, self._pause = Journal(), processes, pause
        self.couples = [self._couple(n, random.Random(dice.random())) for n in range(number)]
        self._locks = [threading.Lock() for _ in self.couples]
        self._stop, self._go = threading.Event(), threading.Event()
        self._go.set()
        self._threads = [
            *(threading.Thread(target=self._write, args=(n,)) for n in range(number)),
            *(threading.Thread(target=self._read, args=(one,)) for one in self.couples),
        ]

    def _couple(self, number: int, dice: random.Random) -> Couple:
        name = f"couple{number}"
        people = [Person(self._processes[0], f"192.0.2.{10 * number + n}") for n in range(3)]
        for person, letter in zip(people, "abc", strict=True):
            if not person.sign_up(f"{name}{letter}"):
                raise SystemExit(f"{name}{letter} could not sign up")
        author, reader, drifter = people
        couple = Couple(author, reader, drifter, name, self._processes, self.journal, dice)
        couple.author_id, couple.reader_id = (
            str(one.get("/api/v1/users/me").json["id"]) for one in (author, reader)
        )
        return couple

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let each reader follow two authors, and everybody write and read, for the block."""
        for one, other in zip(self.couples, [*self.couples[1:], self.couples[0]], strict=True):
            for author in {one.author_id, other.author_id}:
                answer = one.reader.send("POST", f"/api/v1/users/{author}/follow")
                if answer.status != 200:
                    raise SystemExit(f"no follow: {answer.status}")
        try:
            for thread in self._threads:
                thread.start()
            yield
        finally:
            self._go.set()
            self._stop.set()
            for thread in self._threads:
                thread.join()

    def compare(self) -> None:
        """Compare all pages on all processes, while nobody writes."""
        self._go.clear()
        with contextlib.ExitStack() as stack:
            for lock in self._locks:
                stack.enter_context(lock)
            for couple in self.couples:
                couple.look_everywhere()
        self._go.set()

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Note an error that ends a thread: it checks nothing any more."""
        try:
            yield
        except (Exception, SystemExit) as error:
            self.journal.wrong.append(Wrong(time.time(), self.journal.fault, repr(error)))
            raise

    def _write(self, number: int) -> None:
        with self._noted():
            while not self._stop.wait(self._pause):
                self._go.wait()
                with self._locks[number]:
                    self.couples[number].step()

    def _read(self, couple: Couple) -> None:
        """Read the home feed of a reader on all processes in turn."""
        person = Person(couple.processes[0], couple.reader.headers["X-Forwarded-For"])
        person.token = couple.reader.token
        dice = random.Random(couple.dice.random())
        with self._noted():
            while not self._stop.wait(READ_SECONDS):
                couple.send(dice.choice(couple.processes), person, "GET", "/api/v1/feed")
