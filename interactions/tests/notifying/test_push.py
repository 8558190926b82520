"""Pushes of notifications: to devices that are signed in, of what their reader may see."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import translation

from accounts import actions as accounts_actions
from accounts.models import PushSubscription, TokenVersion, User
from accounts.push import actions as push_actions
from accounts.push import queries as push_queries
from accounts.push import sending
from accounts.tests.browsers import browser_of
from accounts.tests.push import endpoint
from accounts.tests.push.endpoint import PushService
from feeds import actions as feeds_actions
from interactions import actions, queries, tasks
from interactions.models import Case, ReportedKind, SubjectType
from interactions.notifying import push
from relations import actions as relations_actions
from socialsite.core.events import enqueue, relay
from socialsite.core.models import Event
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.runtime import vapid

pytestmark = pytest.mark.django_db

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT
PATH = "/api/v1/me/push"


@pytest.fixture
def service(settings: Any) -> Iterator[PushService]:
    settings.OUTGOING_LOOPBACK = True
    settings.VAPID_PRIVATE_KEY = vapid.new()
    with endpoint.running() as found:
        yield found


class Worker:
    """Takes the messages of the broker, and runs them when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, ...]] = []

    def send(self, task: str, *args: Any) -> bool:
        if task == "interactions.push":
            self.waiting.append(args)
        return True

    def run(self) -> None:
        """Run the messages that wait."""
        while self.waiting:
            tasks.push_notifications(*self.waiting.pop(0))


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    found = Worker()
    monkeypatch.setattr(enqueue, "send_last", found.send)
    return found


@pytest.fixture
def me(make_user: Any) -> Any:
    return make_user("reader1", nickname="Reader")


@pytest.fixture
def anna(make_user: Any) -> Any:
    return make_user("anna", nickname="Anna")


Signed = Callable[..., Any]


@pytest.fixture
def on_device(service: PushService, api_for: Any) -> Signed:
    """Return a function that signs a person in and turns pushes on: the API of that device."""

    def make(user: Any, client: str = "chrome") -> Any:
        api = api_for(user, client)
        answer = api.post(PATH, service.browser(f"{user.username}-{client}"), format="json")
        assert answer.status_code == 201, answer.content
        return api

    return make


@pytest.fixture
def settle(drain: Any, worker: Worker) -> Callable[[], None]:
    """Return a function that handles all events, and then runs the worker."""

    def run() -> None:
        drain()
        worker.run()
        drain()

    return run


# --- what is pushed -----------------------------------------------------------------------------
def test_a_notification_is_pushed_once_with_the_words_of_the_page(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me)
    actions.comment(anna, post.pk, "nice")
    settle()
    (push,) = service.pushes
    (item,) = queries.notifications(me).items
    assert push.message == {
        "title": "Anna commented on your post",
        "body": "my words",
        "tag": f"n{item['id']}",
        "icon": push.message["icon"],
        "url": f"/posts/{post.pk}#comments",
        "lang": "en",
    }
    assert push.message["icon"].startswith("/static/img/app-192")
    assert (push.headers["topic"], push.headers["urgency"]) == (f"n{item['id']}", "normal")
    settle()
    assert len(service.pushes) == 1


def test_what_comes_to_an_unread_notification_is_not_pushed_again(
    me: Any,
    anna: Any,
    post: Any,
    make_user: Any,
    service: PushService,
    on_device: Signed,
    settle: Any,
) -> None:
    on_device(me)
    for person in (anna, make_user("bert", nickname="Bert")):
        actions.like(person, POST, post.pk)
        settle()
    assert service.titles == ["Anna liked your post"]
    assert service.pushes[0].headers["urgency"] == "low"
    actions.read_notifications(me)
    actions.like(make_user("carl", nickname="Carl"), POST, post.pk)
    settle()
    assert service.titles[1:] == ["Carl, Bert and Anna liked your post"]


