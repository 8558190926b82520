"""MariaDB and two Redis for tests and trials: private, on free ports, removed afterwards."""

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

from deploy.services import databases
from deploy.services.service import free_port


@contextlib.contextmanager
def throw_away_services(directory: Path) -> Iterator[dict[str, str]]:
    """Run MariaDB, a cache and a broker in a directory; yields the environment with their URLs."""
    password = secrets.token_hex(16)
    database, cache, broker = free_port(), free_port(), free_port()
    running = []
    try:
        for service in (
            databases.mariadb(directory / "mariadb", directory, database, password, durable=False),
            databases.redis_cache(directory, cache, password),
            databases.redis_broker(directory, broker, password),
        ):
            running.append(service)
            service.start(wait=False)
        for service in running:
            service.wait_ready()
        yield {
            "DATABASE_URL": databases.mysql_url(database, password),
            "REDIS_URL": databases.cache_url(directory, password),
            "BROKER_URL": databases.redis_url(broker, password),
        }
    finally:
        for service in running:
            service.stop_seconds = 2  # no data to save
            service.stop()
