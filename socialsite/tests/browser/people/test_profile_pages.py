"""A person's own pages in a browser: profile, first steps, suggestions, address, report."""

import re
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from socialsite.tests import stacks
from socialsite.tests.browser import accessibility
from socialsite.tests.browser.composing import picture
from socialsite.tests.stacks import Client
from socialsite.tests.support.newcomers import PASSWORD, newcomer, sign_up, watched
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.e2e

BOTH_WAYS = pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])


def person(browser: Browser, site: str, name: str, *, script: bool) -> Page:
    """Return the page of a new person on a phone."""
    viewport = {"width": 390, "height": 800}
    return newcomer(
        browser, site, name, f"{name}Nick"[:16], java_script_enabled=script, viewport=viewport
    )


@BOTH_WAYS
@stacks.IN_ONE_PROCESS
def test_a_profile_is_edited_and_shows_everything(
    site: str, browser: Browser, script: bool
) -> None:
    name = f"profile{'js' if script else 'plain'}"
    page = person(browser, site, name, script=script)
    page.goto(f"/@{name}")
    page.get_by_test_id("edit-profile").click()
    expect(page).to_have_url(re.compile("/settings/profile$"))
    page.set_input_files("input[name=avatar]", files=[picture("me.jpg", (400, 300))])
    page.set_input_files("input[name=banner]", files=[picture("wide.jpg", (900, 300))])
    page.fill("input[name=nickname]", "Rower")
    page.fill("textarea[name=bio]", "Boats and bread. 船和面包。")
    page.fill("input[name=pronouns]", "they/them")
    page.fill("input[name=place]", "Kunming")
    for number in range(4):
        page.get_by_label(f"Link {number + 1}").fill(f"https://boats{number}.example/")
    page.get_by_label("Show my likes").check()
    page.get_by_test_id("save-profile").click()
    expect(page.get_by_role("status").first).to_contain_text("saved")
    page.get_by_role("link", name="View your profile").click()
    profile = page.get_by_test_id("profile")
    for words in ("Rower", "Boats and bread. 船和面包。", "they/them", "Kunming", "Joined"):
        expect(profile).to_contain_text(words)
    expect(profile.locator("a[href^='https://boats']")).to_have_count(4)
    for image in ("img.banner", "img.avatar"):
        expect(profile.locator(image)).not_to_have_js_property("naturalWidth", 0)
    for tab in ("posts", "replies", "media", "likes"):
        page.get_by_test_id(f"tab-{tab}").click()
        expect(page.get_by_test_id(f"tab-{tab}")).to_have_attribute("aria-current", "page")
    for count in ("Following", "Followers"):
        page.goto(f"/@{name}")
        profile.get_by_role("link", name=count).click()
        expect(page).to_have_url(re.compile(f"/@{name}/{count.lower()}$"))
    # Pictures can be removed, and a mistake is said at its field while the rest stays typed.
    page.goto("/settings/profile")
    page.get_by_label("Remove the banner").check()
    page.fill("input[name=place]", "Dali")
    page.get_by_label("Link 1").fill("not an address")
    page.get_by_test_id("save-profile").click()
    expect(page.locator("#err-links")).to_be_visible()
    expect(page.locator("input[name=place]")).to_have_value("Dali")
    page.get_by_label("Link 1").fill("")
    page.get_by_label("Remove the banner").check()
    page.get_by_test_id("save-profile").click()
    page.goto(f"/@{name}")
    expect(profile).to_contain_text("Dali")
    expect(profile.locator("img.banner")).to_have_count(0)


