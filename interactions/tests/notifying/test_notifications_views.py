"""The pages of notifications, without JavaScript."""

from typing import Any

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts.models import Role
from feeds import actions as feeds_actions
from interactions import actions
from interactions.kinds import KINDS
from interactions.models import Notification, NotificationCause, SubjectType
from interactions.notifying import wording
from relations import actions as relations_actions
from socialsite.core import redis

pytestmark = pytest.mark.django_db

POST = SubjectType.POST
ENGLISH = {"accept-language": "en"}


@pytest.fixture
def browser(me: Any) -> Client:
    client = Client(headers=ENGLISH)
    client.cookies["access"], client.cookies["refresh"] = accounts_actions.sign_in(me, "chrome")
    return client


def page(browser: Client, path: str = "/notifications", **headers: str) -> str:
    answer = browser.get(path, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def badge(html: str) -> str | None:
    """Return the text of the badge; None if it is hidden."""
    tag, _, rest = html.partition('<b class="badge" data-unread')[2].partition(">")
    return None if "hidden" in tag else rest.partition("<")[0]


def test_the_list_shows_actors_and_actions_and_a_form_marks_it_as_read(
    me: Any, browser: Client, make_user: Any, make_post: Any, drain: Any
) -> None:
    assert "No notifications yet" in page(browser)
    people = [make_user(nickname=f"Nick{letter}") for letter in "ABCD"]
    post = make_post(me, content="<script>alert(1)</script>")
    for person in people:
        actions.like(person, POST, post.pk)
    actions.comment(people[0], post.pk, "x")
    said = actions.comment(me, post.pk, "mine")
    drain()
    for person in people[:2]:
        relations_actions.follow(person, me)
    drain()
    html = page(browser)
    assert "<b>NickD</b>, <b>NickC</b> and 2 others liked your post" in html
    assert "<b>NickA</b> commented on your post" in html
    assert "<b>NickB</b> and <b>NickA</b> followed you" in html
    assert "<script>alert(1)" not in html
    assert html.count("data-is-unread") == 3
    assert badge(html) == badge(page(browser, "/")) == "3"
    assert f'href="/posts/{post.pk}#comments"' in html
    assert 'href="/@reader1/followers"' in html
    until = html.partition('name="until" value="')[2].partition('"')[0]
    actions.like(make_user(nickname="NickE"), POST, post.pk)
    actions.like(people[0], SubjectType.COMMENT, said.pk)
    drain()
    answer = browser.post("/notifications/read", {"until": until})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/notifications")
    html = page(browser)
    assert html.count("data-is-unread") == 2  # those that arrived after the page was loaded
    assert badge(html) == "2"
    assert f'href="/comments/{said.pk}/replies"' in html
    assert browser.get(f"/comments/{said.pk}/replies").status_code == 200
    assert browser.post("/notifications/read", {"until": "x"}).status_code == 400
    assert "、<b>NickD</b> 和另外 3 人赞了你的动态" in page(
        browser, **{"accept-language": "zh-hans"}
    )


def test_further_pages_come_as_parts_for_htmx_and_whole_without(
    me: Any, browser: Client, make_user: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("socialsite.core.http.page_sizes.PAGE_SIZE", 2)
    fan = make_user()
    for _ in range(3):
        actions.like(fan, POST, make_post(me).pk)
    drain()
    more = page(browser).partition('<a class="button" href="')[2].partition('"')[0]
    part = page(browser, f"/notifications{more}", **{"HX-Request": "true"})
    whole = page(browser, f"/notifications{more}")
    for html in (part, whole):
        assert html.count('data-testid="notification"') == 1
    assert "<html" not in part
    assert "<html" in whole


def test_a_removal_by_staff_is_shown_with_the_reason_and_without_a_link(
    me: Any, browser: Client, make_user: Any, make_post: Any, drain: Any
) -> None:
    boss = make_user("bossy")
    accounts_actions.promote(boss, Role.ADMIN)
    post = make_post(me, content="rude words")
    drain()
    feeds_actions.delete(boss, post.pk, grounds=accounts_actions.Grounds("spam"))
    drain()
    html = page(browser)
    assert "Reason: Spam or advertising" in html
    assert "The site&#39;s staff removed your post" in html
    assert "rude words" in html
    assert f"/posts/{post.pk}" not in html
    assert "bossy" not in html


def test_choices_are_shown_and_saved(me: Any, browser: Client) -> None:
    path = "/settings/notifications"
    assert page(browser, path).count("selected") == 7
    assert browser.post(path, {"liked": "nobody", "x": "y"}).status_code == 303
    html = page(browser, path)
    assert "Saved." in html
    assert '<option value="nobody" selected>' in html
    assert browser.post(path, {"liked": "x"}).status_code == 400


def test_guests_are_sent_to_log_in() -> None:
    for path in ("/notifications", "/settings/notifications"):
        assert Client().get(path).headers["Location"].startswith("/login?next=")
    assert Client().post("/notifications/read").status_code == 401


def test_each_kind_has_its_sentence_and_its_choice() -> None:
    assert {(kind.name, kind.subject) for kind in KINDS} == set(wording.SENTENCES)
    assert {kind.name for kind in KINDS if not kind.official} == set(wording.TITLES)


def test_the_badge_costs_no_round_trip_of_its_own(
    me: Any, browser: Client, round_trips: list[int]
) -> None:
    redis.call(lambda connection: connection.flushdb())  # including the fence of the session
    page(browser, "/search")
    round_trips.clear()
    page(browser, "/search")
    assert len(round_trips) == 2  # session; card and badge


@pytest.mark.parametrize("hide", ["i block", "they block", "both block", "banned"])
def test_hidden_people_are_in_no_page_no_response_and_no_count(
    me: Any,
    browser: Client,
    api_for: Any,
    make_user: Any,
    make_post: Any,
    drain: Any,
    dead_redis: Any,
    hide: str,
) -> None:
    """Whatever the caches have, before and after the event is handled."""
    anna, bert = make_user("anna77", nickname="HiddenAnna"), make_user("bert77")
    mine, theirs = make_post(me, content="mine"), make_post(anna, content="of anna")
    host = make_post(make_user(), content="host")
    said = actions.comment(me, mine.pk, "said")
    actions.like(anna, POST, mine.pk)
    actions.like(bert, POST, mine.pk)
    actions.like(anna, SubjectType.COMMENT, said.pk)
    actions.comment(anna, mine.pk, "x")
    actions.comment(anna, mine.pk, "x", said.pk)
    actions.comment(anna, host.pk, "@reader1")
    actions.comment(bert, theirs.pk, "@reader1 on the post of anna")
    relations_actions.follow(anna, me)
    feeds_actions.repost(anna, mine.pk)
    for act in (actions.like, actions.unlike):
        act(me, POST, theirs.pk)
    actions.like(me, POST, theirs.pk)
    mine_api, annas_api = api_for(me), api_for(anna)
    drain()
    assert badge(page(browser)) == "8"
    assert page(browser).count("HiddenAnna") >= 7
    assert annas_api.get("/api/v1/notifications/unread-count").json()["count"] == 2
    match hide:
        case "i block":
            relations_actions.block(me, anna)
        case "they block":
            relations_actions.block(anna, me)
        case "both block":
            relations_actions.block(me, anna)
            relations_actions.block(anna, me)
        case _:
            accounts_actions.ban(anna)

    def open_page() -> None:
        html = page(browser)
        for text in (html, mine_api.get("/api/v1/notifications").content.decode()):
            assert "anna" not in text.lower()
        assert badge(html) == "1"
        item = mine_api.get("/api/v1/notifications").json()["items"]
        assert [(one["kind"], one["actor_count"]) for one in item] == [("liked", 1)]
        assert mine_api.get("/api/v1/notifications/unread-count").json()["count"] == 1
        if hide != "banned":
            others = annas_api.get("/api/v1/notifications").json()["items"]
            assert [one["kind"] for one in others] == ["commented"]
            assert annas_api.get("/api/v1/notifications/unread-count").json()["count"] == 1

    for _ in range(2):
        open_page()  # warm
        redis.call(lambda connection: connection.flushdb())
        open_page()  # cold
        with dead_redis():
            open_page()
        drain()


def test_staff_see_them_read_only(make_user: Any, make_post: Any, drain: Any) -> None:
    boss, fan = make_user("bossy"), make_user()
    accounts_actions.promote(boss, Role.ADMIN)
    actions.like(fan, POST, make_post(boss).pk)
    drain()
    client = Client(headers=ENGLISH)
    client.cookies["access"], client.cookies["refresh"] = accounts_actions.sign_in(boss, "chrome")
    for model in (Notification, NotificationCause):
        path = f"/admin/interactions/{model._meta.model_name}/"
        assert client.get(path).status_code == 200
        one = f"{path}{model.objects.get().pk}/change/"
        assert client.get(one).status_code == 200
        for address in (f"{path}add/", one, f"{path}{model.objects.get().pk}/delete/"):
            assert client.post(address, {"post": "yes"}).status_code == 403
        assert model.objects.count() == 1


def test_tabs_have_their_own_pages_forms_and_words(
    me: Any, browser: Client, make_user: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("socialsite.core.http.page_sizes.PAGE_SIZE", 2)
    assert "Nobody has mentioned you yet" in page(browser, "/notifications?tab=mentions")
    assert "Nobody follows you yet" in page(browser, "/notifications?tab=follows")
    fan = make_user()
    for number in range(3):
        make_post(fan, content=f"@reader1 {number}")
        actions.like(fan, POST, make_post(me).pk)
    drain()
    html = page(browser, "/notifications?tab=mentions")
    assert html.count("mentioned you in a post") == 2
    assert "liked" not in html.partition("<main")[2].partition("</main")[0].replace(
        "note-liked", ""
    )
    more = html.partition('<a class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "mentioned you in a post" in page(browser, f"/notifications{more}")
    assert page(browser, "/notifications?tab=nothing").count("data-is-unread") == 2
    until = html.partition('name="until" value="')[2].partition('"')[0]
    answer = browser.post("/notifications/read", {"until": until, "tab": "mentions"})
    assert answer.headers["Location"] == "/notifications?tab=mentions"
    assert badge(page(browser)) == "3"  # the likes were not on that page


def test_a_page_without_scripts_counts_as_read_when_its_picture_is_loaded(
    me: Any, browser: Client, make_user: Any, make_post: Any, drain: Any, monkeypatch: Any
) -> None:
    """What it does not show, and whoever arrives meanwhile, stays unread."""
    monkeypatch.setattr("socialsite.core.http.page_sizes.PAGE_SIZE", 2)
    fan, posts = make_user(), [make_post(me) for _ in range(3)]
    for post in posts:
        actions.like(fan, POST, post.pk)
        drain()
    html = page(browser)
    assert badge(html) == "3"
    picture = html.partition('<noscript><img src="')[2].partition('"')[0].replace("&amp;", "&")
    actions.like(make_user(), POST, posts[2].pk)
    drain()
    for strange in (
        {},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "document"},
        {"Referer": "https://elsewhere.example/"},
    ):
        assert browser.get(picture, headers=strange).status_code == 403
    assert browser.head(picture).status_code == 405
    assert badge(page(browser)) == "3"
    image = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "image"}
    assert browser.get(picture, headers=image).status_code == 204
    assert browser.get(picture, headers={"Referer": "http://testserver/"}).status_code == 204
    html = page(browser)
    assert badge(html) == "2"  # the one on the second page, and the one with a new like
    assert html.count("data-is-unread") == 1
    actions.read_notifications(me)
    assert "<noscript>" not in page(browser)
    for query in ("", "?until=x&ids=1", "?until=2026-01-01T00:00:00.000Z&ids=x"):
        seen = browser.get(f"/notifications/seen{query}", headers=image)
        assert seen.status_code == 400
