"""What being signed in costs: a tiny request with a credential beside the same bytes without one.

The site runs under granian with two workers, as in the full stack; the two addresses of
`bench._auth_site` do the same, and only one asks who is there. Then the parts of that cost in this
process: reading a token by algorithm, the floors, the whole.
"""

import contextlib
import os
import random
import re
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import _harness as harness
from deploy import services
from socialsite.core import keys

KINDS = {"HS256": "secret", "EdDSA": "ed25519", "RS256": "rsa"}
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
CONNECTIONS = 8


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
def site() -> Iterator[tuple[Path, int]]:
    """Run the site under granian with two workers; gives its Unix socket and process group."""
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as directory:
        uds = Path(directory) / "http.sock"
        service = services.wsgi(dict(os.environ), uds)
        service.argv = [
            word.replace("socialsite.wsgi:", "bench._auth_site:") for word in service.argv
        ]
        service.start()
        try:
            yield uds, service.pid
        finally:
            service.stop()


def answers(connections: list[Connection], sent: bytes, seconds: float) -> int:
    """Return how many answers all connections got, each asking without a pause."""
    counts = [0] * len(connections)
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        while time.perf_counter() < end:
            connections[number].ask(sent)
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


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


def over_http(report: harness.Report, requests: dict[str, bytes], floor: str) -> None:
    """Measure answers a second in short turns, and the time of one request at a time.

    The time the site computes for an answer is the figure that other work on the machine changes
    least.
    """
    options = report.options
    with site() as (uds, group), contextlib.ExitStack() as stack:
        connections = [Connection(uds) for _ in range(CONNECTIONS)]
        for connection in connections:
            stack.callback(connection.close)
        tiny = [sent for name, sent in requests.items() if "query" not in name]
        bodies = {connections[0].ask(sent) for sent in tiny}
        report.goal("different bodies of the tiny requests", len(bodies), exactly=1)
        for sent in requests.values():
            answers(connections, sent, 0.5)  # every worker has loaded everything

        dice, names = random.Random(options.seed), list(requests)
        rates: dict[str, list[float]] = {name: [] for name in names}
        counts, computed = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
        for _ in range(options.turns):
            dice.shuffle(names)
            for name in names:
                began, before = time.perf_counter(), cpu_seconds(group)
                count = answers(connections, requests[name], options.milliseconds / 1000)
                computed[name] += cpu_seconds(group) - before
                rates[name].append(count / (time.perf_counter() - began))
                counts[name] += count
        times = harness.interleave(
            {name: _asking(connections[0], sent) for name, sent in requests.items()},
            rounds=options.rounds,
            seed=options.seed,
        )
    report.table(times, floor=floor, title="One request at a time:")
    middle = {name: statistics.median(found) for name, found in rates.items()}
    each = {name: computed[name] / counts[name] for name in requests}
    rows = []
    for name, found in rates.items():
        shown = [f"{one:.0f}" for one in (min(found), middle[name], max(found))]
        cost = f"{each[name] * 1000:.3f}"
        rows.append([name, *shown, cost, f"{each[name] / each[floor]:.2f}"])
    report.rows(
        rows,
        ["requests/s", "least", "median", "most", "ms of CPU each", f"× {floor}"],
        title=f"{CONNECTIONS} connections, {options.turns} turns of {options.milliseconds} ms:",
    )
    report.goal("Bearer / no credential, p50", times["Bearer"].p50 / times[floor].p50, at_most=2)
    report.goal("Bearer / no credential, CPU", each["Bearer"] / each[floor], at_most=2)


def _asking(connection: Connection, sent: bytes) -> Callable[[], bytes]:
    return lambda: connection.ask(sent)


def main() -> int:
    """Measure."""
    options = harness.arguments(
        __doc__ or "", {"--rounds": 2000, "--turns": 15, "--milliseconds": 500}
    )
    texts = {algorithm: keys.read([keys.new(kind)])[0] for algorithm, kind in KINDS.items()}  # type: ignore[arg-type]
    os.environ["JWT_KEYS"] = ",".join(texts.values())
    harness.setup()

    from django.conf import settings

    from accounts import actions, authentication, cache, tokens
    from socialsite.core import redis

    report = harness.Report("auth", options)
    user = actions.register("bench1", "Bench1", "right.pass1")
    other = actions.register("bench2", "Bench2", "right.pass1")
    pairs = {}
    for algorithm, text in texts.items():
        settings.JWT_KEYS = [text, *(one for one in texts.values() if one != text)]
        client = {"HS256": "other", "EdDSA": "chrome", "RS256": "android"}[algorithm]
        pairs[algorithm] = actions.sign_in(user, client)
    settings.JWT_KEYS = list(texts.values())
    access = {algorithm: pair.access for algorithm, pair in pairs.items()}

    tiny, cookies = "/api/v1/bench/guarded", f"access={access['HS256']}; csrf={'x' * 32}"
    over_http(
        report,
        {
            "no credential": request("/api/v1/bench/open"),
            "Bearer": request(tiny, f"Authorization: Bearer {access['HS256']}"),
            "Bearer, RS256": request(tiny, f"Authorization: Bearer {access['RS256']}"),
            "cookie": request(tiny, f"Cookie: {cookies}"),
            "Bearer, a view with one query": request(
                f"/api/v1/relations?ids={other.pk}", f"Authorization: Bearer {access['HS256']}"
            ),
        },
        floor="no credential",
    )

    def ping() -> None:
        redis.call(lambda connection: connection.ping())

    works: dict[str, Callable[[], object]] = {"Redis PING": ping}
    for algorithm, token in access.items():
        works[f"read an {algorithm} token"] = lambda token=token: tokens._read(
            tokens.AccessToken, token
        )
    works |= {
        "read a token known to the process": lambda: tokens.decode_access(access["HS256"]),
        "ask for the floors": lambda: cache.access_floors(user.pk, "other"),
        "all of it, token known": lambda: authentication.by_access(access["HS256"]),
    }
    times = harness.interleave(works, rounds=options.rounds, seed=options.seed)
    report.table(times, floor="Redis PING", title="In this process:")
    whole = times["all of it, token known"].p50 / times["Redis PING"].p50
    report.goal("all of it / Redis PING, p50", whole, at_most=2)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
