"""Moderation from the report to the appeal, as each person sees it."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.stack import Stack
from socialsite.tests.browser.composing import composer, picture
from socialsite.tests.support.newcomers import PASSWORD, newcomer, watched
from socialsite.tests.support.waiting import eventually

SCRIPT = pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
WORDS = "Please do not sell boats here."
LOADED = """() => {
  const shown = [...document.querySelectorAll(".pics img")];
  return shown.length > 0 && shown.every((one) => one.naturalWidth > 0);
}"""


def fits(page: Page) -> None:
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def staff(stack: Stack, browser: Browser, name: str) -> Page:
    page = newcomer(browser, stack.url, name, name)
    stack.manage("promote", name, "--role", "moderator")
    return page


def publish(page: Page, words: str) -> str:
    """Publish a post with a picture and return the address of its page."""
    form = page.get_by_test_id("composer")
    form.locator("input[type=file]").first.set_input_files(picture("boat.jpg"))
    composer(page).fill(words)
    if form.locator("[data-picture]").count():
        expect(form.locator("[data-state=done]")).to_have_count(1)
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").filter(has_text=words)
    expect(post).to_be_visible()
    page.goto("/")
    href = post.locator("a[href*='/posts/']").first.get_attribute("href")
    assert href is not None
    return href


def report(page: Page, post: str) -> None:
    page.goto(post)
    page.get_by_label("Post menu").click()
    page.get_by_test_id("report").click()
    page.get_by_label("Spam or advertising").check()
    fits(page)
    page.get_by_test_id("report-send").click()
    expect(page.get_by_role("heading", name="Thank you for your report")).to_be_visible()
    fits(page)


def confirm(page: Page, done: str = "Done for 1.") -> None:
    page.get_by_role("button", name="Yes, do it").click()
    expect(page.get_by_text(done)).to_be_visible()


def delete_from_case(page: Page, owner: str) -> None:
    """Find the case of a person's post from the home of staff, and delete the post."""
    page.goto("/admin/")
    page.get_by_role("link", name="Open cases").click()
    page.get_by_role("row", name=owner).get_by_role("link").first.click()
    unveil, image = page.get_by_test_id("unveil"), page.locator(".pics img")
    blur = "(one) => getComputedStyle(one).filter"
    assert "blur" in image.evaluate(blur)
    page.get_by_text("Show sensitive pictures").click()
    expect(unveil).to_be_checked()
    eventually(lambda: image.evaluate(blur), lambda found: "blur" not in found)
    assert image.evaluate("(one) => one.naturalWidth") > 0
    fits(page)
    page.get_by_role("button", name="Take this case").click()
    expect(page.get_by_role("button", name="Give it back")).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_label("reason").select_option(label="Spam or advertising")
    page.get_by_label("words to the person").fill(WORDS)
    confirm(page)


def decide(page: Page, owner: str, decision: str, answer: str, done: str = "Done for 1.") -> None:
    """Open the appeal of a person in the list, and decide about it."""
    page.goto("/admin/accounts/appeal/")
    page.get_by_role("row", name=owner).get_by_role("link").first.click()
    page.get_by_role("button", name=decision, exact=True).click()
    page.get_by_label("What you tell them").fill(answer)
    confirm(page, done)


def object_to(page: Page, words: str) -> None:
    """Object to the only decision on the page."""
    page.get_by_text("Object to this decision").click()
    page.get_by_label("Why do you object?").fill(words)
    fits(page)
    page.get_by_test_id("appeal").click()


@SCRIPT
def test_a_deleted_post_comes_back_after_an_appeal(
    stack: Stack, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    name, words = f"seller{kind}", f"A boat with two sails, {kind}"
    author = newcomer(browser, stack.url, name, name, java_script_enabled=script)
    fan = newcomer(browser, stack.url, f"sailor{kind}", "Sailor", java_script_enabled=script)
    first, second = (staff(stack, browser, f"{one}{kind}") for one in ("keeper", "referee"))
    post = publish(author, words)
    fan.goto(f"/@{name}")
    fan.get_by_test_id("follow").click()
    fan.goto("/")
    mine = fan.get_by_test_id("post").filter(has_text=words)
    expect(mine).to_be_visible()
    report(fan, post)

    delete_from_case(first, name)
    fan.goto("/")
    expect(fan.get_by_test_id("composer")).to_be_visible()
    expect(mine).to_have_count(0)

    note = author.get_by_test_id("notification").filter(has_text="removed your post")

    def told() -> int:
        author.goto("/notifications")
        return note.count()

    eventually(told, lambda count: count == 1)
    fits(author)
    note.get_by_role("link").first.click()
    expect(author).to_have_url(re.compile("/settings/acts$"))
    act = author.get_by_test_id("act")
    expect(act).to_contain_text("Post deleted")
    expect(act).to_contain_text("Spam or advertising")
    expect(act).to_contain_text(WORDS)
    object_to(author, "It is my own boat.")
    expect(act.get_by_test_id("appeal-state")).to_contain_text("Somebody else of the staff")
    fits(author)

    decide(first, name, "Grant", "", "You may not do this to 1.")
    decide(second, name, "Grant", "It is a fine boat.")

    author.goto("/settings/acts")
    expect(act.get_by_test_id("appeal-state")).to_contain_text("Granted")
    expect(act).to_contain_text("It is a fine boat.")
    fits(author)
    for page, path in ((author, f"/@{name}"), (fan, "/")):
        page.goto(path)
        expect(page.get_by_test_id("post").filter(has_text=words)).to_be_visible()
        if script:
            page.wait_for_function(LOADED)
        for image in page.get_by_test_id("post").filter(has_text=words).locator(".pics img").all():
            source = image.get_attribute("src")
            assert source is not None
            assert page.request.get(source).status == 200
        expect(page.get_by_test_id("post").filter(has_text=words).locator("img")).not_to_have_count(
            0
        )
        fits(page)


@SCRIPT
def test_a_suspended_person_objects_and_logs_in_again(
    stack: Stack, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    name = f"loud{kind}"
    newcomer(browser, stack.url, name, name).context.close()
    first, second = (staff(stack, browser, f"{one}{kind}") for one in ("warden", "umpire"))
    first.goto(f"/admin/accounts/user/?q={name}")
    first.get_by_role("row", name=name).get_by_role("checkbox").check()
    first.get_by_label("Action:").select_option(label="Suspend the selected people")
    first.get_by_role("button", name="Go", exact=True).click()
    first.get_by_label("reason").select_option(label="Insult or harassment")
    first.get_by_label("words to the person").fill(WORDS)
    confirm(first)

    page = watched(browser.new_context(base_url=stack.url, locale="en", java_script_enabled=script))

    def log_in() -> None:
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_test_id("login").click()

    page.goto("/login")
    log_in()
    expect(page.get_by_role("heading", name="You cannot log in now")).to_be_visible()
    act = page.get_by_test_id("act")
    expect(act).to_contain_text("Suspended for some time")
    expect(act).to_contain_text("Insult or harassment")
    expect(act).to_contain_text(WORDS)
    object_to(page, "I was only singing.")
    expect(page.get_by_role("heading", name="Objection sent")).to_be_visible()
    fits(page)

    decide(second, name, "Grant", "Sing on.")
    page.get_by_role("link", name="Log in").click()
    log_in()
    expect(page.get_by_test_id("composer")).to_be_visible()
    page.goto("/settings/acts")
    expect(page.get_by_test_id("act")).to_contain_text("Sing on.")
