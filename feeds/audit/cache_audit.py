"""Compares the cached data of one post, one reader and one author with the database.

Redis is read first, the database after it: a write that is under way may look like a doubt for the
few ms until it has told the caches. What each process keeps in mind is not looked at.
"""

from collections.abc import Iterator

from accounts import queries as accounts_queries
from accounts.models import User
from feeds import cache, readers
from feeds.audit.reasons import Code, Reason
from feeds.cache.timeline import Runs
from feeds.cards import hydration
from feeds.home.sources import OpenFanOuts
from feeds.models import FanOut, InboxEntry, Post
from socialsite.core import db
from socialsite.core.cache import reads
from socialsite.core.positions import Position


def errors(viewer_id: int, post_id: int) -> list[Reason]:
    """Return the errors of the caches; none without Redis, or inside a transaction.

    Reader and post must exist. Costs at most ten queries.
    """
    post = Post.objects.get(pk=post_id)
    if db.in_transaction():
        return []
    return [Reason(code, dict(params)) for code, params in _CacheReading(viewer_id, post).errors()]


class _CacheReading:
    """The cached data, read in one round trip."""

    def __init__(self, viewer_id: int, post: Post) -> None:
        self.viewer_id, self.post = viewer_id, post
        self.place = Position(post.position, post.pk)
        above = Position(post.position, post.pk + 1)
        self._reader = readers.ReaderRead(viewer_id)
        self._inbox = Runs(cache.INBOX, above, 1, [viewer_id])
        self._outbox = Runs(cache.OUTBOX, above, 1, [post.author_id])
        self._fanouts = OpenFanOuts(above)
        self._posts = hydration.Posts([post.pk])
        self._person = accounts_queries.Cards([post.author_id])
        lists = (self._inbox, self._outbox, self._fanouts)
        reads.ask(self._reader, *lists, self._posts, self._person)

    def errors(self) -> Iterator[tuple[Code, dict[str, str]]]:
        """Yield the errors."""
        if what := ", ".join(self._stale_of_reader()):
            yield Code.CACHED_READER, {"what": what}
        posts = self._posts
        if posts.known and posts.known != posts.decode(posts.read([self.post.pk])):
            yield Code.CACHED_POST, {}
        authors = User.objects.active().filter(pk=self.post.author_id)
        known, author = self._person.known, self.post.author_id
        if author in known and (known[author] is not None) != authors.exists():
            yield Code.CACHED_PERSON, {}
        if Post.objects.filter(pk=self.post.pk, is_deleted=False).exists():
            yield from ((code, {}) for code in self._lists())

    def _stale_of_reader(self) -> Iterator[str]:
        """Yield the errors of the cached reader about the author."""
        known, author = self._reader.known, self.post.author_id
        if known is None or author == self.viewer_id:
            return
        now = readers.read_uncached(self.viewer_id)
        if (author in known.follows) != (author in now.follows):
            yield "follows"
        if (author in known.blocked) != (author in now.blocked):
            yield "blocks"
        if known.incomplete.get(author, 0) < now.incomplete.get(author, 0):
            yield "completeness of the inbox"

    def _lists(self) -> Iterator[Code]:
        """Yield the errors of cached lists about a post that is not deleted."""
        deliveries = FanOut.objects.filter(pk=self.post.pk, state__lt=FanOut.State.DONE)
        is_open = deliveries.exists()
        rows = InboxEntry.objects.filter(user_id=self.viewer_id, publish_time=self.place.ts_ms)
        has_row = rows.filter(post_id=self.post.pk, author_id=self.post.author_id).exists()
        run = self._inbox.known.get(self.viewer_id)
        if run is not None:
            in_cache = self._has(self._inbox, self.viewer_id)
            generation = readers.inbox_state(self.viewer_id)[0]
            known = self._reader.known
            used = run.generation == (generation if known is None else known.generation)
            # A post with an open fan-out is pulled, so the inbox does not matter.
            if used and in_cache is False and has_row and not is_open:
                yield Code.CACHED_INBOX_LACKS
            if in_cache and not has_row and run.generation == generation:
                yield Code.CACHED_INBOX_HAS
        if self._has(self._outbox, self.post.author_id) is False:
            yield Code.CACHED_OUTBOX_LACKS
        fanouts = self._fanouts
        is_listed = (self.place, self.post.author_id) in fanouts.posts
        if is_open and fanouts.are_all and not is_listed:
            yield Code.CACHED_FANOUTS_LACK

    def _has(self, asked: Runs, owner: int) -> bool | None:
        """Return whether a list has the post at its place; None if it does not reach that far."""
        run = asked.known.get(owner)
        if run is None or not (run.entries or run.ends):
            return None
        return run.positions() == [self.place]
