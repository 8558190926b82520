"""How long a revoked token is still accepted: `make chaos ARGS="revocation --revocations 2000"`.

Eight processes poll two WSGI workers with the access token of one person as fast as they can; this
process ends that session in one of seven ways. Measured is the time from the response of the
revocation to the start of the last accepted request: 0 if every later one was refused.

- normal: everything works;
- killed: the revoking process is killed right after its commit, before it updates Redis;
- cut off: the revoking process cannot reach Redis, but the servers can: the cached floors expire.
"""

import argparse
import contextlib
import http.client
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PATH = "/api/v1/relations?ids=1"
SETTLE_SECONDS = 0.03
CUT_SECONDS = 6.0
CUT_BOUND = 5.5  # 5 s of cache, and the request that was under way


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over the Unix socket of the WSGI server."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(self._path)


def poll(path: str, pipe: Connection) -> None:
    """Poll with each token that arrives until asked to stop; send the results back."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = _UnixConnection(path)
    while True:
        token = pipe.recv()
        if token is None:
            return
        accepted = refused = other = 0
        last_accepted = 0.0
        stopped = False
        while not stopped:
            stopped = pipe.poll()  # one more request, which surely begins after the revocation
            began = time.monotonic()
            connection.request("GET", PATH, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                accepted += 1
                last_accepted = began
            elif answer.status == 401:
                refused += 1
            else:
                other += 1
        pipe.recv()
        pipe.send((accepted, refused, other, last_accepted))


class Trial:
    """The pollers, and the revocations one after the other."""

    def __init__(self, paths: Sequence[str], pollers: int, seed: int) -> None:
        context = get_context("spawn")
        self.dice = random.Random(seed)
        self.pipes = []
        self.processes = []
        for number in range(pollers):
            mine, theirs = context.Pipe()
            process = context.Process(
                target=poll, args=(paths[number % len(paths)], theirs), daemon=True
            )
            process.start()
            self.pipes.append(mine)
            self.processes.append(process)

    def end(self) -> None:
        """Stop the pollers."""
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join(10)

    def run(self, access: str, act: Callable[[], Any], settle: float) -> tuple[float, int, int]:
        """Revoke while they poll; return the seconds too long, requests sent and accepted.

        Raises RuntimeError if no request was accepted before, or if a response was unexpected.
        """
        for pipe in self.pipes:
            pipe.send(access)
        time.sleep(self.dice.uniform(0.01, 0.04))
        act()
        answered = time.monotonic()
        time.sleep(settle)
        for pipe in self.pipes:
            pipe.send("stop")
        seen = [pipe.recv() for pipe in self.pipes]
        accepted, refused, other = (sum(row[column] for row in seen) for column in range(3))
        if other or refused < len(seen):
            raise RuntimeError(f"the servers answered {seen}, revoked at {answered}")
        return max(0.0, max(row[3] for row in seen) - answered), accepted + refused, accepted


def measure(options: argparse.Namespace, paths: Sequence[str]) -> int:
    """Run the phases and print the table; return 1 if a bound was exceeded."""
    from accounts import actions as accounts_actions
    from accounts.tests.sign_in.ways_out import PASSWORD, cut_off, killed, ways

    people = [
        accounts_actions.register(f"revoked{number}", f"Revoked{number}", PASSWORD)
        for number in range(20)
    ]
    trial = Trial(paths, options.pollers, options.seed)
    failed = 0
    print("phase     revocations  requests  accepted late  longest s")
    try:
        for phase, count in (
            ("normal", options.revocations),
            ("killed", options.killed),
            ("cut off", options.cut),
        ):
            way = ways(accounts_actions)
            late, longest, requests = 0, 0.0, 0
            for number in range(count):
                user = people[number % len(people)]
                act, prepare, mend = next(way)
                prepare(user)
                access = accounts_actions.sign_in(user, "chrome").access
                if phase == "normal":
                    found = trial.run(access, partial(act, user), SETTLE_SECONDS)
                elif phase == "killed":
                    found = trial.run(access, partial(killed, act, user), SETTLE_SECONDS)
                else:
                    with cut_off():
                        found = trial.run(access, partial(act, user), CUT_SECONDS)
                mend(user)
                seconds, asked, _accepted = found
                late += seconds > 0
                longest, requests = max(longest, seconds), requests + asked
            print(f"{phase:9} {count:11} {requests:9} {late:14} {longest:10.3f}", flush=True)
            failed |= longest > (CUT_BOUND if phase == "cut off" else 0)
    finally:
        trial.end()
    return int(failed)


def main() -> int:
    """Start the servers, measure, stop them."""
    parser = argparse.ArgumentParser(description="How long is a revoked token still accepted?")
    parser.add_argument("--revocations", type=int, default=2000)
    parser.add_argument("--killed", type=int, default=100)
    parser.add_argument("--cut", type=int, default=20)
    parser.add_argument("--pollers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()
    from django.test import override_settings

    from deploy.services import site_processes

    with tempfile.TemporaryDirectory(prefix="revocation-") as folder:
        paths = [Path(folder) / f"{name}.sock" for name in site_processes.HTTP]
        with contextlib.ExitStack() as stack:
            for path in paths:
                worker = site_processes.wsgi(dict(os.environ), path)
                stack.callback(worker.stop)
                worker.start()
            # A cheap hash, as hashing is not measured here.
            cheap = ["django.contrib.auth.hashers.MD5PasswordHasher"]
            with override_settings(PASSWORD_HASHERS=cheap):
                return measure(options, [str(path) for path in paths])


if __name__ == "__main__":
    sys.exit(main())
