"""Forms of the admin in a browser."""

from playwright.sync_api import Page, expect


def save(page: Page, done: str = "added") -> None:
    """Save the form of a page, and wait until the admin says that the row is `done`."""
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("list").filter(has_text=f"{done} successfully")).to_be_visible()
