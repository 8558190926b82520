"""One HTTP worker and two, direct and behind nginx: `make bench ARGS="workers"`.

A member reads the warm home feed by API. Each start opens new workers and new connections, since it
is the opening that shares the connections out: both workers have to work in the worst start. How
much faster two workers are is the median of the starts: the client, Redis and nginx need a part of
the same processors, and other load on the machine makes single starts better or worse.
"""

import contextlib
import statistics
from collections.abc import Iterator

from bench import pages
from bench.support import harness, http

CONNECTIONS = (8, 64)
ONE, TWO = "one worker", "two workers"
BEHIND = " behind nginx"
FEED = "/api/v1/feed?size=20"
# Two workers / one. On two cores nginx leaves less to the workers.
GAINS = {"": 1.7, BEHIND: 1.55}


@contextlib.contextmanager
def sites() -> Iterator[dict[str, http.Site]]:
    """Start one worker, two others, and nginx in front of each."""
    with contextlib.ExitStack() as stack:
        found = {}
        for name, workers in ((ONE, 1), (TWO, None)):
            found[name] = stack.enter_context(http.site(workers=workers))
            found[name + BEHIND] = stack.enter_context(http.behind_nginx(found[name]))
        yield found


def main() -> int:
    """Measure."""
    options = harness.arguments(
        __doc__ or "", {"--starts": 10, "--turns": 3, "--milliseconds": 1000}
    )
    harness.setup()

    from accounts import actions as accounts_actions

    report = harness.Report("workers", options)
    reader, _author, _post = pages.world(options.seed)
    token = accounts_actions.sign_in(reader, "chrome").access
    sent = [http.request(FEED, f"Authorization: Bearer {token}")]
    names = [name + way for name in (ONE, TWO) for way in ("", BEHIND)]
    found = {many: {name: http.Load() for name in names} for many in CONNECTIONS}
    gains: dict[tuple[int, str], list[float]] = {
        (many, way): [] for many in CONNECTIONS for way in ("", BEHIND)
    }
    shares: dict[int, list[float]] = {many: [] for many in CONNECTIONS}
    for _ in range(options.starts):
        with sites() as started:
            asked = {name: http.Asked(site, sent) for name, site in started.items()}
            for many, total in found.items():
                before = [http.cpu_seconds([one]) for one in started[TWO].groups]
                loads = http.compare(asked, options, connections=many)
                after = [http.cpu_seconds([one]) for one in started[TWO].groups]
                used = [end - start for start, end in zip(before, after, strict=True)]
                shares[many].append(max(used) / sum(used))
                for way in ("", BEHIND):
                    gains[many, way].append(loads[TWO + way].of(loads[ONE + way]))
                for name, load in loads.items():
                    total[name].add(load)
    for many, total in found.items():
        title = f"{many} connections"
        http.table(report, total, ONE, f"{title}, {options.starts} starts:")
        busier = max(shares[many])
        report.goal(f"work of the busier worker, {title}, worst start", busier, at_most=0.6)
        for way, limit in GAINS.items():
            gain = statistics.median(gains[many, way])
            report.goal(f"two workers / one{way}, {title}", gain, at_least=limit)
        share = total[TWO + BEHIND].of(total[TWO])
        report.goal(f"two workers behind nginx / direct, {title}", share, at_least=0.85)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
