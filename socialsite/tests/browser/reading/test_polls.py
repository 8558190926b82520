"""A poll from the composer to its results, in a real browser, with a script and without."""

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import open_part
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_people_ask_vote_and_see_the_results(site: str, browser: Browser, script: bool) -> None:
    name = f"poll{'js' if script else 'plain'}"
    author = newcomer(browser, site, f"{name}a", f"{name}Nicka", java_script_enabled=script)
    form = author.get_by_test_id("composer")
    form.locator("textarea[name=content]").fill("Which drink?")
    open_part(author, "Poll")
    expect(form.get_by_label("Option 3")).to_be_hidden()  # until the second is written
    for number, option in enumerate(("Tea", "Milk", "Coffee", "Water"), start=1):
        form.get_by_label(f"Option {number}").fill(option)
    form.get_by_label("Option 2").fill("")
    form.get_by_label("The poll ends after").select_option("3600")
    author.get_by_test_id("publish").click()
    post = author.get_by_test_id("post").first
    expect(post.get_by_test_id("poll")).to_contain_text("ends in 59 min")
    expect(post.get_by_role("radio")).to_have_count(3)
    expect(post.get_by_test_id("poll")).to_contain_text("0%")  # the author sees results
    address = post.locator(".post-time").first.get_attribute("href")

    page = newcomer(browser, site, f"{name}r", f"{name}Nickr", java_script_enabled=script)
    page.goto(f"{site}{address}")
    poll = page.get_by_test_id("poll")
    expect(poll).not_to_contain_text("%")
    poll.get_by_test_id("vote").press("Enter")
    expect(poll.get_by_role("alert")).to_have_text("Choose an option.")
    poll.get_by_role("radio", name="Coffee").press("Space")
    poll.get_by_test_id("vote").press("Enter")
    expect(poll.get_by_test_id("poll-people")).to_have_text("1 person voted")
    expect(poll.locator(".poll-own")).to_contain_text("Coffee")
    expect(poll.locator(".poll-own")).to_contain_text("100%")
    expect(poll.get_by_role("radio")).to_have_count(0)
    page.goto(f"{site}{address}")
    expect(poll.locator(".poll-own")).to_contain_text("Coffee")
    # The other buttons of the page send the same form.
    page.get_by_test_id("like").first.click()
    expect(page.get_by_test_id("like").first).to_have_attribute("aria-pressed", "true")
