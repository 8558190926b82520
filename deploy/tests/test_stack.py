"""The full stack serves through nginx, survives killed services, and leaves nothing behind."""

import json
import os
import pwd
import signal
import stat
import tempfile
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from deploy.services import site_processes
from deploy.services.databases import create_database
from deploy.services.service import Service, ServiceError
from deploy.services.site_processes import HTTP
from deploy.stack import Stack
from deploy.tests.processes import alive
from socialsite.core.http.server import body_limits
from socialsite.tests.hostile import hostile
from socialsite.tests.stacks import Client
from socialsite.tests.support.waiting import eventually

SERVER = os.environ.get("SPARE_DATABASE_URL", "")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not SERVER, reason="needs MariaDB: `make test` gives it"),
]
METRICS_TOKEN = "a.metrics.token"


class Answer(NamedTuple):
    """Response to a request."""

    status: int
    headers: Message
    body: bytes


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A stack with its own Redis instances and an empty database on the server of the test run.

    Its data directory is reachable for other accounts, unlike pytest's own directories, and has the
    modes that older versions left.
    """
    url = create_database(SERVER, "stack_itself")
    with tempfile.TemporaryDirectory(prefix="socialsite-") as name:
        yield from running_stack(Path(name, "data"), url)


def running_stack(data: Path, url: str) -> Iterator[Stack]:
    for directory in (data, data / "media" / "ab", data / "static", data / "stack"):
        directory.mkdir(parents=True)
        directory.chmod(0o755)
    Path(data).parent.chmod(0o711)
    for old in ("beat-schedule.bak", "media/ab/old.jpg", "stack/http1.log"):
        (data / old).touch()
        (data / old).chmod(0o644)
    env = {"DATABASE_URL": url, "DEMO": "0", "METRICS_TOKEN": METRICS_TOKEN}
    with Stack(data, env=env) as running:
        yield running


def ask(stack: Stack, path: str, body: bytes | None = None, **headers: str) -> Answer:
    """Send a GET, or a POST if there is a body."""
    request = urllib.request.Request(stack.url + path, data=body, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read())


def test_pages_and_api_are_served_through_nginx(stack: Stack) -> None:
    assert ask(stack, "/readyz").status == 200
    missing = ask(stack, "/api/v1/nothing-here")
    assert missing.status == 404
    assert json.loads(missing.body)["code"] == 17
    assert missing.headers["Server"] == "nginx"


@pytest.mark.parametrize("path", ["/notifications", "/admin/", "/admin/login/"])
def test_a_long_address_leads_to_the_login(stack: Stack, path: str) -> None:
    """The longest URL that nginx accepts, with characters that are escaped twice on the way.

    Some step may refuse it as too long, but none may fail.
    """
    answer = ask(stack, f"{path}?next={'%5E' * 2600}")
    assert answer.status in (200, 302, 414), answer.status


def test_metrics_are_for_scrapers_with_the_token(stack: Stack) -> None:
    """nginx connects to the site from a local address, like any proxy on this machine."""
    some: list[dict[str, Any]] = [
        {},
        {"Authorization": "Bearer wrong"},
        {"X-Forwarded-For": "127.0.0.1"},
    ]
    for headers in some:
        assert ask(stack, "/metrics", **headers).status == 404
    answer = ask(stack, "/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
    assert answer.status == 200
    assert b"socialsite_events_waiting" in answer.body


def scrape(stack: Stack) -> dict[str, float]:
    """Return the samples of `/metrics`; each is there once, whichever processes answered before."""
    answer = ask(stack, "/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
    lines = answer.body.decode().splitlines()
    rows = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    found = {name: float(value) for name, value in rows}
    assert len(found) == len(rows)
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    assert not [name for name in found if "pid=" in name]
    return found


def test_metrics_are_those_of_all_processes_whoever_answers(stack: Stack) -> None:
    missing = 'socialsite_http_request_seconds_count{method="GET",route="none",status="4xx"}'
    before = scrape(stack).get(missing, 0)
    for name in HTTP:  # each answers half of them
        for _ in range(20):
            assert site_processes.http_answers(uds_of(stack, name), "/nothing-here") is False
    for _ in range(4):
        assert scrape(stack)[missing] == before + 40
    found = eventually(partial(scrape, stack), has_tasks)
    for role in (*HTTP, "sockets", "worker", "video"):
        label = f'{{role="{role}"}}'
        assert found[f"socialsite_process_memory_bytes{label}"] > 10_000_000
        assert found[f"socialsite_process_start_seconds{label}"] > 1_000_000_000
    assert found['socialsite_queue_messages{queue="video"}'] >= 0


def has_tasks(found: dict[str, float]) -> bool:
    """Return whether tasks of the schedule ran, and their waits were measured."""
    label = 'task="core.relay_events"'
    waits = found.get(f"socialsite_task_wait_seconds_count{{{label}}}", 0)
    done = found.get(f'socialsite_task_seconds_count{{outcome="success",{label}}}', 0)
    return waits > 0 and done > 0


def uds_of(stack: Stack, name: str) -> Path:
    return Path(stack.env["METRICS_DIR"]).with_name(f"{name}.sock")


def test_the_logs_of_all_processes_have_the_id_of_a_request(stack: Stack) -> None:
    """A post is published by one process and handed on by another."""
    client = Client.new(stack.url, "rita")
    usual = {name: stack.processes[name].env or {} for name in HTTP}
    kill_http(stack)
    for name in HTTP:
        stack.processes[name].env = {**usual[name], "SLOW_REQUEST_SECONDS": "0"}
    try:
        start_http(stack)
        body, claim = json.dumps({"content": "hello"}).encode(), "c" * 32
        headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
        answer = ask(stack, "/api/v1/posts", body, **headers, **{"X-Request-ID": claim})
        assert answer.status == 201
        ident = answer.headers["X-Request-ID"]
        assert ident != claim
        assert eventually(partial(lines_of, stack, HTTP, f" {ident} socialsite.requests: POST"))
        done = eventually(partial(lines_of, stack, ["worker"], f" {ident} "))
        assert "Task core.relay_events[" in done[0]
        assert not lines_of(stack, [*HTTP, "worker"], claim)
    finally:
        kill_http(stack)
        for name in HTTP:
            stack.processes[name].env = usual[name]
        start_http(stack)


def lines_of(stack: Stack, names: Sequence[str], text: str) -> list[str]:
    """Return the lines of these processes' logs that contain a text."""
    logs = [(stack.data_dir / "stack" / f"{name}.log").read_text() for name in names]
    return [line for log in logs for line in log.splitlines() if text in line]


