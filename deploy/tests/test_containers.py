"""Containerfile and compose.yaml agree with the list of roles and with an installed site.

`make chaos ARGS="containers"` builds the image and runs all services.
"""

import queue
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.services import container, role
from deploy.services.databases import DATABASE_NAME, DATABASE_USER, MEMORY
from deploy.services.site_processes import PROJECT_DIR, ROLES, Role
from deploy.site import databases, layout, releases, settings, units
from socialsite.env import Env

pytestmark = pytest.mark.once

COMPOSE = (PROJECT_DIR / "compose.yaml").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
CONTAINERFILE = (PROJECT_DIR / "Containerfile").read_text()
OURS = [name for name, service in SERVICES.items() if service["image"] == "socialsite"]
# Not settings of the site: memory, and the port on this machine.
OF_COMPOSE = {MEMORY, "CACHE_MEMORY", "ADDRESS", "PORT", "DATABASE_PASSWORD", "REDIS_PASSWORD"}
OF_IMAGES = {"DATABASE", "USER", "PASSWORD", "RANDOM_ROOT_PASSWORD", "ROOT_HOST", "AUTO_UPGRADE"}


def options_of_mariadb(lines: list[str]) -> dict[str, str]:
    """Return options by name, from lines of a file or from words of a command."""
    pairs = [line.lstrip("-").partition("=") for line in lines if line[:1] not in ("#", "[", "")]
    return {name.strip(): value.strip() for name, _, value in pairs}


def redis_options(words: str) -> dict[str, str]:
    """Return the options in a configuration of Redis."""
    pairs = [line.split(maxsplit=1) for line in words.splitlines() if line[:1] not in ("#", "")]
    return {pair[0]: pair[-1] for pair in pairs if len(pair) == 2}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_role_is_a_service_that_waits_for_the_migration(role: Role) -> None:
    service = SERVICES[role.name]
    assert service["image"] == "socialsite"
    assert service["command"] == [role.name]
    waits = {name: wish["condition"] for name, wish in service["depends_on"].items()}
    assert waits.pop("migrate") == "service_completed_successfully"
    assert waits == dict.fromkeys(("database", "cache", "broker"), "service_healthy")


def test_there_are_no_other_services() -> None:
    others = {"migrate", "nginx", "database", "cache", "broker"}
    assert SERVICES.keys() == {role.name for role in ROLES} | others


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert f"LimitNOFILE={service['ulimits']['nofile']}" in units.HARDENING
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert service.get("user", "10001") not in ("root", "0")
    assert "privileged" not in service
    if name == "migrate":
        assert service["restart"] == "no"
    else:
        assert service["restart"] == "unless-stopped"
        assert service["healthcheck"]["test"]


def test_the_only_port_is_that_of_nginx_on_the_machine_itself() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"nginx": [f"${{ADDRESS:-127.0.0.1}}:${{PORT:-8080}}:{container.PORT}"]}
    assert SERVICES["nginx"]["networks"] == ["front"]
    networks = yaml.safe_load(COMPOSE)["networks"]
    for name in ("database", "cache", "broker"):
        assert SERVICES[name]["networks"] == ["services"]
    assert networks["services"]["internal"] is True


def test_every_variable_is_one_that_somebody_reads() -> None:
    known = Env.model_fields.keys() | OF_COMPOSE
    assert set(re.findall(r"(?<!\$)\$\{(\w+)", COMPOSE)) <= known
    for name, service in SERVICES.items():
        prefix = "MARIADB_" if name == "database" else ""
        names = {f"{prefix}{word}" for word in OF_IMAGES} if prefix else known
        assert service.get("environment", {}).keys() <= names


def test_the_image_has_the_settings_of_an_installed_site() -> None:
    text = CONTAINERFILE.rpartition("ENV ")[2].partition("\nARG")[0]
    found = dict(re.findall(r"(\w+)=(\S+)", text))
    fixed = settings.fixed()
    assert {name: found.get(name) for name in fixed} == fixed
    own = {"PATH", "LANG", "PYTHONDONTWRITEBYTECODE"}
    assert found.keys() == fixed.keys() | own


