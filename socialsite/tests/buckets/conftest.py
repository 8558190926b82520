"""A server, and a site of the test's own bucket."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from deploy.services.bucket import BucketServer, bucket_server
from socialsite.core.media.buckets import address, files, places

Names = Callable[[], list[str]]
UseBucket = Callable[[], address.Address]


@pytest.fixture(scope="session")
def bucket_service() -> Iterator[BucketServer]:
    """A server for all tests, each with a bucket of its own."""
    server = bucket_server()
    server.service.start()
    yield server
    server.service.stop()


@pytest.fixture
def use_bucket(bucket_service: BucketServer, settings: Any, tmp_path: Path) -> UseBucket:
    """Return a function that makes a bucket the place of uploads from now on."""
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.MEDIA_MIN_FREE_PERCENT = 0
    name = f"test-{uuid4().hex}"

    def use() -> address.Address:
        bucket_service.client().create_bucket(Bucket=name)
        found = address.read(bucket_service.url(name, "uploads"))
        settings.MEDIA_BUCKET = found
        return found

    return use


@pytest.fixture
def bucket(use_bucket: UseBucket) -> address.Address:
    """A site whose uploads are in a bucket."""
    return use_bucket()


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> places.Places:
    """The places of a process that has just started."""
    found = places.Places()
    monkeypatch.setattr(files, "_places", found)
    return found


@pytest.fixture
def names(bucket_service: BucketServer, settings: Any) -> Names:
    """Return a function that lists what is in the bucket, without the prefix."""

    def names() -> list[str]:
        at = settings.MEDIA_BUCKET
        found = bucket_service.client().list_objects_v2(Bucket=at.bucket)
        return [one["Key"].removeprefix(at.prefix) for one in found.get("Contents", [])]

    return names
