"""Installs the site on a bare Debian machine: `make chaos ARGS="install"`.

The machine is booted by systemd-nspawn (`chaos.machines`) and has nothing but a checkout. The
trial runs the commands of docs/operations.md, in their order, and then looks from the outside: the
pages by https, a post by the API, ports, rights of files, hardening of the units. It kills each
process, reboots the machine, installs again, and tries to install what does not start.
"""

import re
import sys
import threading
from functools import partial

from bench.support import harness
from chaos.machines import installed, report, visitor
from chaos.machines.installed import CHECKOUT, DOMAIN
from chaos.machines.nspawn import Machine, MachineError, missing
from chaos.machines.report import Report
from deploy.services.site_processes import PROJECT_DIR, ROLES

MOST_EXPOSED = 3.0
PUBLIC_PORTS = {"80", "443"}
PRIVATE_FILES = ("site.env", "secrets.env", "install.env")
RETURN_SECONDS = 30
INSTALL_SECONDS = 300
# In units: what another version changes.
TITLE, ANOTHER_TITLE = "Description=socialsite: {title}", "Description=another: {title}"


def documented() -> list[str]:
    """Return the commands of docs/operations.md that install a site with a certificate at hand."""
    text = (PROJECT_DIR / "docs" / "operations.md").read_text()
    section = text.partition("\n## Install\n")[2]
    block = re.search(r"((?:^    .+\n)+)", section, re.MULTILINE)
    if block is None:
        raise SystemExit("docs/operations.md has no commands below `## Install`")
    return re.sub(r"\\\n +", "", block[1]).strip().splitlines()


class Trial(Report):
    """The machine, the figures and what was wrong."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    def site(self) -> visitor.Visitor:
        """Return a visitor of the site, inside the machine's network."""
        return installed.visitor(self.machine)


wait = partial(report.wait, seconds=RETURN_SECONDS, tolerated=(OSError,))


def install(trial: Trial) -> None:
    """Run the documented commands; the first one fetches the checkout, which is there already."""
    for command in documented()[1:]:
        words = command.strip().removeprefix("sudo ").replace("/path/to", "/root")
        trial.machine.output("sh", "-c", words, cwd=CHECKOUT, stdin=f"{visitor.PASSWORD}\n" * 2)


