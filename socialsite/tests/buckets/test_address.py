"""The value of MEDIA_URL."""

import pytest
from pydantic import ValidationError

from socialsite.core.media.buckets import address
from socialsite.env import Env

pytestmark = pytest.mark.once


def test_an_address_has_a_server_a_bucket_and_a_prefix() -> None:
    found = address.read(
        "s3://AK%2FID:se%40cret@s3.example.org:9000/my-bucket/site/uploads?region=eu-west-1"
    )
    assert found == address.Address(
        "https://s3.example.org:9000",
        "my-bucket",
        "site/uploads/",
        "AK/ID",
        "se@cret",
        "eu-west-1",
    )
    assert found.origin == "https://s3.example.org:9000"
    assert "cret" not in repr(found)


def test_the_machine_may_have_the_credentials() -> None:
    found = address.read("s3://s3.example.org/my-bucket?style=virtual")
    assert (found.key, found.secret, found.prefix) == ("", "", "")
    assert found.origin == "https://my-bucket.s3.example.org"


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3:///bucket",
        "s3://host",
        "s3://host/UPPER",
        "s3://host:port/bucket",
        "s3://host:99999/bucket",
        "s3://key@host/bucket",
        "s3://:secret@host/bucket",
        "s3://host/bucket/../other",
        "s3://host/bucket/a b",
        "s3://host/bucket//x",
        "s3://host/bucket?tls=maybe",
        "s3://host/bucket?style=odd",
        "s3://host/bucket?region=EU",
        "s3://host/bucket?colour=red",
        "s3://host/bucket?x",
        "s3://host/bucket#part",
        "s3://[host/bucket",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(is no|must be|needs|has only)"):
        address.read(text)


def test_the_error_does_not_have_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIA_URL", "s3://key:verysecret@host/UPPER")
    with pytest.raises(ValidationError) as caught:
        Env()
    assert "verysecret" not in str([error["msg"] for error in caught.value.errors()])


def test_a_folder_needs_its_whole_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIA_URL", "uploads")
    with pytest.raises(ValidationError, match="whole path"):
        Env()
    monkeypatch.setenv("MEDIA_URL", "/srv/uploads")
    assert str(Env().media_folder) == "/srv/uploads"
    assert Env().media_bucket is None
