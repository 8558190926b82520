"""Reading a long feed in a real browser: back to one's place, trying again, keys, new posts."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from socialsite.tests.stacks import Client
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.e2e

PASSWORD = "right.pass1"
POSTS, PAGE_SIZE = 150, 20
PIXELS = 3


@pytest.fixture(scope="module")
def writer(embedded_site: str) -> Client:
    """A person with many posts."""
    writer = Client.new(embedded_site, "wrotemany")
    for number in range(POSTS):
        writer("POST", "posts", content=f"post number {number}.\n" * (number % 4 + 1))
    return writer


@pytest.fixture
def page(embedded_site: str, browser: Browser, writer: Client) -> Iterator[Page]:
    """The home page of a new person who follows the writer."""
    number = len(browser.contexts) + int(writer("GET", f"users/{writer.id}")["counts"]["followers"])
    name = f"readson{number}"
    reader = Client.new(embedded_site, name)
    reader("POST", f"users/{writer.id}/follow")
    context = browser.new_context(
        base_url=embedded_site,
        locale="en",
        viewport={"width": 390, "height": 800},
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"script error: {error}"))
    page.goto("/login")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", PASSWORD)
    page.get_by_test_id("login").click()
    expect(page.get_by_test_id("composer")).to_be_visible()
    page.wait_for_load_state("networkidle")  # the suggestions come later than the posts
    yield page
    context.close()


def posts(page: Page) -> Locator:
    return page.get_by_test_id("post")


def scroll_to_post(page: Page, number: int) -> Locator:
    """Scroll as far down as a post, and put it at some height of the window."""

    def scrolled() -> int:
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        return posts(page).count()

    eventually(scrolled, lambda count: count > number)
    post = posts(page).nth(number)
    post.evaluate("post => scrollTo(0, post.getBoundingClientRect().top + scrollY - 123)")
    page.wait_for_timeout(300)
    return post


def height(post: Locator) -> float:
    return float(post.evaluate("post => post.getBoundingClientRect().top"))


def same(page: Page, ident: str) -> Locator:
    return page.locator(f'[data-post-id="{ident}"]')


def leave(page: Page, post: Locator) -> tuple[str, float]:
    """Open a post; return its id and the height at which it was."""
    ident, at = str(post.get_attribute("data-post-id")), height(post)
    post.locator("a.post-time").click()
    expect(page).to_have_url(re.compile(f"/posts/{ident}$"))
    expect(page.locator("#comments")).to_be_visible()
    return ident, at


def assert_at(page: Page, ident: str, at: float) -> None:
    expect(same(page, ident)).to_be_in_viewport()
    eventually(lambda: height(same(page, ident)), lambda now: abs(now - at) <= PIXELS)
    page.wait_for_timeout(500)  # and it stays there
    assert abs(height(same(page, ident)) - at) <= PIXELS


def test_back_leads_to_the_same_post_at_the_same_height_after_140_posts(page: Page) -> None:
    ident, at = leave(page, scroll_to_post(page, 141))
    page.go_back()
    assert_at(page, ident, at)
    ids = posts(page).evaluate_all("all => all.map(one => one.dataset.postId)")
    assert len(ids) == len(set(ids)) >= 141
    # And again, from the page that was put together.
    page.keyboard.press("Tab")
    ident, at = leave(page, same(page, ident))
    page.go_back()
    assert_at(page, ident, at)


def test_back_leads_to_the_same_post_after_many_new_ones_and_offers_these(
    page: Page, writer: Client
) -> None:
    ident, at = leave(page, scroll_to_post(page, 47))
    for number in range(PAGE_SIZE + 5):
        writer("POST", "posts", content=f"newer {number}")
    page.go_back()
    assert_at(page, ident, at)
    expect(posts(page).first).not_to_contain_text("newer")
    banner = page.get_by_test_id("new-posts")
    expect(banner).to_contain_text("20+ new posts")
    banner.click()
    expect(posts(page).first).to_contain_text(f"newer {PAGE_SIZE + 4}")
    expect(banner).to_be_hidden()


def test_without_network_back_says_so_and_tries_again(page: Page) -> None:
    ident, at = leave(page, scroll_to_post(page, 65))

    def refuse(route: Route) -> None:
        route.abort()

    page.route("**/?cursor=*", refuse)
    page.go_back()
    note = page.get_by_role("alert").filter(has_text="could not be loaded")
    expect(note).to_be_visible()
    # Whoever leaves now comes back to the same place all the same.
    page.goto("/notifications")
    page.go_back()
    expect(note).to_be_visible()
    page.unroute("**/?cursor=*", refuse)
    page.get_by_test_id("place-again").click()
    assert_at(page, ident, at)
    expect(note).to_have_count(0)


def test_a_page_that_fails_is_tried_again_by_itself_and_by_a_button(page: Page) -> None:
    tried = []

    def refuse(route: Route) -> None:
        tried.append(route.request.url)
        route.abort()

    page.route("**/?cursor=*", refuse)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    loader = page.locator(".loader")
    status = loader.get_by_role("status")
    expect(status).to_contain_text("The next page could not be loaded. Next try in")
    eventually(lambda: bool(page.wait_for_timeout(100)) or len(tried) >= 3)
    again = loader.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    expect(page.locator(".toast")).to_have_count(0)
    page.unroute("**/?cursor=*", refuse)
    again.click()
    expect(posts(page).nth(PAGE_SIZE)).to_be_attached()
    assert len(set(tried)) == 1


def test_a_later_page_does_not_repeat_a_post_that_was_shown_as_a_repost(
    embedded_site: str, page: Page, writer: Client
) -> None:
    ident = str(posts(page).nth(19).get_attribute("data-post-id"))
    writer("POST", f"posts/{ident}/repost")
    for number in range(3):  # now the original is on the second page
        writer("POST", "posts", content=f"pushes the original down {number}")
    page.goto("/")
    expect(same(page, ident)).to_contain_text("Reposted by")
    last = posts(page).nth(19).get_attribute("data-post-id")
    scroll_to_post(page, 25)
    assert posts(page).nth(19).get_attribute("data-post-id") == last
    expect(same(page, ident)).to_have_count(1)
    expect(same(page, ident)).to_contain_text("Reposted by")
    writer("DELETE", f"posts/{ident}/repost")


def test_new_posts_never_move_the_page(page: Page, writer: Client) -> None:
    for number in (0, 3):
        post = posts(page).nth(number)
        if number:
            page.reload(wait_until="networkidle")
            scroll_to_post(page, number)
        before = height(post)
        writer("POST", "posts", content="arrives while somebody reads")
        expect(page.get_by_test_id("new-posts")).to_be_visible()
        assert height(post) == before


def test_keys_walk_like_write_search_and_can_be_turned_off(page: Page) -> None:
    focused = "document.activeElement.closest('article')?.dataset.postId"
    ids = posts(page).evaluate_all("all => all.map(one => one.dataset.postId)")
    for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        assert page.evaluate(focused) == ids[place]
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("l")
    expect(same(page, ids[1]).get_by_test_id("like")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Control+l")
    page.keyboard.press("n")
    field = page.get_by_test_id("composer").locator("textarea[name=content]")
    expect(field).to_be_focused()
    page.keyboard.type("jk?l")
    expect(field).to_have_value("jk?l")
    field.evaluate("field => { field.value = ''; field.blur(); }")

    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_be_visible()
    sheet.get_by_label("Use these keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    sheet.get_by_label("Use these keys").check()
    sheet.get_by_role("button", name="Close").click()

    for keys, address in (("gn", "/notifications"), ("gh", "/"), ("/", "/search")):
        for key in keys:
            page.keyboard.press(key)
        expect(page).to_have_url(re.compile(f"{address}$"))
        page.wait_for_load_state()  # its script hears the next keys
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox").first).to_be_focused()
    page.goto("/notifications")
    page.keyboard.press("n")
    expect(field).to_be_focused()


def test_the_right_column_has_suggestions_and_the_site_s_own_words(
    embedded_site: str, page: Page, writer: Client
) -> None:
    other_name = "suggested1"
    other = Client.new(embedded_site, other_name)
    other("POST", "posts", content="hello")
    writer("POST", f"users/{other.id}/follow")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/")
    about = page.get_by_test_id("about")
    expect(about).to_contain_text("Nothing is left out")
    for link in about.get_by_role("link").all():
        answer = page.request.get(str(link.get_attribute("href")))
        assert answer.status == 200
    # Home suggests people among its posts, until five are followed.
    page.goto("/recommended")
    expect(page.locator("#suggestions")).to_contain_text(other_name)
