"""Fixtures of the whole project; people, posts and relations are made through actions only."""

import gc
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.contrib.contenttypes.management import create_contenttypes
from django.core.management import call_command
from django.db import transaction
from django.db.models.signals import post_migrate
from django.test import Client, override_settings
from django.test.utils import setup_databases
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis
from redis.exceptions import ConnectionError as RedisConnectionError
from rest_framework.test import APIClient

from socialsite.core import db
from socialsite.core.events import enqueue
from socialsite.tests import standstill
from socialsite.tests.support import prepared_database
from socialsite.tests.support.waiting import eventually

# The folder whose tests share sites.
SHARED_SITES = Path(__file__).parent / "socialsite" / "tests"
# Their fixture `browser` is a real one.
BROWSER_TESTS = SHARED_SITES / "browser"
_numbers = itertools.count(1)

# The time of an example says how busy the machine is. `make test` tries the same few examples in
# each run; `make testall` and trials use `--hypothesis-profile=deep`, which looks for others.
_unhurried = hypothesis(deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis.register_profile("quick", _unhurried, max_examples=25, derandomize=True)
hypothesis.register_profile("deep", _unhurried, max_examples=250)
hypothesis.load_profile("quick")


@pytest.fixture(autouse=True)
def _cheap_passwords(request: pytest.FixtureRequest) -> Iterator[None]:
    """A cheap hasher, except where hashing is the subject (marker-free: fixture `real_hasher`)."""
    if "real_hasher" in request.fixturenames:
        yield
        return
    # By the decorator: Django caches its hashers until a signal reports the changed setting.
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture
def real_hasher() -> None:
    """Keep Argon2 for this test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make testall`."""
    parser.addoption(
        "--every-mode",
        action="store_true",
        help="mark every test `embedded` that needs neither services nor processes of its own",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of real browsers, and those for the embedded mode.

    The embedded mode runs those that need no service, or, on demand, all.
    """
    elsewhere = ("e2e", "full", "chaos")
    wanted = (lambda item: True) if config.getoption("every_mode") else _needs_no_service
    for item in items:
        # Playwright leaves an event loop in its process, in which Django reads no database.
        if item.path.is_relative_to(BROWSER_TESTS) and "browser" in getattr(
            item, "fixturenames", ()
        ):
            item.add_marker("e2e")
        if wanted(item) and not any(item.get_closest_marker(name) for name in elsewhere):
            item.add_marker("embedded")
        if item.get_closest_marker("e2e"):
            item.add_marker(pytest.mark.xdist_group(_site_of(item)))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the garbage collector look at what tests make, not at the modules of all tests.

    Its full collections took a tenth of the CPU time of the tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _site_of(item: Any) -> str:
    """Return the name of the shared site that a test uses, or else its file.

    Tests of one name run in one process, so that it alone starts the site (`--dist=loadgroup`).
    """
    used = set(item.fixturenames)
    if "site" in used:
        used.add(
            item.callspec.params.get("site", "stack") if hasattr(item, "callspec") else "stack"
        )
    shared = [name for name in ("embedded_site", "stack") if name in used]
    if shared and item.path.is_relative_to(SHARED_SITES):
        return shared[0]
    return str(item.path)


def _needs_no_service(item: pytest.Item) -> bool:
    return item.get_closest_marker("once") is not None


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: Any, django_db_modify_db_settings: None
) -> None:
    """Take the database that `make test` migrated, or migrate one. Services are thrown away."""
    with django_db_blocker.unblock():
        if prepared_database.is_prepared():
            prepared_database.use()
        else:
            setup_databases(verbosity=0, interactive=False)


@pytest.fixture(scope="session", autouse=True)
def _no_permissions(django_db_setup: None) -> None:
    """Write Django's permissions once: nothing reads them, and every flush would write them anew.

    That took half the time of the tests with real transactions.
    """
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)


@pytest.fixture(scope="session", autouse=True)
def _static_files() -> None:
    """Collect static files where pages name them by their hashes, as a deployment does.

    They are looked for when asked for: every client of a test loads all middleware, and a list of
    all files made each time took a quarter of the time of the tests.
    """
    settings.WHITENOISE_AUTOREFRESH = True
    if not settings.EMBEDDED:
        call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture(scope="session", autouse=True)
def _classic_names() -> None:
    """Check nicknames as a site without demo data does, unless a test sets another policy."""
    settings.NAME_POLICY = "seed"


@pytest.fixture(scope="session", autouse=True)
def _no_requests_to_others() -> None:
    """Read no pages that posts link to, except where that is the subject."""
    settings.LINK_PREVIEWS = False


@pytest.fixture(autouse=True)
def _english() -> None:
    """Every test starts in English, whatever language a request before it asked for."""
    translation.activate(settings.LANGUAGE_CODE)


@pytest.fixture(autouse=True)
def _no_content_types() -> None:
    """Forget the content types of an earlier test: their rows were rolled back or flushed."""
    from django.contrib.contenttypes.models import ContentType

    ContentType.objects.clear_cache()


FOR_ONE_REDIS = {"round_trips", "dead_redis"}


@pytest.fixture(autouse=True)
def _trusted_cluster(request: pytest.FixtureRequest) -> None:
    """On a Redis Cluster, run tests that use the database, once it trusts the servers."""
    if settings.CACHE_SERVERS is None:
        return
    from socialsite.core import redis

    if not request.node.get_closest_marker("django_db") and "db" not in request.fixturenames:
        pytest.skip("a Redis Cluster needs the database")
    if FOR_ONE_REDIS & {*request.fixturenames}:
        pytest.skip("it counts round trips to one Redis, or takes it away")
    request.getfixturevalue("_django_db_helper")
    connection: Any = redis.client()
    eventually(connection.is_trusted)


@pytest.fixture(autouse=True)
def _empty_redis(_trusted_cluster: None) -> None:
    """Every test starts with an empty Redis, a closed breaker, full budgets and no guesses.

    What the process read last of the site's settings is forgotten, too.
    """
    from feeds.cards import prefetch
    from socialsite.core import redis, site
    from socialsite.core.rate_limits import local

    prefetch.clear()
    site._unpacked.clear()
    local.reset()
    redis.breaker.reset()
    redis.backlog.clear()
    redis.call(lambda connection: connection.flushdb())


@pytest.fixture(scope="session", autouse=True)
def _nothing_expires() -> Iterator[None]:
    """Let no cache expire and no bucket refill during a test, except where time is the subject."""
    with pytest.MonkeyPatch.context() as patch:
        standstill.stop(patch)
        yield


@pytest.fixture
def real_lifetimes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the lifetimes of what is cached, and the clock of the buckets, for this test."""
    standstill.go_on(monkeypatch)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> standstill.Clock:
    """Return the database's clock, which stands still unless the test moves its `now` (ms)."""
    from socialsite.core import db

    found = standstill.Clock()
    monkeypatch.setattr(db, "now_ms", found)
    return found


@pytest.fixture
def round_trips() -> Iterator[list[int]]:
    """A list that grows by one with each round trip to Redis.

    Fails at the end when a key could have expired in between, and with it the count changed.
    """
    from socialsite.core import redis

    made: list[int] = []
    real = redis.call
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis, "call", lambda function: made.append(1) or real(function))
        yield made
    assert standstill.short_lived() == {}, "name what makes them expire in standstill.LIFETIMES"


@pytest.fixture
def dead_redis(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which Redis is dead; the backlog runs in the thread of the test."""
    from socialsite.core import redis

    monkeypatch.setattr(redis.backlog, "PAUSE_SECONDS", 3600)

    def refuse() -> None:
        raise RedisConnectionError("dead")

    @contextmanager
    def dead() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(redis, "client", refuse)
            yield
        redis.breaker.reset()

    return dead


@pytest.fixture(autouse=True)
def _commits_are_commits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what waits for a commit also in tests that are one transaction themselves.

    Otherwise caches would miss the writes of a test. Nothing is sent to the broker.
    """
    if "django_capture_on_commit_callbacks" in request.fixturenames:
        return
    leave = transaction.Atomic.__exit__

    def leave_and_run(self: transaction.Atomic, *args: Any) -> None:
        leave(self, *args)
        connection = transaction.get_connection(self.using)
        if db.is_test_transaction() and not connection.needs_rollback:
            waiting, connection.run_on_commit = connection.run_on_commit, []
            with enqueue.paused():
                for _sids, function, _robust in waiting:
                    function()

    monkeypatch.setattr(transaction.Atomic, "__exit__", leave_and_run)


@pytest.fixture
def make_user(db: None) -> Callable[..., Any]:
    """Return a function that registers a person: make_user("alice", nickname=…, password=…)."""
    from accounts import actions as accounts_actions

    def make(username: str | None = None, **kwargs: Any) -> Any:
        number = next(_numbers)
        name = username or f"user{number}"
        kwargs.setdefault("nickname", f"Nick{number}")
        kwargs.setdefault("password", "right.pass1")
        return accounts_actions.register(username=name, **kwargs)

    return make


@pytest.fixture
def me(make_user: Callable[..., Any]) -> Any:
    """A person."""
    return make_user()


@pytest.fixture
def user(make_user: Callable[..., Any]) -> Any:
    """A person, where nobody else takes part."""
    return make_user()


@pytest.fixture
def author(make_user: Callable[..., Any]) -> Any:
    """A person who writes."""
    return make_user()


@pytest.fixture
def reader(make_user: Callable[..., Any]) -> Any:
    """A person who reads."""
    return make_user()


@pytest.fixture
def other(make_user: Callable[..., Any]) -> Any:
    """Another person."""
    return make_user()


@pytest.fixture
def mine(me: Any, api_for: Callable[..., APIClient]) -> APIClient:
    """The API as `me` uses it."""
    return api_for(me)


@pytest.fixture
def browser(me: Any) -> Client:
    """A browser in which `me` is signed in."""
    from accounts.tests.browsers import browser_of

    return browser_of(me)


@pytest.fixture
def media_root(settings: LazySettings, tmp_path: Path) -> Path:
    """A folder of the test's own for uploads, which the first of them makes."""
    settings.MEDIA_ROOT = tmp_path / "media"
    return settings.MEDIA_ROOT


@pytest.fixture
def make_post(db: None) -> Callable[..., Any]:
    """Return a function that publishes: make_post(author, content="…", kind=…)."""
    from feeds import actions as feeds_actions

    def make(author: Any, content: str = "hello", **kwargs: Any) -> Any:
        return feeds_actions.publish(author, content=content, **kwargs)

    return make


@pytest.fixture
def api() -> APIClient:
    """An API client without a credential."""
    return APIClient()


@pytest.fixture
def api_for(db: None) -> Callable[..., APIClient]:
    """Return a function that gives an API client with a Bearer token of a person."""
    from accounts import actions as accounts_actions

    def make(user: Any, client: str = "other") -> APIClient:
        pair = accounts_actions.sign_in(user, client=client)
        found = APIClient()
        found.credentials(HTTP_AUTHORIZATION=f"Bearer {pair.access}")
        return found

    return make


@pytest.fixture
def drain(db: None) -> Callable[[], None]:
    """Return a function that delivers all events, runs all fan-outs and folds all notifications."""
    from feeds.delivery.fanout import sweep
    from interactions.notifying import fold
    from socialsite.core.events import relay

    def run() -> None:
        while relay.relay() + sweep.run() + fold.sweep():
            pass

    return run


@pytest.fixture
def deliver(db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """Return a function that sends the wanted mails as a worker does, and returns them."""
    from django.core import mail

    from accounts import tasks
    from socialsite.core.events import enqueue, relay

    def send(task: str, *args: object) -> bool:
        if task == tasks.send_mail.name:
            tasks.send_mail.apply(args=args, throw=True)
        return True

    def run() -> list[Any]:
        for name in ("send", "send_last"):
            monkeypatch.setattr(enqueue, name, send)
        before = len(mail.outbox)
        while relay.relay():
            pass
        return mail.outbox[before:]

    return run
