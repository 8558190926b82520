"""Three machines with a part of each tier: one of them dies, and comes back."""

import http.client
import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deploy import cluster
from deploy.cluster import MACHINES, Cluster
from deploy.services import databases
from deploy.services.host import Host
from socialsite.tests.support.waiting import LIMIT, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
PASSWORD = "correct-horse-7"
ENV = {"BUDGETS": "0", "DEMO": "0", "NAME_POLICY": "open", "PASSWORD_POLICY": "asvs"}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    if why := cluster.missing():
        pytest.skip(why)
    monkeypatch.setenv(databases.MEMORY, "32M")
    with tempfile.TemporaryDirectory(prefix="socialsite-cluster-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # servers run under another account
        with Cluster(folder, [Host()] * MACHINES, ENV) as found:
            yield found


class Person:
    """Somebody who uses the site by its entrance."""

    def __init__(self, port: int, name: str) -> None:
        self._port, self._token = port, ""
        self._tries, self.acknowledged = 0, list[str]()
        body = {"username": name, "nickname": name, "password": PASSWORD, "client": "other"}
        status, answer = self.send("POST", "/api/v1/auth/register", body)
        assert status == 201, answer
        self._token = self.send("POST", "/api/v1/auth/login", body)[1]["access"]

    def send(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Return the status and the body of an answer; status 0 if there is none."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        if not self._token:
            del headers["Authorization"]
        with closing(
            http.client.HTTPConnection("127.0.0.1", self._port, timeout=LIMIT)
        ) as connection:
            try:
                connection.request(method, path, json.dumps(body) if body else None, headers)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read() or b"null")
            except (OSError, http.client.HTTPException, ValueError):
                return 0, None

    def post(self) -> bool:
        """Publish a post with a text of its own; return whether the site acknowledged it."""
        self._tries += 1
        text = f"number {self._tries}"
        if is_there := self.send("POST", "/api/v1/posts", {"content": text})[0] == 201:
            self.acknowledged.append(text)
        return is_there

    def feed(self) -> list[str]:
        """Return the texts of the home feed."""
        status, page = self.send("GET", "/api/v1/feed")
        return [one["content"] for one in page["items"]] if status == 200 else []


def test_a_machine_dies_and_comes_back(site: Cluster) -> None:
    author, reader = Person(site.port, "author"), Person(site.port, "reader")
    ident = author.send("GET", "/api/v1/users/me")[1]["id"]
    assert reader.send("POST", f"/api/v1/users/{ident}/follow")[0] == 200
    assert author.post()
    assert reader.feed() == author.acknowledged

    number = site.writer()
    site.kill(number)
    for _ in range(3):
        eventually(author.post)
    assert site.writer() != number

    site.boot(number)
    site.wait()
    eventually(author.post)
    for machine in site.machines:
        with closing(machine.database.connect(db=databases.DATABASE_NAME)) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT content FROM feeds_postcontent")
            assert {*author.acknowledged} <= {row[0] for row in cursor.fetchall()}
    texts = eventually(reader.feed)
    assert [texts.count(one) for one in author.acknowledged] == [1] * 5
