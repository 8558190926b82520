"""The gain of each cache and each shortcut of a home page: `make bench ARGS="parts"`.

One reader with 100 follows reads warm pages in this process, in turns with one part switched off.
A figure above 1 says how many times longer the page takes without the part. A cache that is off is
still asked, under a key that nobody fills, so its figure is a little too low. The last table has
shortcuts of the database, on pages that are read without Redis and on writes.
"""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bench.support import harness

PEOPLE, FOLLOWS, PULLED, POSTS_EACH, LIKES = 300, 100, 3, 12, 100
SIZE = 20
# An object, the name of an attribute, and its value while the part is off.
Swap = tuple[Any, str, Any]


@contextlib.contextmanager
def without(swaps: Sequence[Swap]) -> Iterator[None]:
    """Replace attributes in a block."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in swaps]
    for owner, name, value in swaps:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def redis_parts() -> dict[str, list[Swap]]:
    """Return the caches in Redis; those that are off are asked for keys that nobody fills."""
    from accounts import cache as accounts_cache
    from feeds import cache as feeds_cache
    from feeds.home import sources
    from interactions import cache as interactions_cache
    from socialsite.core.cache.lease import Lease
    from socialsite.core.redis import Promise

    def no_lease(batch: Any, *_args: Any) -> Lease:
        return Lease(batch, [])

    def values(cache: Any) -> list[Swap]:
        return [(cache, "_prefix", "off:"), (cache, "lease", no_lease)]

    def lists(timeline: Any) -> list[Swap]:
        return [(timeline, "prefix", "off"), (timeline, "lease", no_lease)]

    def no_start(_batch: Any) -> Promise[Any]:
        return Promise()

    pulled = feeds_cache.PULLED
    return {
        "people (PEOPLE)": values(accounts_cache.PEOPLE),
        "the reader (READERS)": values(feeds_cache.READERS),
        "posts (CARDS)": values(feeds_cache.CARDS),
        "counts (COUNTS)": values(interactions_cache.COUNTS),
        "unread notifications (UNREAD)": values(interactions_cache.UNREAD),
        "the reader's likes, bookmarks, reposts, votes": [
            (interactions_cache, "_mine", lambda user_id: f"off:{user_id}"),
            (interactions_cache.Marked, "lease", lambda _self, _batch: None),
        ],
        "the inbox (INBOX)": lists(feeds_cache.INBOX),
        "lists of authors (OUTBOX)": lists(feeds_cache.OUTBOX),
        "open fan-outs (OPEN)": lists(feeds_cache.OPEN),
        "the set of pulled authors (PULLED)": [
            (pulled, "key", "off"),
            (pulled, "ask_start", no_start),
            (sources.Pulled, "_cached", (None, None)),
        ],
        "the floors of tokens": [
            (accounts_cache, "_batch", lambda user_id: f"off:{user_id}"),
            (accounts_cache, "_cached", lambda *_args: {}),
            (accounts_cache, "_raise", lambda *_args: None),
        ],
    }


def process_parts() -> dict[str, list[Swap]]:
    """Return what a process caches."""
    from accounts import queries as accounts_queries
    from accounts.tokens import decoding
    from feeds import readers
    from feeds.cards import hydration, prefetch
    from socialsite.pages import cached_html, links, times

    def unwrapped(module: Any, name: str) -> list[Swap]:
        return [(module, name, getattr(module, name).__wrapped__)]

    def unpacked(module: Any) -> list[Swap]:
        return [(module._unpacked, "get", lambda _ident: None)]

    values = (accounts_queries, hydration, readers)
    authors: list[Swap] = [(prefetch, "writers", lambda _ids: set())]
    newest: list[Swap] = [(prefetch, "newest", lambda *_args: ())]
    return {
        "unpacked people": unpacked(accounts_queries),
        "unpacked posts": unpacked(hydration),
        "the unpacked reader": unpacked(readers),
        "all unpacked values": [swap for module in values for swap in unpacked(module)],
        "guessed authors of posts": authors,
        "guessed posts of pulled authors": newest,
        "all guesses": authors + newest,
        "verified tokens": unwrapped(decoding, "_remembered"),
        "HTML of posts": unwrapped(cached_html, "_part"),
        "HTML of forms and frames": unwrapped(cached_html, "_cached_macro"),
        "addresses of pages": unwrapped(links, "_reversed"),
        "translated times": unwrapped(times, "translated"),
    }


def database_parts() -> dict[str, list[Swap]]:
    """Return the shortcuts of the database."""
    from socialsite.core.db.compiled import Compiled, UnionRead

    def one_by_one(union: Any) -> None:
        for found, (query, args, kwargs) in zip(union._found, union._queries, strict=True):
            found += query(*args, **kwargs)

    named = [one for module in [*sys.modules.values()] for one in vars(module).values()]
    found = {id(one): one for one in named if isinstance(one, Compiled)}.values()
    return {
        "compiled queries": [(one, "_built", one._built.__wrapped__) for one in found],
        "queries in one statement": [(UnionRead, "run", one_by_one)],
    }


class World:
    """A reader, and what they do."""

    def __init__(self, seed: int) -> None:
        from accounts import actions as accounts_actions
        from accounts.models import User
        from bench.support import feeds, people
        from feeds.models import Post
        from socialsite.wsgi import application

        ids = people.make_people(PEOPLE)
        people.count_all()
        feeds.make_posts(ids[1:], POSTS_EACH, pulled=ids[1 : PULLED + 1], seed=seed)
        follows = ids[1 : FOLLOWS + 1]
        feeds.deliver(ids[0], follows[PULLED:])
        people.insert(sorted(people.rows_of({ids[0]: dict.fromkeys(follows, 1)})))
        people.count_all()
        posts = list(Post.objects.newest_first().values_list("pk", flat=True)[: 2 * LIKES])
        feeds.like(ids[0], posts[:LIKES])
        self.reader, self.stranger = User.objects.get(pk=ids[0]), User.objects.get(pk=ids[-1])
        self.post = posts[-1]
        self.application = application
        self._sign_in: Callable[[], Any] = partial(accounts_actions.sign_in, self.reader, "chrome")

    def sign_in(self) -> None:
        """Get a new token: one lasts a quarter of an hour."""
        self.token = self._sign_in().access

    def page(self, address: str) -> None:
        """Read a page in this process. Raises RuntimeError if it does not answer 200."""
        path, _, query = address.partition("?")
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "localhost",
            "HTTP_ACCEPT_LANGUAGE": "en",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": io.StringIO(),
        }
        if path.startswith("/api/"):
            environ["HTTP_AUTHORIZATION"] = f"Bearer {self.token}"
        else:
            environ["HTTP_COOKIE"] = f"access={self.token}; csrf={'x' * 32}"
        status: list[str] = []
        parts = self.application(environ, lambda line, _headers, _error=None: status.append(line))
        for _ in parts:
            pass
        if close := getattr(parts, "close", None):
            close()
        if not status[0].startswith("200"):
            raise RuntimeError(f"{address} answers {status[0]}")

    def database_page(self) -> None:
        """Read a page without Redis."""
        from socialsite.core import redis

        with redis.bypassed():
            self.page(f"/api/v1/feed?size={SIZE}")

    def like(self) -> None:
        """Like a post, and take it back."""
        from interactions import actions
        from interactions.models import SubjectType

        actions.like(self.reader, SubjectType.POST, self.post)
        actions.unlike(self.reader, SubjectType.POST, self.post)

    def follow(self) -> None:
        """Follow somebody, and stop."""
        from relations import actions

        actions.follow(self.reader, self.stranger)
        actions.unfollow(self.reader, self.stranger)


def compare(
    world: World,
    works: Mapping[str, Callable[[], Any]],
    parts: Mapping[str, Sequence[Swap]],
    report: harness.Report,
) -> None:
    """Measure each work with all parts, and without each of them; print the ratios."""
    rows: dict[str, list[str]] = {name: [] for name in parts}
    for work in works.values():
        world.sign_in()
        cases = {name: partial(_off, swaps, work) for name, swaps in parts.items()}
        times = harness.interleave({"": work, **cases}, rounds=report.options.rounds)
        for name in parts:
            rows[name].append(f"{times[name].over(times['']):.2f}")
    report.rows([[name, *found] for name, found in rows.items()], ["without", *works])


def _off(swaps: Sequence[Swap], work: Callable[[], Any]) -> None:
    with without(swaps):
        work()


def main() -> int:
    """Measure."""
    options = harness.arguments(__doc__ or "", {"--rounds": 200})
    harness.setup()

    from django.core.management import call_command

    from bench.support import people
    from socialsite.core.events import enqueue

    call_command("collectstatic", interactive=False, verbosity=0)
    people.be_patient()
    report = harness.Report("parts", options)
    world = World(options.seed)
    pages = {
        "feed by API": partial(world.page, f"/api/v1/feed?size={SIZE}"),
        "home page": partial(world.page, "/"),
        "page of a post": partial(world.page, f"/posts/{world.post}"),
        "20 people": partial(world.page, "/search?tab=people&q=b"),
    }
    compare(world, pages, {**redis_parts(), **process_parts()}, report)
    works = {
        "feed by API without Redis": world.database_page,
        "like and unlike": world.like,
        "follow and unfollow": world.follow,
    }
    with enqueue.paused():
        compare(world, works, database_parts(), report)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