def test_the_image_has_the_folders_of_an_installed_site_and_no_root() -> None:
    for mode, path in ((710, layout.DATA), (750, layout.RUN)):
        line = f"install -d -m 0{mode} -o {layout.ACCOUNT} -g {layout.WEB_ACCOUNT} {path} "
        assert line in CONTAINERFILE
    assert re.findall("^USER (.*)$", CONTAINERFILE, re.MULTILINE) == ["10001"]
    assert SERVICES["nginx"]["user"] == layout.WEB_ACCOUNT
    health = SERVICES["http1"]["healthcheck"]["test"]
    assert str(health[1:]).replace("'", '"') in CONTAINERFILE


def test_each_volume_lies_where_the_site_writes() -> None:
    for name in (each.name for each in ROLES):
        paths = dict(volume.split(":", 1) for volume in SERVICES[name]["volumes"])
        assert paths == {
            "data": str(layout.DATA),
            "sockets": str(layout.RUN),
            "scratch": str(container.SCRATCH),
        }
    assert set(SERVICES["nginx"]["volumes"]) == {
        f"data:{layout.DATA}:ro",
        f"sockets:{layout.RUN}:ro",
        f"uploads:{container.NGINX_WORK}",
    }


def test_mariadb_has_the_options_of_an_installed_site() -> None:
    installed = options_of_mariadb(databases.MARIADB.splitlines())
    here = options_of_mariadb(SERVICES["database"]["command"])
    differ = {"bind-address", "innodb-buffer-pool-size"}
    assert {name: value for name, value in installed.items() if name not in differ} == {
        name: value for name, value in here.items() if name not in differ
    }
    assert here["innodb-buffer-pool-size"] == f"${{{MEMORY}:-512M}}"
    environment = SERVICES["database"]["environment"]
    assert environment["MARIADB_DATABASE"] == DATABASE_NAME
    assert environment["MARIADB_USER"] == DATABASE_USER


@pytest.mark.parametrize(("name", "policy"), [("cache", "allkeys-lru"), ("broker", "noeviction")])
def test_redis_has_the_options_of_an_installed_site(name: str, policy: str) -> None:
    shell, flags, script, _, *words = SERVICES[name]["command"]
    assert (shell, flags) == ("sh", "-ec")
    here = redis_options(script.partition("<<END\n")[2])
    installed = redis_options(databases.REDIS)
    for option in ("save", "appendonly", "zset-max-listpack-entries"):
        assert here[option] == installed[option]
    assert here["requirepass"] == "$$REDIS_PASSWORD"
    assert words[-2:] == ["--maxmemory-policy", policy]
    assert ("--maxmemory" in words) == (name == "cache")


def test_the_new_settings_are_accepted_and_name_the_services() -> None:
    text = container.new_settings("https://social.example.org/")
    given: dict[str, Any] = dict(
        line.split("=", 1) for line in text.splitlines() if line[:1] not in ("#", "")
    )
    for name in ("JWT_KEYS", "ALLOWED_HOSTS"):
        given[name] = given[name].split(",")
    env = Env(**{name: value for name, value in given.items() if name in Env.model_fields})
    assert env.site_url == "https://social.example.org"
    assert env.ALLOWED_HOSTS == ["social.example.org"]
    names = {"DATABASE_URL": "database", "REDIS_URL": "cache", "BROKER_URL": "broker"}
    for url, service in names.items():
        assert re.search(f"@{service}:[0-9]+/", given[url])
        assert service in SERVICES
    assert given["DATABASE_PASSWORD"] in given["DATABASE_URL"]
    assert given["REDIS_PASSWORD"] in given["BROKER_URL"]
    assert "$" not in text  # which compose would replace
    required = set(re.findall(r"\$\{(\w+):\?", COMPOSE))
    assert required <= given.keys()


