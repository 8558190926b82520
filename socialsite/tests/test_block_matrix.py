"""Who may see whom: every address, every kind of reader, with caches warm, cold and dead (T42).

Somebody ("Hidden") did all that one can do on the site, is blocked with some readers and not with
others. For each address the table below says how it is called and what it may show. An address
that is not in the table fails `test_every_address_is_in_the_matrix`: put it in, as

- `Shows`: a page or list on which what Hidden did may stand. It is read by everybody; nobody finds
  a word, a name or an id that is not for them. `sees` are what the follower must find, so that a
  page that shows nothing at all does not count as proof.
- `Of`: something of Hidden's own. For whom it is not, the answer is that of what does not exist,
  to the letter. What changes something is asked only of those who must be refused.
- `Free`: what people may do about somebody all the same (block, unblock, unfollow), undone
  afterwards; the answer must show nothing but what `names` allows.
- `NOBODY`, with the reason: shows nobody but the one who asks.

What somebody banned did is looked for as well: nobody may find it.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, get_resolver
from rest_framework.test import APIClient

from accounts import actions as accounts
from accounts.models import Role, User
from feeds import actions as feeds
from interactions import actions
from interactions.models import SubjectType
from interactions.tasks import fold_notifications
from relations import actions as relations
from socialsite.core import redis

READERS = (
    *("anonymous", "stranger", "follower", "blocked"),
    *("blocker", "mutual", "banned", "staff"),
)
# Hidden is not for them, nor they for Hidden.
APART = ("blocked", "blocker", "mutual")
# Nobody is signed in.
OUT = ("anonymous", "banned")
NAMES = ("username", "nickname", "hidden")
NOTHING = 1234567890123456789


@dataclass(frozen=True, eq=False)
class Call:
    """One request; `{name}` in path and data stands for what the World has by that name."""

    method: str
    path: str
    data: Mapping[str, str] = field(default_factory=dict)
    # What the follower must find.
    sees: tuple[str, ...] = ()
    # Of whom Hidden's names are told all the same.
    names: tuple[str, ...] = ()
    # For followers only.
    private: bool = False
    # Asked in place.
    htmx: bool = False


class Shows(Call):
    """A page or list of several people's doings."""


class Of(Call):
    """Something of Hidden's own."""


class Free(Call):
    """Allowed whatever is between the two."""


def both(path: str, **more: Any) -> list[Call]:
    return [Of("put", path, **more), Of("delete", path, **more)]


V1 = "api/v1/"
THREAD = ("comment", "reply")
FORM = {"next": "/"}

NOBODY: dict[str, str] = {
    **dict.fromkeys(
        (
            *("auth/register", "auth/login", "auth/refresh", "auth/logout", "auth/password"),
            *("auth/email", "auth/email/confirm", "auth/recover", "auth/recover/confirm"),
            *("auth/devices", "auth/devices/<str:client>", "auth/introspect", "auth/totp"),
            *("auth/totp/confirm", "auth/totp/recovery-codes", "auth/ws-ticket"),
            *("users/me", "users/me/notification-preferences", "media", "posts"),
            "notifications/read",
        ),
        "one's own",
    ),
    **dict.fromkeys(
        (
            *("login", "login/code", "register", "logout", "recover", "recover/<str:token>"),
            *("email/<str:token>", "settings/email", "settings/password", "settings/devices"),
            *("settings/two-factor", "settings/two-factor/confirm", "settings/two-factor/codes"),
            *("settings/two-factor/off", "settings/notifications", "settings/profile"),
        ),
        "one's own",
    ),
    **dict.fromkeys(
        (
            *("healthz", "readyz", "metrics", "i18n/setlang/", ".well-known/jwks.json"),
            *("api/schema/", "api/docs/", "^api/"),
        ),
        "of no person",
    ),
    "media/<path:path>": "pictures under random names, which only pages that show them tell",
}