@stacks.IN_ONE_PROCESS
def test_the_rule_of_names_is_read_before_one_types(site: str, browser: Browser) -> None:
    page = browser.new_context(base_url=site, locale="en").new_page()
    page.goto("/register")
    field = page.locator("input[name=nickname]")
    hint = page.locator(f"#{str(field.get_attribute('aria-describedby')).split()[-1]}")
    expect(hint).to_contain_text("4 to 16")
    page.fill("input[name=username]", "namer1")
    page.fill("input[name=password]", PASSWORD)
    refusals = {
        "abc": "At least 4 characters.",
        "a" * 17: "At most 16 characters.",
        "with space": "Use only Chinese characters, letters and digits.",
        "12345": "It must not consist of digits only.",
    }
    for name, words in refusals.items():
        field.fill(name)
        page.get_by_test_id("register").click()
        expect(page.locator("#err-nickname")).to_have_text(words)
        expect(field).to_have_value(name)
        page.fill("input[name=password]", PASSWORD)


@BOTH_WAYS
@stacks.IN_ONE_PROCESS
def test_the_first_steps_may_be_skipped_and_suggestions_dismissed(
    site: str, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    others = [Client.new(site, f"host{kind}{number}") for number in range(4)]
    for other in others:
        for another in others:
            if other is not another:
                other("POST", f"users/{another.id}/follow")
    phone = ViewportSize(width=390, height=844)
    context = browser.new_context(
        base_url=site, locale="en", java_script_enabled=script, viewport=phone
    )
    page = watched(context)
    page.goto(sign_up(context, f"steps{kind}", f"Steps{kind}"))
    expect(page).to_have_url(re.compile("/welcome"))
    # Each step can be left out: the home page keeps the card while few people are followed.
    page.get_by_role("link", name="To the home page").click()
    card = page.get_by_test_id("first-steps")
    expect(card).to_contain_text("Follow a few people")
    page.reload()
    expect(card).to_be_visible()
    card.get_by_test_id("skip-steps").click()
    expect(card).to_have_count(0)
    page.reload()
    expect(page.get_by_test_id("composer")).to_be_visible()
    expect(card).to_have_count(0)
    # Home with few follows keeps suggesting; who is not interesting never comes back.
    few = page.get_by_test_id("few-follows")
    first = few.get_by_test_id("suggestion").first
    name = first.locator("small").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    first.get_by_test_id("dismiss").click()
    expect(few.get_by_test_id("suggestion").filter(has_text=name)).to_have_count(0)
    page.goto("/suggestions")
    expect(page.get_by_test_id("suggestion").first).to_be_visible()
    expect(page.get_by_test_id("suggestion").filter(has_text=name)).to_have_count(0)
    api = Client.known(site, f"steps{kind}")
    shown = {f"@{one['username']}" for one in api("GET", "users/suggested")["items"]}
    assert shown
    assert name not in shown


@stacks.IN_ONE_PROCESS
def test_beside_suggestions_on_home_the_panel_has_none(site: str, browser: Browser) -> None:
    other, friend = Client.new(site, "widehost"), Client.new(site, "widefriend")
    other("POST", f"users/{friend.id}/follow")
    page = newcomer(browser, site, "wide1", "Wide", viewport={"width": 1280, "height": 900})
    few, panel = page.get_by_test_id("few-follows"), page.locator("#suggestions")
    expect(few.get_by_test_id("suggestion").first).to_be_visible()
    expect(panel).to_be_hidden()
    assert accessibility.problems(page) == []
    me = Client.known(site, "wide1")
    for number in range(5):
        me("POST", f"users/{Client.new(site, f'widemore{number}').id}/follow")
    page.goto("/")
    expect(panel.get_by_test_id("suggestion").first).to_be_visible()
    expect(few).to_have_count(0)


@BOTH_WAYS
def test_an_address_given_at_sign_up_waits_and_its_link_is_sent_again(
    browser: Browser, embedded_site: str, embedded_dir: Path, script: bool
) -> None:
    name = f"mailer{script:d}"
    address = f"{name}@mail.example"
    context = browser.new_context(base_url=embedded_site, locale="en", java_script_enabled=script)
    page = context.new_page()
    page.goto("/register")
    words = {"username": name, "nickname": name, "email": address}
    for field, value in {**words, "password": PASSWORD}.items():
        page.fill(f"input[name={field}]", value)
    page.get_by_test_id("register").click()
    expect(page.locator("main")).to_contain_text(f"We sent a link to {address}")
    page.get_by_role("link", name="Send again").click()
    waiting = page.get_by_test_id("waiting")
    expect(waiting).to_contain_text(f"{address} Waiting for confirmation")
    page.get_by_test_id("send-again").click()
    expect(page.get_by_role("status").first).to_contain_text("We have sent a link")
    # A new password does not silently end the link: the page says so and offers a new one.
    eventually(lambda: links_in(embedded_dir, address), lambda links: len(links) >= 2)
    old = links_in(embedded_dir, address)[-1]
    page.goto("/settings/password")
    page.fill("input[name=old_password]", PASSWORD)
    page.fill("input[name=new_password]", "another.pass2")
    page.get_by_label("Repeat the new password").fill("another.pass2")
    page.get_by_test_id("change-password").click()
    expect(page.locator(".notice-good")).to_be_visible()
    page.goto(old)
    expect(page.get_by_role("alert")).to_contain_text("no longer valid")
    page.get_by_role("link", name="To your settings").click()
    page.get_by_test_id("send-again").click()
    eventually(lambda: links_in(embedded_dir, address), lambda links: len(links) >= 3)
    page.goto(links_in(embedded_dir, address)[-1])
    page.get_by_test_id("confirm-email").click()
    page.goto("/settings/email")
    expect(page.get_by_test_id("email")).to_have_text(address)
    expect(waiting).to_have_count(0)
    context.close()


def links_in(directory: Path, address: str) -> list[str]:
    """Return the links of the mails that the site sent to an address, the oldest first."""
    found: list[str] = []
    for file in sorted((directory / "mail").glob("*"), key=lambda path: path.stat().st_mtime_ns):
        message = message_from_bytes(file.read_bytes(), policy=policy.default)
        if message["To"] != address:
            continue
        body = message.get_body(("plain",))
        words = "" if body is None else body.get_content()
        found += re.findall(r"https?://\S*/email/\S+", words)
    return found


@BOTH_WAYS
@stacks.IN_ONE_PROCESS
def test_a_report_names_the_post_can_be_cancelled_and_offers_a_block(
    site: str, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    author = Client.new(site, f"spammer{kind}")
    post = author("POST", "posts", content="Buy my boats")
    page = person(browser, site, f"reporter{kind}", script=script)
    page.goto(f"/posts/{post['id']}")
    page.get_by_label("Post menu").click()
    page.get_by_test_id("report").click()
    expect(page.get_by_test_id("reported")).to_contain_text("Buy my boats")
    expect(page.get_by_test_id("reported")).to_contain_text(f"@spammer{kind}")
    page.get_by_test_id("report-cancel").click()
    expect(page).to_have_url(re.compile(f"/posts/{post['id']}$"))
    page.goto(f"/report/post/{post['id']}")
    page.get_by_role("radio").first.check()
    page.get_by_test_id("report-send").click()
    page.get_by_test_id("report-block").click()
    page.get_by_test_id("confirm-block").click()
    page.goto(f"/@spammer{kind}")
    expect(page.locator("main")).to_contain_text("You blocked this person")


@stacks.IN_ONE_PROCESS
def test_a_text_has_its_length_in_characters_not_in_units_of_browsers(
    site: str, browser: Browser
) -> None:
    page = person(browser, site, "tigers", script=True)
    page.goto("/settings/profile")
    bio, most = page.locator("textarea[name=bio]"), 200
    tigers = "\U0001f405" * most
    bio.fill("t" * (most + 1))
    page.get_by_test_id("save-profile").click()
    assert bio.evaluate("field => field.validationMessage") == f"At most {most} characters."
    assert page.url.endswith("/settings/profile")
    bio.fill(tigers)
    page.get_by_test_id("save-profile").click()
    expect(page.get_by_role("status").first).to_contain_text("saved")
    expect(bio).to_have_value(tigers)
