"""A primary and a replica of the tests' own, instead of the database of the run."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections

from deploy.services import migrated, replication
from deploy.services.replication import Pair
from socialsite.core.db import replicas
from socialsite.core.runtime import database_settings
from socialsite.core.telemetry.instruments import REPLICA_READS

ALIASES = database_settings.replica_aliases(1)
DATABASES = ["default", *ALIASES, *ALIASES.values()]


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A primary and its replica, with the tables of the site."""
    folder = tmp_path_factory.mktemp("replicas")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o711)  # MariaDB may run under another account
    with replication.pair(folder) as pair:
        # Before Django decides which databases a test may use.
        entries = database_settings.replicas([pair.url(pair.replica_port, migrated.TEST_DATABASE)])
        for entry in entries.values():
            entry["OPTIONS"]["read_timeout"] = 600  # the machine may be busy
        connections.configure_settings(entries | {"default": {}})
        connections.settings.update(entries)
        yield pair
        for alias in entries:
            del connections.settings[alias]


@pytest.fixture
def pair(servers: Pair, db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """A site on the pair, whose replica has everything."""
    own = connections["default"]
    url = servers.url(servers.primary_port, migrated.TEST_DATABASE)
    entry = {**database_settings.mysql(url), "TEST": own.settings_dict["TEST"]}
    monkeypatch.setitem(connections.settings, "default", {**own.settings_dict, **entry})
    settings.REPLICAS = ALIASES
    for name in ("RECENT_SECONDS", "LOST_SECONDS", "LOST_SECONDS_MAX"):
        monkeypatch.setattr(replicas, name, 3600.0)  # the machine may be busy
    _forget_connections()
    servers.catch_up()
    replicas.forget()
    connections["default"] = connections.create_connection("default")
    try:
        yield servers
    finally:
        connections["default"].close()
        connections["default"] = own
        _forget_connections()


def _forget_connections() -> None:
    """Forget those to replicas: pairs have other ports, and Django makes some between the tests."""
    for alias in (*ALIASES, *ALIASES.values()):
        connections[alias].close()
        del connections[alias]


@pytest.fixture
def answered() -> Callable[[], dict[str, int]]:
    """Return a function that counts who answered since its last call."""
    last: dict[str, float] = {}

    def count() -> dict[str, int]:
        found = {}
        for one in ("replica", "primary"):
            now = REPLICA_READS.labels(one)._value.get()
            found[one] = int(now - last.get(one, 0))
            last[one] = now
        return found

    count()
    return count