def test_static_files_carry_their_headers(stack: Stack) -> None:
    sheet = next((stack.data_dir / "static").rglob("*.css"))
    answer = ask(stack, f"/static/{sheet.relative_to(stack.data_dir / 'static')}")
    assert answer.status == 200
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Type"].startswith("text/css")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat(follow_symlinks=False).st_mode)


def test_nobody_else_on_this_machine_can_read_the_data(stack: Stack) -> None:
    found = [stack.data_dir, *stack.data_dir.rglob("*")]
    assert len(found) > 100
    assert not [path for path in found if mode_of(path) & 0o007 and not path.is_symlink()]
    # As root: the group of nginx and the database may traverse, and nginx reads what it serves.
    served = ("media", "static")
    for path in found:
        passed = path.name == "stack" or path == stack.data_dir
        parts = path.relative_to(stack.data_dir).parts
        allowed = 0o050 if parts and parts[0] in served else 0o010 if passed else 0
        assert mode_of(path) & 0o070 & ~allowed == 0, (path, oct(mode_of(path)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs services under another account")
def test_nginx_serves_without_the_rights_of_root(stack: Stack) -> None:
    status = Path(f"/proc/{workers_of(stack.processes['nginx'].pid)[0]}/status").read_text()
    assert f"\nUid:\t{pwd.getpwnam('nobody').pw_uid}\t" in status


def workers_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill_http(stack: Stack) -> None:
    """Kill all HTTP workers."""
    for name in HTTP:
        stack.processes[name].kill()


def start_http(stack: Stack, names: Sequence[str] = HTTP) -> None:
    """Start HTTP workers together, and nginx anew, as it leaves those that failed alone."""
    for name in names:
        stack.processes[name].start(wait=False)
    for name in names:
        stack.processes[name].wait_ready()
    stack.stop("nginx")
    stack.start("nginx")


def test_public_uploads_are_served_as_data_that_runs_nothing(stack: Stack) -> None:
    """nginx serves public uploads alone; the site answers for everything else."""
    name, private = (f"ab/{number:032x}.jpg" for number in range(2))
    code = (
        "from socialsite.core.media import stored_files\n"
        f"stored_files.write('{name}', b'<script>alert(1)</script>')\n"
        f"stored_files.write('{private}', b'private')\n"
        f"stored_files.publish('{name}')"
    )
    stack.manage("shell", "-c", code)
    (stack.data_dir / "media" / "page.html").write_text("page")
    (stack.data_dir / "media" / "public" / "page.html").write_text("page")
    answer = ask(stack, f"/media/{name}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/jpeg")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    for path in (
        *("missing.png", "page.html", "public/page.html", f"public/{name}", f"{name}/", "ab/"),
        *("%2e%2e/keys.json", "../keys.json", private, f"public/../{private}", f"x/..%2f{private}"),
    ):
        assert ask(stack, f"/media/{path}").status in (400, 404), path
    for path in (name, private):
        assert ask(stack, f"/_uploads/{path}").status == 404
    kill_http(stack)
    try:  # no other program can serve nginx's files
        assert ask(stack, f"/media/{name}").status == 200
        assert ask(stack, f"/media/{private}").status == 503
        sheet = next((stack.data_dir / "static").rglob("*.css"))
        static = ask(stack, f"/static/{sheet.relative_to(stack.data_dir / 'static')}")
        assert (static.status, static.body) == (200, sheet.read_bytes())
    finally:
        start_http(stack)


@pytest.mark.parametrize("megabytes", [12.5, 16])
def test_a_large_body_is_refused_in_the_envelope(stack: Stack, megabytes: float) -> None:
    answer = ask(stack, "/api/v1/posts", bytes(int(megabytes * 1024 * 1024)))
    assert answer.status == 413
    assert json.loads(answer.body)["code"] == 20


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/api/v1/auth/login", body_limits.OTHER),
        ("/api/v1/nothing-here", body_limits.OTHER),
        ("/login", body_limits.OTHER),
        ("/admin/login/", body_limits.OTHER),
        ("/ws/session/", body_limits.OTHER),
        ("/api/v1/posts", body_limits.ARTICLE),
        ("/posts", body_limits.ARTICLE),  # limit of the site: nginx does not know the content type
        ("/posts", body_limits.FILES),
        ("/api/v1/media", body_limits.FILES),
        ("/posts/123/edit", body_limits.FILES),
    ],
)
def test_every_address_takes_bodies_up_to_its_limit(stack: Stack, path: str, limit: int) -> None:
    kind = "multipart/form-data; boundary=x" if limit == body_limits.FILES else "text/plain"
    refused = ask(stack, path, bytes(limit + 1), **{"Content-Type": kind})
    assert refused.status == 413
    assert ask(stack, path, bytes(limit), **{"Content-Type": kind}).status != 413
    if path.startswith("/api/"):
        assert json.loads(refused.body)["code"] == 20
    if (path, limit) != ("/posts", body_limits.ARTICLE):
        assert b"larger than this address takes" in refused.body  # this is nginx's text


