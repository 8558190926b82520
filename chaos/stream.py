"""The change stream under kills: `make chaos ARGS="stream --kills 50 --broker rabbitmq"`.

People follow and unfollow each other. The publisher, the broker and a consumer are killed in random
turns; in the middle third of the kills the consumer is away. It stores what it reads in a file,
with the position from which it goes on. In the end each change of each pair must be in the file, in
its order. The versions in the table say how many changes there were. Exits with 1 otherwise.

Half of the publishers end right after the broker confirmed records, and before they delete them.
"""

import contextlib
import itertools
import json
import os
import random
import secrets
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.support import harness
from deploy.services import databases, streams
from deploy.services.service import Service, free_port
from deploy.services.site_processes import PROJECT_DIR, python

QUIET_SECONDS = 180
# RabbitMQ 3.10 does not open a stream again if it is killed within half a second of creating it.
CREATED_SECONDS = 2
BROKERS = ("redis", "rabbitmq")


# --- processes ----------------------------------------------------------------------------------
def publish() -> None:
    """Publish for ever, as the tasks of a worker do."""
    from socialsite.core.events.stream import publisher

    publisher.PAUSE_SECONDS = 0.1
    while True:
        publisher.publish_waiting(most=1000)
        time.sleep(0.01)


def consume(path: Path) -> None:
    """Append records to the file for ever, and begin after the last complete line."""
    from socialsite.core.events import stream

    after = _last_position(path)
    with path.open("a", buffering=1) as file:
        while True:
            try:
                for after, record in _stream().read(after):  # noqa: B020  (goes on after a failure)
                    file.write(f'{{"position":"{after}","record":{record.to_json()}}}\n')
            except stream.StreamDown:
                time.sleep(0.1)


def _stream() -> Any:
    from socialsite.core.events import stream

    found = stream.of_site()
    if found is None:
        raise RuntimeError("EVENT_STREAM_URL is not set")
    return found


def _last_position(path: Path) -> str:
    """Return the position in the last line; a line that was not completed is removed."""
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    os.truncate(path, len(whole))
    return json.loads(whole.splitlines()[-1])["position"] if whole else ""


def _broker(kind: str, folder: Path) -> tuple[Service, str]:
    """Return a broker and the address of its stream."""
    port, password = free_port(), secrets.token_hex(8)
    if kind == "redis":
        return streams.redis_stream(folder, port, password), databases.redis_url(port, password)
    service = streams.rabbitmq(folder, port, free_port(), free_port())
    return service, f"amqp://guest:guest@127.0.0.1:{port}/"


