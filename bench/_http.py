"""A client of the site under its WSGI server: requests over kept connections, counted and timed."""

import contextlib
import os
import random
import re
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import _harness as harness
from deploy import services

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


Site = tuple[Path, int]  # its Unix socket and its process group


class Connection:
    """One kept connection to the site's Unix socket; as little work of its own as can be."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(10)
        self._socket.connect(str(path))

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the body of its answer; RuntimeError when it is not 200."""
        self._socket.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._part()
        head, _, body = answer.partition(b"\r\n\r\n")
        length = LENGTH.search(head + b"\r\n")
        if length is None or not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"unexpected answer: {answer[:300]!r}")
        while len(body) < int(length[1]):
            body += self._part()
        return body

    def _part(self) -> bytes:
        part = self._socket.recv(65_536)
        if not part:
            raise RuntimeError("the site closed the connection")
        return part

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def request(path: str, *headers: str) -> bytes:
    """Return the bytes of a GET."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


@contextlib.contextmanager
def site(env: Mapping[str, str] | None = None) -> Iterator[Site]:
    """Run the site under granian with two workers; gives its Unix socket and process group.

    With the addresses of `bench._site`; `env` is added to this process's environment.
    """
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as directory:
        uds = Path(directory) / "http.sock"
        service = services.wsgi({**os.environ, **(env or {})}, uds)
        service.argv = [word.replace("socialsite.wsgi:", "bench._site:") for word in service.argv]
        service.start()
        try:
            yield uds, service.pid
        finally:
            service.stop()


def answers(
    connections: Sequence[Connection], sent: Sequence[bytes], seconds: float
) -> list[float]:
    """Let all connections ask without a pause, each what is its own of `sent`, round and round.

    Returns how long each answer took, in seconds.
    """
    times: list[list[float]] = [[] for _ in connections]
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        ask, mine, add = connections[number].ask, sent[number % len(sent)], times[number].append
        began = time.perf_counter()
        while began < end:
            ask(mine)
            now = time.perf_counter()
            add(now - began)
            began = now

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for found in times for one in found]


def cpu_seconds(group: int) -> float:
    """Return the time that the processes of a group have computed so far."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name in brackets: state, parent, group, … and the 12th and 13th are times.
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Load:
    """What came of one kind of request over many turns."""

    rates: list[float] = field(default_factory=list)  # answers a second, by turn
    times: list[float] = field(default_factory=list)  # seconds, of each answer
    cpu: float = 0.0  # seconds that the site's processes computed

    @property
    def rate(self) -> float:
        """The median of the answers a second."""
        return statistics.median(self.rates)

    @property
    def cpu_ms(self) -> float:
        """What the site's processes computed for one answer, in ms."""
        return self.cpu / len(self.times) * 1000

    def percentile(self, percent: float) -> float:
        """Return the time that so many per cent of the answers did not exceed, in ms."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] * 1000

    def of(self, floor: "Load") -> float:
        """Return the median of the ratios of the rates, turn by turn."""
        return statistics.median(a / b for a, b in zip(self.rates, floor.rates, strict=True))


@dataclass
class Asked:
    """One kind of request of a comparison: at which site, and what its connections send."""

    site: Site
    sent: Sequence[bytes]


def compare(
    kinds: Mapping[str, Asked], *, connections: int, turns: int, seconds: float, seed: int = 1
) -> dict[str, Load]:
    """Let each kind have its turn, in an order drawn anew each round."""
    dice, names = random.Random(seed), list(kinds)
    found = {name: Load() for name in names}
    with contextlib.ExitStack() as stack:
        kept: dict[Path, list[Connection]] = {}
        for uds in {kind.site[0] for kind in kinds.values()}:
            kept[uds] = [Connection(uds) for _ in range(connections)]
            for connection in kept[uds]:
                stack.callback(connection.close)
        for kind in kinds.values():
            answers(kept[kind.site[0]], kind.sent, 0.5)  # every worker has loaded everything
        for _ in range(turns):
            dice.shuffle(names)
            for name in names:
                kind, load = kinds[name], found[name]
                uds, group = kind.site
                began, before = time.perf_counter(), cpu_seconds(group)
                times = answers(kept[uds], kind.sent, seconds)
                load.cpu += cpu_seconds(group) - before
                load.rates.append(len(times) / (time.perf_counter() - began))
                load.times += times
    return found


def table(report: harness.Report, loads: Mapping[str, Load], floor: str, title: str) -> None:
    """Print what was compared."""
    rows = []
    for name, load in loads.items():
        rates = [f"{one:.0f}" for one in (min(load.rates), load.rate, max(load.rates))]
        times = [f"{load.percentile(percent):.2f}" for percent in (50, 99)]
        of = [f"{load.of(loads[floor]):.2f}", f"{load.cpu_ms / loads[floor].cpu_ms:.2f}"]
        rows.append([name, *rates, of[0], *times, f"{load.cpu_ms:.3f}", of[1]])
    head = ["", "least/s", "median/s", "most/s", f"of {floor}", "p50 ms", "p99 ms"]
    report.rows(rows, [*head, "CPU ms each", f"× {floor}"], title=title)