def examine(trial: Trial) -> None:
    """Compare the machine with what an installation promises."""
    machine = trial.machine
    listening = machine.output("ss", "-Hltn").splitlines()
    public = {
        row.split()[3].rpartition(":")[2]
        for row in listening
        if not row.split()[3].startswith("127.")
    }
    trial.check("only nginx listens to the outside", public == PUBLIC_PORTS, public)
    for name in PRIVATE_FILES:
        mode = machine.output("stat", "-c", "%a %U", f"/etc/socialsite/{name}").strip()
        trial.check(f"only root reads {name}", mode == "600 root", mode)
    for unit in (*(f"socialsite-{role.name}" for role in ROLES), "socialsite-nginx"):
        text = machine.output("systemd-analyze", "security", "--no-pager", f"{unit}.service")
        level = float(re.findall(r"exposure level for \S+: ([0-9.]+)", text)[0])
        trial.check(f"{unit} is exposed at most {MOST_EXPOSED}", level <= MOST_EXPOSED, level)
    failed = machine.output("systemctl", "--failed", "--no-legend").strip()
    trial.check("no unit has failed", not failed, failed)
    for name, wanted in (
        ("tx_isolation", "READ-COMMITTED"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("sync_binlog", "1"),
        ("log_bin", "1"),
        ("character_set_server", "utf8mb4"),
    ):
        value = machine.output("mariadb", "-BNe", f"SELECT @@global.{name}").strip()
        trial.check(f"MariaDB has {name} {wanted}", value == wanted, value)


def use(trial: Trial) -> None:
    """Sign up, post, read the post, and look at what a browser gets."""
    site = trial.site()
    answer = site.get("/", secure=False)
    place = answer.headers["Location"]
    trial.check("http redirects to https", place == f"https://{DOMAIN}/", place)
    answer = site.get("/")
    trial.check("the front page is served", answer.status == 200, answer.status)
    trial.check("it sends HSTS", bool(answer.headers["Strict-Transport-Security"]))
    style = re.findall(r'href="(/static/css/[^"]+)"', answer.body.decode())
    trial.check("its style is served", bool(style) and site.get(style[0]).status == 200, style)
    trial.check(
        "somebody signs up and posts", bool(site.sign_up("newcomer") and site.post("Hello"))
    )
    trial.check("the post is in the feed", site.feed() == ["Hello"], site.feed())


def upload(trial: Trial, site: visitor.Visitor) -> None:
    """Upload a picture and a video, both made by the machine's own ffmpeg."""
    machine = trial.machine
    source = ("-loglevel", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=320x240:rate=10")
    machine.output("ffmpeg", *source, "-frames:v", "1", "/root/picture.png")
    machine.output("ffmpeg", *source, "-pix_fmt", "yuv420p", "/root/video.mp4")
    answer = send_file(machine, site, "/api/v1/media", "picture.png", "image/png")
    trial.check("a picture is taken", answer.status == 201, answer.body)
    answer = send_file(machine, site, "/api/v1/media/videos", "video.mp4", "video/mp4")
    trial.check("a video is taken", answer.status == 201, answer.body)
    address = f"/api/v1/media/videos/{answer.json.get('id')}"
    converted = wait(lambda: site.get(address).json.get("state") == "ready")
    trial.check("the video is converted", converted, site.get(address).body)


def send_file(
    machine: Machine, site: visitor.Visitor, path: str, name: str, kind: str
) -> visitor.Answer:
    """Send a file of the machine as a form."""
    head = f'--part\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
    content = (machine.root / "root" / name).read_bytes()
    form = f"{head}Content-Type: {kind}\r\n\r\n".encode() + content + b"\r\n--part--\r\n"
    return site.send("POST", path, form, kind="multipart/form-data; boundary=part")


def kill_each(trial: Trial, site: visitor.Visitor) -> None:
    """Kill each process; the site answers on, and systemd starts it again."""
    for role in (*(role.name for role in ROLES), "nginx"):
        unit = f"socialsite-{role}.service"
        before = trial.machine.output("systemctl", "show", "-P", "MainPID", unit)
        trial.machine.output("systemctl", "kill", "--signal=SIGKILL", unit)
        back = wait(partial(is_back, trial.machine, unit, before))
        answered = wait(lambda: site.feed() == ["Hello"])
        trial.check(f"{role} comes back after SIGKILL", back and answered)


def is_back(machine: Machine, unit: str, before: str) -> bool:
    """Return whether the unit runs, with another main process than `before`."""
    state = machine.output("systemctl", "is-active", unit, check=False).strip()
    return (
        state == "active" and machine.output("systemctl", "show", "-P", "MainPID", unit) != before
    )


def has_new_units(machine: Machine) -> bool:
    """Return whether the units are those of the changed version."""
    folder = machine.root / "etc/systemd/system"
    texts = [path.read_text() for path in folder.glob("socialsite-http*.service")]
    return all(ANOTHER_TITLE.split("{")[0] in text for text in texts)


def change(trial: Trial, site: visitor.Visitor) -> None:
    """Install again, install a version that cannot start, another one, and go back."""
    machine = trial.machine
    output = machine.output("deploy/install", cwd=CHECKOUT)
    trial.check("the second installation changes nothing", "Nothing was changed" in output, output)
    first = machine.output("readlink", "/opt/socialsite/current")

    checkout = machine.root / CHECKOUT.lstrip("/")
    wsgi, units = checkout / "socialsite/wsgi.py", checkout / "deploy/site/units.py"
    text = wsgi.read_text()
    wsgi.write_text("raise RuntimeError\n")
    units.write_text(units.read_text().replace(TITLE, ANOTHER_TITLE))
    output = machine.output("site", "update", CHECKOUT, check=False)
    kept = machine.output("readlink", "/opt/socialsite/current") == first
    trial.check(
        "a version that does not start is taken back", kept and "runs again" in output, output
    )
    trial.check("so are its units", not has_new_units(machine))
    trial.check("the site answers after it", wait(lambda: site.feed() == ["Hello"]))

    wsgi.write_text(f"{text}\n# another version\n")
    trial.timed("update", lambda: machine.output("site", "update", CHECKOUT))
    second = machine.output("readlink", "/opt/socialsite/current")
    trial.check("an update makes another release current", second != first)
    trial.check("an update changes units", has_new_units(machine))
    machine.output("site", "rollback")
    trial.check(
        "a roll-back makes the first one current",
        machine.output("readlink", "/opt/socialsite/current") == first,
    )
    trial.check("and its units", not has_new_units(machine))

    interrupted(trial, site, first)

    settings = machine.root / "etc/socialsite/site.env"
    good = settings.read_text()
    settings.write_text(f"{good}ACCESS_MINUTES=never\n")
    output = machine.output("site", "reload", check=False)
    trial.check("a bad setting is refused by name", "ACCESS_MINUTES" in output, output)
    settings.write_text(good)
    trial.check("and nothing was restarted", wait(lambda: site.feed() == ["Hello"]))


def interrupted(trial: Trial, site: visitor.Visitor, first: str) -> None:
    """Close the terminal of an update that restarts processes; then leave nginx half configured."""
    machine = trial.machine
    worker = "socialsite-worker.service"
    before = machine.output("systemctl", "show", "-P", "MainPID", worker)
    update = threading.Thread(
        target=lambda: machine.output("site", "update", CHECKOUT, check=False)
    )
    update.start()
    begun = wait(lambda: is_back(machine, worker, before), seconds=INSTALL_SECONDS)
    machine.output("pkill", "-HUP", "-f", "deploy.site install")
    update.join()
    trial.check("an update was ended while it restarted processes", begun)
    trial.check("it is taken back", machine.output("readlink", "/opt/socialsite/current") == first)
    status = machine.output("site", "status", check=False)
    trial.check("all processes run the first release", "site reload" not in status, status)
    trial.check("the site answers", wait(lambda: site.feed() == ["Hello"]))
    config = machine.root / "etc/socialsite/nginx.conf"
    config.write_text(config.read_text().replace("http2.sock", "http1.sock"))
    status = machine.output("site", "status", check=False)
    trial.check("status sees a changed nginx.conf", "run `site reload`" in status, status)
    machine.output("site", "reload")
    trial.check("a reload mends it", "site reload" not in machine.output("site", "status"))


def reboot(trial: Trial, site: visitor.Visitor) -> None:
    """Reboot the machine and wait for the site."""
    trial.machine.reboot()
    trial.check("a reboot brings it back", wait(lambda: site.feed() == ["Hello"]))


def main() -> int:
    """Run the trial."""
    options = harness.arguments("An installation on a bare machine.", {"--reboots": 2})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    with Machine("install") as machine:
        trial = Trial(machine)
        machine.check_out(CHECKOUT)
        installed.certificate(machine)
        trial.timed("installation", lambda: install(trial))
        try:
            examine(trial)
            use(trial)
            site = trial.site()
            site.log_in("newcomer")
            upload(trial, site)
            kill_each(trial, site)
            change(trial, site)
            for _ in range(options.reboots):
                trial.timed("reboot until the site answers", lambda: reboot(trial, site))
        except (MachineError, OSError, KeyError) as error:
            print(machine.output("journalctl", "-n", "80", "--no-pager"))
            trial.check("the trial ended", False, error)
    return trial.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
