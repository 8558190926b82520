"""A whole site with a bucket, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, expect

from deploy.services.bucket import bucket_server
from socialsite.tests import stacks
from socialsite.tests.browser import composing
from socialsite.tests.browser.writing.test_videos import choosing, film, plays, published
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.once]
BUCKET = "whole-site"
SHOWN = "(image) => image.complete && image.naturalWidth > 0"


class BucketSite(NamedTuple):
    """A running site, its folder of files, and a client of the server of its bucket."""

    url: str
    media: Path
    s3: Any


@pytest.fixture(scope="module")
def bucket_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketSite]:
    """A site of one process with a bucket."""
    server, folder = bucket_server(), tmp_path_factory.mktemp("bucket-site")
    server.service.start()
    try:
        client = server.client()
        client.create_bucket(Bucket=BUCKET)
        with stacks.embedded(folder, MEDIA_URL=server.url(BUCKET)) as url:
            yield BucketSite(url, folder / "media", client)
    finally:
        server.service.stop()


def test_pictures_and_videos_are_shown_from_the_bucket(
    bucket_site: BucketSite, browser: Browser
) -> None:
    page = composing.at_home(browser, bucket_site.url, "buckets1")
    composing.open_composer(page)
    composing.choose(page, composing.picture("a.jpg"))
    composing.uploaded(page, 1)
    image = published(page, "buckets1", "a picture").locator("img[src^='/media/']").first
    expect(image).to_be_visible()
    eventually(lambda: bool(image.evaluate(SHOWN)))
    page = choosing(browser, bucket_site.url, "buckets2")
    page.set_input_files("#id-video", files=[film()])
    expect(page.locator("input[name=video]")).not_to_have_value("")
    plays(published(page, "buckets2", "a film").locator("video"))
    kinds = [
        Path(one["Key"]).suffix for one in bucket_site.s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    ]
    assert sorted(kinds) == [".jpg", ".jpg", ".mp4"]
    assert not [path for path in bucket_site.media.rglob("*") if path.suffix in kinds]
