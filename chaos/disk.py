"""The disk of the database fills up while people read and write: `make chaos ARGS="disk"`.

The database of an installed site lies on a small disk (in memory). The disk is filled, first
almost, then to the last byte, and emptied. Reads go on all the time, writes are answered with 503
and code 21, the log says why, and writes work again without hands and without any restart.
"""

import sys
import time
from functools import partial

from bench.support import harness
from chaos.machines import installed, report
from chaos.machines.nspawn import Machine, missing
from chaos.machines.report import Report
from deploy.services.site_processes import ROLES

DIRECTORY = "/var/lib/mysql"
FILL = f"{DIRECTORY}/fill"
ALMOST_MB = 100
NOTICE_SECONDS = 10


class Trial(Report):
    """The machine, one person, and what was wrong."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine, self.accepted = machine, ["Hello"]
        self.person = installed.visitor(machine)
        if not self.person.sign_up("anna") or not self.person.post("Hello"):
            raise SystemExit("the site does not work")
        self.check("the feed is read", self.person.feed() == ["Hello"])

    def refused(self) -> bool:
        """Post, and return whether the answer is 503 and the code of a site that is busy."""
        text = f"post {len(self.accepted)}"
        answer = self.person.send("POST", "/api/v1/posts", {"content": text})
        if answer.status == 201:
            self.accepted.append(text)
        return answer.status == 503 and answer.json["code"] == 21

    def fill(self, left_mb: int) -> None:
        """Fill the disk, but for so many MB."""
        free = int(self.machine.output("stat", "-f", "-c", "%a %S", DIRECTORY).split()[0]) * 4096
        more = free - left_mb * 2**20
        self.machine.output("sh", "-c", f"head -c {more} /dev/zero >> {FILL} || true")

    def reads(self, seconds: float) -> bool:
        """Return whether each read succeeds for so long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not (self.person.feed()[-1:] == ["Hello"] and self.person.get("/").status == 200):
                return False
        return True

    def processes(self) -> dict[str, str]:
        """Return the main process of each unit."""
        names = [f"socialsite-{role.name}" for role in ROLES] + ["mariadb", "socialsite-nginx"]
        return {
            name: self.machine.output("systemctl", "show", "-P", "MainPID", name) for name in names
        }


wait = partial(report.wait, seconds=NOTICE_SECONDS)


def main() -> int:
    """Run the trial."""
    options = harness.arguments("A full disk.", {"--megabytes": 900, "--seconds": 20})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    disk = f"--tmpfs={DIRECTORY}:mode=0755,size={options.megabytes}M"
    with Machine("disk", None, disk) as machine:
        installed.install(machine, "BUDGETS=0")
        trial = Trial(machine)
        before = trial.processes()
        trial.fill(ALMOST_MB)
        trial.check("writes are refused when it is almost full", wait(trial.refused))
        log = machine.output("journalctl", "-u", "socialsite-guard", "--no-pager")
        trial.check("the log says why", "MB free: writes are refused now" in log)
        trial.check("reads go on", trial.reads(options.seconds))
        trial.fill(0)
        trial.check("reads go on when it is full", trial.reads(options.seconds))
        trial.check("writes are still refused", trial.refused())
        machine.output("rm", FILL)
        trial.check("writes work again", wait(lambda: not trial.refused()))
        trial.check("nothing was lost", trial.person.feed() == trial.accepted[::-1])
        trial.check("nothing had to start again", trial.processes() == before)
        failed = machine.output("systemctl", "--failed", "--no-legend").strip()
        trial.check(f"no unit failed {failed}", not failed)
        for command in ("recount", "recount_interactions", "verify_feeds"):
            machine.output("site", "manage", command)
    return trial.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