@pytest.mark.parametrize("path", ["/healthz", "/ws/session/"])
def test_a_head_that_is_too_large_is_refused(stack: Stack, path: str) -> None:
    many: dict[str, Any] = {f"x-{number}": "y" for number in range(120)}
    some = dict(list(many.items())[:80])
    large: dict[str, Any] = {"x-large": "y" * 33_000}
    assert ask(stack, path, **some).status in (200, 404)
    assert ask(stack, path, **many).status == 431
    assert ask(stack, path, **large).status == 400  # refused by nginx


def test_memory_returns_after_large_requests(stack: Stack) -> None:
    http = [pid for name in HTTP for pid in hostile.of_group(stack.processes[name].pid)]
    assert len(http) > 2
    client = hostile.warm_up(stack.url, "mallory")
    before = hostile.megabytes(http)
    hostile.attack(stack.url, client)
    # Each of the two workers may use as much memory as the one process of the embedded mode.
    eventually(lambda: hostile.megabytes(http), lambda now: now < before + 60)


def test_an_answer_before_the_body_was_read_arrives(stack: Stack) -> None:
    """A server that closes with unread input resets the connection, and nginx then answers 503."""
    upload = bytes(1024 * 1024)

    def send(number: int) -> int:
        return ask(stack, "/api/v1/media", upload, Authorization="Bearer forged").status

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(send, range(30))) == {401}


def test_a_killed_worker_stays_dead_until_it_is_started(stack: Stack) -> None:
    worker = stack.processes["worker"]
    first = worker.pid
    worker.kill()
    assert not worker.running
    assert ask(stack, "/healthz").status == 200
    stack.start("worker")
    assert worker.running
    assert worker.pid != first


