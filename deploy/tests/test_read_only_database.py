"""While the database is read-only, as before its disk is full, or away."""

import http.client
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from deploy.stack import Stack
from socialsite.tests.support.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not os.environ.get("SPARE_DATABASE_URL"), reason="needs MariaDB"),
]
PASSWORD = "right.pass1"
METRICS_TOKEN = "a.metrics.token"
ENV = {"DEMO": "0", "BUDGETS": "0", "METRICS_TOKEN": METRICS_TOKEN}


class Person:
    """A signed-in client of the API."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.at = urlsplit(stack.url).netloc
        self.headers = {"Content-Type": "application/json"}
        wanted = {"username": name, "nickname": name, "password": PASSWORD, "client": "other"}
        status, body = self.ask("POST", "/api/v1/auth/register", wanted)
        assert status == 201, body
        self.id = body["user"]["id"]
        self.headers["Authorization"] = f"Bearer {body['access']}"
        self.headers["Cookie"] = f"access={body['access']}"

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Return the status and the decoded answer, or its text."""
        connection = http.client.HTTPConnection(self.at, timeout=60)
        connection.request(method, path, json.dumps(body) if body else None, self.headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if path.startswith("/api/") and text else text


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with tempfile.TemporaryDirectory(prefix="socialsite-") as name:
        Path(name).chmod(0o711)
        with Stack(Path(name, "data"), env=ENV, durable=False) as running:
            yield running


def scrape(stack: Stack) -> dict[str, float]:
    """Return the values of `/metrics` by name and labels."""
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=60)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    rows = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def restart_database(stack: Stack, *, read_only: bool) -> None:
    stack.stop("database")
    database = stack.processes["database"]
    database.argv = [word for word in database.argv if word != "--read-only=1"]
    if read_only:
        database.argv = [*database.argv, "--read-only=1"]
    stack.start("database")


def test_reads_go_on_and_writes_are_refused_until_it_is_writable_again(stack: Stack) -> None:
    alice, bob = Person(stack, "alice1"), Person(stack, "robert1")
    assert alice.ask("POST", f"/api/v1/users/{bob.id}/follow")[0] in (200, 201)
    status, post = bob.ask("POST", "/api/v1/posts", {"content": "Hello"})
    assert status == 201
    assert alice.ask("GET", "/")[0] == 200  # the first visit of a person makes a row
    restart_database(stack, read_only=True)
    reads = (
        *("/", f"/posts/{post['id']}", "/@robert1", "/notifications", "/settings/profile"),
        *("/api/v1/feed", f"/api/v1/posts/{post['id']}", "/api/v1/users/me"),
        *("/api/v1/notifications", "/api/v1/search/posts?q=hello"),
    )
    # The first request of each process finds that its connection is gone.
    eventually(lambda: alice.ask("GET", "/readyz")[0] == 200)
    for _ in range(4):
        assert {path: alice.ask("GET", path)[0] for path in reads} == dict.fromkeys(reads, 200)
    assert [item["id"] for item in alice.ask("GET", "/api/v1/feed")[1]["items"]] == [post["id"]]
    for method, path, body in (
        ("POST", "/api/v1/posts", {"content": "Never"}),
        ("PUT", f"/api/v1/posts/{post['id']}/like", None),
        ("DELETE", f"/api/v1/users/{bob.id}/follow", None),
        (
            "POST",
            "/api/v1/auth/login",
            {"username": "alice1", "password": PASSWORD, "client": "other"},
        ),
    ):
        status, answer = alice.ask(method, path, body)
        assert (status, answer["code"]) == (503, 21), (path, answer)
    restart_database(stack, read_only=False)
    eventually(lambda: alice.ask("POST", "/api/v1/posts", {"content": "Again"})[0] == 201)
    found = [item["content"] for item in alice.ask("GET", "/api/v1/feed")[1]["items"]]
    assert found == ["Again", "Hello"]


def test_metrics_say_that_the_database_is_away_and_show_the_others(stack: Stack) -> None:
    of_database = "socialsite_events_waiting"
    found = scrape(stack)
    assert found["socialsite_database_answers"] == 1
    assert of_database in found
    stack.stop("database")
    try:
        without = scrape(stack)
    finally:
        stack.start("database")
    assert without["socialsite_database_answers"] == 0
    assert of_database not in without
    assert "socialsite_media_disk_free_ratio" in without
    requests = {name for name in found if name.startswith("socialsite_http_request_seconds_count")}
    assert requests
    assert requests <= without.keys()
    eventually(lambda: scrape(stack)["socialsite_database_answers"] == 1)
