"""The disk of the database returns errors under load: `make chaos ARGS="broken_disk"`.

A library between MariaDB and the kernel lets each write and flush of its files fail, then each read
too (`FAULTS`). MariaDB ends itself, as it must not go on after a failed flush. The site answers 503
with code 21 and the log says why. When the disk works again, so does everything, without hands, and
no acknowledged post is lost.
"""

import sys
from functools import partial

from bench.support import harness
from chaos.machines import installed, report
from chaos.machines.nspawn import Machine, missing
from chaos.machines.report import Report
from chaos.machines.writers import Writer, write_until

NAMES = ("anna", "bert", "cyrus")
LIBRARY = "/usr/local/lib/broken_disk.so"
MARK = "/run/mysqld/broken-disk"  # which calls fail: `w`, or `rw`
FAULTS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int file, char kind) {
    static ssize_t (*look)(int, void *, size_t);
    if (!look) look = dlsym(RTLD_NEXT, "read");
    int mark = open("@MARK@", O_RDONLY | O_CLOEXEC);
    if (mark < 0) return 0;
    char kinds[8] = "", link[64], path[256] = "";
    look(mark, kinds, sizeof kinds - 1);
    close(mark);
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (readlink(link, path, sizeof path - 1) < 0) return 0;
    if (strncmp(path, "/var/lib/mysql/", 15) || !strchr(kinds, kind)) return 0;
    errno = EIO;
    return 1;
}

#define WRAP(type, name, kind, parameters, ...)                  \\
    type name parameters {                                       \\
        static type (*real) parameters;                          \\
        if (!real) real = dlsym(RTLD_NEXT, #name);               \\
        return fails(file, kind) ? -1 : real(__VA_ARGS__);       \\
    }

WRAP(ssize_t, write, 'w', (int file, const void *from, size_t size), file, from, size)
WRAP(ssize_t, pwrite, 'w', (int file, const void *from, size_t n, off_t at), file, from, n, at)
WRAP(ssize_t, pwrite64, 'w', (int file, const void *from, size_t n, off64_t at), file, from, n, at)
WRAP(int, fsync, 'w', (int file), file)
WRAP(int, fdatasync, 'w', (int file), file)
WRAP(ssize_t, read, 'r', (int file, void *to, size_t size), file, to, size)
WRAP(ssize_t, pread, 'r', (int file, void *to, size_t size, off_t at), file, to, size, at)
WRAP(ssize_t, pread64, 'r', (int file, void *to, size_t size, off64_t at), file, to, size, at)
"""
DROP_IN = "etc/systemd/system/mariadb.service.d/broken_disk.conf"
NOTICE_SECONDS, RETURN_SECONDS = 30, 90

wait = partial(report.wait, tolerated=(OSError,))


def equip(machine: Machine) -> None:
    """Put the library between MariaDB and the kernel."""
    source = machine.root / "root/broken_disk.c"
    source.write_text(FAULTS.replace("@MARK@", MARK))
    words = ("-shared", "-fPIC", "-O2", "-o", LIBRARY, "/root/broken_disk.c", "-ldl")
    machine.output("gcc", *words)
    path = machine.root / DROP_IN
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[Service]\nEnvironment=LD_PRELOAD={LIBRARY}\n")
    machine.output("systemctl", "daemon-reload")
    machine.output("systemctl", "restart", "mariadb")


def answer(writer: Writer) -> tuple[int, int]:
    """Read the feed, and return the status and the code of an error (0: none)."""
    found = writer.person.get("/api/v1/feed")
    return found.status, 0 if found.status == 200 else found.json["code"]


def strike(trial: Report, machine: Machine, writers: list[Writer], kinds: str) -> None:
    """Let the disk fail under writes, and work again."""
    name = {"w": "writes", "rw": "reads and writes"}[kinds]
    with write_until(writers):
        trial.check(f"people post before {name} fail", wait(lambda: many(writers), seconds=30))
        machine.output("sh", "-c", f"printf {kinds} > {MARK}")
        trial.timed(
            f"until 503 after {name} fail",
            lambda: wait(lambda: answer(writers[0]) == (503, 21), seconds=NOTICE_SECONDS),
        )
        trial.check(f"503 while {name} fail", answer(writers[0]) == (503, 21))
        trial.check("the page says so", writers[0].person.get("/").status == 503)
        trial.check("static files are served", static(writers[0]))
    machine.output("rm", MARK)
    trial.timed(
        f"back after {name} failed",
        lambda: wait(lambda: answer(writers[0]) == (200, 0), seconds=RETURN_SECONDS),
    )
    trial.check("the feed is read again", answer(writers[0]) == (200, 0))
    trial.check(
        "people post again",
        wait(lambda: writers[0].person.post(f"again {kinds}"), seconds=RETURN_SECONDS),
    )
    for writer in writers:
        posts = writer.person.all_posts()
        lost = [text for text in writer.times if posts.count(text) != 1]
        trial.check(f"no post of {writer.name} is lost", not lost, lost)


def many(writers: list[Writer]) -> bool:
    """Return whether everybody has posted some times."""
    return all(len(writer.times) > 10 for writer in writers)


def static(writer: Writer) -> bool:
    """Return whether nginx serves a file."""
    return writer.person.get("/static/css/site.css").status == 200


def main() -> int:
    """Run the trial."""
    options = harness.arguments("A disk that returns errors.", {})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    trial = Report()
    with Machine("broken") as machine:
        installed.install(machine, "BUDGETS=0")
        equip(machine)
        writers = [Writer(installed.visitor(machine), name) for name in NAMES]
        strike(trial, machine, writers, "w")
        strike(trial, machine, writers, "rw")
        log = machine.output("journalctl", "-u", "mariadb", "-u", "socialsite-*", "--no-pager")
        trial.check("the log names the error", "Input/output error" in log or "error 5" in log)
        for command in ("recount", "recount_interactions", "verify_feeds"):
            machine.output("site", "manage", command)
        failed = machine.output("systemctl", "--failed", "--no-legend").strip()
        trial.check(f"no unit failed {failed}", not failed)
    return trial.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
