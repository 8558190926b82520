"""Folded posts, blurred pictures and the direction of paragraphs, in a real browser."""

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import open_part, picture
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

# Whether the first line of each paragraph begins at the left or right edge of the text.
SIDES = """text => {
  const box = text.getBoundingClientRect(), node = text.firstChild;
  return node.data.split("\\n").reduce(([at, sides], line) => {
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + line.length);
    const rect = range.getBoundingClientRect();
    sides.push(rect.left - box.left < box.right - rect.right ? "left" : "right");
    return [at + line.length + 1, sides];
  }, [0, []])[1];
}"""


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_a_note_is_unfolded_and_a_picture_shown(site: str, browser: Browser, script: bool) -> None:
    name = f"note{'js' if script else 'plain'}"
    page = newcomer(browser, site, name, f"{name}Nick", java_script_enabled=script)
    form = page.get_by_test_id("composer")
    form.locator("textarea[name=content]").fill("what is folded")
    open_part(page, "Content note")
    form.locator("input[name=note]").fill("About a storm")
    form.get_by_label("Sensitive pictures").check()
    form.locator("input[type=file]").set_input_files(files=[picture("me.jpg", (400, 400))])
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").first
    expect(post).to_contain_text("About a storm")
    expect(post.get_by_text("what is folded")).to_be_hidden()
    post.get_by_test_id("note").locator("summary").press("Enter")
    expect(post.get_by_text("what is folded")).to_be_visible()
    image = post.locator(".pics img")
    expect(image).to_have_css("filter", "blur(32px)")
    expect(post.locator(".pics a")).to_have_css("visibility", "hidden")
    post.get_by_test_id("unveil").press("Space")
    expect(image).to_have_css("filter", "none")

    page.goto("/settings/reading")
    page.get_by_label("Unfold posts with a content note").check()
    page.get_by_label("Show sensitive pictures at once").check()
    page.get_by_test_id("save-reading").click()
    page.goto("/")
    expect(post.get_by_text("what is folded")).to_be_visible()
    expect(image).to_have_css("filter", "none")


def test_each_paragraph_has_its_own_direction(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "bidi", "bidiNick")
    words = "Left to right\n\u0645\u0646 \u0627\u0644\u064a\u0645\u064a\u0646\nand left again"
    page.get_by_test_id("composer").locator("textarea[name=content]").fill(words)
    page.get_by_test_id("publish").click()
    text = page.get_by_test_id("post").first.locator(".post-text")
    expect(text).to_contain_text("and left again")
    assert text.evaluate(SIDES) == ["left", "right", "left"]
