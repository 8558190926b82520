"""All instruments; docs/metrics.md describes them, and a test compares the two.

A change in this file makes every process begin at 0 again (`storage`).
"""

from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from socialsite.core.telemetry import storage

REGISTRY = CollectorRegistry()
ROLE = settings.METRICS_ROLE or "site"
# Before the first instrument is made.
IS_SHARED = storage.use(settings.METRICS_DIR, settings.METRICS_ROLE)

# Bounds in seconds.
OF_REQUESTS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
OF_TASKS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1800)
OF_WAITS = (0.01, 0.05, 0.2, 1, 5, 20, 60, 300, 1800)
OF_REVOCATIONS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
OF_FANOUTS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(name, text, labels, registry=REGISTRY)


def _gauge(name: str, text: str, *labels: str) -> Gauge:
    return Gauge(name, text, labels, registry=REGISTRY, multiprocess_mode="livesum")


def _histogram(name: str, text: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(name, text, labels, buckets=bounds, registry=REGISTRY)


HTTP_REQUESTS = _histogram(
    "socialsite_http_request_seconds", "time to answer", OF_REQUESTS, "route", "method", "status"
)

TASKS = _histogram("socialsite_task_seconds", "time of a task", OF_TASKS, "task", "outcome")
TASK_WAITS = _histogram(
    "socialsite_task_wait_seconds", "from sending a task to its start", OF_WAITS, "task"
)

SOCKETS_OPEN = _gauge("socialsite_sockets_open", "open WebSockets")
SOCKET_MESSAGES = _counter("socialsite_socket_messages_total", "WebSocket messages", "direction")
SOCKETS_CLOSED = _counter("socialsite_sockets_closed_total", "WebSockets that ended", "reason")
REVOCATIONS = _histogram(
    "socialsite_revocation_delay_seconds",
    "from the commit of a revocation to the close of a WebSocket",
    OF_REVOCATIONS,
    "found_by",
)

FANOUTS = _histogram("socialsite_fanout_seconds", "from publication to the last inbox", OF_FANOUTS)

REPLICA_READS = _counter(
    "socialsite_replica_reads_total", "reads that a replica may answer", "answered_by"
)
STREAM_RECORDS = _counter(
    "socialsite_stream_records_total", "records appended to the change stream, repeats included"
)

DATABASE_RETRIES = _counter(
    "socialsite_database_retries_total", "transactions that were run again", "reason"
)
REDIS_DOWN = _gauge("socialsite_redis_circuits_open", "processes that do without Redis")
REDIS_FAILURES = _counter(
    "socialsite_redis_failures_total", "calls of Redis without an answer", "reason"
)

CACHE_SERVERS_DISTRUSTED = _counter(
    "socialsite_cache_servers_distrusted_total", "writes that distrusted a server of the cache"
)
CACHE_SERVERS_UNUSED = _gauge(
    "socialsite_cache_servers_unused", "servers of the cache that a process does not use"
)

REFUSALS = _counter(
    "socialsite_rate_limit_refusals_total", "refusals by a budget", "budget", "counted_in"
)
FAILED_ATTEMPTS = _counter(
    "socialsite_failed_attempts_total", "guarded attempts that failed", "reason"
)

MAILS = _counter("socialsite_mails_total", "mails given to the mail server", "outcome")
PUSHES = _counter("socialsite_pushes_total", "messages to push services", "outcome")

STARTED = _gauge("socialsite_process_start_seconds", "start of the process, Unix time", "role")
MEMORY = _gauge("socialsite_process_memory_bytes", "resident memory of the process", "role")
