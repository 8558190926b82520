"""The settings of the site: every page shows them at once, and only admins change them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from email.header import decode_header, make_header
from email.utils import parseaddr
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts import actions
from accounts.mail import composing
from accounts.models import AuditEntry, Role, User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from feeds.models import WantedPreview
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import site
from socialsite.core.errors import FollowLimit, Forbidden, RegMatchError
from socialsite.core.models import SiteSettings
from socialsite.tests.support.answers import assert_error

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
V1 = "/api/v1/"
ROW = "/admin/core/sitesettings/1/change/"
NEW = {"username": "newcomer", "nickname": "Newcomer", "password": "right.pass1"}


@pytest.fixture
def admin(make_user: Make) -> User:
    return actions.promote(make_user(), Role.MEMBER | Role.ADMIN)


@pytest.fixture
def moderator(make_user: Make) -> User:
    return actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


# --- what they say ------------------------------------------------------------------------------
def test_what_nobody_set_is_the_environment_s(api: APIClient, settings: Any) -> None:
    assert api.get(f"{V1}site").json()["name"] == "socialsite"
    settings.SITE_NAME, settings.SIGN_UP = "Garden", "closed"
    site._unpacked.clear()
    told = api.get(f"{V1}site").json()
    assert (told["name"], told["sign_up"]) == ("Garden", "closed")
    actions.change_site({"sign_up": "open"})
    told = api.get(f"{V1}site").json()
    assert (told["name"], told["sign_up"]) == ("Garden", "open")


def test_a_change_shows_at_once_everywhere(api: APIClient, make_user: Make) -> None:
    author = make_user()
    post = feeds_actions.publish(author, content="words")
    places = {
        "/recommended": "<title>Discover · %s</title>",
        "/login": "<span>%s</span>",
        f"/@{author.username}/feed.atom": "· %s</title>",
        f"/posts/{post.pk}": '<meta property="og:site_name" content="%s">',
        f"/posts/{post.pk}/embed": "View on %s",
        f"/oembed?url=/posts/{post.pk}": '"provider_name": "%s"',
        "/manifest.webmanifest": '"short_name": "%s"',
        "/offline": "· %s</title>",
        "/nothing-here": "· %s</title>",
        f"{V1}site": '"name":"%s"',
    }
    for name in ("Garden", "Chess & Tea", "socialsite"):
        actions.change_site({"name": name})
        for place, shown in places.items():
            body = Client().get(place).content.decode()
            assert shown % name in body.replace("&amp;", "&").replace("\\u0026", "&"), place


def test_another_name_is_another_worker_which_keeps_the_page_for_no_connection_anew() -> None:
    first = Client().get("/sw.js").content
    assert Client().get("/sw.js").content == first
    actions.change_site({"name": "Garden"})
    assert Client().get("/sw.js").content != first


def test_the_name_is_no_password(settings: Any) -> None:
    settings.PASSWORD_POLICY = "asvs"
    actions.change_site({"name": "Kleingarten"})
    assert site.current().name == "Kleingarten"
    for password in ("kleingarten", "Socialsite"):
        with pytest.raises(RegMatchError) as caught:
            actions.register("gardener", "Gardener", password)
        assert list(caught.value.fields or ()) == ["password"]


def test_words_are_in_the_language_of_the_reader_or_in_the_other() -> None:
    actions.change_site({"description_en": "For gardeners."})
    chinese: dict[str, Any] = {"HTTP_ACCEPT_LANGUAGE": "zh-hans"}
    assert Client().get(f"{V1}site", **chinese).json()["description"] == "For gardeners."
    actions.change_site({"description_zh_hans": "园丁之家"})
    assert Client().get(f"{V1}site").json()["description"] == "For gardeners."
    assert Client().get(f"{V1}site", **chinese).json()["description"] == "园丁之家"
    assert '<meta name="description"\ncontent="园丁之家">' in (
        Client().get("/login", **chinese).content.decode()
    )


def test_mails_come_from_the_site(settings: Any) -> None:
    actions.change_site({"name": "园丁之家"})
    sent = composing.mail_to("alice@example.com", "Subject", "Words")
    name, address = parseaddr(sent.message()["From"])
    assert str(make_header(decode_header(name))) == "园丁之家"
    assert address == settings.DEFAULT_FROM_EMAIL
    settings.DEFAULT_FROM_EMAIL = "Post <post@example.org>"
    assert composing._sender() == "Post <post@example.org>"


def test_the_api_tells_what_fits(api: APIClient) -> None:
    told = api.get(f"{V1}site").json()
    assert told["languages"] == ["en", "zh-hans"]
    assert told["limits"]["micro"] == 2000
    assert set(told["features"]) == {"videos", "push", "link_previews"}
    assert told["version"].count(".") == 2


# --- who comes in -------------------------------------------------------------------------------
def test_nobody_signs_up_while_it_is_closed(api: APIClient) -> None:
    actions.change_site({"sign_up": "closed", "contact": "hello@example.org"})
    refused = api.post(f"{V1}auth/register", NEW | {"client": "chrome"}, format="json")
    assert_error(refused, 403, "SIGN_UP_CLOSED")
    answer = Client().post("/register", NEW)
    assert answer.status_code == 403
    page = answer.content.decode()
    assert "Sign-up is closed" in page
    assert 'href="mailto:hello@example.org"' in page
    assert 'name="password"' not in page
    for place in ("/login", "/recommended", "/search"):
        assert 'href="/register' not in Client().get(place).content.decode(), place
    assert not User.objects.filter(username=NEW["username"]).exists()
    actions.change_site({"sign_up": "open"})
    assert Client().post("/register", NEW)["Location"] == "/welcome"


# --- who changes them ---------------------------------------------------------------------------
def test_admins_change_them_and_each_change_is_noted_once(admin: User, moderator: User) -> None:
    browser = browser_of(admin)
    assert browser.get("/admin/core/sitesettings/")["Location"] == ROW
    page = browser.get(ROW).content.decode()
    assert 'placeholder="socialsite"' in page
    values = {"name": "Garden", "contact": "https://garden.example/contact", "sign_up": "closed"}
    for _ in range(2):
        assert browser.post(ROW, values).status_code == 302
    assert (site.current().name, site.current().offers_sign_up) == ("Garden", False)
    assert "Garden</a></div>" in browser.get("/admin/").content.decode()
    (noted,) = AuditEntry.objects.filter(action="site")
    assert (noted.actor_id, noted.detail) == (
        admin.pk,
        {"fields": ["contact", "name", "sign_up"]},
    )
    for contact in ("nobody", "http://garden.example", "https://", "javascript:alert(1)"):
        refused = browser.post(ROW, values | {"contact": contact})
        assert refused.status_code == 200, contact
        assert "errorlist" in refused.content.decode()
    for name in ("x" * 41, "Gar\u202eden", "Gar\x07den", "Gar\u200bden"):
        assert browser.post(ROW, values | {"name": name}).status_code == 200, name
    written = {"name": " Garden \r\n Tea ", "description_en": "One\nTwo"}
    assert browser.post(ROW, values | written).status_code == 302
    assert (site.current().name, site.current().description) == ("Garden Tea", "One Two")
    assert browser.post(ROW, values).status_code == 302
    assert browser.get("/admin/core/sitesettings/2/change/").status_code == 302
    assert browser.get("/admin/core/sitesettings/add/").status_code == 403
    assert browser.post("/admin/core/sitesettings/1/delete/").status_code == 403
    assert SiteSettings.objects.count() == 1
    for user in (moderator,):
        assert browser_of(user).get(ROW).status_code == 403
        with pytest.raises(Forbidden):
            actions.change_site({"name": "Mine"}, user)
    assert site.current().name == "Garden"


# --- how they are read --------------------------------------------------------------------------
class Known(site._Row):
    """The settings without a read."""

    def __init__(self) -> None:
        super().__init__()
        self.add_found({SiteSettings.THE_ROW: site._made({})})
        self.is_asked = True


def test_a_request_reads_them_along(browser: Client, round_trips: list[int]) -> None:
    def cost(client: Client, place: str) -> tuple[int, int]:
        client.get(place)
        round_trips.clear()
        with CaptureQueriesContext(connection) as queries:
            client.get(place)
        return len(round_trips), len(queries)

    places = [(browser, "/settings/profile"), (Client(), "/search"), (browser, "/")]
    for place in places:
        cost(*place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "_Row", Known)
        without = [cost(*place) for place in places]
    site._unpacked.clear()
    assert [cost(*place) for place in places] == without


def test_without_redis_the_database_tells(
    dead_redis: Callable[[], AbstractContextManager[None]],
) -> None:
    actions.change_site({"name": "Garden"})
    assert site.current().name == "Garden"
    with dead_redis():
        actions.change_site({"name": "Orchard"})
        assert "· Orchard</title>" in Client().get("/recommended").content.decode()
    assert site.current().name == "Orchard"


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")
def test_changes_of_several_admins_at_once_are_all_kept() -> None:
    for number in range(6):  # the first time there is no row
        made = {
            "name": f"Garden {number}",
            "contact": f"a{number}@example.org",
            "description_en": f"Words {number}",
        }
        at_once([partial(actions.change_site, {name: text}) for name, text in made.items()])
        row = SiteSettings.objects.get()
        assert {name: getattr(row, name) for name in made} == made
        assert site.current().name == made["name"]


def test_nobody_sees_a_change_that_is_not_committed() -> None:
    assert site.current().name == "socialsite"
    with transaction.atomic():
        actions.change_site({"name": "Garden"})
        transaction.set_rollback(True)
    assert site.current().name == "socialsite"


# --- limits and features ------------------------------------------------------------------------
def test_a_short_post_has_as_many_characters_as_the_site_says(
    api_for: Make, make_user: Make, browser: Client
) -> None:
    mine = api_for(make_user())
    post = partial(mine.post, f"{V1}posts", format="json")
    assert post({"content": "x" * 2000}).status_code == 201
    actions.change_site({"micro_max": 500})
    assert 'data-max-micro="500"' in browser.get("/").content.decode()
    assert mine.get(f"{V1}site").json()["limits"]["micro"] == 500
    assert post({"content": "x" * 500}).status_code == 201
    assert_error(post({"content": "x" * 501}), 400, "INVALID_INPUT", "content")
    article = {"kind": "article", "title": "Long", "content": "x" * 501}
    assert post(article).status_code == 201
    actions.change_site({"micro_max": None})
    assert 'data-max-micro="2000"' in browser.get("/").content.decode()


def test_people_follow_as_many_as_the_site_says(make_user: Make, monkeypatch: Any) -> None:
    monkeypatch.setattr(SiteSettings, "FOLLOWS_LEAST", 1)
    me, *others = (make_user() for _ in range(4))
    actions.change_site({"follow_max": 2})
    for other in others[:2]:
        relations_actions.follow(me, other)
    with pytest.raises(FollowLimit):
        relations_actions.follow(me, others[2])
    actions.change_site({"follow_max": 3})
    relations_actions.follow(me, others[2])


def test_videos_and_previews_can_be_switched_off(
    api_for: Make, make_user: Make, browser: Client, settings: Any
) -> None:
    settings.LINK_PREVIEWS = True
    mine = api_for(make_user())
    begin = partial(mine.post, f"{V1}media/uploads", format="json")
    assert begin({"size": 2_000_000}).status_code == 201
    actions.change_site({"video_mb": 1})
    assert_error(begin({"size": 2_000_000}), 413, "PAYLOAD_TOO_LARGE")
    assert 'data-mb="1"' in browser.get("/").content.decode()
    link = {"content": "https://example.org/page"}
    mine.post(f"{V1}posts", link, format="json")
    actions.change_site({"videos": False, "link_previews": False})
    assert_error(begin({"size": 1000}), 403, "FORBIDDEN")
    assert 'data-mb="' not in browser.get("/").content.decode()
    mine.post(f"{V1}posts", link, format="json")
    assert WantedPreview.objects.count() == 1
    told = mine.get(f"{V1}site").json()
    assert told["limits"]["video_mb"] == 1
    assert not told["features"]["videos"]
    assert not told["features"]["link_previews"]


def test_admins_set_limits_or_leave_them_to_the_environment(admin: User) -> None:
    browser = browser_of(admin)
    page = browser.get(ROW).content.decode()
    assert 'placeholder="1000"' in page
    assert "as in the environment: yes" in page
    values = {"micro_max": "500", "follow_max": "50", "video_mb": "1", "videos": "false"}
    assert browser.post(ROW, values | {"link_previews": "true"}).status_code == 302
    assert site.current().limits == site.Limits(
        micro_max=500, follow_max=50, video_mb=1, videos=False, link_previews=True
    )
    wrong: dict[str, str]
    for wrong in (
        *({"micro_max": text} for text in ("99", "2001", "x", "-1")),
        *({"follow_max": text} for text in ("49", "100001")),
        *({"video_mb": text} for text in ("0", "101", "1.5")),
    ):
        assert browser.post(ROW, values | wrong).status_code == 200, wrong
    empty = {"videos": "unknown", "link_previews": "unknown"}
    assert browser.post(ROW, empty).status_code == 302
    assert site.current().limits == site.default_limits()
    noted = AuditEntry.objects.filter(action="site").order_by("id").values_list("detail", flat=True)
    assert [one["fields"] for one in noted] == [
        ["follow_max", "link_previews", "micro_max", "video_mb", "videos"]
    ] * 2


def test_writes_of_the_api_read_them_along(
    api_for: Make, make_user: Make, round_trips: list[int]
) -> None:
    mine = api_for(make_user())

    def cost(content: str) -> tuple[int, int]:
        round_trips.clear()
        with CaptureQueriesContext(connection) as queries:
            mine.post(f"{V1}posts", {"content": content}, format="json")
        return len(round_trips), len(queries)

    long = "x" * (SiteSettings.MICRO_LEAST + 1)
    cost(long)
    cost("words")
    assert cost(long) == cost("words")
