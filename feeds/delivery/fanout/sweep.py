"""The periodic sweep: chunks whose message was lost or whose worker died, and old deliveries."""

from feeds.delivery.fanout import deliver
from feeds.models import FanOut, FanOutChunk
from socialsite.core import db

SWEEP_LIMIT = 200
KEEP_MS = 7 * 86_400_000
PURGE_LIMIT = 1000


def run(limit: int = SWEEP_LIMIT) -> int:
    """Close complete fan-outs and run chunks without a lease; return how many of both (T31)."""
    count = deliver.finish(FanOut.objects.all())
    due = FanOutChunk.objects.filter(done=False, leased_until__lte=db.now_ms()).order_by("pk")
    return count + deliver.run_chunks(list(due.values_list("pk", "fanout_id")[:limit]))


def purge(limit: int = PURGE_LIMIT) -> int:
    """Delete deliveries that were finished more than a week ago; return how many."""
    limit_ms = db.now_ms() - KEEP_MS
    old = FanOut.objects.filter(state=FanOut.State.DONE, position__lt=limit_ms)
    ids = list(old.values_list("pk", flat=True)[:limit])
    FanOutChunk.objects.filter(fanout_id__in=ids).delete()
    FanOut.objects.filter(pk__in=ids).delete()
    return len(ids)