def test_the_schedule_goes_on_when_a_worker_is_killed(stack: Stack) -> None:
    """Whichever of two workers it is: each runs the schedule, and none leads."""
    second = site_processes.celery_worker(stack.env, name="worker2")
    workers = [stack.processes["worker"], second]
    kept = workers[0].tail
    for one in workers:
        # All lines: between two runs of a task a worker may write more than the last ones.
        one.tail = deque()
    try:
        for killed, other in (workers, workers[::-1]):
            for one in workers:
                one.start()
            killed.kill()
            other.tail.clear()
            eventually(partial(runs_twice, other, "core.relay_events["))
    finally:
        second.stop()
        workers[0].tail = kept
        stack.start("worker")


def runs_twice(worker: Service, task: str) -> bool:
    """Return whether the lines of a worker have two runs of a task, of two lines each.

    The killed worker may have sent the first one.
    """
    return sum(task in line for line in [*worker.tail]) >= 4


def test_the_site_serves_while_the_broker_is_stopped(stack: Stack) -> None:
    stack.stop("broker")
    assert ask(stack, "/readyz").status == 200
    stack.start("broker")


def test_the_http_server_starts_again_after_it_was_killed(stack: Stack) -> None:
    kill_http(stack)
    down = ask(stack, "/api/v1/nothing-here")
    assert down.status == 503
    assert json.loads(down.body)["code"] == 21
    assert down.headers["Retry-After"]
    start_http(stack)
    assert ask(stack, "/healthz").status == 200


def test_the_other_worker_serves_when_one_was_killed(stack: Stack) -> None:
    for name in HTTP:
        stack.processes[name].kill()
        assert {ask(stack, "/healthz").status for _ in range(20)} == {200}
        start_http(stack, [name])


def test_a_service_ends_with_its_worker(stack: Stack) -> None:
    """So its socket refuses at once, and nginx asks the other one."""
    http = stack.processes[HTTP[0]]
    (worker,) = workers_of(http.pid)
    os.kill(worker, signal.SIGKILL)
    assert {ask(stack, "/healthz").status for _ in range(20)} == {200}
    eventually(lambda: not http.running)
    start_http(stack, HTTP[:1])


def test_a_request_goes_to_the_worker_with_the_fewest(stack: Stack) -> None:
    """A suspended worker keeps at most as many of four clients waiting as the other serves."""
    suspended = stack.processes[HTTP[0]]
    suspended.kill(signal.SIGSTOP)
    with ThreadPoolExecutor(4) as pool:
        try:
            asked = [pool.submit(ask, stack, "/healthz") for _ in range(40)]
            # As long as it is suspended, the rest of them waits.
            eventually(lambda: sum(not one.done() for one in asked), lambda count: count <= 2)
        finally:
            suspended.kill(signal.SIGCONT)
    assert {one.result().status for one in asked} == {200}


def test_no_log_contains_credentials(stack: Stack) -> None:
    """Neither the log of the site, which refuses a form, nor of nginx, whose upstream is down."""
    secret = "c4n4ry-" + "x" * 40
    paths = [f"/recover/{secret}", f"/email/{secret}", f"/login?next=%2Frecover%2F{secret}"]
    for path in paths:
        assert ask(stack, path, b"a=b").status == 403
    kill_http(stack)
    for path in (*paths, f"/search?token={secret}", f"/api/v1/feed?ticket={secret}"):
        assert ask(stack, path, Authorization=f"Bearer {secret}").status == 503
    start_http(stack)
    logs = {path.name: path.read_text() for path in (stack.data_dir / "stack").glob("*.log")}
    site = "".join(logs[f"{name}.log"] for name in HTTP)
    assert "(CSRF cookie not set.): /recover/[redacted]" in site
    assert "token=[redacted]" in logs["nginx.log"]
    assert not [name for name, text in logs.items() if secret in text]


def test_a_second_stack_on_the_same_data_is_refused(stack: Stack) -> None:
    with pytest.raises(ServiceError, match="already runs"):
        Stack(stack.data_dir).start()
    assert ask(stack, "/healthz").status == 200


def test_stop_leaves_no_process_and_no_directory(stack: Stack) -> None:
    """The last test of this module, as it stops the stack that the others use."""
    pids = [service.pid for service in stack.processes.values()]
    runtime = Path(stack.processes["nginx"].argv[-1]).parents[1]
    assert runtime.exists()
    stack.stop()
    assert not [pid for pid in pids if alive(pid)]
    assert not runtime.exists()
