"""A person gets an archive of their data, and reads it from a folder, without the site."""

import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from deploy.stack import Stack
from socialsite.tests.browser.composing import choose, composer, picture, uploaded
from socialsite.tests.support.newcomers import newcomer

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_an_archive_is_made_fetched_and_read_from_a_folder(
    stack: Stack, browser: Browser, tmp_path: Path, script: bool
) -> None:
    kind = "js" if script else "plain"
    words = f"A boat on the lake, {kind}"
    page = newcomer(browser, stack.url, f"packer{kind}", "Packer", java_script_enabled=script)
    composer(page).fill(words)
    choose(page, picture("boat.jpg"))
    if script:
        uploaded(page, 1)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").filter(has_text=words)).to_be_visible()

    page.goto("/settings/profile")
    page.get_by_role("link", name="Data", exact=True).click()
    page.get_by_test_id("export-make").click()
    link = page.get_by_test_id("export-file")
    if script:
        expect(link).to_be_visible(timeout=60_000)
    else:
        for _ in range(60):
            if link.count():
                break
            page.wait_for_timeout(1000)
            page.get_by_role("link", name="Look again").click()
    with page.expect_download() as download:
        link.click()
    archive = tmp_path / "archive.zip"
    download.value.save_as(archive)
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "archive")

    context = browser.new_context(viewport={"width": 390, "height": 844})
    reader = context.new_page()
    problems: list[str] = []
    reader.on("console", lambda line: problems.append(line.text))
    reader.goto((tmp_path / "archive" / "index.html").as_uri())
    expect(reader.get_by_role("heading", name=f"Archive of @packer{kind}")).to_be_visible()
    reader.get_by_role("link", name="Posts", exact=True).click()
    expect(reader.get_by_text(words)).to_be_visible()
    image = reader.locator("article img").first
    image.scroll_into_view_if_needed()
    reader.wait_for_function("document.querySelector('article img').naturalWidth > 0")
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390
    reader.get_by_role("link", name="Start of the archive").first.click()
    assert problems == []
    context.close()