MATRIX: dict[str, list[Call]] = {
    # --- API: feeds -----------------------------------------------------------------------------
    "feed": [Shows("get", "feed?size=20", sees=("post", "private", "nickname", "mention"))],
    "feed/recommended": [Shows("get", "feed/recommended?size=20", sees=("post", "nickname"))],
    "feed/new-count": [Shows("get", "feed/new-count")],
    "users/<str:user_id>/posts": [
        Of("get", "users/{hidden}/posts", sees=("post", "private")),
        Shows("get", "users/{third}/posts", sees=("post", "nickname")),
        Shows("get", "users/{me}/posts"),
    ],
    "posts/<str:post_id>": [
        Of("get", "posts/{post_id}", sees=("post",)),
        Of("get", "posts/{private_id}", sees=("private",), private=True),
        Of("delete", "posts/{post_id}"),
        Shows("get", "posts/{quote_id}", sees=("post",)),
    ],
    # --- API: people ----------------------------------------------------------------------------
    "users": [Shows("get", "users?q={username}", sees=NAMES)],
    "users/by-name/<str:username>": [
        Of("get", "users/by-name/{username}", sees=NAMES, names=("blocker",))
    ],
    "users/<str:user_id>": [Of("get", "users/{hidden}", sees=NAMES, names=("blocker",))],
    "users/me/blocked": [Shows("get", "users/me/blocked", names=("blocker", "mutual"))],
    "users/<str:user_id>/follow": [
        Free("post", "users/{hidden}/follow"),
        Free("delete", "users/{hidden}/follow"),
    ],
    "users/<str:user_id>/block": [
        Free("post", "users/{hidden}/block"),
        Free("delete", "users/{hidden}/block"),
    ],
    **{
        f"users/<str:user_id>/{kind}": [
            Of("get", f"users/{{hidden}}/{kind}"),
            Shows("get", f"users/{{third}}/{kind}", sees=NAMES),
        ]
        for kind in ("following", "followers", "friends")
    },
    "relations": [Shows("get", "relations?ids={hidden}")],
    # --- API: interactions ----------------------------------------------------------------------
    "posts/<str:post_id>/like": both("posts/{post_id}/like"),
    "posts/<str:post_id>/bookmark": both("posts/{post_id}/bookmark"),
    "posts/<str:post_id>/repost": [
        Of("post", "posts/{post_id}/repost", {"content": "look"}),
        Of("post", "posts/{quote_id}/repost", {"content": "look"}),
        Of("delete", "posts/{post_id}/repost"),
    ],
    "posts/<str:post_id>/likes": [
        Of("get", "posts/{post_id}/likes"),
        Shows("get", "posts/{third_post}/likes", sees=NAMES),
        Shows("get", "posts/{mine}/likes", sees=NAMES),
    ],
    "bookmarks": [Shows("get", "bookmarks", sees=("post", "nickname"))],
    "reports": [
        Of("post", "reports", {"type": "post", "id": "{post_id}", "reason": "spam"}),
        Of("post", "reports", {"type": "comment", "id": "{comment_id}", "reason": "spam"}),
    ],
    "posts/<str:post_id>/comments": [
        Of("get", "posts/{post_id}/comments"),
        Of("post", "posts/{post_id}/comments", {"content": "hm"}),
        Of("post", "posts/{third_post}/comments", {"content": "hm", "parent": "{comment_id}"}),
        Shows("get", "posts/{third_post}/comments", sees=("comment", "nickname")),
        Shows("get", "posts/{third_post}/comments?sort=new", sees=("comment",)),
        Shows("get", "posts/{mine}/comments", sees=("comment",)),
    ],
    "posts/<str:post_id>/comment-settings": [
        Of("get", "posts/{post_id}/comment-settings"),
        Of("patch", "posts/{post_id}/comment-settings", {"status": "closed"}),
    ],
    "comments/<str:comment_id>/pin": both("comments/{comment_id}/pin"),
    "comments/<str:comment_id>": [Of("delete", "comments/{comment_id}")],
    "comments/<str:comment_id>/like": both("comments/{comment_id}/like"),
    "comments/<str:comment_id>/likes": [
        Of("get", "comments/{comment_id}/likes"),
        Shows("get", "comments/{third_comment}/likes", sees=NAMES),
    ],
    "comments/<str:comment_id>/replies": [
        Of("get", "comments/{comment_id}/replies"),
        Shows("get", "comments/{third_comment}/replies", sees=("reply", "nickname")),
    ],
    "notifications": [Shows("get", "notifications", sees=("nickname",))],
    "notifications/unread-count": [Shows("get", "notifications/unread-count")],
}