@pytest.mark.parametrize("url", ["social.example.org", "ftp://a.example", "https://a.example/path"])
def test_only_the_address_of_a_site_gets_settings(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert container.main(["settings", url]) == 2
    assert capsys.readouterr().out == ""


def test_what_is_no_code_stays_out_of_the_image() -> None:
    lines = (PROJECT_DIR / ".dockerignore").read_text().splitlines()
    assert {f"**/{name}" for name in releases.LEFT_OUT} <= set(lines)


def test_the_entry_needs_nothing_but_pythons_own_library() -> None:
    code = f"import sys; sys.path.insert(0, {str(PROJECT_DIR)!r}); import deploy.services.container"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_nginx_takes_the_clients_address_from_the_proxy_only_here() -> None:
    text = container.nginx_configuration("https://social.example.org")
    assert "real_ip_header X-Forwarded-For;" in text
    assert "set_real_ip_from 172.16.0.0/12;" in text
    assert "proxy_set_header X-Forwarded-Proto https;" in text
    assert "set_real_ip_from 0.0.0.0/0" not in text


def test_operations_name_every_service_and_volume() -> None:
    text = (PROJECT_DIR / "docs" / "operations.md").read_text()
    section = text.partition("\n## Containers\n")[2].partition("\n## ")[0]
    for name in (*SERVICES, *yaml.safe_load(COMPOSE)["volumes"]):
        assert f"`{name}`" in section, name
    assert set(re.findall(r"\$\{(\w+):-", COMPOSE)) <= set(re.findall(r"`(\w+)`", section))


# --- The processes --------------------------------------------------------------------------------
@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of what a container notes about itself."""
    monkeypatch.setattr(container, "NAME", tmp_path / "name")
    monkeypatch.setattr(container, "READY", tmp_path / "ready")
    return tmp_path


def test_a_worker_is_healthy_when_it_is_ready_and_has_its_broker(
    marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not container.health()
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        monkeypatch.setenv("BROKER_URL", f"redis://:secret@127.0.0.1:{port}/0")
        container._named("worker")
        with socket.create_connection(("127.0.0.1", port)) as connection:
            assert not container.health()
            (marks / "ready").touch()
            assert container.health()
            connection.shutdown(socket.SHUT_WR)
        assert not container.health()
        container._named("worker")
        assert not (marks / "ready").exists()


def test_a_worker_is_connected_to_one_of_several_servers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        away = "amqp://127.0.0.1:1"
        with socket.create_connection(("127.0.0.1", port)):
            assert container.is_connected(f"{away}/;amqp://127.0.0.1:{port}/")
            # The port of Redis is known to its Sentinels only.
            assert container.is_connected("sentinel://127.0.0.1:1")
            assert not container.is_connected(f"{away}/;{away}2/")


def test_a_role_that_does_not_answer_is_killed(tmp_path: Path) -> None:
    """A container has no WatchdogSec: its main process ends, and the engine starts it again."""
    uds = tmp_path / "tried.sock"
    told: queue.Queue[str] = queue.Queue()
    with subprocess.Popen([sys.executable, "-c", SERVER, str(uds)]) as process:
        watcher = threading.Thread(target=role._probe, args=(process, told.put, uds, 1.0))
        watcher.start()
        try:
            assert told.get(timeout=60) == "READY=1"
            process.send_signal(signal.SIGUSR1)  # from now on it answers 503
            assert process.wait(60) == -signal.SIGKILL
        finally:
            process.kill()
            watcher.join()


SERVER = """
import http.server, signal, socketserver, sys
status = 200
def fail(*args):
    global status
    status = 503
signal.signal(signal.SIGUSR1, fail)
class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self): return ""
    def log_message(self, *args): pass
    def do_GET(self):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
socketserver.UnixStreamServer(sys.argv[1], Handler).serve_forever()
"""
