"""Builds the image of the site and runs compose.yaml: `make chaos ARGS="containers"`.

The image is built from `Containerfile` by buildah. No registry of images is asked and no container
engine is needed (`chaos.machines.images`, `chaos.machines.compose`): Debian's base image is made
here, Debian's MariaDB and Redis stand in for the official images, and `systemd-nspawn` runs the
services. The trial signs up and posts through nginx, looks at the rights of all processes, kills
each service, and ends all of them.
"""

import os
import re
import signal
import socket
import sys
import time
from functools import partial
from pathlib import Path

from bench.support import harness
from chaos.machines import images, nspawn, report
from chaos.machines.compose import Compose, Container
from chaos.machines.namespaces import inside
from chaos.machines.nspawn import MachineError
from chaos.machines.report import Report
from chaos.machines.visitor import BehindProxy
from deploy.services.container import PORT
from deploy.services.site_processes import PROJECT_DIR
from deploy.site import settings
from deploy.stack import stop_on_signals

DOMAIN = "social.example.org"
CLIENT = "203.0.113.7"
RETURN_SECONDS = 60
ONE_SHOT = "migrate"
CONNECT_SECONDS = 2


wait = partial(report.wait, seconds=RETURN_SECONDS, tolerated=(OSError, KeyError, ValueError))


def build(trial: Report) -> None:
    """Build the image and those that stand in for official ones."""
    output: list[str] = []
    trial.timed("build", lambda: output.append(images.build_site()))
    trial.figure("image MB", images.megabytes(images.SITE))
    for name in images.STAND_INS:
        images.build_stand_in(name)


def new_settings(folder: Path) -> Path:
    """Write `.env` by the documented command, which runs in the image."""
    holder = "socialsite-settings"
    image = images.mounted(images.SITE, holder)
    try:
        words = [*image.config["Entrypoint"], "settings", f"https://{DOMAIN}"]
        env = [f"{name}={value}" for name, value in image.env.items()]
        inner = ("env", "-i", *env, "sh", "-c", f'cd {image.config["WorkingDir"]} && exec "$@"')
        text = images.checked("chroot", str(image.root), *inner, "sh", *words)
    finally:
        images.unmounted(holder)
    path = folder / ".env"
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def statuses(container: Container) -> list[dict[str, str]]:
    """Return what the kernel says about each process of a container."""
    found = []
    for number in container.processes():
        try:
            text = Path(f"/proc/{number}/status").read_text()
        except OSError:
            continue  # it has ended
        found.append(dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line))
    return found


