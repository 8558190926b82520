"""Commands beside a running embedded site run inside its process."""

import contextlib
import fcntl
import json
import os
import pty
import pwd
import signal
import socket
import stat
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands

from deploy.services.service import Service, free_port
from deploy.services.site_processes import PROJECT_DIR, environment, python
from socialsite.core.runtime.control import commands, server, wire
from socialsite.tests.stacks import BUDGETS, Client, put_database
from socialsite.tests.support.waiting import LIMIT, eventually

pytestmark = [pytest.mark.once, pytest.mark.e2e]

PASSWORD = "right.pass1"
NEW_PASSWORD = "other.pass2"


class Site:
    """One embedded site, and `manage.py` beside it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.env = {
            **environment(),
            **BUDGETS,
            "DATA_DIR": str(directory),
            "PORT": str(self.port),
            "DEMO": "0",
            "PYTHONUNBUFFERED": "1",
        }
        self.service = Service(
            "serve",
            python("manage.py", "serve"),
            ready_line="The site is at",
            env=self.env,
            cwd=PROJECT_DIR,
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command, with pipes."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            [sys.executable, str(PROJECT_DIR / "manage.py"), *words],
            **{"env": self.env, "cwd": PROJECT_DIR, "text": True, **pipes, **options},
        )

    def run(self, *words: str, typed: str = "", **options: Any) -> tuple[int, str, str]:
        """Run a command to its end; return its exit code and what it wrote."""
        with self.open(*words, **options) as process:
            out, err = process.communicate(typed, timeout=LIMIT)
        return process.returncode, out, err

    def connect(self, *argv: str) -> socket.socket:
        """Send a command without `manage.py`, or connect only."""
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(LIMIT)
        with wire.address(self.directory) as (address, _):
            sock.connect(address)
        if argv:
            ttys = dict.fromkeys(("stdin", "stdout", "stderr"), False)
            request = {"argv": ["manage.py", *argv], "cwd": "/", "ttys": ttys}
            with contextlib.suppress(BrokenPipeError):  # refused already: the answer says why
                wire.send(sock, wire.Kind.REQUEST, json.dumps(request))
        return sock


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Return a site that all tests of this module share."""
    site = Site(tmp_path_factory.mktemp("control") / "data")
    put_database(site.directory)
    site.service.start()
    yield site
    site.service.stop()


def to_end(sock: socket.socket) -> list[tuple[wire.Kind, str]]:
    """Return all messages of a command."""
    with sock:
        return list(iter(lambda: wire.receive(sock), None))


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, site: Site, *words: str) -> None:
        self.screen = ""
        self._ours, self._theirs = pty.openpty()
        ends = dict.fromkeys(("stdin", "stdout", "stderr"), self._theirs)
        self.process = site.open(*words, start_new_session=True, preexec_fn=self._control, **ends)

    def _control(self) -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def wait_for(self, text: str) -> None:
        """Read until the screen shows a text."""
        while text not in self.screen:
            self.screen += os.read(self._ours, 4096).decode()

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._theirs)[3] & termios.ECHO)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())


def status(call: Callable[[], Any]) -> int:
    """Return the status of a call of the API."""
    try:
        call()
    except AssertionError as refused:
        return int(str(refused).split(": ")[1].split()[0])
    return 200


def test_every_command_is_in_one_class() -> None:
    decided = [*commands._SITE, *commands._OWN, *commands.REASONS]
    assert len(decided) == len(set(decided)) == len(commands.PLACES)
    assert set(get_commands()) | {"help", "version"} == set(decided)
    assert set(commands._SITE) >= commands.READ_ONLY


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("recount", 0, "people    "),
        ("recount --fix", 0, "people    "),
        ("recount_interactions", 0, "rows    "),
        ("verify_feeds --sample 3", 0, "wrong posts 0"),
        ("rebuild_inboxes --all", 0, "inboxes "),
        ("rebuild_search", 0, "repaired "),
        ("rebuild_tags", 0, "tags in use "),
        ("add_placeholders", 0, "pictures 0"),
        ("fanout", 0, "0 open, "),
        ("verify_erased 77", 0, "Nothing is left."),
        ("explain_feed nobody 5", 1, "CommandError: There is no user named nobody."),
        ("promote nobody", 1, "CommandError: There is no user named nobody."),
        ("fanout --post 5", 1, "CommandError: no delivery of post 5"),
        ("reset_second_factor nobody", 1, "CommandError: There is no user named nobody."),
        ("recount --bogus", 2, "manage.py recount: error: unrecognized arguments: --bogus"),
        ("recuont", 1, "Unknown command: 'recuont'. Did you mean recount?"),
        ("recount --settings=other", 1, "--settings and --pythonpath do not apply"),
        ("migrate", 1, "migrate does not run beside a running site: it changes tables"),
        ("shell", 1, "Stop it first"),
        ("check", 0, "System check identified no issues"),
        ("recount --help", 0, "usage: manage.py recount"),
    ],
)
def test_a_command_prints_and_ends_as_without_a_site(
    site: Site, line: str, code: int, said: str
) -> None:
    found, out, err = site.run(*line.split())
    assert (found, said in (err if code else out)) == (code, True), out + err
    assert "Traceback" not in err
    assert "already running" not in out


