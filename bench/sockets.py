"""Idle WebSockets in one process: their memory, their CPU time, and how fast a hint reaches all.

uvicorn runs as in the full stack, with one socket for each of many people. A page of a browser
offers compression, so these clients do as well. A hint to all is what a publication sends to
connected followers: one message for each of them, and each socket checks its token before it
forwards the message. The baseline of that time is the sending alone.
"""

import asyncio
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, unix_connect

from bench.support import harness, memory
from deploy.services import site_processes

AT_ONCE = 50
SPARE_FILES = 500
MS = 1000
KB_EACH, SECONDS_TO_ALL = 30, 2


async def opened(uds: Path, tokens: Sequence[str]) -> list[ClientConnection]:
    """Open a socket for each token, some at once."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(token: str) -> ClientConnection:
        async with turns:
            return await unix_connect(
                str(uds),
                "ws://localhost/ws/session/",
                additional_headers={"Authorization": f"Bearer {token}"},
                ping_interval=None,
                open_timeout=30,
            )

    return await asyncio.gather(*(one(token) for token in tokens))


async def told(
    sockets: Sequence[ClientConnection], ids: Sequence[int]
) -> tuple[float, list[float]]:
    """Send one hint to all; return how long the sending took, and when each socket received it."""
    from accounts import live_hints
    from feeds.delivery.fanout import new_post_hints

    async def one(socket: ClientConnection) -> float:
        while json.loads(await socket.recv())["type"] != new_post_hints.NEW_POSTS:
            pass
        return time.perf_counter()

    waiting = [asyncio.create_task(one(socket)) for socket in sockets]
    await asyncio.sleep(0)
    began = time.perf_counter()
    message = {"type": new_post_hints.NEW_POSTS, "count": 1}
    await asyncio.to_thread(live_hints.push, ids, message)
    sent = time.perf_counter() - began
    return sent, [moment - began for moment in await asyncio.gather(*waiting)]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(report: harness.Report, uds: Path, pid: int, ids: Sequence[int]) -> None:
    """Open all sockets, leave them idle, send hints."""
    from accounts import actions as accounts_actions
    from accounts.models import User

    options = report.options
    people = await asyncio.to_thread(list, User.objects.filter(pk__in=ids).order_by("pk"))
    tokens = [
        (await asyncio.to_thread(accounts_actions.sign_in, person, "other")).access
        for person in people
    ]
    await opened(uds, tokens[:AT_ONCE])  # loads what the first sockets load
    before = memory.size_of([pid]).rss
    began = time.perf_counter()
    sockets = await opened(uds, tokens[AT_ONCE:])
    rate = len(sockets) / (time.perf_counter() - began)
    await asyncio.sleep(options.idle)
    each = (memory.size_of([pid]).rss - before) * memory.KB_PER_MB / len(sockets)
    used = cpu_seconds(pid)
    await asyncio.sleep(options.idle)
    busy = (cpu_seconds(pid) - used) / options.idle
    found = [await told(sockets, ids[AT_ONCE:]) for _ in range(options.hints)]
    sending = statistics.median(sent for sent, _ in found)
    half = statistics.median(statistics.median(moments) for _, moments in found)
    last = statistics.median(max(moments) for _, moments in found)
    rows: list[list[Any]] = [
        ["sockets opened a second", f"{rate:.0f}"],
        ["kB of memory each", f"{each:.1f}"],
        ["CPU of the idle sockets, % of a core", f"{busy * 100:.0f}"],
        ["sending a hint to all, ms", f"{sending * MS:.0f}"],
        ["a hint reaches half of them, ms", f"{half * MS:.0f}"],
        ["a hint reaches the last one, ms", f"{last * MS:.0f}"],
    ]
    report.rows(rows, [f"{len(sockets)} idle sockets", ""])
    report.goal("kB of memory of an idle socket", each, at_most=KB_EACH)
    report.goal("a hint to all, s", last, at_most=SECONDS_TO_ALL)


def main() -> int:
    """Measure."""
    options = harness.arguments(
        __doc__.splitlines()[0], {"--sockets": 5000, "--idle": 10, "--hints": 5}
    )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < options.sockets + SPARE_FILES:
        print(f"only {most} files may be open; more sockets need a higher `ulimit -n`")
        return 1
    harness.setup()
    from bench.support import people

    report = harness.Report("sockets", options)
    ids = people.make_people(options.sockets + AT_ONCE)
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as name:
        uds = Path(name) / "sockets.sock"
        server = site_processes.asgi(dict(os.environ), uds)
        server.start()
        try:
            asyncio.run(measure(report, uds, server.pid, ids))
        finally:
            server.stop()
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