PAGES: dict[str, list[Call]] = {
    # --- pages: feeds ---------------------------------------------------------------------------
    "": [Shows("get", "", sees=("post", "private", "nickname", "mention"))],
    "recommended": [Shows("get", "recommended", sees=("post", "nickname"))],
    "search": [Shows("get", "search?q={username}", sees=NAMES)],
    "@<str:username>": [
        Of("get", "@{username}", sees=("post", "private", "nickname"), names=("blocker",)),
        Shows("get", "@{third_name}", sees=("post", "nickname")),
    ],
    "posts": [],
    "posts/<str:post_id>": [
        Of("get", "posts/{post_id}", sees=("post", "nickname")),
        Of("get", "posts/{private_id}", sees=("private",), private=True),
        Shows("get", "posts/{quote_id}", sees=("post",)),
        Shows("get", "posts/{third_post}", sees=("comment", "nickname")),
        Shows("get", "posts/{mine}", sees=("comment",)),
    ],
    "posts/<str:post_id>/delete": [Of("post", "posts/{post_id}/delete")],
    # --- pages: people --------------------------------------------------------------------------
    **{
        f"@<str:username>/{kind}": [
            Of("get", f"@{{username}}/{kind}", names=("blocker",)),
            Shows("get", f"@{{third_name}}/{kind}", sees=("nickname",)),
        ]
        for kind in ("following", "followers", "friends")
    },
    "@<str:username>/follow": [Free("post", "@{username}/follow", {"follow": "1"})],
    "@<str:username>/block": [
        Free("get", "@{username}/block"),
        Free("post", "@{username}/block", {"block": "1"}),
        Free("post", "@{username}/block", {"block": "0"}),
    ],
    "settings/blocked": [Shows("get", "settings/blocked", names=("blocker", "mutual"))],
    # --- pages: interactions --------------------------------------------------------------------
    "posts/<str:post_id>/like": [Of("post", "posts/{post_id}/like", {"liked": "1"})],
    "posts/<str:post_id>/bookmark": [Of("post", "posts/{post_id}/bookmark", {"bookmarked": "1"})],
    "posts/<str:post_id>/repost": [
        Of("get", "posts/{post_id}/repost", sees=("post", "nickname")),
        Of("post", "posts/{post_id}/repost", FORM),
    ],
    "posts/<str:post_id>/repost/undo": [Of("post", "posts/{post_id}/repost/undo", FORM)],
    "report/<str:kind>/<str:subject_id>": [
        Of("get", "report/post/{post_id}"),
        Of("get", "report/comment/{comment_id}"),
        Of("post", "report/comment/{comment_id}", {"reason": "spam"}),
    ],
    "bookmarks": [Shows("get", "bookmarks", sees=("post", "nickname"))],
    "posts/<str:post_id>/comments": [Of("post", "posts/{post_id}/comments", {"content": "hm"})],
    "posts/<str:post_id>/likes": [
        Of("get", "posts/{post_id}/likes"),
        Shows("get", "posts/{third_post}/likes", sees=("username", "nickname")),
    ],
    "posts/<str:post_id>/comment-settings": [
        Of("post", "posts/{post_id}/comment-settings", {"status": "closed"})
    ],
    "comments/<str:comment_id>/like": [Of("post", "comments/{comment_id}/like", {"liked": "1"})],
    "comments/<str:comment_id>/likes": [
        Of("get", "comments/{comment_id}/likes"),
        Shows("get", "comments/{third_comment}/likes", sees=("username", "nickname")),
    ],
    "comments/<str:comment_id>/reply": [Of("get", "comments/{comment_id}/reply", htmx=True)],
    "comments/<str:comment_id>/replies": [
        Of("get", "comments/{comment_id}/replies"),
        Shows("get", "comments/{third_comment}/replies", sees=("reply", "nickname")),
    ],
    "comments/<str:comment_id>/pin": [Of("post", "comments/{comment_id}/pin", {"pinned": "1"})],
    "comments/<str:comment_id>/delete": [Of("post", "comments/{comment_id}/delete")],
    "notifications": [Shows("get", "notifications", sees=("nickname",))],
    "notifications/read": [],
}


# --- the addresses ------------------------------------------------------------------------------
def addresses(patterns: Any = None, before: str = "") -> Iterator[str]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield address
        else:
            yield from addresses(pattern.url_patterns, address)