# --- the trial ----------------------------------------------------------------------------------
class Trial:
    """The processes, and the people who write."""

    def __init__(self, options: Any, folder: Path, broker: Service) -> None:
        from bench.support.people import register

        self.dice = random.Random(options.seed)
        self.file = folder / "consumed"
        self.file.touch()
        self.people = register("stream", options.people)
        self.is_over = threading.Event()
        self.kills: Counter[str] = Counter()
        self.services = {
            "broker": broker,
            "publisher": _process("publisher", "publish"),
            "consumer": _process("consumer", "consume", str(self.file)),
        }
        self.writers = [
            threading.Thread(target=self._write, args=(options.seed * 100 + number,))
            for number in range(options.writers)
        ]

    def _write(self, seed: int) -> None:
        from django.db import connection

        from relations import actions
        from socialsite.core.events import enqueue

        dice = random.Random(seed)
        with enqueue.paused():
            while not self.is_over.is_set():
                act = dice.choice([actions.follow, actions.unfollow])
                act(*dice.sample(self.people, 2))
        connection.close()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let everything run in the block, and end it."""
        try:
            for service in self.services.values():
                service.start()
            for writer in self.writers:
                writer.start()
            yield
        finally:
            self.is_over.set()
            for service in self.services.values():
                service.kill()

    def run(self, kills: int) -> None:
        """Kill a process at each turn, and start it again."""
        away = range(kills // 3, kills * 2 // 3)
        for number in range(kills):
            if number == away.start:
                self.services["consumer"].kill()
            if number == away.stop:
                self.services["consumer"].start()
            names = [name for name in self.services if name != "consumer" or number not in away]
            name = self.dice.choice(names)
            time.sleep(self.dice.uniform(0.2, 1.5))
            self._kill(name)

    def _kill(self, name: str) -> None:
        service = self.services[name]
        service.kill()
        self.kills[name] += 1
        if name == "publisher":
            point = self.dice.choice(["", f"stream-appended:{self.dice.randint(1, 20)}"])
            service.env = {**os.environ, "FAILPOINT": point}
        service.start()

    def finish(self) -> bool:
        """End the writers, and wait until the consumer has read all; return whether it has."""
        self.is_over.set()
        for writer in self.writers:
            writer.join()
        self.services["publisher"].kill()
        self.services["publisher"].env = dict(os.environ)
        for service in self.services.values():
            service.start()
        deadline = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < deadline:
            if self._is_read():
                return True
            time.sleep(0.2)
        print({name: [*one.tail] for name, one in self.services.items()}, flush=True)
        return False

    def _is_read(self) -> bool:
        from socialsite.core.events.stream import waiting

        lines = self.file.read_bytes().splitlines()
        return not waiting.count() and bool(lines) and not _rest(_position(lines[-1]))


def _position(line: bytes) -> str:
    try:
        return str(json.loads(line)["position"])
    except ValueError:  # it is being written
        return ""


def _rest(after: str) -> bool:
    """Return whether the stream has records after a position."""
    from socialsite.core.events import stream

    try:
        return next(iter(_stream().read(after, wait=False)), None) is not None
    except stream.StreamDown:
        return True


def _process(name: str, *words: str) -> Service:
    argv = python("-m", "chaos.stream", *words)
    return Service(name=name, argv=argv, env=dict(os.environ), cwd=PROJECT_DIR)


# --- what was consumed --------------------------------------------------------------------------
class Findings:
    """What the consumer has, compared with the table."""

    def __init__(self, path: Path) -> None:
        from relations.models import Relationship

        self.lines = [json.loads(line)["record"] for line in path.read_text().splitlines()]
        first: dict[int, Any] = {}
        self.differing = sum(
            first.setdefault(record["id"], record) != record for record in self.lines
        )
        self.records = [one for one in first.values() if one["aggregateType"] == "following"]
        self.repeats = len(self.lines) - len(first)
        # Both rows of a pair have one version, which each change of either direction raises.
        rows = Relationship.objects.filter(version__gt=0)
        versions = {
            (min(pair), max(pair)): version
            for *pair, version in rows.values_list("from_user_id", "to_user_id", "version")
        }
        seen: dict[tuple[int, int], list[int]] = defaultdict(list)
        for record in self.records:
            body = record["payload"]
            pair = sorted((body["fromUserId"], body["toUserId"]))
            seen[pair[0], pair[1]].append(body["version"])
        self.changes = sum(versions.values())
        self.lost = sum(len({*range(1, top + 1)} - {*seen[pair]}) for pair, top in versions.items())
        self.unordered = sum(
            later <= earlier
            for found in seen.values()
            for earlier, later in itertools.pairwise(found)
        )
        self.unordered_ids = _unordered_ids(self.records)


def _unordered_ids(records: list[Any]) -> int:
    """Count the records whose id is below the one before it of the same aggregate."""
    newest: dict[int, int] = {}
    count = 0
    for record in records:
        count += record["id"] <= newest.get(record["aggregateId"], 0)
        newest[record["aggregateId"]] = record["id"]
    return count


def main() -> int:
    """Run the trial and report it."""
    if sys.argv[1:2] in (["publish"], ["consume"]):
        harness.setup()
        publish() if sys.argv[1] == "publish" else consume(Path(sys.argv[2]))
    numbers = {"--kills": 10, "--writers": 3, "--people": 5}
    options = harness.arguments("Kills around the change stream.", numbers, {"--broker": "redis"})
    if options.broker not in BROKERS:
        print(f"--broker is one of {BROKERS}")
        return 2
    if options.broker == "rabbitmq" and not streams.has_rabbitmq():
        print("rabbitmq-server is not installed; the trial is skipped")
        return 0
    with tempfile.TemporaryDirectory(prefix="socialsite-stream-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        broker, os.environ["EVENT_STREAM_URL"] = _broker(options.broker, folder)
        broker.start()
        harness.setup()
        report = harness.Report("stream", options)
        began = time.monotonic()
        _rest("")  # creates the stream
        time.sleep(CREATED_SECONDS)
        trial = Trial(options, folder, broker)
        with trial.running():
            trial.run(options.kills)
            is_read = trial.finish()
        found = Findings(trial.file)
    rows: list[list[object]] = [[f"kills of the {name}", n] for name, n in trial.kills.items()]
    rows += [
        ["changes in the table", found.changes],
        ["records consumed", len(found.lines)],
        ["of them repeats", found.repeats],
        ["seconds", f"{time.monotonic() - began:.0f}"],
    ]
    report.rows(rows, ["figure", "is"])
    report.goal("consumer has read all", int(is_read), exactly=1)
    report.goal("changes lost", found.lost, exactly=0)
    report.goal("records out of order in their pair", found.unordered, exactly=0)
    report.goal("ids out of order in their aggregate", found.unordered_ids, exactly=0)
    report.goal("repeats that differ", found.differing, exactly=0)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
