"""The task at sign-up in browsers: a script solves it, and a text explains it to all others."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.support.newcomers import PASSWORD, sign_up, watched

WITHOUT = "Turn on JavaScript in a current browser"
SOLVES = "your browser solves a small task"


@pytest.fixture(scope="module")
def strained(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[str]:
    """The address of a site on which half of the sign-ups of an hour are used up."""
    with stacks.embedded(tmp_path_factory.mktemp("strained"), BUDGET_SIGN_UP="12/1") as url:
        for number in range(6):
            context = browser.new_context(base_url=url)
            sign_up(context, f"early{number}", "Early")
            context.close()
        yield url


def form_of(browser: Browser, site: str, script: str = "", **options: Any) -> Page:
    """Open the form of the sign-up; `script` runs before those of the page."""
    page = watched(browser.new_context(base_url=site, locale="en", **options))
    page.add_init_script(script)
    page.goto("/register")
    return page


def fill(page: Page, username: str) -> None:
    for name, text in {"username": username, "nickname": "Newcomer", "password": PASSWORD}.items():
        page.locator(f"[name={name}]").fill(text)


def test_a_person_signs_up_while_the_browser_solves_the_task(
    strained: str, browser: Browser
) -> None:
    # Counts the hashes between two turns of the page.
    counted = """
        let hashes = 0;
        window.most = 0;
        const digest = crypto.subtle.digest.bind(crypto.subtle);
        crypto.subtle.digest = (...text) => {
            window.most = Math.max(window.most, ++hashes);
            return digest(...text);
        };
        setInterval(() => { hashes = 0; });
    """
    page = form_of(browser, strained, counted)
    status = page.locator("form [role=status]")
    expect(status).to_be_empty()
    expect(page.get_by_text(WITHOUT)).to_be_hidden()
    fill(page, "newcomer1")
    expect(status).to_have_text("The small task is solved.")
    assert 0 < page.evaluate("most") <= 5000
    page.get_by_test_id("register").click()
    expect(page).to_have_url(re.compile("/welcome$"))


def test_the_form_waits_for_the_task_and_has_a_new_one_after_a_refusal(
    strained: str, browser: Browser
) -> None:
    # The hashes wait until the test lets them go.
    held = """
        const digest = crypto.subtle.digest.bind(crypto.subtle);
        const open = new Promise((resolve) => { window.go = resolve; });
        crypto.subtle.digest = async (...text) => { await open; return digest(...text); };
    """
    page = form_of(browser, strained, held)
    page.evaluate(
        """(values) => {
            const { elements } = document.querySelector("form[data-challenge]");
            for (const [name, value] of Object.entries(values)) elements[name].value = value;
        }""",
        {"username": "early1", "nickname": "Newcomer", "password": PASSWORD},
    )
    first = page.locator("form[data-challenge]").get_attribute("data-challenge")
    page.get_by_test_id("register").click()
    page.get_by_test_id("register").click()
    expect(page.locator("form [role=status]")).to_contain_text(SOLVES)
    expect(page).to_have_url(re.compile("/register$"))
    page.evaluate("go()")
    expect(page.get_by_text("This username is taken.")).to_be_visible()
    assert page.locator("form[data-challenge]").get_attribute("data-challenge") != first
    page.evaluate("go()")
    fill(page, "newcomer2")
    page.get_by_test_id("register").click()
    expect(page).to_have_url(re.compile("/welcome$"))


def test_a_task_that_cannot_be_solved_is_answered_by_a_new_one(
    strained: str, browser: Browser
) -> None:
    page = form_of(browser, strained)
    page.evaluate(
        """() => {
            const { dataset } = document.querySelector("form[data-challenge]");
            dataset.challenge = JSON.stringify({ ...JSON.parse(dataset.challenge), maxnumber: -1 });
        }"""
    )
    fill(page, "newcomer4")
    page.get_by_test_id("register").click()
    expect(page.get_by_role("alert")).to_contain_text("a task must be solved")
    expect(page.locator("[name=username]")).to_have_value("newcomer4")


def test_without_javascript_a_text_says_what_to_do(strained: str, browser: Browser) -> None:
    page = form_of(browser, strained, java_script_enabled=False)
    expect(page.get_by_text(WITHOUT)).to_be_visible()
    fill(page, "newcomer3")
    page.get_by_test_id("register").click()
    expect(page.get_by_role("alert")).to_contain_text("a task must be solved")
    expect(page.get_by_text(WITHOUT)).to_be_visible()
    expect(page.locator("[name=username]")).to_have_value("newcomer3")


def test_without_https_a_text_says_what_to_do(strained: str, browser: Browser) -> None:
    page = form_of(browser, strained, "Object.defineProperty(crypto, 'subtle', {value: undefined})")
    expect(page.get_by_text(WITHOUT)).to_be_visible()
    for width in (320, 1200):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
