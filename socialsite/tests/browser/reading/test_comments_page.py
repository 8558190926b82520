"""A deleted comment leaves the others where they are, with and without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.kicking import Member

pytestmark = pytest.mark.e2e

COMMENTS = 24


def order(page: Page) -> list[str]:
    found: list[str] = page.locator(".comment-list > .comment").evaluate_all(
        "all => all.map((one) => one.dataset.commentId)"
    )
    return found


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
@pytest.mark.parametrize("sort", ["new", "hot"])
def test_the_others_keep_their_order(script: bool, sort: str, site: str, browser: Browser) -> None:
    member = Member(site, f"talk{sort}{'js' if script else 'no'}")
    member.log_in()
    me = stacks.Client(site)
    me.token = member.pair["access"]
    post = me("POST", "posts", content="hello")["id"]
    path = f"posts/{post}/comments"
    comments = [me("POST", path, content=f"comment {n}")["id"] for n in range(COMMENTS)]
    context = member.browser(browser, java_script_enabled=script)
    context.add_cookies(
        [{"name": n, "value": member.pair[n], "url": site} for n in ("access", "refresh")]
    )
    page = context.new_page()
    page.goto(f"/posts/{post}?sort={sort}")
    if script:
        page.locator(".comment-list > .loader").scroll_into_view_if_needed()
        expect(page.locator(".comment-list > .comment")).to_have_count(COMMENTS)
    else:
        page.get_by_test_id("next").click()
        expect(page.locator(".comment-list > .comment")).to_have_count(COMMENTS - 20)
    before, address = order(page), page.url.partition("#")[0]
    # Others are liked meanwhile: the order of the site changes, that of the page does not.
    if script:
        me("PUT", f"comments/{comments[0]}/like")
    gone = before[-2]
    page.locator(f"#comment-{gone}").get_by_test_id("delete-comment").click()
    page.locator("#confirm [value=yes]" if script else "[data-testid=confirm-delete]").click()
    # With scripts the deletion waits five seconds for an undo.
    expect(page.locator(f"#comment-{gone}")).to_have_count(0)
    assert order(page) == [one for one in before if one != gone]
    assert page.url.partition("#")[0] == address
    expect(page.locator("#comments-total")).to_have_text(str(COMMENTS - 1))
    context.close()
