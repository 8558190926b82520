"""Workers killed in the middle of an import: nothing is lost, and nothing is made twice."""

import io
import signal
import urllib.request
import zipfile
from typing import Any

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from deploy.stack import Stack
from socialsite.tests import stacks
from socialsite.tests.support.pictures import picture
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.e2e

POSTS = 60


def archive() -> bytes:
    """Return an archive whose posts all have a picture, so that an import takes some seconds."""
    posts = [
        {
            "id": str(number),
            "kind": "micro",
            "visibility": "public",
            "at": f"2021-03-04T05:06:{number:02d}Z",
            "content": f"post {number}",
            "media": [{"file": "media/a.jpg", "alt": "a"}],
        }
        for number in range(POSTS)
    ]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("data/posts.json", orjson.dumps(posts))
        file.writestr("media/a.jpg", picture((1600, 1200)))
    return target.getvalue()


def upload(person: stacks.Client) -> str:
    form = {"kind": "posts", "file": SimpleUploadedFile("archive.zip", archive())}
    request = urllib.request.Request(  # noqa: S310  (our own address)
        person.base + "imports",
        data=encode_multipart(BOUNDARY, form),
        headers={"Content-Type": MULTIPART_CONTENT, "Authorization": f"Bearer {person.token}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return str(orjson.loads(answer.read())["id"])


def run_until_killed(stack: Stack, rows: int) -> None:
    """Run a worker that is killed (SIGKILL) once it made so many rows; then its lease ends."""
    worker = stack.processes["video"]
    worker.stop()
    env = worker.env
    worker.env = {**(env or {}), "FAILPOINT": f"import-row-made:{rows}"}
    try:
        worker.start(wait=False)
        eventually(lambda: not worker.running)
    finally:
        worker.env = env
    assert worker.exit_code == -signal.SIGKILL
    # What a minute does.
    stack.manage("shell", "-v", "0", "-c", _EXPIRE)


def test_a_worker_killed_twice_makes_each_post_once(stack: Stack) -> None:
    person = stacks.Client.new(stack.url, "bringer1")
    path = f"imports/{upload(person)}"

    def now() -> Any:
        return person("GET", path)

    eventually(now, lambda found: found["state"] == "previewed")
    stack.processes["video"].stop()
    person("POST", f"{path}/start")
    for rows, done in ((5, 5), (20, 25)):
        run_until_killed(stack, rows)
        assert (now()["state"], now()["done"]) == ("running", done)
    stack.start("video")
    found = eventually(now, lambda found: found["state"] != "running")
    assert (found["state"], found["done"], found["failed"]) == ("done", POSTS, [])
    mine = person.posts()
    assert [post["content"] for post in mine] == [f"post {n}" for n in reversed(range(POSTS))]
    assert all(len(post["images"]) == 1 for post in mine)


_EXPIRE = "from socialsite.core.models import Import; Import.objects.update(due_at=0)"
