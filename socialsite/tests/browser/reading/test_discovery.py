"""Search and Discover by their tabs, the preview of a link, and what an installed app shows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from feeds.tests.content.sites import Site
from socialsite.tests import stacks
from socialsite.tests.browser.composing import composer
from socialsite.tests.stacks import Client
from socialsite.tests.support.newcomers import newcomer
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.e2e

BOTH_WAYS = pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
PHONE = {"width": 390, "height": 844}


def press_tab(page: Page, nav: str, name: str) -> None:
    """Choose a tab, and wait until it is the present one."""
    tab = page.get_by_role("navigation", name=nav, exact=True).get_by_role("link", name=name)
    tab.click()
    expect(tab).to_have_attribute("aria-current", "page")


@BOTH_WAYS
@stacks.IN_ONE_PROCESS
def test_search_has_tabs_for_posts_people_and_tags(
    site: str, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    word = f"quokka{kind}"
    writer = Client.new(site, word)
    for number in range(3):
        writer("POST", "posts", content=f"{word} number {number} #{word}tag")
    page = newcomer(
        browser, site, f"seeks{kind}", "Seeks", java_script_enabled=script, viewport=PHONE
    )
    page.goto("/search")
    field = page.get_by_test_id("search").locator("input[name=q]")
    posts = page.get_by_test_id("post").filter(has_text=word)

    def is_found() -> bool:
        field.fill(word)
        field.press("Enter")
        expect(page).to_have_url(f"{site}/search?q={word}")
        return posts.count() == 3

    eventually(is_found)
    people = page.locator(".person").filter(has_text=f"@{word}")
    tags = page.locator(".tags li").filter(has_text=f"#{word}tag")
    press_tab(page, "Search", "People")
    expect(people).to_have_count(1)
    expect(posts).to_have_count(0)
    press_tab(page, "Search", "Tags")
    expect(tags).to_have_count(1)
    # The tab stays when other words are searched.
    field.fill("zzqqxx")
    field.press("Enter")
    expect(tags).to_have_count(0)
    tab = page.get_by_role("navigation", name="Search", exact=True).get_by_role("link", name="Tags")
    expect(tab).to_have_attribute("aria-current", "page")
    field.fill(word)
    field.press("Enter")
    expect(tags).to_have_count(1)
    press_tab(page, "Search", "Posts")
    press_tab(page, "Order", "Newest")
    expect(posts.first).to_contain_text("number 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.go_back()
    expect(posts).to_have_count(3)


@BOTH_WAYS
@stacks.IN_ONE_PROCESS
def test_discover_has_tabs_for_posts_rising_and_people(
    site: str, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    popular = Client.new(site, f"popular{kind}")
    post = popular("POST", "posts", content=f"liked by many {kind}")
    for number in range(3):
        fan = Client.new(site, f"fan{kind}{number}")
        fan("POST", f"users/{popular.id}/follow")
        fan("PUT", f"posts/{post['id']}/like")
    page = newcomer(browser, site, f"walks{kind}", "Walks", java_script_enabled=script)
    shown = page.get_by_test_id("post").filter(has_text=f"liked by many {kind}")

    def is_recommended() -> bool:
        page.goto("/recommended")
        return shown.count() == 1

    eventually(is_recommended)
    press_tab(page, "Discover", "Rising")
    feed = page.locator("#feed")
    posts, none = feed.get_by_test_id("post"), feed.get_by_text("Nothing rises yet")
    expect(posts.or_(none).first).to_be_visible()
    press_tab(page, "Discover", "New people")
    person = page.locator("main .people .person").filter(has_text=f"@popular{kind}")
    expect(person).to_have_count(1)
    expect(page.locator("#suggestions")).to_be_hidden()  # it has the same people
    press_tab(page, "Discover", "Recommended")
    expect(shown).to_have_count(1)


@pytest.fixture
def reading_site(tmp_path: Path) -> Iterator[str]:
    """The site in one process, which reads the pages that posts link to."""
    with stacks.embedded(tmp_path, OUTGOING_LOOPBACK="1", LINK_PREVIEWS="1") as url:
        yield url


@pytest.fixture
def elsewhere() -> Iterator[Site]:
    """Another web site."""
    found = Site()
    yield found
    found.close()


def test_a_link_gets_a_card(reading_site: str, browser: Browser, elsewhere: Site) -> None:
    url = elsewhere.page(
        "/one", '<title>The old mill</title><meta name="description" content="It turns again.">'
    )
    page = newcomer(browser, reading_site, "links1", "Links", viewport=PHONE)
    composer(page).fill(f"Look: {url}")
    page.get_by_test_id("publish").click()
    card = page.get_by_test_id("link-card")

    def has_card() -> bool:
        page.reload()
        return card.count() == 1

    eventually(has_card)
    expect(card).to_contain_text("The old mill")
    expect(card).to_contain_text("It turns again.")
    expect(card).to_have_attribute("href", url)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    with page.expect_popup() as opened:
        card.click()
    expect(opened.value).to_have_title("The old mill")
    assert opened.value.evaluate("window.opener") is None


INSTALLABLE = """() => {
  const event = new Event("beforeinstallprompt", { cancelable: true });
  event.prompt = () => (document.body.dataset.prompted = "1");
  dispatchEvent(event);
  return event.defaultPrevented;
}"""


@stacks.IN_ONE_PROCESS
def test_the_menu_installs_the_app(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "installs1", "Installs")
    install = page.locator("[data-install]")
    page.locator(".account > summary").click()
    expect(page.locator(".account").get_by_role("link").first).to_be_visible()
    expect(install).to_be_hidden()  # until the browser offers it
    assert page.evaluate(INSTALLABLE)
    expect(install).to_be_visible()
    install.click()
    expect(page.locator("body[data-prompted]")).to_have_count(1)
    page.evaluate("() => dispatchEvent(new Event('appinstalled'))")
    expect(install).to_be_hidden()


BADGE = """
  globalThis.badges = [];
  navigator.setAppBadge = async (count) => badges.push(count);
  navigator.clearAppBadge = async () => badges.push("cleared");
"""


@stacks.IN_ONE_PROCESS
def test_the_icon_of_the_app_counts_what_is_unread(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "badge1", "Badge")
    page.add_init_script(BADGE)
    page.reload()
    fan, me = Client.new(site, "badgefan"), Client.known(site, "badge1")

    def shows(count: int) -> None:
        eventually(lambda: page.evaluate("badges.at(-1)"), lambda found: found == count)

    fan("POST", f"users/{me.id}/follow")
    shows(1)
    fan("POST", "posts", content="@badge1 look")
    shows(2)
    page.goto("/notifications")
    shows(0)
