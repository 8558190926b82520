"""Pushes in Chromium: turned on for a device, shown by the service worker, ended by a kick.

The browser of the tests reaches no push service of its own. So the page gets the subscription of a
push service on this machine, which decrypts; what it decrypts goes to the worker by DevTools.
"""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Page, Worker, expect

from accounts.tests.push import endpoint
from accounts.tests.push.endpoint import PushService
from socialsite.tests import stacks
from socialsite.tests.support.newcomers import PASSWORD, newcomer
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.e2e, stacks.WHOLE_CHROMIUM]

ON, OFF = "This device shows new notifications.", "This device does not show new notifications."

# In place of the browser's own push service. It remembers as the browser does, page after page.
PUSH_MANAGER = """(subscription) => {
  const made = { toJSON: () => subscription, ...subscription, async unsubscribe() {
    localStorage.removeItem("subscribed");
    return true;
  } };
  PushManager.prototype.getSubscription = async () => localStorage.getItem("subscribed") && made;
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 65) throw new Error("options");
    localStorage.setItem("subscribed", "1");
    return made;
  };
}"""
SHOWN = """async () => {
  const registration = await navigator.serviceWorker.ready;
  const found = await registration.getNotifications();
  return found.map(({ title, body, tag, data }) => ({ title, body, tag, url: data.url }));
}"""

# Chromium seems to forget a notification that somebody lists before it is on the screen.
COUNT_SHOWN = """() => {
  const show = registration.showNotification.bind(registration);
  self.shown = 0;
  registration.showNotification = async (...given) => {
    await show(...given);
    self.shown += 1;
  };
}"""


@pytest.fixture
def service() -> Iterator[PushService]:
    with endpoint.running() as found:
        yield found


@pytest.fixture
def page(site: str, browser: Browser, service: PushService, request: Any) -> Page:
    """The settings of a new person, who may be shown notifications."""
    name = f"push{abs(hash(request.node.name)) % 10**8}"
    page = newcomer(browser, site, name, f"{name[:12]}Nick", service_workers="allow")
    page.context.grant_permissions(["notifications"], origin=site)
    subscription = json.dumps(service.browser("chromium"))
    page.context.add_init_script(f"({PUSH_MANAGER})({subscription})")
    page.goto(f"{site}/settings/notifications")
    return page


def says(page: Page, words: str) -> None:
    """Wait until the state of the switch is in these words."""
    expect(page.get_by_test_id("push-state")).to_have_text(words, use_inner_text=True)


def turn_on(page: Page) -> None:
    says(page, OFF)
    page.get_by_test_id("push-on").click()
    says(page, ON)


def worker_of(page: Page) -> Worker:
    page.evaluate("async () => { await navigator.serviceWorker.ready; }")
    eventually(lambda: bool(page.context.service_workers))
    return page.context.service_workers[0]


def deliver(page: Page, site: str, message: str) -> list[dict[str, str]]:
    """Deliver a push to the service worker, as the browser does after it has decrypted it.

    Returns what the device shows.
    """
    devtools = page.context.new_cdp_session(page)
    found: list[str] = []
    devtools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: found.extend(one["registrationId"] for one in event["registrations"]),
    )
    devtools.send("ServiceWorker.enable")
    eventually(lambda: bool(page.wait_for_timeout(50) or found))
    worker = worker_of(page)
    worker.evaluate(COUNT_SHOWN)
    devtools.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": f"{site}/", "registrationId": found[0], "data": message},
    )
    # Not by `wait_for_function`: the promise of an asynchronous function is true by itself.
    eventually(lambda: worker.evaluate("() => self.shown"))
    return cast("list[dict[str, str]]", page.evaluate(SHOWN))


@stacks.BOTH_MODES
def test_a_comment_appears_on_the_device_until_it_is_kicked(
    page: Page, site: str, service: PushService
) -> None:
    turn_on(page)
    page.reload()
    expect(page.get_by_test_id("push-off")).to_be_visible()
    page.goto(site)
    page.get_by_test_id("composer").locator("textarea[name=content]").fill("words of today")
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").first
    expect(post).to_contain_text("words of today")
    me = page.locator("body").get_attribute("data-me")

    friend = stacks.Client.new(site, "pushfriend")
    (mine,) = friend("GET", f"users/{me}/posts")["items"]
    friend("POST", f"posts/{mine['id']}/comments", content="hello")
    eventually(lambda: service.pushes, lambda pushes: len(pushes) == 1)
    message = service.pushes[0].message
    assert message["title"] == "pushfriendNick commented on your post"
    assert message["body"] == "words of today"

    (shown,) = deliver(page, site, json.dumps(message))
    assert shown == {name: message[name] for name in ("title", "body", "tag", "url")}

    # Another device of the person signs this one out.
    other = stacks.Client(site)
    username = friend("GET", f"users/{me}")["username"]
    body = {"username": username, "password": PASSWORD, "client": "ios"}
    other.token = other("POST", "auth/login", **body)["access"]
    assert len(other("GET", "me/push")["devices"]) == 1
    (kicked,) = [
        one["client"] for one in other("GET", "auth/devices")["items"] if not one["current"]
    ]
    other("DELETE", f"auth/devices/{kicked}")
    assert other("GET", "me/push")["devices"] == []
    friend("PUT", f"posts/{mine['id']}/like")
    eventually(
        lambda: other("GET", "notifications/unread-count"), lambda found: found["count"] == 2
    )
    # The page of the device learns of it, and the browser drops the subscription.
    expect(page.locator("input[name=password]")).to_be_visible()
    page.wait_for_function("() => !localStorage.getItem('subscribed')")
    assert len(service.pushes) == 1