def test_every_address_is_in_the_matrix() -> None:
    known = {*NOBODY, *(f"{V1}{address}" for address in (*NOBODY, *MATRIX)), *PAGES}
    lacking = [a for a in addresses() if a not in known and not a.startswith("admin/")]
    assert not lacking, f"say in MATRIX or PAGES who is shown what at {lacking}"
    there = set(addresses())
    gone = [a for a in MATRIX if V1 + a not in there] + [a for a in PAGES if a not in there]
    assert not gone, f"these are no addresses: {gone}"


# --- the world ----------------------------------------------------------------------------------
class World:
    """Hidden, who did everything; somebody banned, who did too; a third person; the readers."""

    def __init__(self, make_user: Callable[..., User]) -> None:
        self.hidden = make_user("xanadu77", nickname="Xanthippe")
        self.gone = make_user("vulgar88", nickname="Voldemort")
        self.third = make_user("third1")
        self.users = {name: make_user(f"{name}1") for name in READERS if name != "anonymous"}
        accounts.promote(self.users["staff"], Role.MEMBER | Role.MODERATOR)
        self.mine: dict[str, int] = {}
        self.marks: dict[str, str] = {}
        # What nobody may find, and what will be that of the one who is to be banned.
        self.never: list[str] = []
        self._of_gone: list[str] = []
        self.names: dict[str, Any] = {
            "hidden": self.hidden.pk,
            "username": self.hidden.username,
            "third": self.third.pk,
            "third_name": self.third.username,
        }
        self._meet()
        self._write()

    def _meet(self) -> None:
        people = self.users.values()
        for person in (self.hidden, self.gone):
            relations.follow(self.third, person)
            relations.follow(person, self.third)
        for name, reader in self.users.items():
            relations.follow(reader, self.third)
            relations.follow(self.gone, reader)
            # Of a block that ends no follow nothing but the block itself is told.
            if name != "blocker":
                relations.follow(self.hidden, reader)
            if name not in ("stranger", "staff", "blocker"):
                relations.follow(reader, self.hidden)
        names = {"username": self.hidden.username, "nickname": self.hidden.nickname}
        self.marks = {**names, "hidden": str(self.hidden.pk)}
        self._of_gone = [self.gone.username, self.gone.nickname, str(self.gone.pk)]
        for reader in people:
            post = feeds.publish(reader, content="one's own")
            self.mine[reader.username.removesuffix("1")] = post.pk

    def _write(self) -> None:
        third = feeds.publish(self.third, content="of somebody else").pk
        answered = actions.comment(self.third, third, "what do you think?").pk
        self.names |= {"third_post": third, "third_comment": answered}
        for person, mark in ((self.hidden, "zq"), (self.gone, "vq")):
            ids: dict[str, int] = {}
            texts = {kind: f"{mark}{kind}" for kind in ("post", "private", "comment", "reply")}
            ids["post"] = feeds.publish(person, content=texts["post"]).pk
            ids["private"] = feeds.publish(
                person, content=texts["private"], visibility="followers"
            ).pk
            ids["comment"] = actions.comment(person, third, texts["comment"]).pk
            ids["reply"] = actions.comment(person, third, texts["reply"], answered).pk
            ids["repost"] = feeds.repost(person, third)[0].pk
            quote = feeds.repost(self.third, ids["post"], "look at this")[0].pk
            actions.like(person, SubjectType.POST, third)
            actions.like(person, SubjectType.COMMENT, answered)
            for name, reader in self.users.items():
                mention = feeds.publish(person, content=f"{mark}mention @{reader.username}")
                ids[f"mention {name}"] = mention.pk
                actions.like(person, SubjectType.POST, self.mine[name])
                actions.comment(person, self.mine[name], f"{texts['comment']} too")
                actions.bookmark(reader, ids["post"])
                actions.bookmark(reader, quote)
                actions.like(reader, SubjectType.POST, ids["post"])
                actions.comment(reader, ids["post"], "me too")
            texts["mention"] = f"{mark}mention"
            if person is self.hidden:
                self.marks |= texts
                self.marks |= {f"{kind}_id": str(ident) for kind, ident in ids.items()}
                self.names |= {f"{kind}_id": ident for kind, ident in ids.items()}
                self.names["quote_id"] = quote
            else:
                self._of_gone += [*texts.values(), *map(str, ids.values())]

    def ban(self) -> None:
        """Nobody finds them from now on."""
        accounts.ban(self.gone)
        accounts.ban(self.users["banned"])
        self.never = self._of_gone

    def block(self) -> None:
        """Let the blocks happen."""
        relations.block(self.hidden, self.users["blocked"])
        relations.block(self.users["blocker"], self.hidden)
        relations.block(self.hidden, self.users["mutual"])
        relations.block(self.users["mutual"], self.hidden)

    def filled(self, text: str, reader: str, nothing: bool = False) -> str:
        """Put what there is into a path or a value; `nothing`: what there is not, of Hidden's."""
        names = {**self.names, "mine": self.mine.get(reader, self.names["third_post"])}
        names["me"] = self.users[reader].pk if reader in self.users else self.third.pk
        if nothing:
            for name in names:
                if name in ("hidden", "post_id", "private_id", "comment_id"):
                    names[name] = NOTHING
            names["username"] = "nobody99"
        return text.format(**names)


