"""A person takes their posts from one site to a new one, in the browser, and undoes it."""

import io
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import choose, composer, picture, uploaded
from socialsite.tests.support.newcomers import newcomer

pytestmark = pytest.mark.e2e

# What an import keeps of a post.
KEPT = ("kind", "visibility", "created_at", "title", "content", "note", "sensitive", "video_url")
WAIT_MS = 120_000


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[str]:
    """The address of a second site."""
    with stacks.embedded(tmp_path / "new") as url:
        yield url


def write(author: stacks.Client) -> None:
    """Publish posts of many kinds."""
    author(
        "POST", "posts", content="For followers, with #tags and @carrier46", visibility="followers"
    )
    author("POST", "posts", content="For me alone 🔑 مرحبا", visibility="self")
    noted = author("POST", "posts", content="The end is sad.", note="spoiler", sensitive=True)
    text = "# Walls\n\n" + "A long *walk* along the wall.\n\n" * 40
    author("POST", "posts", kind="article", title="A walk", content=text)
    poll = {"options": ["tea", "coffee"], "multiple": False, "lasts": 3600}
    author("POST", "posts", content="What do you drink?", poll=poll)
    author("POST", "posts", kind="video", video_url="https://video.example/walk")
    author("POST", f"posts/{noted['id']}/repost", content="As I said.")


def pictures_of(person: stacks.Client, post: Any) -> list[Image.Image]:
    site = person.base.removesuffix("/api/v1/")
    found = []
    for image in post["images"]:
        with urllib.request.urlopen(site + image["url"], timeout=60) as answer:  # noqa: S310
            found.append(Image.open(io.BytesIO(answer.read())).convert("RGB"))
    return found


def assert_same_picture(one: Image.Image, other: Image.Image) -> None:
    """Allow for what encoding a picture once more changes."""
    assert one.size == other.size
    assert max(ImageStat.Stat(ImageChops.difference(one, other)).mean) < 3


def archive_of(page: Page, target: Path) -> None:
    """Make the archive of a person and store it."""
    page.goto("/settings/export")
    page.get_by_test_id("export-make").click()
    link = page.get_by_test_id("export-file")
    expect(link).to_be_visible(timeout=WAIT_MS)
    with page.expect_download() as download:
        link.click()
    download.value.save_as(target)


def fits(page: Page) -> None:
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def test_posts_move_to_a_new_site_and_an_undo_takes_them_back(
    embedded_site: str, new_site: str, browser: Browser, tmp_path: Path
) -> None:
    here = newcomer(browser, embedded_site, "carrier46", "Mover")
    composer(here).fill("A red wall")
    choose(here, picture("wall.jpg", (300, 200)))
    uploaded(here, 1)
    here.get_by_test_id("publish").click()
    expect(here.get_by_test_id("post").filter(has_text="A red wall")).to_be_visible()
    old = stacks.Client.known(embedded_site, "carrier46")
    write(old)
    archive = tmp_path / "archive.zip"
    archive_of(here, archive)

    there = newcomer(browser, new_site, "arrival46", "Mover")
    new = stacks.Client.known(new_site, "arrival46")
    fan = stacks.Client.new(new_site, "fan123")
    fan("POST", f"users/{new.id}/follow")
    there.goto("/settings/import")
    fits(there)
    there.get_by_label("Contents of the file").select_option("posts")
    there.get_by_label("File (CSV or ZIP)").set_input_files(archive)
    there.get_by_test_id("import-upload").click()
    expect(there.get_by_test_id("import-preview")).to_contain_text("A red wall", timeout=WAIT_MS)
    fits(there)
    assert new.posts() == []
    there.get_by_test_id("import-start").click()
    state = there.get_by_test_id("import-state")
    expect(state).to_have_text(re.compile(": done"), timeout=WAIT_MS)
    fits(there)

    before, after = old.posts(), new.posts()
    assert len(before) == len(after) == 8
    for one, other in zip(before, after, strict=True):
        assert {key: other[key] for key in KEPT} == expected(one, embedded_site)
        assert other["tags"] == one["tags"]
        assert (one["poll"] or {}).get("ends_at") == (other["poll"] or {}).get("ends_at")
        assert [image["alt"] for image in other["images"]] == [
            image["alt"] for image in one["images"]
        ]
        for was, now in zip(pictures_of(old, one), pictures_of(new, other), strict=True):
            assert_same_picture(was, now)
    assert after[0]["ref"]["content"] == before[0]["ref"]["content"] == "The end is sad."

    # The feed of a follower has those that it may see, and nobody was notified.
    feed = [post["id"] for post in fan("GET", "feed?size=20")["items"]]
    assert feed == [post["id"] for post in after if post["visibility"] != "self"]
    assert fan("GET", "notifications")["items"] == []
    assert [note["kind"] for note in new("GET", "notifications")["items"]] == ["followed"]

    there.get_by_test_id("import-undo").click()
    expect(state).to_have_text(re.compile(": undone"), timeout=WAIT_MS)
    assert new.posts() == fan("GET", "feed")["items"] == []


def expected(post: Any, site: str) -> dict[str, Any]:
    """Return what a post of another site is here: its names lead to nobody."""
    host = site.removeprefix("http://")
    return {key: post[key] for key in KEPT} | {
        "content": post["content"].replace("@carrier46", f"@carrier46@{host}")
    }