def test_it_is_in_the_language_of_the_person_or_of_the_device(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    with translation.override("zh-hans"):
        api = on_device(me)
    assert PushSubscription.objects.get().language == "en"  # the language of that request
    api.post(PATH, service.browser("zh"), format="json", headers={"Accept-Language": "zh-CN"})
    assert PushSubscription.objects.get().language == "zh-hans"
    actions.comment(anna, post.pk, "nice")
    settle()
    assert service.titles == ["Anna 评论了你的动态"]
    User.objects.filter(pk=me.pk).update(language="en")
    relations_actions.follow(anna, me)
    settle()
    assert service.titles[1:] == ["Anna followed you"]
    assert service.pushes[1].message["url"] == "/@anna"


def test_every_device_gets_it_and_a_busy_one_does_not_hinder_others(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    for client in ("chrome", "android", "ios"):
        on_device(me, client)
    PushSubscription.objects.filter(client="android").update(endpoint="http://127.0.0.1:9/gone")
    actions.comment(anna, post.pk, "nice")
    settle()
    assert sorted(push.path for push in service.pushes) == [
        "/push/reader1-chrome",
        "/push/reader1-ios",
    ]
    assert PushSubscription.objects.get(client="android").failures == 1


def test_many_notifications_at_once_are_a_few_pushes(
    me: Any, anna: Any, make_post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me)
    for number in range(6):
        actions.like(anna, POST, make_post(me, content=f"post {number}").pk)
    settle()
    assert len(service.pushes) <= push.MOST
    # The newest, in their order.
    assert [one.message["body"] for one in service.pushes] == ["post 3", "post 4", "post 5"]


def test_the_longest_names_and_words_fit(
    me: Any, make_user: Any, service: PushService, on_device: Signed, settle: Any, settings: Any
) -> None:
    settings.NAME_POLICY = "open"
    on_device(me)
    family = "👨‍👩‍👧‍👦"
    long = feeds_actions.publish(me, content=family * 100)
    for number in range(4):
        person = make_user(f"long{number}", nickname=f"{family * 8}{number}")
        actions.comment(person, long.pk, "x")
    settle()
    assert len(service.pushes) == 1
    assert service.pushes[0].size <= 4096


def test_the_removal_by_staff_says_why(
    me: Any, make_user: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me)
    moderator = make_user("staff1")
    accounts_actions.promote(moderator, 3)
    actions.report(moderator, ReportedKind.POST, post.pk, "spam")
    actions.delete_reported(moderator, Case.objects.get().pk)
    settle()
    (push,) = service.pushes
    assert push.message["title"] == "The site's staff removed your post"
    assert push.message["body"] == "Spam or advertising: my words"
    assert push.message["url"] == "/settings/acts"


# --- what people chose --------------------------------------------------------------------------
def test_without_a_device_no_event_is_written(
    me: Any, anna: Any, post: Any, service: PushService, worker: Worker, drain: Any
) -> None:
    actions.comment(anna, post.pk, "nice")
    drain()
    assert worker.waiting == []


def test_without_a_key_nothing_is_offered_or_sent(
    me: Any,
    anna: Any,
    post: Any,
    service: PushService,
    on_device: Signed,
    settle: Any,
    settings: Any,
) -> None:
    api = on_device(me)
    settings.VAPID_PRIVATE_KEY = ""
    actions.comment(anna, post.pk, "nice")
    settle()
    assert service.pushes == []
    assert api.get(PATH).json()["public_key"] is None
    assert api.post(PATH, service.browser("b"), format="json").status_code == 404
    assert api.delete(PATH).status_code == 204


def test_kinds_that_a_person_does_not_want_are_not_pushed_but_listed(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    api = on_device(me)
    assert set(api.get(PATH).json()["kinds"].values()) == {True}
    answer = api.patch(PATH, {"kinds": {"liked": False}}, format="json")
    assert answer.json()["kinds"]["liked"] is False
    assert answer.json()["kinds"]["commented"] is True
    actions.like(anna, POST, post.pk)
    actions.comment(anna, post.pk, "nice")
    settle()
    assert service.titles == ["Anna commented on your post"]
    assert len(queries.notifications(me).items) == 2
    # What the person does not want to hear of at all is not pushed either.
    actions.choose_notifications(me, {"followed": "nobody"})
    relations_actions.follow(anna, me)
    settle()
    assert len(service.pushes) == 1
    api.patch(PATH, {"kinds": {"liked": True}}, format="json")
    assert set(api.get(PATH).json()["kinds"].values()) == {True}


def test_turned_off_on_a_device_it_goes_on_on_the_others(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    chrome = on_device(me, "chrome")
    on_device(me, "android")
    names = [(one["client"], one["current"]) for one in chrome.get(PATH).json()["devices"]]
    assert sorted(names) == [("android", False), ("chrome", True)]
    assert chrome.delete(PATH).status_code == 204
    assert chrome.delete(PATH).status_code == 204
    actions.comment(anna, post.pk, "nice")
    settle()
    assert [push.path for push in service.pushes] == ["/push/reader1-android"]


# --- what ends it -------------------------------------------------------------------------------
def by_log_out(me: Any) -> None:
    accounts_actions.log_out(me, "chrome")


def by_kick(me: Any) -> None:
    accounts_actions.kick(me, "chrome")


def by_kick_of_others(me: Any) -> None:
    accounts_actions.kick_others(me, "android")


def by_log_in(me: Any) -> None:
    accounts_actions.sign_in(me, "chrome")


def by_force(me: Any) -> None:
    accounts_actions.force_offline(me)


def by_ban(me: Any) -> None:
    accounts_actions.ban(me)


def by_password(me: Any) -> None:
    accounts_actions.set_password(me, "other.pass2")


def by_password_elsewhere(me: Any) -> None:
    accounts_actions.sign_in(me, "ios")
    accounts_actions.change_password(me, "ios", "right.pass1", "other.pass2")


WAYS = [
    by_log_out,
    by_kick,
    by_kick_of_others,
    by_log_in,
    by_force,
    by_ban,
    by_password,
    by_password_elsewhere,
]


@pytest.mark.parametrize("end", WAYS, ids=lambda way: way.__name__)
def test_the_end_of_the_sign_in_ends_pushes_at_once(
    end: Callable[[Any], None],
    me: Any,
    anna: Any,
    post: Any,
    service: PushService,
    on_device: Signed,
    settle: Any,
    worker: Worker,
    drain: Any,
) -> None:
    """The worker has the message already, and is late."""
    on_device(me)
    actions.comment(anna, post.pk, "nice")
    drain()
    assert len(worker.waiting) == 1
    end(me)
    assert PushSubscription.objects.count() == 0
    settle()
    assert service.pushes == []


@pytest.mark.parametrize("end", WAYS, ids=lambda way: way.__name__)
def test_nothing_is_sent_to_a_row_that_should_be_gone(
    end: Callable[[Any], None],
    me: Any,
    anna: Any,
    post: Any,
    service: PushService,
    on_device: Signed,
    settle: Any,
    drain: Any,
) -> None:
    """The floors are compared as well."""
    on_device(me)
    actions.comment(anna, post.pk, "nice")
    drain()
    kept = PushSubscription.objects.get()
    end(me)
    kept.save(force_insert=True)
    settle()
    assert service.pushes == []


def test_a_sign_in_that_ends_while_a_message_is_sent_gets_no_second_one(
    me: Any, anna: Any, make_post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me)
    for number in range(2):
        actions.like(anna, POST, make_post(me, content=f"post {number}").pk)
    seen: list[int] = []
    real = push_queries.live

    def live(*args: Any) -> Any:
        seen.append(1)
        if len(seen) == 3:
            accounts_actions.kick(me, "chrome")
        return real(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(push_queries, "live", live)
        settle()
    assert len(service.pushes) == 1


def test_a_sign_in_that_has_expired_gets_nothing(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    api = on_device(me)
    TokenVersion.objects.filter(user=me).update(refresh_iat=1)
    assert api.get(PATH).json()["devices"] == []
    actions.comment(anna, post.pk, "nice")
    settle()
    assert service.pushes == []


def test_who_changes_the_password_or_gets_roles_keeps_pushes_on_that_device(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me, "chrome")
    on_device(me, "android")
    accounts_actions.change_password(me, "chrome", "right.pass1", "other.pass2")
    accounts_actions.promote(me, 3)
    actions.comment(anna, post.pk, "nice")
    settle()
    assert [push.path for push in service.pushes] == ["/push/reader1-chrome"]
    accounts_actions.force_offline(me)
    assert PushSubscription.objects.count() == 0


def test_another_person_in_the_same_browser_takes_its_pushes_over(
    me: Any, anna: Any, post: Any, service: PushService, api_for: Any, settle: Any
) -> None:
    browser = service.browser("shared")
    for person in (me, anna):
        assert api_for(person, "chrome").post(PATH, browser, format="json").status_code == 201
    assert PushSubscription.objects.get().user_id == anna.pk
    actions.comment(anna, post.pk, "nice")
    settle()
    assert service.pushes == []


def test_a_signed_out_device_cannot_subscribe(me: Any, service: PushService, api_for: Any) -> None:
    api = api_for(me, "chrome")
    accounts_actions.kick(me, "chrome")
    assert api.post(PATH, service.browser("a"), format="json").status_code == 401
    assert PushSubscription.objects.count() == 0


def test_the_newest_devices_stay(
    me: Any, service: PushService, api_for: Any, settings: Any
) -> None:
    settings.CLIENT_POLICY = "device"
    for number in range(push_actions.DEVICES_MAX + 2):
        api = api_for(me, f"chrome:device{number:04}")
        assert api.post(PATH, service.browser(f"b{number}"), format="json").status_code == 201
    kept = PushSubscription.objects.order_by("pk").values_list("client", flat=True)
    assert len(kept) == push_actions.DEVICES_MAX
    assert kept[0] == "chrome:device0002"


def test_a_browser_that_renews_its_subscription_says_which(
    me: Any, anna: Any, service: PushService, on_device: Signed
) -> None:
    api = on_device(me)
    old = PushSubscription.objects.get().endpoint
    fresh = service.browser("fresh")
    other = fresh | {"replaces": f"{old}x"}
    assert api.post(PATH, other, format="json").status_code == 404
    assert on_device(anna).post(PATH, fresh | {"replaces": old}, format="json").status_code == 404
    assert api.post(PATH, fresh | {"replaces": old}, format="json").status_code == 201
    assert PushSubscription.objects.get(user=me).endpoint == fresh["endpoint"]


# --- what the reader may not see ----------------------------------------------------------------
def block(me: Any, anna: Any) -> None:
    relations_actions.block(me, anna)


def be_blocked(me: Any, anna: Any) -> None:
    relations_actions.block(anna, me)


def ban(me: Any, anna: Any) -> None:
    accounts_actions.ban(anna)


def read(me: Any, anna: Any) -> None:
    actions.read_notifications(me)


@pytest.mark.parametrize(
    "change", [block, be_blocked, ban, read], ids=lambda change: change.__name__
)
def test_what_the_page_would_not_show_is_not_pushed(
    change: Any,
    me: Any,
    anna: Any,
    post: Any,
    service: PushService,
    on_device: Signed,
    drain: Any,
    worker: Worker,
) -> None:
    """The worker is late, and the events of the change are not handled."""
    on_device(me)
    actions.comment(anna, post.pk, "nice")
    drain()
    assert len(worker.waiting) == 1
    change(me, anna)
    worker.run()
    assert service.pushes == []


def test_nothing_is_pushed_about_a_deleted_post(
    me: Any,
    anna: Any,
    make_post: Any,
    service: PushService,
    on_device: Signed,
    drain: Any,
    worker: Worker,
) -> None:
    on_device(me)
    theirs = make_post(anna, content="hello @reader1")
    drain()
    assert len(worker.waiting) == 1
    feeds_actions.delete(anna, theirs.pk)
    worker.run()
    assert service.pushes == []


# --- push services ------------------------------------------------------------------------------
@pytest.mark.parametrize("status", [404, 410])
def test_an_endpoint_that_is_gone_is_deleted(
    status: int, me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me)
    service.status = status
    actions.comment(anna, post.pk, "nice")
    settle()
    assert PushSubscription.objects.count() == 0
    assert not Event.objects.filter(type="PushWanted").exists()


def test_a_failing_service_is_tried_again_later_and_not_for_ever(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any, clock: Any
) -> None:
    on_device(me)
    service.status, service.headers = 503, {"Retry-After": "600"}
    actions.comment(anna, post.pk, "nice")
    settle()
    assert len(service.pushes) == 1
    settle()
    assert len(service.pushes) == 1
    clock.now += 599_000
    settle()
    assert len(service.pushes) == 1
    clock.now += 2000
    service.status, service.headers = 201, {}
    settle()
    assert len(service.pushes) == 2
    assert PushSubscription.objects.get().failures == 0
    # It gives up.
    service.status = 500
    relations_actions.follow(anna, me)
    for _ in range(20):
        settle()
        clock.now += sending.PAUSE_MAX * 1000
    assert len(service.pushes) == 2 + push.TRIES
    assert not Event.objects.filter(type="PushWanted").exists()


def test_a_service_that_only_fails_is_not_asked_for_ever(
    me: Any, anna: Any, make_post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me)
    service.status = 403
    for number in range(sending.FAILURES_MAX + 3):
        PushSubscription.objects.update(wait_until=0)
        actions.like(anna, POST, make_post(me, content=f"post {number}").pk)
        settle()
    assert len(service.pushes) == sending.FAILURES_MAX
    assert PushSubscription.objects.count() == 0


def test_a_device_whose_service_failed_waits_with_the_next_push_too(
    me: Any, anna: Any, post: Any, service: PushService, on_device: Signed, settle: Any
) -> None:
    on_device(me)
    service.status = 500
    actions.comment(anna, post.pk, "nice")
    settle()
    relations_actions.follow(anna, me)
    settle()
    assert len(service.pushes) == 1


@pytest.mark.parametrize("failures", range(8))
def test_pauses_grow_up_to_an_hour_whatever_the_service_says(failures: int) -> None:
    assert sending.pause(failures, None) == min(3600, 30 * 4**failures)
    assert sending.pause(failures, 10**9) == 3600
    assert sending.pause(failures, 1) >= 30


def test_without_a_broker_the_push_stays_in_the_outbox(
    me: Any,
    anna: Any,
    post: Any,
    service: PushService,
    on_device: Signed,
    drain: Any,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_device(me)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enqueue, "send_last", lambda *args: False)
        actions.comment(anna, post.pk, "nice")
        drain()
    assert Event.objects.filter(type="PushWanted").count() == 1
    Event.objects.update(available_at=0)
    relay.relay()
    worker.run()
    assert len(service.pushes) == 1


def test_an_endpoint_that_became_private_gets_nothing(
    me: Any,
    anna: Any,
    post: Any,
    service: PushService,
    on_device: Signed,
    settle: Any,
    settings: Any,
) -> None:
    """Whatever it resolved to when the device subscribed."""
    on_device(me)
    settings.OUTGOING_LOOPBACK = False
    actions.comment(anna, post.pk, "nice")
    settle()
    assert service.pushes == []
    assert PushSubscription.objects.count() == 0


def test_pushes_of_a_person_have_a_budget(
    me: Any,
    anna: Any,
    make_post: Any,
    service: PushService,
    on_device: Signed,
    settle: Any,
    settings: Any,
) -> None:
    on_device(me)
    settings.BUDGETS = {"push_sent": Rate(2, 2)}
    for number in range(4):
        actions.like(anna, POST, make_post(me, content=f"post {number}").pk)
        settle()
    assert len(service.pushes) == 2


# --- what the API refuses -----------------------------------------------------------------------
@pytest.mark.parametrize(
    "address",
    [
        *("", "x", "http://push.example/a", "https://", "https://push.example:8443/a"),
        *("https://localhost/a", "https://127.0.0.1/a", "https://10.1.2.3/a", "https://[::1]/a"),
        *("https://169.254.169.254/latest/meta-data", "https://[::ffff:169.254.169.254]/"),
        *("https://[fe80::1]/", "https://2130706433/", "https://0x7f.1/", "ftp://push.example/"),
        *("https://a:b@push.example/", "https://push.example/\n", "https://例え.invalid/a"),
        "https://push.invalid/a",
        "https://push.example/" + "a" * 1024,
    ],
)
def test_an_endpoint_that_the_site_may_not_ask_is_refused(
    address: str, me: Any, service: PushService, api_for: Any, settings: Any
) -> None:
    settings.OUTGOING_LOOPBACK = False
    body = service.browser("a") | {"endpoint": address}
    answer = api_for(me).post(PATH, body, format="json")
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == ["endpoint"]
    assert PushSubscription.objects.count() == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"endpoint": None, "keys": None},
        {"endpoint": {}, "keys": []},
        {"keys": {"p256dh": "", "auth": ""}},
        {"keys": {"p256dh": "A" * 88, "auth": "A" * 22}},
        {"keys": {"p256dh": 1, "auth": {}}},
        {"keys": {"auth": "AAAAAAAAAAAAAAAAAAAAAA"}},
        {"replaces": ["x"]},
    ],
)
def test_garbage_is_refused(body: Any, me: Any, service: PushService, api_for: Any) -> None:
    sent = body if not isinstance(body, dict) or not body else service.browser("a") | body
    assert api_for(me).post(PATH, sent, format="json").status_code == 400
    assert PushSubscription.objects.count() == 0


@pytest.mark.parametrize("kinds", [{"liked": "maybe"}, {"liked": None}, [], "x", {"liked": []}])
def test_kinds_that_are_none_are_refused(
    kinds: Any, me: Any, service: PushService, api_for: Any
) -> None:
    assert api_for(me).patch(PATH, {"kinds": kinds}, format="json").status_code == 400


def test_a_guest_has_no_pushes(service: PushService, api: Any) -> None:
    for method in ("get", "post", "patch", "delete"):
        assert getattr(api, method)(PATH).status_code == 401


# --- the page -----------------------------------------------------------------------------------
def test_the_settings_show_the_switch_only_with_a_key(
    me: Any, service: PushService, settings: Any
) -> None:
    browser = browser_of(me)
    page = browser.get("/settings/notifications").content.decode()
    assert "Notifications on this device" in page
    assert "js/push" in page
    settings.VAPID_PRIVATE_KEY = ""
    page = browser.get("/settings/notifications").content.decode()
    assert "Notifications on this device" not in page
    assert "js/push" not in page


def test_the_kinds_are_chosen_by_a_form(me: Any, service: PushService, settings: Any) -> None:
    browser = browser_of(me)
    browser.post("/settings/notifications", {"pushed": "1", "push": ["liked", "nonsense"]})
    assert [name for name, value in queries.pushed_kinds(me).items() if value] == ["liked"]
    assert set(queries.preferences(me).values()) == {"everyone"}
    browser.post("/settings/notifications", {"liked": "nobody"})
    assert [name for name, value in queries.pushed_kinds(me).items() if value] == ["liked"]
    assert queries.preferences(me)["liked"] == "nobody"


def test_the_page_of_a_device_with_pushes_says_so(me: Any, service: PushService) -> None:
    browser = browser_of(me)
    path = "/settings/notifications"
    assert b" data-on " not in browser.get(path).content
    body = service.browser("page")
    answer = browser.post(PATH, body, content_type="application/json")
    assert answer.status_code == 201
    assert b" data-on " in browser.get(path).content
