"""Brokers of the change stream for tests and trials: on loopback, in a private directory."""

import os
import shlex
import socket
from contextlib import suppress
from pathlib import Path

from deploy.services import databases
from deploy.services.service import Service, ServiceError, tied
from deploy.services.site_processes import LOOPBACK, program

# What Debian's command of this name calls; that one changes the account.
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


def redis_stream(runtime: Path, port: int, password: str) -> Service:
    """A Redis that keeps what it confirms: it writes each change to its file before it answers."""
    options = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
    return databases._redis("stream", runtime, port, password, options)


def has_rabbitmq() -> bool:
    """Return whether RabbitMQ is installed."""
    with suppress(ServiceError):
        return RABBITMQ.exists() and bool(program("epmd"))
    return False


def rabbitmq(runtime: Path, port: int, nodes_port: int, names_port: int) -> Service:
    """A RabbitMQ node and its name service (epmd), with the user guest of loopback only.

    `nodes_port` is for other nodes, of which there are none.
    """
    home = runtime / "rabbitmq"
    home.mkdir(mode=0o700, exist_ok=True)
    config = home / "rabbitmq.conf"
    config.write_text(f"listeners.tcp.1 = {LOOPBACK}:{port}\nlog.console = false\n")
    (home / "plugins").write_text("[].\n")
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "RABBITMQ_NODENAME": f"stream{port}@localhost",
        "RABBITMQ_DIST_PORT": str(nodes_port),
        "RABBITMQ_CONFIG_FILE": str(config),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_MNESIA_BASE": str(home / "data"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "ERL_EPMD_PORT": str(names_port),
        "ERL_EPMD_ADDRESS": LOOPBACK,
    }
    return Service(
        name="rabbitmq",
        argv=["/bin/sh", "-c", f"{shlex.join([*tied(), program('epmd')])} & exec {RABBITMQ}"],
        ready=lambda: answers(LOOPBACK, port),
        env=env,
        ready_seconds=90,
    )


def answers(host: str, port: int) -> bool:
    """Return whether AMQP is answered: RabbitMQ sends the first frame of a connection."""
    with suppress(OSError), socket.create_connection((host, port), 1) as connection:
        connection.settimeout(2)
        connection.sendall(b"AMQP\x00\x00\x09\x01")
        return connection.recv(1) == b"\x01"
    return False
