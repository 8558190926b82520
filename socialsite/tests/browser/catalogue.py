"""Every page of the site with content, as a guest, a member or an admin sees it.

`make gallery` takes pictures of these pages and the browser tests check them. The site must have
the demo data.
"""

import base64
import contextlib
import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django_otp.oath import TOTP
from playwright.sync_api import Browser, BrowserContext, Page

from accounts.tests.sign_in.passkey_device import Device
from deploy.services.site_processes import PROJECT_DIR, environment, python
from socialsite.core.tests.media.videos import samples
from socialsite.tests import stacks
from socialsite.tests.stacks import Client

GUEST, MEMBER, ADMIN = "guest", "member", "admin"
WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}
THEMES = ("light", "dark")
LANGUAGES = ("en", "zh-Hans")
PARAGRAPH = (
    "Nobody had pruned the trees for twelve years. We began in January, with ladders from three "
    "farms and soup from the school kitchen, and took out only what was dead."
)
ARTICLE = f"""{PARAGRAPH} [More about it](https://orchard.example), with thanks to @everybody.

## The old trees

> What is dead goes first.

{PARAGRAPH}[^1]

### Tools

1. A saw
2. A ladder, or *two*
   - for high branches

| tree | planted | fruit of this year, in kilograms |
|------|--------:|---------------------------------:|
| pear | 1931 | 140 |
| plum | 1950 | 85 |

## The plan of a week

```
monday    = prune(trees[0:4])
wednesday = burn_what_is_dead(carefully=True, with_neighbours=["Ann", "Joe"], at="the far fence")
```

## ما تعلمناه

زرعنا الأشجار مع الجيران، وشربنا الشاي في آخر النهار.

[^1]: Twelve, if one believes the neighbours.
"""


@dataclass(frozen=True)
class View:
    """A page and who sees it; `{name}` in the path stands for a name of `_content`.

    Before it is looked at, the elements of the selectors `press` are pressed in this order. With
    `sent` it is the answer to a form with these fields, sent without a script.
    """

    name: str
    path: str
    by: str = MEMBER
    press: tuple[str, ...] = ()
    sent: Mapping[str, str] | None = None


# The log-in of somebody who has two-factor authentication.
GUARDED = {"username": "guarded9", "password": "right.pass1"}
# The log-in of somebody who closed the account.
CLOSED = {"username": "closed999", "password": "right.pass1"}
# A page with a form that everybody may see.
FORM = "/settings/reading"
# Sends fields to an address, with the CSRF token of the page.
SEND = """([address, fields]) => {
    const form = document.createElement("form");
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    Object.assign(form, { action: address, method: "post" });
    for (const [name, value] of Object.entries({ ...fields, csrfmiddlewaretoken: token })) {
        form.append(Object.assign(document.createElement("input"), { name, value }));
    }
    document.body.append(form);
    form.submit();
}"""
# What opens the composer of Home, and its parts.
WRITE = "[data-composer] textarea"
PARTS = (".tool.i-poll", ".tool.i-note", ".tool.i-calendar")


