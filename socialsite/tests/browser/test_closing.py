"""A person closes the account and takes it back, with and without scripts."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.services.service import ServiceError
from deploy.stack import Stack
from socialsite.tests import stacks
from socialsite.tests.browser.composing import choose, composer, picture, uploaded
from socialsite.tests.support.newcomers import PASSWORD, at_home, newcomer
from socialsite.tests.support.waiting import eventually


def fits(page: Page) -> None:
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def log_in(page: Page, name: str) -> None:
    page.goto("/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_test_id("login").click()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_a_closed_account_is_gone_and_comes_back_by_the_log_in(
    stack: Stack, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    name, words = f"leaver{kind}", f"The last swallow left, {kind}"
    leaver = newcomer(browser, stack.url, name, name, java_script_enabled=script)
    fan = newcomer(browser, stack.url, f"stayer{kind}", "Stayer", java_script_enabled=script)
    composer(leaver).fill(words)
    leaver.get_by_test_id("publish").click()
    expect(leaver.get_by_test_id("post").filter(has_text=words)).to_be_visible()
    fan.goto(f"/@{name}")
    fan.get_by_test_id("follow").click()
    fan.goto("/")
    expect(fan.get_by_test_id("post").filter(has_text=words)).to_be_visible()

    leaver.goto("/settings/password")
    leaver.get_by_test_id("to-close").click()
    expect(leaver.get_by_text("After 14 days everything is erased")).to_be_visible()
    fits(leaver)
    leaver.get_by_label("Your password").fill("wrong.pass1")
    leaver.get_by_test_id("close-account").click()
    expect(leaver.get_by_text("This is not your password.")).to_be_visible()
    leaver.get_by_label("Your password").fill(PASSWORD)
    leaver.get_by_test_id("close-account").click()
    expect(leaver.get_by_role("heading", name="Your account is closed")).to_be_visible()
    expect(leaver.get_by_text("Everything will be erased on:")).to_be_visible()
    fits(leaver)
    leaver.goto("/settings/password")
    expect(leaver).to_have_url(re.compile("/login"))

    fan.goto("/")
    expect(fan.get_by_test_id("composer")).to_be_visible()
    expect(fan.get_by_test_id("post").filter(has_text=words)).to_have_count(0)
    answer = fan.goto(f"/@{name}")
    assert answer is not None
    assert answer.status == 404

    log_in(leaver, name)
    expect(leaver.get_by_role("heading", name="Your account is closed")).to_be_visible()
    fits(leaver)
    leaver.get_by_test_id("reopen").click()
    at_home(leaver)
    expect(leaver.get_by_test_id("post").filter(has_text=words)).to_be_visible()
    fan.goto("/")
    expect(fan.get_by_test_id("post").filter(has_text=words)).to_be_visible()


def erased(stack: Stack, user_id: str) -> bool:
    """Return whether a closed account is wholly erased."""
    query = f"print(Closing.objects.get(pk={user_id}).erased_at is not None)"
    imports = "from accounts.models import Closing"
    return stack.manage("shell", "-v", "0", "-c", f"{imports}; {query}").strip() == "True"


def end_grace(stack: Stack, user_id: str) -> None:
    """Let the days pass in which a closed account can be taken back."""
    imports = "from accounts.models import Closing; from django.utils import timezone"
    query = f"Closing.objects.filter(pk={user_id}).update(erase_at=timezone.now())"
    stack.manage("shell", "-v", "0", "-c", f"{imports}; {query}")


# What Redis knows of ids for ten minutes at most.
CACHED = ("Redis: person:", "Redis: online", "Redis: fanouts2:")


def left_of(stack: Stack, user_id: str, name: str) -> list[str]:
    """Return what is left of an erased person, besides short-lived caches of the id."""
    try:
        stack.manage("verify_erased", user_id, "--name", name)
    except ServiceError as error:
        left = [line for line in str(error).splitlines() if line.endswith("(LEFT)")]
        assert left
        return [line for line in left if not line.startswith(CACHED)]
    return []


def test_a_closed_account_is_erased_with_everything(stack: Stack, browser: Browser) -> None:
    leaver = newcomer(browser, stack.url, "goner1", "Goner")
    fan = newcomer(browser, stack.url, "lasting1", "Lasting")
    api, other = (stacks.Client.known(stack.url, name) for name in ("goner1", "lasting1"))
    composer(leaver).fill("A red wall that goes")
    choose(leaver, picture("wall.jpg"))
    uploaded(leaver, 1)
    leaver.get_by_test_id("publish").click()
    expect(leaver.get_by_test_id("post").filter(has_text="A red wall that goes")).to_be_visible()
    post = api("GET", f"users/{api.id}/posts")["items"][0]
    other("POST", f"users/{api.id}/follow")
    api("POST", f"users/{other.id}/follow")
    mine = other("POST", "posts", content="A wall that stays")
    api("PUT", f"posts/{mine['id']}/like")
    asked = api("POST", f"posts/{mine['id']}/comments", content="Which wall is this?")
    other("POST", f"posts/{mine['id']}/comments", content="The east one.", parent=asked["id"])
    picture_url = stack.url + post["images"][0]["url"]
    assert fan.context.request.get(picture_url).ok

    leaver.goto("/settings/close")
    leaver.get_by_label("Your password").fill(PASSWORD)
    leaver.get_by_test_id("close-account").click()
    expect(leaver.get_by_role("heading", name="Your account is closed")).to_be_visible()
    leaver.close()
    end_grace(stack, api.id)
    eventually(lambda: erased(stack, api.id))
    assert left_of(stack, api.id, "goner1") == []

    # Nobody can come back, and nobody gets the name.
    leaver = browser.new_context(base_url=stack.url, locale="en").new_page()
    log_in(leaver, "goner1")
    expect(leaver.get_by_text("The username or the password is wrong")).to_be_visible()
    leaver.goto("/register")
    leaver.get_by_label("Username").fill("goner1")
    leaver.get_by_label("Name", exact=True).fill("Somebody")
    leaver.get_by_label("Password", exact=True).fill(PASSWORD)
    leaver.get_by_test_id("register").click()
    expect(leaver.get_by_text("taken")).to_be_visible()

    # The others see a tombstone where they answered, and right counts.
    for address in ("/@goner1", f"/posts/{post['id']}"):
        answer = fan.goto(address)
        assert answer is not None
        assert answer.status == 404
    assert not fan.context.request.get(picture_url).ok
    fan.goto(f"/posts/{mine['id']}")
    expect(fan.get_by_text("This comment was deleted.")).to_be_visible()
    expect(fan.get_by_text("Which wall is this?")).to_have_count(0)
    fan.get_by_role("link", name="1 reply").click()
    expect(fan.get_by_text("The east one.")).to_be_visible()
    assert other("GET", f"posts/{mine['id']}")["like_count"] == 0
    me = other("GET", "users/by-name/lasting1")
    assert (me["counts"]["followers"], me["counts"]["following"]) == (0, 0)
    fan.goto("/notifications")
    expect(fan.get_by_test_id("notification")).to_have_count(0)
