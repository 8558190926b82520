"""Texts that the browser keeps while a person writes."""

import contextlib
import re

from playwright.sync_api import Error, Locator, Page, expect

from socialsite.tests.browser.composing import composer, save_draft
from socialsite.tests.support.waiting import eventually

DRAFTS = """
  Object.keys(localStorage).filter((key) => key.startsWith('draft:'))
    .map((key) => localStorage.getItem(key))
"""
WORDS = "typed with care 用心写的"


def drafts(page: Page) -> list[str]:
    """Return the drafts in the browser; an empty text while the page changes."""
    with contextlib.suppress(Error):
        found: list[str] = page.evaluate(DRAFTS)
        return found
    return [""]


def stored(page: Page, number: int) -> None:
    """Wait until so many drafts are in the browser."""
    eventually(lambda: drafts(page), lambda found: len(found) == number and "" not in found)


def kept(page: Page, words: str) -> None:
    """Wait until a draft with these words is in the browser."""
    eventually(lambda: drafts(page), lambda found: any(words in one for one in found))


def open_draft(page: Page, post: str) -> Locator:
    page.goto("/drafts")
    if page.get_by_test_id("edit-draft").count():
        page.get_by_test_id("edit-draft").click()
        return composer(page)
    page.goto("/")
    composer(page).fill("a first draft")
    save_draft(page)
    expect(page).to_have_url(re.compile(r"/drafts/\d+$"))
    return composer(page)