@stacks.IN_ONE_PROCESS
def test_it_is_turned_off_and_not_offered_if_the_browser_forbids_it(
    page: Page, site: str, service: PushService
) -> None:
    turn_on(page)
    page.get_by_test_id("push-off").click()
    says(page, OFF)
    assert page.evaluate("localStorage.getItem('subscribed')") is None
    page.reload()
    expect(page.get_by_test_id("push-on")).to_be_visible()
    page.add_init_script("Object.defineProperty(Notification, 'permission', { value: 'denied' })")
    page.reload()
    says(
        page,
        "The browser blocks notifications of this site. You can allow them in its settings.",
    )
    expect(page.get_by_test_id("push-on")).to_be_hidden()
    page.add_init_script("delete window.PushManager")
    page.reload()
    says(
        page,
        "This browser does not support it. On an iPhone or iPad, add the site to the Home Screen"
        " first.",
    )


@stacks.IN_ONE_PROCESS
def test_a_refused_subscription_is_said_and_dropped(
    page: Page, site: str, service: PushService
) -> None:
    page.route("**/api/v1/me/push", lambda route: route.fulfill(status=400, body="{}"))
    page.get_by_test_id("push-on").click()
    expect(page.get_by_test_id("push-state")).to_contain_text(
        "That did not work.", use_inner_text=True
    )
    expect(page.get_by_test_id("push-on")).to_be_enabled()
    assert page.evaluate("localStorage.getItem('subscribed')") is None


@stacks.IN_ONE_PROCESS
def test_a_log_out_drops_the_subscription(page: Page, site: str) -> None:
    turn_on(page)
    page.get_by_text("Account and settings").locator("..").click()
    page.get_by_test_id("logout").click()
    expect(page.get_by_test_id("logout")).to_have_count(0)
    page.wait_for_function("() => !localStorage.getItem('subscribed')")


@stacks.IN_ONE_PROCESS
def test_the_page_of_the_log_in_drops_what_the_person_before_left(page: Page, site: str) -> None:
    turn_on(page)
    page.goto("about:blank")
    page.context.clear_cookies()
    page.goto(f"{site}/login")
    page.wait_for_function("() => !localStorage.getItem('subscribed')")


@stacks.IN_ONE_PROCESS
@pytest.mark.parametrize("text", ["", "no JSON", "[]", "null", '{"title": 5, "url": null}'])
def test_a_push_that_cannot_be_read_is_shown_all_the_same(page: Page, site: str, text: str) -> None:
    assert len(deliver(page, site, text)) == 1


CLICK = """async ({ url, id }) => {
  const opened = [];
  const matched = clients.matchAll, openWindow = clients.openWindow;
  clients.matchAll = async () => [];
  clients.openWindow = async (address) => opened.push(address);
  let work;
  await registration.showNotification("t", { tag: "t", data: { url, id } });
  const [notification] = await registration.getNotifications({ tag: "t" });
  const event = new NotificationEvent("notificationclick", { notification });
  event.waitUntil = (promise) => (work = promise);
  self.dispatchEvent(event);
  await work;
  clients.matchAll = matched;
  clients.openWindow = openWindow;
  return [opened, (await registration.getNotifications({ tag: "t" })).length];
}"""


@stacks.IN_ONE_PROCESS
def test_a_click_opens_the_page_and_marks_the_notification_as_read(
    page: Page, site: str, service: PushService
) -> None:
    turn_on(page)
    me = page.locator("body").get_attribute("data-me")
    friend = stacks.Client.new(site, "clickfriend")
    friend("POST", f"users/{me}/follow")
    eventually(lambda: service.pushes, lambda pushes: len(pushes) == 1)
    message = service.pushes[0].message
    worker = worker_of(page)
    click = {"url": message["url"], "id": message["tag"][1:]}
    opened, left = worker.evaluate(CLICK, click)
    assert opened == [f"{site}/@clickfriend"]
    assert left == 0
    page.goto(f"{site}/notifications")
    expect(page.get_by_test_id("notification")).to_have_count(1)
    expect(page.locator("[data-is-unread]")).to_have_count(0)
    # No other site is opened, whatever a message says.
    assert worker.evaluate(CLICK, {"url": "https://other.example/", "id": ""})[0] == []


@stacks.IN_ONE_PROCESS
def test_the_worker_tells_the_site_of_a_new_subscription(
    page: Page, site: str, service: PushService
) -> None:
    turn_on(page)
    worker = worker_of(page)
    renew = """async ([old, fresh]) => {
      let work;
      const event = new Event("pushsubscriptionchange");
      event.oldSubscription = old;
      event.newSubscription = { toJSON: () => fresh };
      event.waitUntil = (promise) => (work = promise);
      self.dispatchEvent(event);
      await work;
    }"""
    old, fresh = f"{service.origin}/push/chromium", service.browser("fresh")
    worker.evaluate(renew, [{"endpoint": "https://push.example/other"}, service.browser("none")])
    worker.evaluate(renew, [{"endpoint": old}, fresh])
    me = page.locator("body").get_attribute("data-me")
    friend = stacks.Client.new(site, "renewfriend")
    friend("POST", f"users/{me}/follow")
    eventually(lambda: service.pushes, lambda pushes: len(pushes) == 1)
    assert service.pushes[0].path == "/push/fresh"