VIEWS = (
    View("welcome-guest", "/", GUEST),
    View("discover-guest", "/recommended", GUEST),
    View("tags-guest", "/tags", GUEST),
    View("post-guest", "/posts/{post}", GUEST),
    View("profile-guest", "/@{author}", GUEST),
    View("embed", "/posts/{post}/embed", GUEST),
    View("embed-pictures", "/posts/{pictures}/embed", GUEST),
    View("embed-gone", "/posts/1/embed", GUEST),
    View("login", "/login", GUEST),
    View("login-code", "/login", GUEST, sent=GUARDED),
    View("login-closed", "/login", GUEST, sent=CLOSED),
    View("closed", "/login/closed?{closed}", GUEST),
    View("register", "/register", GUEST),
    View("register-sent", "/register/sent?state=unconfirmed", GUEST),
    View("recover", "/recover", GUEST),
    View("recover-link", "/recover/used", GUEST),
    View("email-link", "/email/used", GUEST),
    View("about", "/about", GUEST),
    View("rules", "/rules", GUEST),
    View("offline", "/offline", GUEST),
    View("not-found", "/nothing", GUEST),
    View("home", "/"),
    View("home-writing", "/", press=(WRITE,)),
    View("home-writing-all", "/", press=(WRITE, *PARTS)),
    View("home-writing-article", "/", press=(WRITE, ".kinds label:has(.i-article)")),
    View("home-writing-video", "/", press=(WRITE, ".kinds label:has(.i-play)")),
    View("discover", "/recommended"),
    View("discover-rising", "/recommended?tab=rising"),
    View("discover-people", "/recommended?tab=people"),
    View("search", "/search"),
    View("search-posts", "/search?q=a"),
    View("search-people", "/search?q=a&tab=people"),
    View("search-tags", "/search?q=a&tab=tags"),
    View("search-wrong", "/search?q=before:soon"),
    View("search-nothing", "/search?q=zzqqxx"),
    View("tags", "/tags"),
    View("tag", "/tags/{tag}"),
    View("tag-unused", "/tags/unused"),
    View("post", "/posts/{post}"),
    View("article", "/posts/{article}"),
    View("pictures", "/posts/{pictures}"),
    View("post-note", "/posts/{noted}"),
    View("post-poll", "/posts/{asked}"),
    View("post-poll-results", "/posts/{answered_poll}"),
    View("post-vote", "/posts/{asked}/vote", sent={}),
    View("embed-code", "/posts/{post}/embed/code"),
    View("post-likes", "/posts/{post}/likes"),
    View("post-repost", "/posts/{post}/repost"),
    View("post-edit", "/posts/{mine}/edit"),
    View("post-edit-note", "/posts/{noted}/edit"),
    View("post-menu", "/posts/{mine}", press=(".post-menu",)),
    View("post-delete", "/posts/{mine}/delete"),
    View("post-rewrite", "/posts/{mine}/rewrite"),
    View("article-preview", "/posts/{article}/edit", press=("[data-testid=to-preview]",)),
    View("post-history", "/posts/{mine}/history"),
    View("post-audience", "/posts/{mine}/audience"),
    View("post-history-note", "/posts/{noted}/history"),
    View("comment-edit", "/comments/{comment}/edit"),
    View("comment-delete", "/comments/{comment}/delete"),
    View("comment-likes", "/comments/{answered}/likes"),
    View("comment-reply", "/comments/{answered}/reply"),
    View("report-post", "/report/post/{post}"),
    View("report-person", "/report/user/{author_id}"),
    View("report-thanks", "/report/post/{post}?sent"),
    View("profile", "/@{author}"),
    View("profile-replies", "/@{author}?tab=replies"),
    View("profile-media", "/@{author}?tab=media"),
    View("profile-likes", "/@{me}?tab=likes"),
    View("profile-mine", "/@{me}"),
    View("following", "/@{author}/following"),
    View("followers", "/@{author}/followers"),
    View("friends", "/@{author}/friends"),
    View("block", "/@{author}/block"),
    View("suggestions", "/suggestions"),
    View("first-steps", "/welcome"),
    View("notifications", "/notifications"),
    View("notifications-mentions", "/notifications?tab=mentions"),
    View("bookmarks", "/bookmarks"),
    View("drafts", "/drafts"),
    View("draft", "/drafts/{draft}"),
    View("video", "/videos"),
    View("video-texts", "/videos/{film}"),
    View("post-video", "/posts/{shown_film}"),
    View("settings-profile", "/settings/profile"),
    View("settings-email", "/settings/email"),
    View("settings-password", "/settings/password"),
    View("settings-close", "/settings/close"),
    View("settings-devices", "/settings/devices"),
    View("settings-sign-ins", "/settings/sign-ins"),
    View("settings-export", "/settings/export"),
    View("settings-import", "/settings/import"),
    View("settings-prove", "/settings/prove"),
    View("settings-acts", "/settings/acts"),
    View("settings-invites", "/settings/invites", ADMIN),
    View("settings-two-factor", "/settings/two-factor"),
    View("settings-passkey-name", "/settings/two-factor", press=(".device-name > summary",)),
    View("settings-notifications", "/settings/notifications"),
    View("settings-reading", "/settings/reading"),
    View("reading-guest", "/settings/reading", GUEST),
    View("settings-blocked", "/settings/blocked"),
    View("api", "/api/docs/"),
    View("admin", "/admin/", ADMIN),
    View("admin-people", "/admin/accounts/user/", ADMIN),
    View("admin-role", "/admin/accounts/staffrole/add/", ADMIN),
    View("admin-person-roles", "/admin/accounts/user/{author_id}/roles/", ADMIN),
    View("admin-doctor", "/admin/doctor/", ADMIN),
    View("admin-case", "/admin/interactions/case/1/change/", ADMIN),
    View("admin-case-comment", "/admin/interactions/case/2/change/", ADMIN),
    View("admin-case-note", "/admin/interactions/case/1/note/", ADMIN),
)