class Walk:
    """Calls addresses as readers, and collects what is wrong."""

    def __init__(self, world: World, api_for: Callable[..., Any]) -> None:
        self.world, self.wrong, self.count = world, [], 0
        self.state = ""
        self.clients: dict[tuple[str, bool], Any] = {}
        self.nothing: dict[tuple[str, Call, bool], tuple[int, str]] = {}
        for name in READERS:
            user = world.users.get(name)
            browser = Client()
            if user is not None:
                pair = accounts.sign_in(user, "chrome")
                browser.cookies["access"], browser.cookies["refresh"] = pair.access, pair.refresh
            self.clients[name, False] = browser
            self.clients[name, True] = APIClient() if user is None else api_for(user)

    def ask(self, reader: str, call: Call, is_api: bool, nothing: bool = False) -> tuple[int, str]:
        """Return status and text, without what is different each time."""
        self.count += 1
        path = self.world.filled(f"/{V1 if is_api else ''}{call.path}", reader, nothing)
        data = {k: self.world.filled(v, reader, nothing) for k, v in call.data.items()}
        options: dict[str, Any] = {"format": "json"} if is_api and call.method != "get" else {}
        if call.htmx:
            options["headers"] = {"HX-Request": "true"}
        send = getattr(self.clients[reader, is_api], call.method)
        answer = send(path, *([data] if data else []), **options)
        text = answer.content.decode() + answer.headers.get("Location", "")
        return answer.status_code, text

    def check(self, reader: str, call: Call, is_api: bool) -> None:
        """Call it, and look for what this reader must not find."""
        status, text = self.ask(reader, call, is_api)
        where = f"{self.state}: {reader} {call.method} {V1 if is_api else '/'}{call.path}"
        if status >= 500:
            self.wrong.append(f"{where}: {status}")
        # What stands in the address or the body was known before.
        given = self.world.filled(f"{call.path} {' '.join(call.data.values())}", reader)
        hidden = self._hidden_from(reader, call)
        found = [
            name for name, mark in hidden.items() if mark and mark not in given and mark in text
        ]
        found += [mark for mark in self.world.never if mark in text]
        if found:
            self.wrong.append(f"{where}: shows {found}")
        if reader == "follower" and call.method == "get":
            lacks = [name for name in call.sees if self.world.marks[name] not in text]
            if lacks:
                self.wrong.append(f"{where}: {status}, lacks {lacks}")
        signed_out = (reader == "anonymous" and call.method != "get") or (
            reader == "banned" and is_api
        )
        if isinstance(call, Of) and not signed_out and self._refused(reader, call):
            self._compare(reader, call, is_api, status, text, where)

    def _hidden_from(self, reader: str, call: Call) -> dict[str, str]:
        marks = self.world.marks
        if reader in call.names:
            return {name: mark for name, mark in marks.items() if name not in NAMES}
        if reader in APART:
            return marks
        if reader == "follower":
            return {}
        return {name: marks[name] for name in ("private", "private_id")}

    def _refused(self, reader: str, call: Call) -> bool:
        if reader in call.names:
            return False
        return reader in APART or (call.private and reader != "follower")

    def _compare(
        self, reader: str, call: Call, is_api: bool, status: int, text: str, where: str
    ) -> None:
        key = (reader, call, is_api)
        if key not in self.nothing:
            there_is_none, other = self.ask(reader, call, is_api, nothing=True)
            self.nothing[key] = there_is_none, self._plain(other, reader, call, nothing=True)
        if (status, self._plain(text, reader, call)) != self.nothing[key] or status != 404:
            self.wrong.append(f"{where}: {status} and not {self.nothing[key][0]}, or other words")

    def _plain(self, text: str, reader: str, call: Call, *, nothing: bool = False) -> str:
        """Leave out what the reader typed, tokens, and the badge of other things than this."""
        typed = re.findall(r"{\w+}", f"{call.path} {' '.join(call.data.values())}")
        for name in typed:
            text = text.replace(self.world.filled(name, reader, nothing), name)
        text = re.sub(r'<b class="badge".*?</b>', "", text)
        return re.sub(r"[A-Za-z0-9]{64}", "token", text)

    def remember(self) -> None:
        """Let those read everything who must not see it later."""
        for is_api, table in ((True, MATRIX), (False, PAGES)):
            for call in (call for calls in table.values() for call in calls):
                if call.method == "get":
                    for reader in (*APART, "banned"):
                        self.ask(reader, call, is_api)

    def count_unread(self, readers: tuple[str, ...]) -> None:
        """Hold the number of unread notifications against those that the reader is shown."""
        for reader in readers:
            if reader in OUT:
                continue
            client = self.clients[reader, True]
            page = client.get(f"/{V1}notifications?size=100").json()["items"]
            count = client.get(f"/{V1}notifications/unread-count").json()["count"]
            if count != sum(not item["read"] for item in page):
                self.wrong.append(f"{self.state}: {reader} is told of {count} unread")

    def all(self, readers: tuple[str, ...] = READERS, *, reads_only: bool = False) -> None:
        """Walk the whole table."""
        for is_api, table in ((True, MATRIX), (False, PAGES)):
            for call in (call for calls in table.values() for call in calls):
                for reader in readers:
                    if call.method == "get":
                        self.check(reader, call, is_api)
                    elif reads_only or reader not in (*APART, *OUT):
                        continue
                    elif isinstance(call, Free):
                        with undone():
                            self.check(reader, call, is_api)
                    else:
                        self.check(reader, call, is_api)