def test_a_command_runs_in_the_process_of_the_site(site: Site) -> None:
    site.run("rebuild_tags")
    assert any("management command rebuild_tags begins" in line for line in site.service.tail)


def test_an_admin_is_created_from_piped_lines_and_logs_in(site: Site) -> None:
    code, out, err = site.run("createsuperuser", typed=f"carla\n{PASSWORD}\n")
    assert (code, out, err) == (0, "Username: @carla is an admin now.\n", "")
    assert Client.known(site.url, "carla").token


def test_a_changed_password_and_a_role_take_effect_at_once(site: Site) -> None:
    bob, eve = Client.new(site.url, "bobby"), Client.new(site.url, "evelyn")
    post = "posts/" + eve("POST", "posts", content="hello")["id"]
    assert status(lambda: bob("DELETE", post)) == 403
    assert site.run("promote", "bobby", "--role", "moderator")[0] == 0
    assert status(lambda: bob("DELETE", post)) == 401  # the token with the former role
    bob = Client.known(site.url, "bobby")
    assert status(lambda: bob("DELETE", post)) == 200
    code, out, _ = site.run("changepassword", "bobby", typed=f"{NEW_PASSWORD}\n")
    assert (code, out) == (0, "@bobby has a new password and is signed out everywhere.\n")
    assert status(lambda: bob("GET", "users/me")) == 401
    assert site.run("changepassword", "bobby", typed=f"{PASSWORD}\n")[0] == 0
    assert Client.known(site.url, "bobby").token


def test_a_bad_password_is_refused_with_the_rule(site: Site) -> None:
    Client.new(site.url, "betty")
    code, out, err = site.run("changepassword", "betty", typed="x\n")
    assert (code, out) == (1, "")
    assert err.startswith("CommandError: new_password: 6 to 16 letters")


def test_a_password_is_typed_without_echo(site: Site) -> None:
    Client.new(site.url, "danny")
    with Terminal(site, "changepassword", "danny") as terminal:
        terminal.wait_for("New password of @danny: ")
        assert not terminal.echoes()
        terminal.type(f"{NEW_PASSWORD}\n")
        terminal.wait_for("Again: ")
        terminal.type(f"{NEW_PASSWORD}\n")
        terminal.wait_for("is signed out everywhere.")
        assert terminal.process.wait(LIMIT) == 0
        assert terminal.echoes()
        assert NEW_PASSWORD not in terminal.screen


def test_ctrl_c_at_the_prompt_changes_nothing(site: Site) -> None:
    Client.new(site.url, "emily")
    with Terminal(site, "changepassword", "emily") as terminal:
        terminal.wait_for("New password of @emily: ")
        terminal.type("\x03")
        assert terminal.process.wait(LIMIT) == 130
        assert terminal.echoes()
    assert Client.known(site.url, "emily").token


def test_a_terminal_shows_progress_and_colours(site: Site) -> None:
    with Terminal(site, "rebuild_inboxes", "--all") as terminal:
        terminal.wait_for("inboxes ")
        assert "0 people" in terminal.screen or " people/s" in terminal.screen
    with Terminal(site, "promote", "nobody") as terminal:
        terminal.wait_for("\x1b[31;1mCommandError")
    assert "\x1b[" not in site.run("promote", "nobody")[2]


def test_output_arrives_while_the_command_runs_and_ctrl_c_ends_it(site: Site) -> None:
    with site.open("fanout", "--watch") as watch:
        assert watch.stdout is not None
        assert "finished shown" in watch.stdout.readline()
        assert watch.poll() is None
        watch.send_signal(signal.SIGINT)
        assert watch.wait(LIMIT) == 0  # the command itself ends well


def test_a_closed_output_ends_the_command(site: Site) -> None:
    with site.open("fanout", "--watch") as watch:
        assert watch.stdout is not None
        watch.stdout.close()
        assert watch.wait(LIMIT) == 1
        assert watch.stderr is not None
        assert watch.stderr.read() == ""


def test_the_places_of_killed_clients_are_free_again(site: Site) -> None:
    watches = [eventually(lambda: started_watch(site)) for _ in range(server.COMMANDS)]
    code, _, err = site.run("fanout")
    assert (code, err) == (
        1,
        f"{server.COMMANDS} commands run already. Try again when one has ended.\n",
    )
    for watch in watches:
        assert watch is not None
        watch.close()
    assert eventually(lambda: site.run("fanout")[0] == 0)


def started_watch(site: Site) -> socket.socket | None:
    """Return a connection whose command runs, or None if no place is free yet."""
    sock = site.connect("fanout", "--watch")
    first = wire.receive(sock)
    if first is not None and first[0] is wire.Kind.OUT:
        return sock
    sock.close()
    return None


