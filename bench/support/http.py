"""A client of the site under its WSGI server: requests over kept connections, counted and timed."""

import argparse
import contextlib
import itertools
import os
import random
import re
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.support import harness
from deploy.services import nginx, site_processes
from deploy.services.service import free_port
from deploy.services.site_processes import LOOPBACK

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


@dataclass(frozen=True)
class Site:
    """The addresses and the process groups of the HTTP workers, or of nginx in front of them."""

    sockets: tuple[Path | tuple[str, int], ...]
    groups: tuple[int, ...]


class Connection:
    """One kept connection to a Unix socket, or to a host and port, with minimal overhead."""

    def __init__(self, address: Path | tuple[str, int]) -> None:
        if isinstance(address, Path):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(str(address))
        else:
            self._socket = socket.create_connection(address)
        self._socket.settimeout(10)

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the response body.

        Raises RuntimeError unless its status is 200 or 201.
        """
        self._socket.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._part()
        head, _, body = answer.partition(b"\r\n\r\n")
        length = LENGTH.search(head + b"\r\n")
        if length is None or not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
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
        """Close the connection."""
        self._socket.close()


def request(path: str, *headers: str) -> bytes:
    """Return the bytes of a GET."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


@contextlib.contextmanager
def site(env: Mapping[str, str] | None = None, workers: int | None = None) -> Iterator[Site]:
    """Run the site under granian, by default with as many workers as the full stack has.

    With the addresses of `bench.support.site`; `env` is added to this process's environment.
    """
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="socialsite-bench-"))
        Path(directory).chmod(0o711)  # nginx may run under another account
        uds = tuple(Path(directory) / f"{name}.sock" for name in site_processes.HTTP[:workers])
        started = [site_processes.wsgi({**os.environ, **(env or {})}, one) for one in uds]
        for worker in started:
            worker.argv = [
                word.replace("socialsite.wsgi:", "bench.support.site:") for word in worker.argv
            ]
            stack.callback(worker.stop)
            worker.start()
        yield Site(uds, tuple(worker.pid for worker in started))


@contextlib.contextmanager
def behind_nginx(workers: Site) -> Iterator[Site]:
    """Put nginx in front of these workers, as in the full stack."""
    address = (LOOPBACK, free_port())
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as name:
        directory = Path(name)
        directory.chmod(0o711)  # nginx may run under another account
        server = nginx.nginx(
            directory,
            *address,
            http_uds=[one for one in workers.sockets if isinstance(one, Path)],
            sockets_uds=directory / "none.sock",
            files=directory,
            scheme="http",
        )
        server.start()
        try:
            yield Site((address,), (*workers.groups, server.pid))
        finally:
            server.stop()


def answers(
    connections: Sequence[Connection], sent: Sequence[bytes], seconds: float
) -> list[float]:
    """Let all connections send requests without a pause, each its own part of `sent` in a loop.

    Returns the time of each response, in seconds.
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


def cpu_seconds(groups: Collection[int]) -> float:
    """Return the CPU time that the processes of these groups have used so far."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name in brackets: state, parent, group, …; the 12th and 13th fields are
            # times.
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) in groups:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Load:
    """The results of one kind of request over several turns."""

    rates: list[float] = field(default_factory=list)  # responses a second, by turn
    times: list[float] = field(default_factory=list)  # seconds, of each response
    cpu: float = 0.0  # CPU seconds of the site's processes

    @property
    def rate(self) -> float:
        """The median of the responses a second."""
        return statistics.median(self.rates)

    @property
    def cpu_ms(self) -> float:
        """CPU time of the site's processes for one response, in ms."""
        return self.cpu / len(self.times) * 1000

    def percentile(self, percent: float) -> float:
        """Return the time within which this percentage of responses arrived, in ms."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] * 1000

    def add(self, other: "Load") -> None:
        """Add the results of the same kind of request at another time."""
        self.rates += other.rates
        self.times += other.times
        self.cpu += other.cpu

    def of(self, floor: "Load") -> float:
        """Return the median of the ratios of the rates, turn by turn."""
        return statistics.median(a / b for a, b in zip(self.rates, floor.rates, strict=True))


@dataclass
class Asked:
    """One kind of request in a comparison: its site, and the requests of its connections."""

    site: Site
    sent: Sequence[bytes]


def compare(
    kinds: Mapping[str, Asked], options: argparse.Namespace, *, connections: int
) -> dict[str, Load]:
    """Measure each kind in turn, in a random order each round.

    Of the options it takes `turns`, `milliseconds` and `seed`.
    """
    seconds = options.milliseconds / 1000
    dice, names = random.Random(options.seed), list(kinds)
    found = {name: Load() for name in names}
    with contextlib.ExitStack() as stack:
        kept: dict[Site, list[Connection]] = {}
        for site in {kind.site for kind in kinds.values()}:
            sockets = itertools.cycle(site.sockets)
            kept[site] = [Connection(next(sockets)) for _ in range(connections)]
            for connection in kept[site]:
                stack.callback(connection.close)
        for kind in kinds.values():
            answers(kept[kind.site], kind.sent, 0.5)  # warm up: every worker loads all its code
        for _ in range(options.turns):
            dice.shuffle(names)
            for name in names:
                kind, load = kinds[name], found[name]
                began, before = time.perf_counter(), cpu_seconds(kind.site.groups)
                times = answers(kept[kind.site], kind.sent, seconds)
                load.cpu += cpu_seconds(kind.site.groups) - before
                load.rates.append(len(times) / (time.perf_counter() - began))
                load.times += times
    return found


def table(report: harness.Report, loads: Mapping[str, Load], floor: str, title: str) -> None:
    """Print the comparison."""
    rows = []
    for name, load in loads.items():
        rates = [f"{one:.0f}" for one in (min(load.rates), load.rate, max(load.rates))]
        times = [f"{load.percentile(percent):.2f}" for percent in (50, 99)]
        of = [f"{load.of(loads[floor]):.2f}", f"{load.cpu_ms / loads[floor].cpu_ms:.2f}"]
        rows.append([name, *rates, of[0], *times, f"{load.cpu_ms:.3f}", of[1]])
    head = ["", "least/s", "median/s", "most/s", f"of {floor}", "p50 ms", "p99 ms"]
    report.rows(rows, [*head, "CPU ms each", f"× {floor}"], title=title)
