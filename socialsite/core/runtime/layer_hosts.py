"""How the channel layer reaches a cache on several servers."""

import random
from collections.abc import Sequence
from typing import Any

from redis.asyncio.connection import Connection

from socialsite.core.cache_servers import CacheServers

CONNECT_SECONDS = 1.0


def layer_host(servers: CacheServers) -> dict[str, Any]:
    """Return a host of the channel layer: any node of the cluster, or the master of Sentinels."""
    own = {"password": servers.password, "socket_connect_timeout": CONNECT_SECONDS}
    if servers.is_cluster:
        return {"connection_class": NodeConnection, "addresses": servers.addresses, **own}
    sentinels = [*servers.addresses]  # their password is that of the servers
    name = servers.master
    return {"sentinels": sentinels, "sentinel_kwargs": own, "master_name": name, **own}


class NodeConnection(Connection):
    """A connection to a node of a cluster that answers: messages reach all of them."""

    def __init__(self, *, addresses: Sequence[tuple[str, int]], **options: Any) -> None:
        self._addresses = addresses
        super().__init__(**options)

    async def _connect(self) -> None:
        """Try the nodes in any order."""
        error: Exception = OSError("no nodes")
        for host, port in random.sample(self._addresses, len(self._addresses)):
            self.host, self.port = host, port
            try:
                await super()._connect()  # type: ignore[no-untyped-call]
            except (TimeoutError, OSError) as reason:
                error = reason
            else:
                return
        raise error