def test_an_unexpected_error_is_one_line_here_and_a_traceback_in_the_log(site: Site) -> None:
    code, _, err = site.run("createsuperuser")  # its input ends before the username
    assert code == 1
    assert err == "createsuperuser failed: EOFError: EOF when reading a line (see the site's log)\n"
    eventually(lambda: any("EOFError" in line for line in site.service.tail))
    assert any("Traceback" in line for line in site.service.tail)


def test_paths_are_relative_to_the_shell_of_the_operator(site: Site, tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text("user 4711\n")
    _, out, _ = site.run("verify_erased", "4711", "--logs", "old.log", cwd=tmp_path)
    assert f"log: {tmp_path}/old.log: 1" in out


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n\r\n", b"r\xff\xff\xff\xff", b"r\0\0\0\2{}", b"r\0\0\0\2[]", b"r\0"],
)
def test_garbage_ends_only_its_own_connection(site: Site, sent: bytes) -> None:
    with site.connect() as sock:
        sock.sendall(sent)
        sock.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            assert sock.recv(100) == b""
    assert site.run("fanout")[0] == 0


def test_the_site_itself_refuses_commands_that_cannot_run_beside_it(site: Site) -> None:
    assert to_end(site.connect("flush", "--no-input")) == [
        (wire.Kind.ERR, "flush does not run beside a running site: it changes tables that the"
         " site uses.\n"),
        (wire.Kind.END, "1"),
    ]  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_account_is_refused_by_the_file_and_by_the_site(site: Site) -> None:
    path = site.directory / wire.NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    site.directory.chmod(0o711)
    try:
        assert as_nobody(site.directory) == b"PermissionError"
        path.chmod(0o666)
        refused = as_nobody(site.directory)
    finally:
        site.directory.chmod(0o700)
        path.chmod(0o600)
    assert b"Only the account of the site (uid 0) may send it commands." in refused
    assert refused.endswith(b"x\0\0\0\x011")


def as_nobody(directory: Path) -> bytes:
    """Return what another account gets when it connects, or the name of the error."""
    ours, theirs = socket.socketpair()
    child = os.fork()  # nobody cannot start the Python of root
    if child == 0:
        try:
            os.chdir(directory)
            os.setgid(pwd.getpwnam("nobody").pw_gid)
            os.setuid(pwd.getpwnam("nobody").pw_uid)
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(LIMIT)
            sock.connect(wire.NAME)
            while part := sock.recv(4096):
                theirs.sendall(part)
        except OSError as error:
            theirs.sendall(type(error).__name__.encode())
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        found = b"".join(iter(lambda: ours.recv(4096), b""))
    os.waitpid(child, 0)
    return found


@pytest.mark.slow(reason="starts a site twice")
def test_a_killed_site_ends_its_commands_and_leaves_no_trace_after_a_new_start(
    tmp_path: Path,
) -> None:
    deep = tmp_path.joinpath(*["a directory with a long name"] * 5)
    deep.parent.mkdir(parents=True)
    site = Site(deep)
    put_database(deep)
    path = deep / wire.NAME
    assert len(str(path)) > 108
    try:
        site.service.start()
        with site.open("fanout", "--watch") as watch:
            assert watch.stdout is not None
            assert watch.stdout.readline()
            site.service.kill()
            assert watch.wait(LIMIT) == 1
            assert watch.stderr is not None
            assert "The site ended before the command did." in watch.stderr.read()
        assert path.is_socket()
        assert site.run("fanout")[0] == site.run("recount")[0] == 0  # in their own process
        site.service.start(wait=False)
        eventually(lambda: stat_of_lock(deep) == site.service.pid)
        eventually(path.is_socket)
        assert site.run("rebuild_tags")[0] == 0  # waits until the site is ready
        assert any("management command rebuild_tags begins" in line for line in site.service.tail)
        os.kill(site.service.pid, signal.SIGTERM)
        assert site.service.wait(LIMIT) == 0
        assert not path.exists()
    finally:
        site.service.stop()


def stat_of_lock(directory: Path) -> int:
    """Return the process id in the lock file."""
    return int((directory / "lock").read_text().strip() or 0)


def test_a_command_that_holds_the_data_takes_no_others(tmp_path: Path) -> None:
    site = Site(tmp_path / "data")
    put_database(site.directory)
    with site.open("createsuperuser", "--username", "alone") as first:
        eventually(lambda: (site.directory / "lock").exists())
        eventually(lambda: stat_of_lock(site.directory) == first.pid)
        code, _, err = site.run("recount")
        assert code == 1
        assert f"already running with DATA_DIR {site.directory} (pid {first.pid})" in err
        assert "Try again when it has ended" in err
        out, _ = first.communicate(f"{PASSWORD}\n", timeout=LIMIT)
        assert out == "@alone is an admin now.\n"
