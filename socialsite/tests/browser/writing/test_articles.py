"""Articles in a real browser: preview, contents, pictures, directions, the width of a phone."""

from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.catalogue import ARTICLE
from socialsite.tests.browser.composing import (
    at_home,
    choose,
    choose_kind,
    composer,
    picture,
    uploaded,
)

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 800}


def write_article(page: Page, title: str, text: str) -> None:
    choose_kind(page, "article")
    page.locator("#id-title").fill(title)
    composer(page).fill(text)


def open_published(page: Page, title: str) -> None:
    page.get_by_test_id("publish").click()
    page.get_by_role("link", name=title).click()
    expect(page.get_by_test_id("prose")).to_be_visible()


def fits(page: Page) -> bool:
    return bool(
        page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_article_is_previewed_published_and_read(
    site: str, browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    page = at_home(browser, site, f"author{scheme[0]}1")
    page.emulate_media(color_scheme=scheme)
    preview = page.get_by_role("button", name="Preview")
    expect(preview).to_be_hidden()
    title = f"The orchard, {scheme}"
    write_article(page, title, ARTICLE)
    choose(page, picture("tree.jpg"))
    uploaded(page, 1)
    page.get_by_label("Describe this picture (tree.jpg)").fill("A [tall] tree")
    page.get_by_role("button", name="Put this picture into the text (tree.jpg)").click()
    preview.click()
    shown = page.get_by_test_id("preview")
    expect(shown).to_be_focused()
    expect(shown.locator("blockquote")).to_have_text("What is dead goes first.")
    expect(shown.get_by_role("img", name="A (tall) tree")).to_be_visible()
    assert page.url.endswith("/")
    open_published(page, title)
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        assert fits(page)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    code = page.get_by_test_id("prose").locator("pre")
    assert code.evaluate("(one) => one.scrollWidth > one.clientWidth")
    contents = page.get_by_test_id("contents")
    expect(contents.get_by_role("link")).to_have_count(4)
    contents.get_by_role("link", name="The plan of a week").click()
    heading = page.get_by_role("heading", name="The plan of a week")
    expect(heading).to_be_in_viewport()
    page.get_by_test_id("prose").get_by_role("link", name="A (tall) tree").click()
    viewer = page.locator("#viewer[open] img")
    expect(viewer).to_have_attribute("alt", "A (tall) tree")
    page.keyboard.press("Escape")


def test_each_paragraph_is_aligned_by_its_own_direction(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "author3")
    write_article(page, "Directions", "Left to right.\n\nمن اليمين إلى اليسار.")
    open_published(page, "Directions")
    directions = page.locator("[data-testid=prose] p").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).direction)"
    )
    assert directions == ["ltr", "rtl"]


def test_paragraphs_of_posts_and_comments_are_aligned_by_their_own_direction(
    site: str, browser: Browser
) -> None:
    page = at_home(browser, site, "author4")
    text = "Left to right.\nمن اليمين إلى اليسار."
    composer(page).fill(text)
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").filter(has_text="@author4").first
    page.goto(f"/posts/{post.get_attribute('data-post-id')}")
    page.locator("textarea[name=content]").first.fill(text)
    page.get_by_test_id("comment-send").click()
    expect(page.locator(".comment-body .post-text")).to_be_visible()
    for shown in (page.locator(".post-full .post-text"), page.locator(".comment-body .post-text")):
        left, right = shown.evaluate(
            """(one) => {
                const words = [...one.childNodes].at(-1);
                const end = words.data.length;
                const middle = words.data.indexOf("\\n");
                const box = one.getBoundingClientRect();
                return [[0, middle], [middle + 1, end]].map(([from, to]) => {
                    const range = document.createRange();
                    range.setStart(words, from);
                    range.setEnd(words, to);
                    const { left, right } = range.getBoundingClientRect();
                    return left - box.left < box.right - right;
                });
            }"""
        )
        assert left
        assert not right


def test_a_long_post_unfolds_in_its_place(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "author5")
    composer(page).fill("A line of a long post.\n" * 30 + "The very end.")
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").filter(has_text="A line of a long post").first
    expect(post).not_to_contain_text("The very end.")
    more = post.get_by_role("link", name="Read on")
    address = page.url
    more.press("Enter")
    expect(post).to_contain_text("The very end.")
    expect(more).to_have_count(0)
    expect(post.locator(".post-text")).to_be_focused()
    assert page.url == address


def test_a_preview_and_read_on_work_without_scripts(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "author6")
    composer(page).fill("A line of a long post.\n" * 30 + "The very end.")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").filter(has_text="@author6")).to_be_visible()
    plain = browser.new_context(
        base_url=site, java_script_enabled=False, storage_state=page.context.storage_state()
    ).new_page()
    plain.goto("/")
    own = plain.get_by_test_id("post").filter(has_text="@author6")
    own.get_by_role("link", name="Read on").click()
    expect(plain.get_by_text("The very end.")).to_be_visible()
    plain.goto("/")
    write_article(plain, "Without scripts", "Some **bold** words")
    plain.get_by_role("button", name="Preview").click()
    expect(plain.get_by_test_id("preview").locator("strong")).to_have_text("bold")
    expect(composer(plain)).to_have_value("Some **bold** words")
    plain.get_by_test_id("publish").click()
    expect(plain.get_by_text("Some bold words")).to_be_visible()
    plain.context.close()
