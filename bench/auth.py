"""The cost of authentication: a tiny request with a credential, compared with one without.

The site runs under granian with two workers, as in the full stack. The two addresses of
`bench.support.site` do the same, but only one authenticates. Then the parts of that cost are
measured in this process: decoding a token by algorithm, the floors, the whole.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bench.support import harness, http
from socialsite.core.runtime import keys

KINDS = {"HS256": "secret", "EdDSA": "ed25519", "RS256": "rsa"}
CONNECTIONS = 8


def over_http(report: harness.Report, requests: dict[str, bytes], floor: str) -> None:
    """Measure responses a second in short turns, and the time of single requests.

    Of these figures the site's CPU time for a response depends least on other load of the machine.
    """
    options = report.options
    with http.site() as site:
        connection = http.Connection(site.sockets[0])
        tiny = [sent for name, sent in requests.items() if "query" not in name]
        bodies = {connection.ask(sent) for sent in tiny}
        connection.close()  # the server closes idle ones
        report.goal("different bodies of the tiny requests", len(bodies), exactly=1)
        loads = http.compare(
            {name: http.Asked(site, [sent]) for name, sent in requests.items()},
            options,
            connections=CONNECTIONS,
        )
        connection = http.Connection(site.sockets[0])
        times = harness.interleave(
            {name: _asking(connection, sent) for name, sent in requests.items()},
            rounds=options.rounds,
            seed=options.seed,
        )
        connection.close()
    report.table(times, floor=floor, title="One request at a time:")
    title = f"{CONNECTIONS} connections, {options.turns} turns of {options.milliseconds} ms:"
    http.table(report, loads, floor, title)
    report.goal("Bearer / no credential, p50", times["Bearer"].p50 / times[floor].p50, at_most=2)
    cpu = loads["Bearer"].cpu_ms / loads[floor].cpu_ms
    report.goal("Bearer / no credential, CPU", cpu, at_most=2)


def _asking(connection: http.Connection, sent: bytes) -> Callable[[], bytes]:
    return lambda: connection.ask(sent)


def access_tokens(user: Any, texts: Mapping[str, str]) -> dict[str, str]:
    """Return an access token of a person for each algorithm, signed by its key."""
    from django.conf import settings

    from accounts import actions as accounts_actions

    access = {}
    for algorithm, text in texts.items():
        settings.JWT_KEYS = [text, *(one for one in texts.values() if one != text)]
        client = {"HS256": "other", "EdDSA": "chrome", "RS256": "android"}[algorithm]
        access[algorithm] = accounts_actions.sign_in(user, client).access
    settings.JWT_KEYS = list(texts.values())
    return access


def measured_requests(access: Mapping[str, str], other: Any) -> dict[str, bytes]:
    """Return the requests to measure, by name."""
    tiny, cookies = "/api/v1/bench/guarded", f"access={access['HS256']}; csrf={'x' * 32}"
    return {
        "no credential": http.request("/api/v1/bench/open"),
        "Bearer": http.request(tiny, f"Authorization: Bearer {access['HS256']}"),
        "Bearer, RS256": http.request(tiny, f"Authorization: Bearer {access['RS256']}"),
        "cookie": http.request(tiny, f"Cookie: {cookies}"),
        "Bearer, a view with one query": http.request(
            f"/api/v1/relations?ids={other.pk}", f"Authorization: Bearer {access['HS256']}"
        ),
    }


def main() -> int:
    """Measure."""
    options = harness.arguments(
        __doc__ or "", {"--rounds": 2000, "--turns": 15, "--milliseconds": 500}
    )
    texts = {algorithm: keys.read([keys.new(kind)])[0] for algorithm, kind in KINDS.items()}  # type: ignore[arg-type]
    os.environ["JWT_KEYS"] = ",".join(texts.values())
    harness.setup()

    from accounts import actions as accounts_actions
    from accounts import cache, tokens
    from accounts.request_auth import authentication
    from accounts.tokens import decoding
    from socialsite.core import redis

    report = harness.Report("auth", options)
    user = accounts_actions.register("bench1", "Bench1", "right.pass1")
    other = accounts_actions.register("bench2", "Bench2", "right.pass1")
    access = access_tokens(user, texts)

    over_http(report, measured_requests(access, other), floor="no credential")

    works: dict[str, Callable[[], object]] = {
        "Redis PING": lambda: redis.call(lambda connection: connection.ping())
    }
    for algorithm, token in access.items():
        works[f"read an {algorithm} token"] = partial(decoding._read, tokens.AccessToken, token)
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