@contextlib.contextmanager
def demo_site(directory: Path, people: int, posts: int) -> Iterator[str]:
    """Start the site in one process with finished demo data; yields its address.

    It is at `localhost`, as browsers have no passkeys for IP addresses.
    """
    env = {"DEMO": "0", "NAME_POLICY": "open", "BUDGETS": "0", "HOST": "localhost"}
    stacks.put_database(directory)
    subprocess.run(
        python("manage.py", "demo", f"--people={people}", f"--posts={posts}", "--verbosity=0"),
        env={**environment(), "DATA_DIR": str(directory), **env},
        cwd=PROJECT_DIR,
        check=True,
    )
    with stacks.embedded(directory, **env) as site:
        yield site.replace("127.0.0.1", "localhost")


class Look:
    """How somebody looks at the pages: the width of the window, the theme, the language."""

    def __init__(self, width: str, theme: str, language: str) -> None:
        self.width, self.theme, self.language = width, theme, language

    def __str__(self) -> str:
        return f"{self.width}-{self.theme}-{self.language}"


LOOKS = tuple(Look(w, t, language) for w in WIDTHS for t in THEMES for language in LANGUAGES)


class Catalogue:
    """The pages of a running site; it signs in as two people of the demo data and adds content."""

    def __init__(self, site: str, browser: Browser) -> None:
        self.site, self.browser = site, browser
        self._states: dict[str, Any] = {GUEST: None}
        from socialsite.demo import DEMO_LOGINS  # needs the models

        names = dict(zip((ADMIN, MEMBER), DEMO_LOGINS, strict=False))
        for who, (username, password) in names.items():
            self._states[who] = self._sign_in(username, password)
        self._content = _content(site, *names[MEMBER])
        _register_guarded(site)
        Client.new(site, CLOSED["username"])
        self._content["closed"] = self._close(**CLOSED)

    def _sign_in(self, username: str, password: str) -> Any:
        context = self.browser.new_context(base_url=self.site, locale="en")
        page = context.new_page()
        page.goto("/login")
        page.fill("[name=username]", username)
        page.fill("[name=password]", password)
        page.locator("form:has([name=password])").evaluate("form => form.requestSubmit()")
        page.wait_for_url(lambda url: "/login" not in url)
        state = context.storage_state()
        context.close()
        return state

    def _close(self, username: str, password: str) -> str:
        """Close an account on its page; return the query of the page that follows."""
        state = self._sign_in(username, password)
        context = self.browser.new_context(base_url=self.site, storage_state=state)
        page = context.new_page()
        page.goto("/settings/close")
        with page.expect_navigation():
            page.evaluate(SEND, ["/settings/close", {"password": password}])
        query = urllib.parse.urlsplit(page.url).query
        context.close()
        return query

    def path(self, view: View) -> str:
        """Return the address of a view on this site."""
        return view.path.format(**self._content)

    def cookies(self, who: str) -> list[Any]:
        """Return the cookies of a person in the form of Playwright; none for a guest."""
        return [] if who == GUEST else list(self._states[who]["cookies"])

    def context(self, who: str, look: Look, **more: Any) -> BrowserContext:
        """Open a browser window of a guest, the member or the admin."""
        width, height = WIDTHS[look.width]
        context = self.browser.new_context(
            base_url=self.site,
            storage_state=self._states[who],
            viewport={"width": width, "height": height},
            color_scheme="dark" if look.theme == "dark" else "light",
            locale=look.language,
            reduced_motion="reduce",
            **more,
        )
        context.set_default_timeout(60_000)
        return context

    @contextlib.contextmanager
    def page(self, view: View, look: Look) -> Iterator[Page]:
        """Show a view in a window of its own."""
        context = self.context(view.by, look)
        page = context.new_page()
        self.open(page, view)
        try:
            yield page
        finally:
            context.close()

    def open(self, page: Page, view: View) -> None:
        """Show a view, and wait until its pictures are there."""
        if view.sent is None:
            page.goto(self.path(view), wait_until="load")
        else:
            page.goto(FORM)
            with page.expect_navigation(wait_until="load"):
                page.evaluate(SEND, [self.path(view), view.sent])
        for selector in view.press:
            page.locator(selector).first.click()
        page.wait_for_load_state("networkidle")
        page.evaluate("document.fonts.ready")


