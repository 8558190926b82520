"""The cache and the broker, the channel layer, and how fast Redis and the database answer."""

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import connection as database
from django.utils.translation import gettext as _

from socialsite.core.events import brokers
from socialsite.core.redis import servers
from socialsite.core.redis.circuit_breaker import RedisDown
from socialsite.doctor.findings import Finding, error, ok, unknown, warning

TRIPS, TRIPS_SECONDS = 200, 1.0
SLOW_MS = 5.0
MESSAGE_SECONDS = 2.0


# --- eviction -----------------------------------------------------------------------------------
def eviction() -> Iterator[Finding]:
    """The cache evicts and forgets, the broker does not evict, and they are two servers."""
    if settings.EMBEDDED:
        yield ok(_("Redis and the broker run inside the process."))
        return
    broker = None
    caches: list[dict[str, Any]] = []
    problems: list[Finding] = []
    try:
        with servers.caches() as found:
            for redis in found:
                caches.append(redis.info())
                problems += _cache(caches[-1], servers.config(redis, ["save"]))
    except RedisDown as reason:
        problems.append(_down("REDIS_URL", reason))
    try:
        if url := brokers.redis_url(servers.TIMEOUT_SECONDS):
            with servers.connected(url) as redis:
                broker = redis.info()
    except RedisDown as reason:
        problems.append(_down("BROKER_URL", reason))
    if broker and any(cache["run_id"] == broker["run_id"] for cache in caches):
        problems.append(
            warning(
                _("The cache and the broker are the same Redis server."),
                _(
                    "Give them a server each, and set REDIS_URL and BROKER_URL: the cache may"
                    " evict, and messages must not be evicted."
                ),
            )
        )
    elif broker and broker["maxmemory_policy"] != "noeviction":
        problems.append(
            warning(
                _("The broker evicts messages: its maxmemory-policy is %(policy)s.")
                % {"policy": broker["maxmemory_policy"]},
                _("Set maxmemory-policy noeviction in the configuration of the broker."),
            )
        )
    yield from problems
    if not problems:
        yield ok(_("The cache evicts when it is full, and the broker keeps its messages."))


def _cache(info: dict[str, Any], config: dict[str, str] | None) -> Iterator[Finding]:
    policy = info["maxmemory_policy"]
    if not info["maxmemory"]:
        yield warning(
            _("The cache has no limit of memory."),
            _("Set maxmemory and maxmemory-policy allkeys-lru in the configuration of the cache."),
        )
    elif not policy.startswith("allkeys-"):
        yield error(
            _("The cache refuses writes when it is full: its maxmemory-policy is %(policy)s.")
            % {"policy": policy},
            _("Set maxmemory-policy allkeys-lru in the configuration of the cache."),
        )
    if info["aof_enabled"] or (config or {}).get("save"):
        yield warning(
            _("The cache stores its data on the disk, so a restart brings back old sign-ins."),
            _('Set save "" and appendonly no in the configuration of the cache.'),
        )
    elif config is None:
        yield unknown(
            _("The cache does not show whether it stores its data on the disk."),
            _("Turn snapshots and the append-only file off where you configure it."),
        )


def _down(name: str, reason: Exception) -> Finding:
    return error(
        _("The server of %(name)s does not answer: %(reason)s") % {"name": name, "reason": reason},
        _("Start it, or correct the address in the environment."),
    )


# --- several servers of the cache -----------------------------------------------------------------
def cache_servers() -> Iterator[Finding]:
    """The site uses each master of the cache for all its keys."""
    if settings.CACHE_SERVERS is None:
        yield ok(_("The cache is one server."))
        return
    try:
        with servers.caches() as found:
            left = servers.unused()
    except RedisDown as reason:
        yield _down("REDIS_URL", reason)
        return
    for address in left:
        yield warning(
            _("The site does not use the server %(server)s of the cache, or not for all its keys.")
            % {"server": f"{address.host}:{address.port}"},
            _(
                "It uses it again within seconds after all machines reach it. Start the server, and"
                " look at the network between it and each machine of the site."
            ),
        )
    if not left:
        yield ok(_("The site uses all %(number)d masters of the cache.") % {"number": len(found)})


# --- latency ------------------------------------------------------------------------------------
def latency(slow_ms: float = SLOW_MS) -> Iterator[Finding]:
    """How long Redis and the database need for the smallest question."""
    if not settings.EMBEDDED:
        with servers.caches() as found:
            for redis in found:
                yield _measured(_("Redis"), redis.ping, slow_ms)

    def ask() -> None:
        with database.cursor() as cursor:
            cursor.execute("SELECT 1")

    yield _measured(_("The database"), ask, slow_ms)


def _measured(name: str, ask: Callable[[], object], slow_ms: float) -> Finding:
    found = percentile_ms(ask)
    text = _("%(name)s answered 95 %% of small questions within %(ms).2f ms.")
    text %= {"name": name, "ms": found}
    if found <= slow_ms:
        return ok(text)
    advice = _("Look for a busy machine or a slow network: pages wait for several answers each.")
    return warning(text, advice)


def percentile_ms(ask: Callable[[], object]) -> float:
    """Return the 95th percentile in ms of up to TRIPS questions, within about TRIPS_SECONDS."""
    ask()  # connects
    times: list[float] = []
    end = time.perf_counter() + TRIPS_SECONDS
    while len(times) < TRIPS and (not times or time.perf_counter() < end):
        start = time.perf_counter()
        ask()
        times.append((time.perf_counter() - start) * 1000)
    return sorted(times)[math.ceil(len(times) * 0.95) - 1]


# --- channel layer ------------------------------------------------------------------------------
def channel_layer() -> Iterator[Finding]:
    """Send one message to a group of its own, and wait for it."""
    sent = secrets.token_hex(8)
    try:
        received = async_to_sync(_through_layer)(sent)
    except TimeoutError:
        received = None
    except servers.ERRORS as reason:
        yield _down("REDIS_URL", reason)
        return
    if received == sent:
        yield ok(_("A message through the channel layer arrived."))
        return
    yield error(
        _("A message through the channel layer did not arrive within %(seconds)d s.")
        % {"seconds": MESSAGE_SECONDS},
        _("Check the cache Redis: open pages get no live updates, and sign-outs reach them late."),
    )


async def _through_layer(text: str) -> object:
    layer: Any = get_channel_layer()
    async with asyncio.timeout(MESSAGE_SECONDS):
        channel = await layer.new_channel()
        group = f"doctor-{text}"
        await layer.group_add(group, channel)
        try:
            await layer.group_send(group, {"type": "doctor", "text": text})
            return (await layer.receive(channel))["text"]
        finally:
            await layer.group_discard(group, channel)
