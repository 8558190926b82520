"""A server that stands still keeps few threads of a process waiting."""

import io
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image
from rest_framework.test import APIClient

from accounts.models import User
from deploy.services.bucket import BucketServer
from socialsite.core.errors import Unavailable
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.buckets import places
from socialsite.core.models import Media
from socialsite.tests.support.answers import assert_error
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("bucket")]
NAME, OTHER = "ab/0123456789.jpg", "cd/0123456789.jpg"


def picture() -> io.BytesIO:
    file = io.BytesIO()
    Image.new("RGB", (40, 30)).save(file, "PNG")
    file.seek(0)
    file.name = "a.png"
    return file


@contextmanager
def standing_still(server: BucketServer) -> Iterator[None]:
    server.service.kill(signal.SIGSTOP)
    try:
        yield
    finally:
        server.service.kill(signal.SIGCONT)


class Readers:
    """Threads that read a file, each once."""

    def __init__(self, number: int) -> None:
        self.found = list[bytes | Exception]()
        self.threads = [threading.Thread(target=self._read) for _ in range(number)]
        for one in self.threads:
            one.start()

    def _read(self) -> None:
        try:
            self.found.append(buckets.read(NAME))
        except Unavailable as error:
            self.found.append(error)

    def join(self) -> list[bytes | Exception]:
        for one in self.threads:
            one.join()
        return self.found


def test_two_calls_wait_and_all_others_are_refused(
    bucket_service: BucketServer,
    used: places.Places,
    monkeypatch: pytest.MonkeyPatch,
    author: User,
    api_for: Callable[..., APIClient],
) -> None:
    buckets.write(NAME, b"one")
    monkeypatch.setattr(places, "PATIENCE_SECONDS", 0.2)
    with standing_still(bucket_service):
        readers = Readers(8)
        # Who found no place is refused; as many as there are places wait for the server.
        eventually(lambda: len(readers.found) == 8 - places.AT_ONCE)
        answer = api_for(author).post("/api/v1/media", {"file": picture()})
        assert_error(answer, 503, "UNAVAILABLE")
        assert not Media.objects.exists()
        waiting = [one for one in readers.threads if one.is_alive()]
        assert len(waiting) == places.AT_ONCE
    found = readers.join()
    assert [one for one in found if isinstance(one, bytes)] == [b"one"] * places.AT_ONCE
    assert api_for(author).post("/api/v1/media", {"file": picture()}).status_code == 201


def test_after_a_call_without_an_answer_one_at_a_time_tries(
    bucket_service: BucketServer, used: places.Places, tmp_path: Path
) -> None:
    buckets.write(NAME, b"one")
    path = tmp_path / "video"
    path.write_bytes(b"film")
    with pytest.raises(Unavailable):
        ask(used, places.NoAnswer())
    with standing_still(bucket_service):
        readers = Readers(4)
        eventually(lambda: len(readers.found) == 3)
        with pytest.raises(Unavailable):
            buckets.put(path, OTHER)  # a long transfer does not begin
    readers.join()
    assert sorted(map(type, readers.found), key=str) == [bytes, *[places.NoAnswer] * 3]
    # It was answered, so two find a place again.
    with used.held():
        ask(used)
    with pytest.raises(Unavailable):
        ask(used, places.NoAnswer())
    buckets.put(path, OTHER)  # a short call has tried first
    assert not used.is_down


def test_a_refusal_is_an_answer(used: places.Places) -> None:
    with pytest.raises(Unavailable):
        ask(used, Unavailable())
    with pytest.raises(FileNotFoundError):
        buckets.read(NAME)
    assert not used.is_down


def ask(used: places.Places, error: Exception | None = None) -> None:
    """Hold a place for a call that ends in an error."""
    with used.held():
        if error:
            raise error


def test_a_caller_takes_the_place_that_becomes_free(
    used: places.Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PATIENCE_SECONDS", 60.0)
    waits, wait = threading.Event(), used._changed.wait

    def noted(seconds: float | None = None) -> bool:
        waits.set()  # under the lock, which the other call needs to end
        return wait(seconds)

    monkeypatch.setattr(used._changed, "wait", noted)
    other, third = used.held(), threading.Thread(target=ask, args=(used,))
    with used.held():
        other.__enter__()
        third.start()
        assert waits.wait(60)
        other.__exit__(None, None, None)
        third.join()


def test_a_long_transfer_takes_no_place(used: places.Places, tmp_path: Path) -> None:
    path = tmp_path / "video"
    path.write_bytes(b"film")
    with used.held(), used.held():
        buckets.put(path, OTHER)
        with path.open("ab") as file:
            buckets.copy(OTHER, file)
        assert [one.name for one in buckets.listed("cd/")] == [OTHER]
        assert buckets.address(OTHER, "private", 60)
    assert path.read_bytes() == b"filmfilm"
    assert buckets.names("cd/") == [OTHER]
