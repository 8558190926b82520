"""The check of the bucket."""

from typing import Any

import pytest

from deploy.services.bucket import BucketServer
from socialsite.core.media import stored_files
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.buckets.address import Address
from socialsite.doctor.checks import uploads
from socialsite.doctor.findings import ERROR, OK, WARNING, Finding, worst
from socialsite.tests.buckets.conftest import *  # noqa: F403  (fixtures)

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def found() -> list[Finding]:
    return list(uploads.uploads())


def test_without_a_bucket_all_is_well() -> None:
    assert worst(found()) == OK


def test_a_private_bucket_is_well(bucket: Address) -> None:
    assert worst(found()) == OK
    assert list(buckets.listed("")) == []


def test_a_bucket_that_everybody_reads_is_an_error(
    bucket: Address, bucket_service: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, client = buckets.write, bucket_service.client()

    def write_for_all(name: str, content: Any) -> None:
        write(name, content)
        key = f"{bucket.prefix}{name}"
        client.put_object_acl(Bucket=bucket.bucket, Key=key, ACL="public-read")

    monkeypatch.setattr(buckets, "write", write_for_all)
    assert worst(found()) == ERROR
    assert "Everybody can read" in found()[0].text


def test_a_bucket_that_is_not_there_is_an_error(
    bucket: Address, bucket_service: BucketServer
) -> None:
    bucket_service.client().delete_bucket(Bucket=bucket.bucket)
    assert "cannot be used" in found()[0].text
    assert "NoSuchBucket" in found()[0].text


def test_files_that_were_not_moved_are_a_warning(bucket: Address) -> None:
    path = stored_files.path_of("ab/" + "ab" * 16 + ".jpg")
    path.parent.mkdir(parents=True)
    path.touch()
    assert worst(found()) == WARNING
