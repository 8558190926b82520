"""Compare the search index with the words of a sample of posts, every night, for the metric.

Posts that changed within SETTLED_MS are not compared, since their last event may still wait. Only
`manage.py rebuild_search` corrects the index.
"""

import logging
import random

from feeds.discovery.search import indexing
from feeds.models import Post, PostContent, SearchCheck
from socialsite.core import db

logger = logging.getLogger(__name__)

SAMPLE, RUN = 1000, 20
SETTLED_MS = 3_600_000
KEPT_CHECKS = 100
_dice = random.SystemRandom()


def check(sample: int = SAMPLE) -> SearchCheck:
    """Compare a sample of posts with the index, and store the result."""
    ids = _sample(sample)
    wrong = [ident for ident in ids if not indexing.is_right(ident)]
    log = logger.warning if wrong else logger.info
    log("search index of %d posts, wrong %d: %s", len(ids), len(wrong), wrong[:20])
    made = SearchCheck.objects.create(finished_at=db.now_ms(), posts=len(ids), wrong=len(wrong))
    SearchCheck.objects.filter(pk__lte=made.pk - KEPT_CHECKS).delete()
    return made


def last() -> SearchCheck | None:
    """Return the newest check; None before the first one."""
    return SearchCheck.objects.order_by("-pk").first()


def _sample(count: int) -> list[int]:
    """Return the ids of at most so many settled posts: all, or short runs at random places."""
    settled = db.now_ms() - SETTLED_MS
    posts = Post.objects.order_by("pk").values_list("pk", flat=True)
    found = list(posts[: count + 1])
    if len(found) > count:
        low, high = found[0], Post.objects.order_by("-pk").values_list("pk", flat=True)[0]
        starts = [_dice.randint(low, high) for _ in range(count // RUN)]
        found = [ident for start in starts for ident in posts.filter(pk__gte=start)[:RUN]]
    late = PostContent.objects.filter(pk__in=found, edited_at__gt=settled)
    new = Post.objects.filter(pk__in=found, position__gt=settled)
    unsettled = {*late.values_list("pk", flat=True), *new.values_list("pk", flat=True)}
    return sorted(set(found) - unsettled)
