"""A broker of three servers fails under load: `make chaos ARGS="broker --kind rabbitmq"`.

People post, read and like. Each time it is the server that the workers use which is killed,
frozen, or loses its links: to the site, to the other servers, or both. It comes back, and joins.

The broker carries hints only. So no request may fail, and in the end each acknowledged post is in
the inbox and in the feed of every follower once, no event is left, and all deliveries are done.
"""

import contextlib
import json
import random
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.support import harness
from chaos.machines import brokers, links
from chaos.machines.brokers import Brokers
from chaos.machines.links import Link
from chaos.machines.load import NAMES, Load
from chaos.machines.report import wait
from chaos.machines.visitor import Neighbour
from deploy.stack import Stack

ENV = {
    "BUDGETS": "0",
    "DEMO": "0",
    "PASSWORD_POLICY": "asvs",
    "NAME_POLICY": "open",
    "INBOX_MAX": "100000",  # each inbox keeps every post of the trial
}
CUTS: tuple[tuple[Link, ...], ...] = (("back",), ("back", "front"), ("front",))
CALM_SECONDS = 5
PAUSE_SECONDS = 1.0
POLL_SECONDS = 0.2
# For which a server is away at least.
AWAY_SECONDS = {"kill": 8, "freeze": 15, "cut": 15}
# After which a trial gives up: somebody has to help.
GIVE_UP_SECONDS = 180
EVENTS_SECONDS = 400
LEFT = {
    "events": "SELECT COUNT(*) FROM core_event",
    "dead events": "SELECT COUNT(*) FROM core_event WHERE dead",
    "deliveries": "SELECT COUNT(*) FROM feeds_fanout WHERE done_at IS NULL",
    "chunks": "SELECT COUNT(*) FROM feeds_fanoutchunk WHERE NOT done",
}
# By its text: in how many inboxes a post is, and of how many people it should be.
INBOXES = """
    SELECT c.content, COUNT(e.user_id), COUNT(DISTINCT e.user_id),
      (SELECT COUNT(*) FROM relations_relationship r
       WHERE r.from_user_id = p.author_id AND r.relation IN (1, 4))
    FROM feeds_post p JOIN feeds_postcontent c ON c.post_id = p.id
    LEFT JOIN feeds_inboxentry e ON e.post_id = p.id AND e.user_id <> p.author_id
    GROUP BY p.id, c.content, p.author_id
"""
DELIVERED = """
    SELECT c.content, f.done_at FROM feeds_fanout f
    JOIN feeds_postcontent c ON c.post_id = f.post_id WHERE f.done_at > %s
"""


