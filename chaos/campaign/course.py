"""The campaign at one site: its parts in order, and the checks afterwards."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from chaos.campaign.fuzz import crowd
from chaos.campaign.journal import Journal
from chaos.campaign.matrix import world
from chaos.campaign.matrix.access import Matrix
from chaos.campaign.matrix.closing import Closing
from chaos.campaign.matrix.repeats import Kept
from chaos.campaign.matrix.routes import Routes, unlisted
from chaos.campaign.matrix.world import World
from chaos.campaign.parts.malformed import Malformed
from chaos.campaign.parts.texts import Scripts
from chaos.campaign.parts.tokens import Tokens
from chaos.campaign.parts.uploads import Uploads
from chaos.campaign.site.people import wire_to
from chaos.campaign.site.sites import Site, Staff

PARTS = ("matrix", "tokens", "uploads", "texts", "malformed", "fuzz")


@dataclass(frozen=True)
class Plan:
    """The amount of work; `share` is the part of all possible requests that is sent."""

    requests: int
    seconds: float
    seed: int = 1
    clients: int = 4
    share: float = 1.0
    parts: tuple[str, ...] = PARTS
    forged: int = 20
    pictures: int = 20

    def staff(self) -> list[Staff]:
        """Return the staff who must exist before the site starts."""
        return [*world.staff(), *crowd.staff(self.clients)]


@dataclass
class Course:
    """The campaign at one site."""

    site: Site
    journal: Journal
    plan: Plan
    cells: dict[str, int] = field(default_factory=dict)
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Run all planned parts."""
        self.site.wait_until_calm()
        self.memory = self.site.memory()
        works: dict[str, Callable[[], None]] = {
            "matrix": self._matrix,
            "tokens": self._tokens,
            "uploads": self._uploads,
            "texts": self._texts,
            "malformed": self._malformed,
            "fuzz": self._fuzz,
        }
        for name in self.plan.parts:
            began, before = time.monotonic(), self.journal.counts["tried"]
            works[name]()
            tried = self.journal.counts["tried"] - before
            took, used = time.monotonic() - began, self.site.memory()
            memory = ", ".join(f"{name} {now:.0f} MB" for name, (now, _most) in used.items())
            self.journal.say(f"- {name}: {tried} requests, {took:.0f} s; {memory}")
        self.site.wait_until_calm()
        self._read_logs()

    # --- parts ----------------------------------------------------------------------------------
    def _matrix(self) -> None:
        for address in unlisted():
            self.journal.find("leak", "matrix", f"no table says who is shown what at {address}")
        people = World(self.site, wire_to(self.site))
        people.settle()
        dice = random.Random(f"{self.plan.seed} matrix")
        matrix = Matrix(people, self.journal, min(3, self.plan.clients))
        matrix.chosen = lambda: dice.random() < self.plan.share
        around, kept = Routes(matrix), Kept(matrix)
        around.chosen = matrix.chosen
        self._go(matrix, kept.repeat, kept.pictures, matrix.read)
        people.block()
        matrix.state = "blocked"
        self._go(matrix, kept.repeat, kept.pictures, around.listen, around.staff_find)
        self._go(matrix, around.keep_out, matrix.read, matrix.write, around.try_all)
        people.ban()
        matrix.state = "banned"
        self._go(matrix, matrix.read, around.listen, Closing(matrix).run)
        if self.site.configuration.redis_dies:
            self.site.kill_redis()
            matrix.state = "redis dead"
            self._go(matrix, matrix.read, matrix.write)
        else:
            self.site.empty_caches()
            matrix.state, matrix.cold = "cold", True
            self._go(matrix, matrix.read)
            matrix.cold = False
        self._go(matrix, matrix.prove_writes)
        people.delete()
        matrix.state = "deleted"
        self._go(matrix, kept.repeat, kept.pictures, matrix.read)
        people.close()
        self._go(matrix, matrix.read)
        self.cells = dict(matrix.cells)

    def _go(self, matrix: Matrix, *works: Callable[[], None]) -> None:
        """Run some of the matrix, and print how long it took."""
        for work in works:
            began, before = time.monotonic(), sum(matrix.cells.values())
            work()
            cells = sum(matrix.cells.values()) - before
            took = time.monotonic() - began
            self.journal.say(f"  - {matrix.state}, {work.__name__}: {cells} cells, {took:.0f} s")

    def _tokens(self) -> None:
        part = Tokens(self.site, self.journal, self.plan.seed, self.plan.forged)
        part.run()

    def _uploads(self) -> None:
        part = Uploads(self.site, self.journal, self.plan.seed, self.plan.pictures)
        part.run()
        self.notes.append(f"pictures that were kept: {part.kept}")

    def _texts(self) -> None:
        part = Scripts(self.site, self.journal, self.plan.seed, self.plan.share)
        part.run()

    def _malformed(self) -> None:
        part = Malformed(self.site, self.journal, self.plan.seed, self.plan.share)
        part.run()

    def _fuzz(self) -> None:
        wire = wire_to(self.site)
        people = crowd.Crowd(self.site, self.journal, wire, self.plan.clients)
        dies = self.site.configuration.redis_dies and not self.site.redis_is_dead

        def on_part(done: int) -> None:
            if dies and done > self.plan.requests / 3 and not self.site.redis_is_dead:
                self.site.kill_redis()

        people.run(self.plan.requests, self.plan.seconds, self.plan.seed, on_part)
        renewed = sum(person.renewed for team in people.teams for person in team)
        self.notes.append(f"sign-ins that were renewed: {renewed}")

    # --- after ----------------------------------------------------------------------------------
    def _read_logs(self) -> None:
        """Count tracebacks, and search for secrets that must not be in a log."""
        for name, count in self.site.tracebacks().items():
            for _ in range(count):
                self.journal.counts["traceback"] += 1
            text = self.site.logs()[name]
            at = text.index(b"Traceback")
            said = text[at : at + 3000].decode(errors="replace")
            self.journal.say(f"  {count} tracebacks of {name}, the first one:\n{said}")
        secrets = {
            one for person in self.site.people.values() for one in person.secrets_issued if one
        }
        for name, text in self.site.logs().items():
            found = [one for one in secrets if one.encode() in text]
            if found:
                self.journal.find("leak", "logs", f"{len(found)} secrets in the log of {name}")