def _content(site: str, username: str, password: str) -> dict[str, str]:
    """Return the names for the paths, after the member wrote what the demo does not have."""
    me = Client(site)
    answer = me("POST", "auth/login", username=username, password=password, client="other")
    me.token, me.id = answer["access"], answer["user"]["id"]
    found = _items(me, "feed") + _items(me, "feed/recommended")

    others = [item for item in found if item["author"]["id"] != me.id and item["kind"] == "micro"]
    post = max(others, key=lambda item: item["comment_count"])
    title, text = "How we saved the old orchard", ARTICLE
    article = me("POST", "posts", kind="article", title=title, content=text)
    pictures = max(found, key=lambda item: len(item["images"]))
    comments = me("GET", f"posts/{post['id']}/comments")["items"]
    mine = me("POST", "posts", content="Rain all day, and the tomatoes are happy about it.")
    words = "Rain all day, and the tomatoes are very happy about it."
    me("PATCH", f"posts/{mine['id']}", version=1, content=words)
    comment = me("POST", f"posts/{post['id']}/comments", content="I was there too!")
    draft = me("POST", "drafts", content="For the harvest list: beans, chard, the last basil.")
    note = "About a funeral"
    noted = me("POST", "posts", content="It rained, and everybody stayed.", note=note)
    me("PATCH", f"posts/{noted['id']}", version=1, content="It rained, and all of us stayed.")
    asked = _poll(me, "Which drink?", "Tea", "Coffee", "Water from the well")
    answered_poll = _poll(me, "Who comes?", "I do", "Perhaps", "Sorry, not this time")
    me("PUT", f"posts/{answered_poll}/vote", choices=[1])
    film = _film(me)
    words = "The first snow of the year, from our window."
    shown_film = me("POST", "posts", kind="video", video=film, content=words)
    tag = next(name for item in found for name in item["tags"])
    me("PUT", f"tags/{urllib.parse.quote(tag)}/follow")
    for name in ("My phone", "Security_key_at_my_key_ring_for_the_house_and_more"):
        given = me("POST", "auth/passkeys/options", password=password)["publicKey"]
        me("POST", "auth/passkeys", name=name, credential=Device(site, "localhost").create(given))
    for kind, ident in (("post", pictures["id"]), ("comment", comments[0]["id"])):
        me("POST", "reports", type=kind, id=ident, reason="spam")
    return {
        "post": post["id"],
        "article": article["id"],
        "pictures": pictures["id"],
        "author": post["author"]["username"],
        "author_id": post["author"]["id"],
        "answered": comments[0]["id"],
        "comment": comment["id"],
        "mine": mine["id"],
        "draft": draft["id"],
        "tag": tag,
        "noted": noted["id"],
        "asked": asked,
        "answered_poll": answered_poll,
        "film": film,
        "shown_film": shown_film["id"],
        "me": username,
    }


def _register_guarded(site: str) -> None:
    """Register the person of GUARDED, who logs in with a code."""
    person = Client.new(site, GUARDED["username"])
    secret = person("POST", "auth/totp", password=GUARDED["password"])["secret"]
    code = f"{TOTP(base64.b32decode(secret)).token():06d}"
    person("POST", "auth/totp/confirm", otp=code)


def _film(me: Client) -> str:
    """Upload a video with captions; return its id."""
    data = samples.video(size="640x360")
    upload = me("POST", "media/uploads", size=len(data))["id"]
    head = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
    film = str(_send(me, "PATCH", f"media/uploads/{upload}", data, head)["video"]["id"])
    words = b"WEBVTT\n\n00:00.000 --> 00:02.000\nIt snows.\n"
    _send(me, "PUT", f"media/videos/{film}/captions/en", words, {"Content-Type": "text/vtt"})
    return film


def _send(me: Client, method: str, path: str, data: bytes, head: Mapping[str, str]) -> Any:
    """Send bytes to the API."""
    head = {**head, "Authorization": f"Bearer {me.token}"}
    request = urllib.request.Request(me.base + path, data, head, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.loads(answer.read())


def _poll(me: Client, words: str, *options: str) -> str:
    """Publish a poll and return its id."""
    poll = {"options": options, "lasts": 86_400}
    return str(me("POST", "posts", content=words, poll=poll)["id"])


def _items(me: Client, path: str) -> list[dict[str, Any]]:
    """Return the first posts of a list, at most a hundred."""
    items: list[dict[str, Any]] = []
    page: dict[str, Any] = {"next": ""}
    while page["next"] is not None and len(items) < 100:
        cursor = page["next"] and f"&cursor={page['next']}"
        page = me("GET", f"{path}?size=20{cursor}")
        items += page["items"]
    return items