class Trial:
    """A site whose broker fails."""

    def __init__(self, broker: Brokers, site: Stack, people: int, dice: random.Random) -> None:
        self.broker, self.site = broker, site
        self.load = Load([Neighbour(site.port) for _ in NAMES[:people]], dice, 0, PAUSE_SECONDS)
        # When each post was delivered, by its text (Unix seconds).
        self.delivered: dict[str, float] = {}
        self.rounds = list[dict[str, Any]]()
        self.times: dict[str, list[float]] = defaultdict(list)
        self.wrong = list[str]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    @contextlib.contextmanager
    def running(self) -> Any:
        """Let everybody write, for the block."""
        self.load.start()
        self._thread.start()
        try:
            yield
        finally:
            self.load.stop()

    def fail(self, kind: str, cut: tuple[Link, ...]) -> None:
        """Let the server that the workers use fail, until they work again, and bring it back."""
        time.sleep(CALM_SECONDS)
        number = self.broker.target(self.site.processes["worker"].pid)
        fault, began, seen = "+".join((kind, *cut)), time.time(), len(self.load.failures)
        if kind == "cut":
            self.broker.cut(number, cut)
        else:
            getattr(self.broker, kind)(number)
        if not wait(lambda: self._first(began) > 0, seconds=GIVE_UP_SECONDS):
            print("\n".join(self.site.processes["worker"].tail))
            raise SystemExit(f"{fault}: nothing was delivered for {GIVE_UP_SECONDS} s")
        time.sleep(max(0.0, began + AWAY_SECONDS[kind] - time.time()))
        returned = time.time()
        self.broker.bring_back(number)
        whole = time.time()
        self.rounds.append(
            {
                "fault": fault,
                "server": number,
                "works again": round(self._first(began) - began, 2),
                "whole again": round(whole - returned, 1),
                "failed": len(self.load.failures) - seen,
                "span": (began, whole),
            }
        )
        print(json.dumps(self.rounds[-1]), self.load.failures[seen:][:5], flush=True)

    def judge(self) -> None:
        """Compare what was acknowledged with what is there."""
        if not wait(lambda: not any(self._left().values()), seconds=EVENTS_SECONDS):
            self.wrong.append(f"left: {self._left()}")
        time.sleep(2 * POLL_SECONDS)
        self._over.set()
        self._thread.join()
        self.wrong += self.load.failures
        self.wrong += self.load.missing()
        acknowledged = {text for one in self.load.writers for text in one.times}
        for text, rows, readers, followers in self._rows(INBOXES):
            acknowledged.discard(text)
            if not rows == readers == followers == len(self.load.writers) - 1:
                self.wrong.append(f"{text} is in {rows} inboxes of {readers} of {followers}")
        self.wrong += [f"{text} is no post" for text in acknowledged]
        for command in ("recount", "verify_feeds"):
            print(command, self.site.manage(command), flush=True)
        self._sort()

    def _sort(self) -> None:
        """Put the time from the acknowledgement to the delivery of each post to its fault."""
        for writer in self.load.writers:
            for text, (_, acknowledged) in writer.times.items():
                if text not in self.delivered:
                    self.wrong.append(f"nobody saw the delivery of {text}")
                    continue
                spans = [(str(one["fault"]), *one["span"]) for one in self.rounds]
                fault = next((f for f, a, b in spans if a <= acknowledged <= b), "calm")
                self.times[fault].append(max(0.0, self.delivered[text] - acknowledged))

    def _first(self, began: float) -> float:
        """Return when the first post that was sent after a moment was delivered; 0 if none."""
        sent = [
            self.delivered[text]
            for writer in self.load.writers
            for text, (at, _) in list(writer.times.items())
            if at > began and text in self.delivered
        ]
        return min(sent, default=0.0)

    def _watch(self) -> None:
        last = 0
        while not self._over.wait(POLL_SECONDS):
            for text, done in self._rows(DELIVERED, [last - 5000]):
                self.delivered.setdefault(str(text), done / 1000)
                last = max(last, done)

    def _left(self) -> dict[str, int]:
        return {name: int(self._rows(sql)[0][0]) for name, sql in LEFT.items()}

    def _rows(self, sql: str, values: Any = None) -> list[Any]:
        import MySQLdb

        parts = urlsplit(self.site.env["DATABASE_URL"])
        with (
            closing(
                MySQLdb.connect(
                    host=parts.hostname or "",
                    port=parts.port or 0,
                    user=parts.username or "",
                    passwd=parts.password or "",
                    db=parts.path.removeprefix("/"),
                )
            ) as connection,
            closing(connection.cursor()) as cursor,
        ):
            cursor.execute(sql, values)
            return list(cursor.fetchall())


def plan(kills: int, cuts: int, dice: random.Random) -> list[tuple[str, tuple[Link, ...]]]:
    """Return the faults in a random order; every third kill is a freeze instead."""
    faults: list[tuple[str, tuple[Link, ...]]] = [
        ("freeze" if number % 3 == 2 else "kill", ()) for number in range(kills)
    ]
    faults += [("cut", CUTS[number % len(CUTS)]) for number in range(cuts)]
    dice.shuffle(faults)
    return faults


def summary(trial: Trial) -> dict[str, object]:
    """Return the figures by fault."""
    figures = dict[str, object]()
    for fault in ("calm", *sorted({str(one["fault"]) for one in trial.rounds})):
        times = sorted(trial.times[fault])
        rounds = [one for one in trial.rounds if one["fault"] == fault]
        again = sorted(one["works again"] for one in rounds)
        figures[fault] = {
            "faults": len(rounds),
            "posts": len(times),
            "delivery s (p50, p99, most)": [
                round(times[int(len(times) * part)], 2) for part in (0.5, 0.99)
            ]
            + [round(times[-1], 2)]
            if times
            else [],
            "works again s (median, most)": [again[len(again) // 2], again[-1]] if again else [],
        }
    return figures | {
        "posts": sum(len(writer.times) for writer in trial.load.writers),
        "failed requests": len(trial.load.failures),
        "answers": trial.load.answers,
    }


def main() -> int:
    """Run the faults and report them."""
    numbers = {"--kills": 3, "--cuts": 3, "--people": 3}
    options = harness.arguments("The broker fails.", numbers, {"--kind": "sentinel"})
    if options.kind not in brokers.KINDS:
        print(f"--kind is one of {list(brokers.KINDS)}")
        return 2
    if why := links.missing() or brokers.missing(options.kind):
        print(f"{why}; the trial is skipped")
        return 0
    dice = random.Random(options.seed)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="socialsite-broker-")))
        folder.chmod(0o711)  # servers run under another account
        broker = stack.enter_context(brokers.KINDS[options.kind](folder))
        (folder / "site").mkdir()
        with Stack(folder / "site", env={**ENV, **broker.env}) as site:
            trial = Trial(broker, site, options.people, dice)
            try:
                with trial.running():
                    for kind, cut in plan(options.kills, options.cuts, dice):
                        trial.fail(kind, cut)
                trial.judge()
            finally:
                trial._over.set()
    print(json.dumps({**summary(trial), "wrong": trial.wrong[:20], "number": len(trial.wrong)}))
    return 1 if trial.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