def examine(trial: Report, compose: Compose) -> None:
    """Look at the rights of all processes, at what can be written, and at the networks."""
    for container in compose.containers.values():
        if container.name == ONE_SHOT:
            continue
        rows = statuses(container)
        bad = [
            row["Name"]
            for row in rows
            if "0" in row["Uid"].split()
            or row["NoNewPrivs"] != "1"
            or any(int(row[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapInh"))
        ]
        trial.check(f"{container.name}: no root, no capability", bool(rows) and not bad, bad)
        mounts = container.run("cat", "/proc/self/mounts").stdout.splitlines()
        root = next(row.split()[3] for row in mounts if row.split()[1] == "/")
        tried = container.run("sh", "-c", "echo >/var/lib/tried || echo >/opt/tried")
        trial.check(
            f"{container.name}: its root is read-only",
            "ro" in root.split(",") and tried.returncode != 0,
            f"{root} {tried.stderr}",
        )
    nginx, http1 = compose.containers["nginx"], compose.containers["http1"]
    for name, port in (("database", 3306), ("cache", 6379), ("broker", 6379)):
        target = (next(iter(compose.containers[name].addresses.values())), port)
        trial.check(f"http1 reaches {name}", reaches(http1.namespace, target))
        trial.check(f"nginx does not reach {name}", not reaches(nginx.namespace, target))


def reaches(namespace: Path, target: tuple[str, int]) -> bool:
    """Return whether something answers there."""
    try:
        inside(namespace, lambda: socket.create_connection(target, CONNECT_SECONDS)).close()
    except OSError:
        return False
    return True


def use(trial: Report, compose: Compose, site: BehindProxy) -> None:
    """Sign up, post, read the post, and look at what a browser gets."""
    answer = site.get("/")
    trial.check("the front page is served", answer.status == 200, answer.status)
    trial.check("it sends HSTS", bool(answer.headers["Strict-Transport-Security"]))
    style = re.findall(r'href="(/static/css/[^"]+)"', answer.body.decode())
    served = site.get(style[0]) if style else None
    trial.check("its style is served", served is not None and served.status == 200, style)
    if served is not None:
        trial.check("by nginx itself", "immutable" in served.headers["Cache-Control"])
    trial.check("somebody signs up and posts", site.sign_up("newcomer") and site.post("Hello"))
    trial.check("the post is in the feed", site.feed() == ["Hello"], site.feed())
    trial.check("the workers handle its events", wait(lambda: delivered(compose)))
    code = (
        "from accounts.models import SignIn as S;"
        "print(*S.objects.values_list('address', flat=True))"
    )
    done = compose.containers["http1"].run("python", "manage.py", "shell", "-c", code)
    trial.check("the site knows the client's address", CLIENT in done.stdout, done)
    done = compose.containers["http1"].run("python", "manage.py", "doctor")
    print(done.stdout + done.stderr, flush=True)


def video(trial: Report, compose: Compose, site: BehindProxy) -> None:
    """Upload a video, which a worker converts without root's rights, in its sandbox."""
    made = ("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10:duration=2")
    compose.containers["video"].run(*made, "/var/tmp/trial.webm")  # noqa: S108
    sample = (compose.work / "volumes" / "scratch" / "trial.webm").read_bytes()
    head = b'--part\r\nContent-Disposition: form-data; name="file"; filename="a.webm"\r\n'
    form = head + b"Content-Type: video/webm\r\n\r\n" + sample
    kind = "multipart/form-data; boundary=part"
    answer = site.send("POST", "/api/v1/media/videos", form + b"\r\n--part--\r\n", kind=kind)
    trial.check("a video is taken", answer.status == 201, answer.body)
    address = f"/api/v1/media/videos/{answer.json.get('id')}"
    converted = wait(lambda: site.get(address).json["state"] == "ready")
    trial.check("it is converted", converted, site.get(address).body)


def delivered(compose: Compose) -> bool:
    """Return whether the workers have handled all events."""
    code = "from socialsite.core.models import Event as E; print(E.objects.count())"
    done = compose.containers["http1"].run("python", "manage.py", "shell", "-c", code)
    return done.stdout.strip().splitlines()[-1:] == ["0"]


def kill_each(trial: Report, compose: Compose, site: BehindProxy) -> None:
    """Kill the main process of each service; it is started again, and the site answers on."""
    for container in compose.containers.values():
        if container.name == ONE_SHOT:
            continue
        before, number = container.restarts, container.main()
        if number:
            os.kill(number, signal.SIGKILL)
        began = time.monotonic()
        back = wait(partial(is_back, container, before))
        answered = wait(lambda: site.feed() == ["Hello"])
        seconds = time.monotonic() - began
        trial.check(
            f"{container.name} comes back after SIGKILL ({seconds:.1f} s)", back and answered
        )


def is_back(container: Container, before: int) -> bool:
    """Return whether the container was started more often than `before`, and is healthy."""
    return container.restarts > before and container.healthy()


def run(trial: Report) -> None:
    """Build, start, use and end the site."""
    build(trial)
    env_file = new_settings(images.FOLDER)
    values = settings.read(env_file)
    compose = Compose(PROJECT_DIR / "compose.yaml", env_file, values)
    trial.timed("start", compose.__enter__)
    try:
        trial.timed("until all are healthy", compose.await_health)
        address = (compose.containers["nginx"].addresses["front"], PORT)
        site = BehindProxy(compose.namespace, DOMAIN, address, CLIENT)
        use(trial, compose, site)
        video(trial, compose, site)
        examine(trial, compose)
        kill_each(trial, compose, site)
        trial.check("somebody posts after that", site.post("Again"))
        trial.check("and it is in the feed", wait(lambda: site.feed() == ["Again", "Hello"]))
    except (MachineError, OSError, KeyError) as error:
        trial.check("the trial ended", False, error)
    finally:
        if trial.wrong:
            for name in compose.containers:
                print(f"--- {name}\n{compose.log(name)[-3000:]}", flush=True)
        trial.timed("end", compose.close)
        trial.check("every service ends when it is asked to", not compose.killed, compose.killed)
        env_file.unlink()


def main() -> int:
    """Run the trial."""
    options = harness.arguments("The image, and all services of compose.yaml.", {})
    if reason := nspawn.missing() or images.missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    stop_on_signals()  # so that all containers end
    trial = Report()
    try:
        run(trial)
    except MachineError as error:
        trial.check("the trial ran", False, error)
    return trial.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
