"""Deliveries and pages of the feed beside Stream-Framework: `make bench ARGS="peers"`.

Both deliver the same number of posts to the same number of followers and read the same number of
pages of 20, in one process each, without HTTP and without a broker. `PEER_PYTHON` names the Python
of a venv with Stream-Framework, see `bench/peers.md`; without it only this site is measured.
"""

import os
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.support import harness

SIZE = 20
PEER = Path(__file__).parent / "support" / "stream_peer.py"


def own(options: Any) -> dict[str, Any]:
    """Deliver and read with this site; return what the peer's program prints."""
    from accounts.models import User
    from bench.support import deliveries, people
    from feeds import queries
    from feeds.delivery.fanout import deliver
    from feeds.models import FanOutChunk
    from interactions import queries as interactions_queries
    from socialsite.core.events import enqueue

    ids = people.make_people(options.followers + 1)
    world = deliveries.World(ids)
    with enqueue.paused():
        began, cpu = time.perf_counter(), time.process_time()
        chunks = world.planned(options.posts)
        rows = FanOutChunk.objects.filter(pk__in=chunks).order_by("pk")
        deliver.run_chunks(rows.values_list("pk", "fanout_id"))
        found: dict[str, Any] = {
            "entries": options.posts * options.followers,
            "seconds": time.perf_counter() - began,
            "cpu": time.process_time() - cpu,
        }
    readers = list(User.objects.filter(pk__in=world.fans[: options.pages]))
    for reader in readers:  # the peer's lists are in Redis from the delivery on
        queries.home_feed(reader, None, SIZE)
    times, cpu = [], time.process_time()
    for number in range(options.pages):
        reader = readers[number % len(readers)]
        decoration = interactions_queries.Decoration(reader.pk)
        began = time.perf_counter()
        page = queries.home_feed(reader, None, SIZE, decoration)
        times.append(time.perf_counter() - began)
        if len(page.items) != min(SIZE, options.posts):
            raise RuntimeError(f"a page has {len(page.items)} posts")
    return {**found, "pages": times, "pages_cpu": time.process_time() - cpu}


def peer(options: Any) -> dict[str, Any] | None:
    """Run Stream-Framework on the TCP Redis of this run; None without `PEER_PYTHON`."""
    python = os.environ.get("PEER_PYTHON")
    if not python:
        return None
    import orjson

    at = urlsplit(os.environ["BROKER_URL"])
    numbers = [str(one) for one in (options.followers, options.posts, options.pages)]
    words = [str(at.hostname), str(at.port), at.password or "", *numbers]
    # The person who runs the benchmark names the program.
    command = [python, str(PEER), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603
    found: dict[str, Any] = orjson.loads(done.stdout)
    return found


def main() -> int:
    """Measure."""
    numbers = {"--followers": 1000, "--posts": 20, "--pages": 300}
    options = harness.arguments(__doc__ or "", numbers)
    harness.setup()
    report = harness.Report("peers", options)
    kinds = {"this site": own(options)}
    if (other := peer(options)) is None:
        report.say("PEER_PYTHON is not set: no peer was measured.")
    else:
        kinds["Stream-Framework"] = other
    rows = []
    for name, found in kinds.items():
        entries, pages = found["entries"], sorted(found["pages"])
        rows.append(
            [
                name,
                f"{entries / found['seconds']:.0f}",
                f"{found['cpu'] / entries * 1e6:.1f}",
                f"{pages[len(pages) // 2] * 1000:.2f}",
                f"{found['pages_cpu'] / len(pages) * 1000:.2f}",
            ]
        )
    head = ["", "entries delivered/s", "µs of CPU each", "page of 20, p50 ms", "ms of CPU each"]
    report.rows(rows, head)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
