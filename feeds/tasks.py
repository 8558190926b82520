"""Celery entry points of feeds; every message is a hint, the work is in the database."""

from collections.abc import Sequence

from celery import shared_task

from feeds.audit import verify
from feeds.content.polls import actions as polls
from feeds.content.previews import actions as previews
from feeds.content.previews import runner as previews_runner
from feeds.delivery.fanout import deliver, sweep
from feeds.delivery.inbox import trim
from feeds.discovery.search import drift
from feeds.discovery.tags import indexing, ranking
from feeds.drafts import actions as drafts


@shared_task(name="feeds.run_chunks")
def run_chunks(post_id: int, chunk_ids: Sequence[int]) -> None:
    """Deliver some chunks of a post's fan-out."""
    deliver.run_chunks((chunk_id, post_id) for chunk_id in chunk_ids)


@shared_task(name="feeds.trim_chunk")
def trim_chunk(chunk_id: int) -> None:
    """Trim the sampled inboxes of a delivered chunk."""
    deliver.trim_chunk(chunk_id)


@shared_task(name="feeds.purge_fanouts")
def purge_fanouts() -> None:
    """Delete deliveries that were finished more than a week ago."""
    while sweep.purge():
        pass


@shared_task(name="feeds.sweep_fanouts")
def sweep_fanouts() -> None:
    """Deliver chunks whose message was lost or whose worker died."""
    sweep.run()


@shared_task(name="feeds.publish_due_drafts")
def publish_due_drafts() -> None:
    """Publish the drafts whose time has come."""
    while drafts.publish_due():
        pass


@shared_task(name="feeds.end_polls")
def end_polls() -> None:
    """End the polls whose time has come."""
    while polls.end_due():
        pass


@shared_task(name="feeds.fetch_previews")
def fetch_previews() -> None:
    """Look up the links of posts, in a thread of its own."""
    previews_runner.start()


@shared_task(name="feeds.purge_previews")
def purge_previews() -> None:
    """Delete what was found behind links long ago."""
    while previews.purge():
        pass


@shared_task(name="feeds.trim_inboxes")
def trim_inboxes() -> None:
    """Trim the inboxes that deliveries did not."""
    last: int | None = 0
    while last is not None:
        last, _gone = trim.walk(last, trim.STEP)


@shared_task(name="feeds.verify_feeds")
def verify_feeds() -> None:
    """Compare the feeds of a sample of people with the definition."""
    verify.run()


@shared_task(name="feeds.rank_tags")
def rank_tags() -> None:
    """Rank the tags in use, and count the posts of busy ones."""
    ranking.rank()


@shared_task(name="feeds.purge_tags")
def purge_tags() -> None:
    """Delete tags that no post has and nobody follows."""
    last: int | None = 0
    while last is not None:
        last = indexing.purge(last)


@shared_task(name="feeds.check_search")
def check_search() -> None:
    """Compare the search index with the words of a sample of posts."""
    drift.check()