@contextlib.contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# A ban makes all cached readers stale: what a block alone does is seen before.
OTHERS = tuple(name for name in READERS if name != "banned")
EVERYBODY = {"blocked": OTHERS, "banned": (*APART, "banned"), "cold": READERS, "dead": READERS}
FEW = {"blocked": (*APART, "follower"), "cold": ("mutual",), "dead": ("blocked", "anonymous")}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "readers",
    [
        pytest.param(
            FEW,
            id="some",
            marks=pytest.mark.skipif(connection.vendor == "mysql", reason="all of it runs here"),
        ),
        pytest.param(EVERYBODY, id="all", marks=pytest.mark.full),
    ],
)
def test_nobody_finds_anything_that_is_not_for_them(
    readers: Mapping[str, tuple[str, ...]],
    make_user: Any,
    api_for: Any,
    drain: Any,
    dead_redis: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(make_user)
    drain()
    fold_notifications()
    walk = Walk(world, api_for)
    walk.remember()  # the caches know what is about to be forbidden
    world.block()
    for state, some in readers.items():
        walk.state = state
        with contextlib.ExitStack() as stack:
            if state != "blocked" and not world.never:
                world.ban()
            if state == "cold":
                drain()
                fold_notifications()
                stack.enter_context(emptied(monkeypatch))
            elif state == "dead":
                stack.enter_context(dead_redis())
            walk.count_unread(some)
            walk.all(some, reads_only=state in ("banned", "cold"))
    assert not walk.wrong, "\n".join(walk.wrong)


@contextlib.contextmanager
def emptied(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every request find an empty Redis."""
    ask = Walk.ask

    def ask_cold(self: Walk, *args: Any, **kwargs: Any) -> Any:
        redis.call(lambda connection: connection.flushdb())
        return ask(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Walk, "ask", ask_cold)
        yield
