"""Fan-out with real processes: a worker killed in the middle, no broker, an empty Redis."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import MySQLdb
import pytest

from deploy.services import site_processes
from deploy.stack import Stack
from socialsite.tests import stacks
from socialsite.tests.stacks import Client
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

FOLLOWERS = 2000
# Two thousand follows in bulk, as actions leave them after their events: this file tests only what
# happens afterwards.
MAKE_FOLLOWERS = f"""
from accounts.models import User
from feeds.models import InboxEdge
from relations.models import Relation, RelationCount, Relationship
from socialsite.tests.support.waiting import eventually
author = User.objects.get(username_key="famous1")
fans = User.objects.bulk_create(
    User(username=f"fan{{n:05d}}", username_key=f"fan{{n:05d}}", nickname=f"Fan{{n:05d}}")
    for n in range({FOLLOWERS})
)
Relationship.objects.bulk_create(
    row
    for fan in fans
    for row in (
        Relationship(from_user=fan, to_user=author, relation=Relation.FOLLOWING, followed_at=1),
        Relationship(from_user=author, to_user=fan, relation=Relation.FOLLOWED, fan_since=1),
    )
)
InboxEdge.objects.bulk_create(
    InboxEdge(viewer=fan, author=author, backfilled_from=0) for fan in fans
)
RelationCount.objects.update_or_create(user=author, defaults={{"followers": len(fans)}})
"""
DELIVERED = """
    SELECT COUNT(*), COUNT(DISTINCT fan.id), (SELECT state FROM feeds_fanout WHERE post_id = %s)
    FROM feeds_inboxentry entry
    LEFT JOIN accounts_user fan ON fan.id = entry.user_id AND fan.username_key LIKE 'fan%%'
    WHERE entry.post_id = %s
"""
DONE = 2


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A full stack that cuts a fan-out of 2,000 into 40 chunks."""
    directory: Path = tmp_path_factory.mktemp("crashes")
    with stacks.full_stack(directory, FANOUT_CHUNK="50") as found:
        yield found


@pytest.fixture(scope="module")
def author(stack: Stack) -> Client:
    """An author with 2,000 followers whose backfills are done."""
    found = Client.new(stack.url, "famous1")
    stack.manage("shell", "-c", MAKE_FOLLOWERS)
    return found


def delivered(stack: Stack, post_id: str) -> list[int]:
    """Return [inbox rows, distinct followers among them, state of the fan-out]."""
    url = urlsplit(stack.env["DATABASE_URL"])
    with contextlib.closing(
        MySQLdb.connect(
            host=url.hostname,
            port=url.port,
            user=url.username,
            passwd=url.password,
            db=url.path.strip("/"),
        )
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(DELIVERED, (post_id, post_id))
        return list(cursor.fetchone())


@pytest.mark.slow(reason="starts a process for each point")
def test_a_process_killed_at_any_point_of_a_delivery_loses_and_doubles_nothing() -> None:
    """Each of the thirteen points three times; `make chaos ARGS="fanout --rounds 50"` is longer."""
    options = ("--rounds", "3", "--repair", "3600")  # how long repairs take is not tested here
    command = site_processes.python("-m", "deploy.dev.trials", "chaos", "fanout", *options)
    trial = subprocess.run(
        command, cwd=site_processes.PROJECT_DIR, capture_output=True, text=True, check=False
    )
    assert trial.returncode == 0, trial.stdout + trial.stderr
    assert "\n39 kills;" in trial.stdout


@pytest.mark.slow(reason="starts a stack and kills workers")
def test_a_killed_worker_leaves_every_follower_the_post_exactly_once(
    stack: Stack, author: Client
) -> None:
    failpoint = "chunk-delivered:4"
    worker = stack.processes["worker"]
    worker.stop()
    normal = worker.env
    worker.env = {**(normal or {}), "FAILPOINT": failpoint}
    worker.start()
    post = author("POST", "posts", content=f"dies at {failpoint}")
    eventually(lambda: not worker.running)
    worker.kill()
    rows, _, state = delivered(stack, post["id"])
    assert state != DONE
    assert rows < FOLLOWERS
    worker.env = normal
    worker.start()
    eventually(lambda: delivered(stack, post["id"]), lambda found: found[2] == DONE)
    assert delivered(stack, post["id"]) == [FOLLOWERS, FOLLOWERS, DONE]


def test_posting_succeeds_without_a_broker_and_arrives_when_it_is_back(
    stack: Stack, author: Client
) -> None:
    stack.stop("broker")
    post = author("POST", "posts", content="no broker")
    assert delivered(stack, post["id"])[0] == 0
    stack.start("broker")
    eventually(
        lambda: delivered(stack, post["id"]), lambda found: found == [FOLLOWERS, FOLLOWERS, DONE]
    )


def test_the_feed_is_the_same_after_redis_was_emptied_and_without_redis(
    stack: Stack, author: Client
) -> None:
    for number in range(5):
        author("POST", "posts", content=f"number {number}")
    reader = Client.new(stack.url, "reader5")
    reader("POST", f"users/{author.id}/follow")
    before = reader("GET", "feed?size=20")
    assert len(before["items"]) >= 5
    stack.processes["cache"].kill()
    assert reader("GET", "feed?size=20") == before
    stack.start("cache")
    assert reader("GET", "feed?size=20") == before
