"""A site is lost while people write, and restored on a new machine: `make chaos ARGS="restore"`.

Threads post to an installed site, and note when each post was acknowledged. Meanwhile it is backed
up. The machine is destroyed, and the site restored on a new one to a second T:

- every post that was acknowledged before T is there, and none that was sent later;
- a sign-in that was ended before T stays ended, and tokens that were issued after T are refused;
- feeds equal their definition, and all counts are right (`site restore` checks both).
"""

import datetime
import json
import sys
import tempfile
import time
from pathlib import Path

from bench.support import harness
from chaos.machines import installed
from chaos.machines.nspawn import Machine, missing
from chaos.machines.visitor import Visitor
from chaos.machines.writers import Writer, write_until

SETTINGS = ("BUDGETS=0",)
NAMES = ("anna", "bert", "cyrus")
TARGET = "TARGET=/shared\n"


class Lost:
    """The first machine: what was written, and the tokens of its people."""

    def __init__(self, machine: Machine, options: object) -> None:
        self.machine = machine
        self.seconds: int = getattr(options, "seconds", 0)
        self.writers = [Writer(installed.visitor(machine), name) for name in NAMES]
        self.ended = self.signed_in(NAMES[0], "firefox")
        self.ended.send("POST", "/api/v1/auth/logout")
        self.later = installed.visitor(machine)

    def signed_in(self, name: str, client: str) -> Visitor:
        """Return another sign-in of a person, on another type of device."""
        visitor = installed.visitor(self.machine)
        visitor.log_in(name, client)
        return visitor

    def live(self) -> float:
        """Back up under writes, and write on; return the moment to restore."""
        with write_until(self.writers):
            self.machine.output("site", "backup")
            for _ in range(3):
                time.sleep(self.seconds / 3)
                self.machine.output("site", "backup", "--log")
            moment = int(time.time()) + 2
            while time.time() < moment + 2:
                time.sleep(0.1)
        self.later = self.signed_in(NAMES[1], "chrome")
        time.sleep(1)
        self.machine.output("site", "backup", "--log")
        return moment


def compare(machine: Machine, lost: Lost, moment: float) -> list[str]:
    """Return what is wrong with the restored site."""
    wrong = []
    for writer in lost.writers:
        person = installed.visitor(machine)
        person.log_in(writer.name, "safari")
        found = set(person.all_posts())
        before = {text for text, (_, done) in writer.times.items() if done < moment}
        after = {text for text, (began, _) in writer.times.items() if began >= moment}
        print(f"{writer.name}: {len(before)} before, {len(found)} found", flush=True)
        if before - found:
            wrong.append(f"{len(before - found)} posts of {writer.name} are lost")
        if after & found:
            wrong.append(f"{len(after & found)} posts of {writer.name} are too new")
        if not before or not after:
            wrong.append(f"{writer.name} wrote too little")
        for name, old in (("before", writer.person), ("ended", lost.ended), ("later", lost.later)):
            copy = installed.visitor(machine)
            copy.token = old.token
            if copy.get("/api/v1/users/me").status != 401:
                wrong.append(f"the token of {name} is accepted")
    return wrong


def main() -> int:
    """Run the trial."""
    options = harness.arguments("A site lost and restored.", {"--seconds": 15})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        with Machine("lost", Path(folder)) as machine:
            installed.install(machine, *SETTINGS)
            (machine.root / "etc/socialsite/backup.env").write_text(TARGET)
            lost = Lost(machine, options)
            moment = lost.live()
            machine.power_off()
        with Machine("new", Path(folder)) as machine:
            installed.install(machine)
            (machine.root / "etc/socialsite/backup.env").write_text(TARGET)
            to = datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat()
            began = time.monotonic()
            print(machine.output("site", "restore", "--to", to, "--yes"), flush=True)
            seconds = time.monotonic() - began
            wrong = compare(machine, lost, moment)
            status = machine.output("site", "status", check=False)
            if "IS NOT READY" in status or "inactive" in status:
                wrong.append(status)
    posts = sum(len(writer.times) for writer in lost.writers)
    print(json.dumps({"posts": posts, "seconds": seconds, "wrong": wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
