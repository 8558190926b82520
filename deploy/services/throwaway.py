"""MariaDB and two Redis for tests and trials: private, on free ports, removed afterwards."""

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

from deploy.services import databases
from deploy.services.redis_cluster import throw_away_cluster
from deploy.services.service import free_port


@contextlib.contextmanager
def throw_away_services(directory: Path, *, on_cluster: bool = False) -> Iterator[dict[str, str]]:
    """Run MariaDB, a cache and a broker in a directory; yields the environment with their URLs.

    The cache is one Redis, or a Redis Cluster.
    """
    password = secrets.token_hex(16)
    database, cache, broker = free_port(), free_port(), free_port()
    services = [
        databases.mariadb(directory / "mariadb", directory, database, password, durable=False),
        databases.redis_broker(directory, broker, password),
    ]
    if not on_cluster:
        services.append(databases.redis_cache(directory, cache, password))
    with contextlib.ExitStack() as running:
        for service in services:
            service.stop_seconds = 2  # no data to save
            running.callback(service.stop)
            service.start(wait=False)
        cache_url = databases.cache_url(directory, password)
        if on_cluster:
            folder = directory / "cluster"
            folder.mkdir(mode=0o711)
            cache_url = running.enter_context(throw_away_cluster(folder)).url()
        for service in services:
            service.wait_ready()
        yield {
            "DATABASE_URL": databases.mysql_url(database, password),
            "REDIS_URL": cache_url,
            "BROKER_URL": databases.redis_url(broker, password),
        }
