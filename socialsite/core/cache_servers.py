"""The servers that a REDIS_URL names."""

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

ONE = ("redis://", "rediss://", "unix://")
CLUSTER, SENTINEL = "redis+cluster", "redis+sentinel"


class CacheServers(NamedTuple):
    """Several servers of the cache: some nodes of a cluster, or Sentinels and the master's name."""

    addresses: tuple[tuple[str, int], ...]
    password: str | None
    # The name of the master that the Sentinels watch; None for a cluster.
    master: str | None

    @property
    def is_cluster(self) -> bool:
        """Whether keys are spread over several masters."""
        return self.master is None


def several(url: str) -> CacheServers | None:
    """Return the servers of a REDIS_URL; None if it names one server. Raises ValueError."""
    scheme, _, rest = url.partition("://")
    if scheme not in (CLUSTER, SENTINEL):
        return None
    account, _, places = rest.rpartition("@")
    hosts, _, name = places.partition("/")
    if account and not account.startswith(":"):
        raise ValueError("the password stands behind a colon, as in :password@host:6379")
    if scheme == SENTINEL and not name:
        raise ValueError("the name of the master is missing, as in host:26379,host:26379/cache")
    if scheme == CLUSTER and name:
        raise ValueError("a cluster has no databases: nothing may follow the last port")
    addresses = tuple(_address(one) for one in hosts.split(","))
    password = unquote(account[1:]) or None
    return CacheServers(addresses, password, name if scheme == SENTINEL else None)


def _address(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or not parts.port:
        raise ValueError(f"{text!r} is no host:port")
    return parts.hostname, parts.port
