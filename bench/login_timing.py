"""Test whether the time of a failed log-in reveals that the name exists.

Pairs of log-ins over the API, in a random order within each pair: an unknown name, and an existing
name with a wrong password. Every attempt comes from a different IP address, so that no budget stops
the trial. The Kolmogorov-Smirnov test compares the two samples: p is the probability of such a
large difference if the distributions are equal.

    make bench ARGS="login_timing --pairs 2000"
"""

import math
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.support import harness

if TYPE_CHECKING:
    from django.test import Client

PEOPLE = 100
PASSWORD, WRONG = "right.pass1", "wrong.pass1"
P_MIN = 0.01
WARM_UP = 10


def ks_test(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return D, the largest distance of two samples' distribution functions, and its p-value.

    The asymptotic series with Stephens' correction for the sample size, good from some tens on.
    """
    a, b = sorted(first), sorted(second)
    i = j = 0
    distance = 0.0
    while i < len(a) and j < len(b):
        value = min(a[i], b[j])
        while i < len(a) and a[i] == value:
            i += 1
        while j < len(b) and b[j] == value:
            j += 1
        distance = max(distance, abs(i / len(a) - j / len(b)))
    size = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    scaled = (size + 0.12 + 0.11 / size) * distance
    if scaled < 0.2:
        return distance, 1.0  # the series converges badly there; the true value rounds to 1
    terms = ((-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 101))
    return distance, min(1.0, max(0.0, 2 * sum(terms)))


def attempt(client: "Client", name: str, number: int) -> float:
    """Log in with a wrong password from an address of this number; return the seconds it took."""
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    body = {"username": name, "password": WRONG}
    began = time.perf_counter()
    answer = client.post(
        "/api/v1/auth/login", body, content_type="application/json", REMOTE_ADDR=address
    )
    took = time.perf_counter() - began
    if answer.status_code != 401:
        raise SystemExit(f"{name}: {answer.status_code} {answer.content.decode()}")
    return took


def main() -> int:
    """Run the trial; return 1 if the two kinds can be told apart."""
    options = harness.arguments(__doc__.splitlines()[0], {"--pairs": 2000})
    harness.setup()
    from django.test import Client

    from accounts import actions as accounts_actions
    from accounts.credentials import passwords

    report = harness.Report("login_timing", options)
    dice = random.Random(options.seed)
    hashed = passwords.hash_password(PASSWORD)
    people = [f"known{number:05}" for number in range(PEOPLE)]
    for name in people:
        accounts_actions.register(name, "Somebody", PASSWORD, password_hash=hashed)
    client = Client(HTTP_HOST="localhost")
    addresses = iter(range(1, 2**24))

    unknown, wrong = harness.Series(), harness.Series()
    failures = dict.fromkeys(people, 0)
    for number in range(-WARM_UP, options.pairs):
        # An account accepts at most 99 failures a day from strangers.
        known = people[number % PEOPLE]
        failures[known] += 1
        if failures[known] >= 99:
            known = people[number % PEOPLE] = f"{known[:5]}{number % 10**5:05}x"
            accounts_actions.register(known, "Somebody", PASSWORD, password_hash=hashed)
            failures[known] = 1
        kinds = [(unknown, f"none{dice.randrange(10**9):09}"), (wrong, known)]
        dice.shuffle(kinds)
        for series, name in kinds:
            took = attempt(client, name, next(addresses))
            if number >= 0:
                series.times.append(took)

    report.table({"unknown name": unknown, "wrong password": wrong}, floor="unknown name")
    distance, p_value = ks_test(unknown.times, wrong.times)
    apart = abs(unknown.p50 - wrong.p50) * 1000
    report.say(f"\nKolmogorov-Smirnov: D = {distance:.4f}, p = {p_value:.3f}")
    report.say(f"medians differ by {apart:.3f} ms")
    report.goal("p below 0.01 (1: it is)", 0 if p_value > P_MIN else 1, exactly=0)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
