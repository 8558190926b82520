"""The access table that `test_block_matrix` walks: content and readers of each address.

For each address it says how to call it and what it may show. `test_every_address_is_in_the_matrix`
fails for an address that is not in the table, and for a method that none of its calls uses. A call
is

- `Shows`: a page or list that may contain something of Hidden's. Everybody reads it; nobody may
  find a word, a name or an id that is not for them.
- `Of`: an object of Hidden's. A reader without access gets exactly the response for an object that
  does not exist. Calls that change something are made by those who must be refused, and undone.
- `Public`: an object of Hidden's on a page that reads no session, so that other sites can show it.
  Everybody, also somebody blocked by Hidden, gets exactly the response that a guest gets.
- `Alike`: actions on people that are allowed in any case (block, by name). Somebody blocked by
  Hidden gets exactly the response for an unknown name, whatever it is.
- `Free`: removal of one's own actions (a like), undone afterwards; the response may show only what
  `names` allows. For people who did not do the action it is `Of`.
- `Disclosed`: the relation of two people, by the id of the other: it says who blocks whom. The
  addresses in DISCLOSED are the only ones that do (docs/moderation.md).

An empty response proves nothing: the readers in `by` must find the texts in `sees`, and succeed
with calls that change something. Addresses in NOBODY, with the reason, show nobody but the reader.
ADMIN says what staff find; nobody else finds anything there.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

READERS = (
    *("anonymous", "stranger", "follower", "blocked"),
    *("blocker", "mutual", "banned", "staff"),
)
# Roles with a block between them and Hidden.
APART = ("blocked", "blocker", "mutual")
# Roles without a session.
OUT = ("anonymous", "banned")
MEMBERS = ("stranger", "follower", "staff")
ALL = ("anonymous", *MEMBERS)
FOLLOWER = ("follower",)
OWNER = ("hidden",)
BLOCKER = ("blocker",)
BLOCKING = ("blocker", "mutual")
NAMES = ("username", "nickname", "hidden")


@dataclass(frozen=True, eq=False)
class Call:
    """One request; `{name}` in path and data stands for the World's value of that name."""

    method: str
    path: str
    data: Mapping[str, str] = field(default_factory=dict)
    # Texts that must be found: names of marks of the World, or literal texts. Content for followers
    # only must be found by followers.
    sees: tuple[str, ...] = ()
    # The readers who find them, or who succeed if the call changes something.
    by: tuple[str, ...] = ()
    # The readers who may see Hidden's names all the same.
    names: tuple[str, ...] = ()
    # For followers only.
    private: bool = False
    # For its author only.
    own: bool = False
    # Requested by htmx.
    htmx: bool = False

    @property
    def proof(self) -> tuple[str, ...]:
        """The readers whose success shows that the call is not refused to everybody."""
        return self.by or (MEMBERS if self.method == "get" and not self.private else FOLLOWER)


class Shows(Call):
    """A page or list of several people's content."""


class Of(Call):
    """An object of Hidden's."""


class Public(Of):
    """An object of Hidden's on a page that reads no session: everybody gets what a guest gets."""


class Alike(Call):
    """Allowed for any relation, and for unknown people."""


class Free(Call):
    """One's own action, which one may undo for any relation."""


class Disclosed(Call):
    """The relation of two people."""


# These reveal that Hidden blocks the reader; for all other addresses Hidden does not exist then.
DISCLOSED = {"users/<str:user_id>/follow", "users/<str:user_id>/block", "relations"}


@dataclass(frozen=True)
class Listed:
    """A model in the admin, or a page of it."""

    asked: str
    in_list: tuple[str, ...] = ()
    on_page: tuple[str, ...] = ()


def both(path: str, **more: Any) -> list[Call]:
    return [Of("put", path, **more), Of("delete", path, **more)]


def filled(data: Mapping[str, str], fill: Callable[[str], str]) -> dict[str, Any]:
    """Return the data of a call with the World's values; a text like "[0]" is a list."""
    texts = {fill(name): fill(text) for name, text in data.items()}
    return {k: json.loads(text) if text.startswith("[") else text for k, text in texts.items()}


V1 = "api/v1/"
FORM = {"next": "/"}
REPORT = {"reason": "spam"}
UNTIL = {"until": "2020-01-01T00:00:00.000Z"}

NOBODY: dict[str, str] = {
    **dict.fromkeys(
        (
            "auth/reopen",
            *("auth/register", "auth/login", "auth/refresh", "auth/logout", "auth/password"),
            *(
                "auth/email",
                "auth/email/waiting",
                "auth/email/confirm",
                "auth/recover",
                "auth/recover/confirm",
            ),
            *("auth/devices", "auth/devices/<str:client>", "auth/introspect", "auth/totp"),
            *("auth/totp/confirm", "auth/totp/recovery-codes", "auth/ws-ticket"),
            *("auth/passkeys", "auth/passkeys/options", "auth/passkeys/<str:passkey_id>"),
            *("auth/passkeys/prove-options", "auth/passkeys/login-options", "auth/passkeys/login"),
            *("invites", "invites/<str:invite_id>"),
            *(
                "users/me/sign-ins",
                "exports",
                "exports/<str:export_id>",
                "exports/<str:export_id>/file",
                "imports",
                "imports/<str:import_id>",
                "imports/<str:import_id>/start",
                "imports/<str:import_id>/undo",
                "users/me/acts",
                "users/me/acts/<str:act_id>/appeal",
                "auth/acts",
                "auth/appeal",
            ),
            *("users/me", "users/me/notification-preferences", "users/me/preferences"),
            *("me/push", "media", "drafts"),
            *("media/videos", "media/videos/<str:ident>"),
            *("media/uploads", "media/uploads/<str:ident>"),
            "media/videos/<str:ident>/captions/<str:language>",
            "preview",
        ),
        "one's own",
    ),
    **dict.fromkeys(
        (
            *("login/passkey", "settings/two-factor/passkeys", "settings/two-factor/passkeys/name"),
            *("login", "login/code", "register", "logout", "recover", "recover/choose"),
            *(
                "recover/<str:token>",
                "email/<str:token>",
                "email/off/<str:token>",
                "email/confirm",
                "settings/email",
            ),
            *(
                "settings/password",
                "settings/devices",
                "settings/sign-ins",
                "settings/prove",
                "welcome/skip",
            ),
            *("settings/two-factor", "settings/two-factor/confirm", "settings/two-factor/codes"),
            *("settings/two-factor/off", "settings/notifications", "settings/profile"),
            *("settings/reading", "terms/accept", "settings/close", "login/reopen"),
            *("settings/invites", "settings/invites/<str:invite_id>/end"),
            *("settings/export", "settings/export/<str:export_id>/file"),
            *("settings/import", "settings/import/<str:import_id>/start"),
            "settings/import/<str:import_id>/undo",
            *("settings/acts", "settings/acts/<str:act_id>/appeal", "login/appeal"),
            *("videos", "videos/<str:ident>"),
            "preview",
            "notifications/seen",
        ),
        "one's own",
    ),
    **dict.fromkeys(
        (
            *("healthz", "readyz", "metrics", "i18n/setlang/", ".well-known/jwks.json"),
            *(".well-known/security.txt", "favicon.ico", "robots.txt"),
            *("site", "manifest.webmanifest", "sw.js", "offline"),
            *("register/sent", "login/appeal/sent", "login/closed"),
            *("about", "rules", "terms", "privacy", "accent/<str:colour>.css"),
            "auth/challenge",
            "logo/<str:logo>/<str:name>.png",
            *("announcements", "announcements/<str:announcement_id>/dismiss"),
            *("api/schema/", "api/docs/", "^api/", "admin/login/", "admin/logout/"),
            *("admin/password_change/", "admin/password_change/done/", "admin/doctor/"),
        ),
        "of no person",
    ),
    "media/<path:path>": "test_uploads holds pictures to the gate of the posts that show them",
}

MATRIX: dict[str, list[Call]] = {
    # --- API: feeds -----------------------------------------------------------------------------
    "feed": [
        Shows("get", "feed?size=20", sees=("private", "few", "mention"), by=FOLLOWER),
        Shows("get", "feed?size=20", sees=("post", "nickname")),
    ],
    "feed/recommended": [
        Shows("get", "feed/recommended?size=20", sees=("post", "nickname"), by=ALL)
    ],
    # A task fills it: `block_world` runs the task, a site under attack every few minutes.
    "feed/rising": [Shows("get", "feed/rising?size=20", sees=('"items"',), by=ALL)],
    "feed/tags": [
        Shows("get", "feed/tags?size=20", sees=("private", "few"), by=FOLLOWER),
        Shows("get", "feed/tags?size=20", sees=("post", "nickname"), by=MEMBERS),
    ],
    "search/posts": [
        Shows("get", "search/posts?q=matter&size=20", sees=("private", "few"), by=FOLLOWER),
        Shows("get", "search/posts?q=matter&sort=new", sees=("post", "nickname"), by=ALL),
        Shows("get", "search/posts?q=from:{username}&size=20", sees=("post",), by=ALL),
    ],
    "tags": [
        Shows("get", "tags?q=matt", sees=("matter",), by=ALL),
        Shows("get", "tags?q=zq", sees=('"items"',), by=ALL),
    ],
    "tags/trending": [Shows("get", "tags/trending", sees=('"items"',), by=ALL)],
    "tags/<str:name>": [Shows("get", "tags/matter", sees=("matter",), by=ALL)],
    "tags/<str:name>/posts": [
        Shows("get", "tags/matter/posts?size=20", sees=("private", "few"), by=FOLLOWER),
        Shows("get", "tags/matter/posts?size=20", sees=("post", "nickname"), by=ALL),
    ],
    "tags/<str:name>/follow": [
        Shows("put", "tags/else/follow", by=MEMBERS),
        Shows("delete", "tags/else/follow", by=MEMBERS),
    ],
    # `Walk.count` compares it with the page.
    "feed/new-count": [Shows("get", "feed/new-count", sees=('"count"',))],
    "posts": [Shows("post", "posts", {"content": "hello @{username}"}, by=MEMBERS)],
    "users/<str:user_id>/posts": [
        Of("get", "users/{hidden}/posts?size=20", sees=("post", "private"), by=ALL),
        Shows("get", "users/{third}/posts", sees=("post", "nickname"), by=ALL),
        Shows("get", "users/{me}/posts", sees=("one's own",)),
        Of("get", "users/{hidden}/posts?kind=media", sees=('"items"',), by=ALL),
    ],
    "users/<str:user_id>/replies": [
        Of("get", "users/{hidden}/replies?size=20", sees=("mention", "comment"), by=ALL),
        Shows("get", "users/{third}/replies", sees=("post", "nickname"), by=ALL),
    ],
    "users/<str:user_id>/likes": [
        Of("get", "users/{hidden}/likes?size=20", sees=("of somebody else",), by=ALL),
        Shows("get", "users/{third}/likes?size=20", sees=("post", "nickname"), by=ALL),
        Shows("get", "users/{me}/likes?size=20", sees=("post", "nickname")),
    ],
    "posts/<str:post_id>": [
        Of("get", "posts/{post_id}", sees=("post", "option", *NAMES), by=ALL),
        Of("get", "posts/{private_id}", sees=("private", *NAMES), private=True),
        Of("get", "posts/{few_id}", sees=("few", *NAMES), private=True),
        Of("get", "posts/{alone_id}", sees=("alone",), by=OWNER, own=True),
        Of("patch", "posts/{post_id}", {"version": "2", "title": "t"}, by=OWNER),
        Of("patch", "posts/{private_id}", {"version": "1", "title": "t"}, by=OWNER),
        Of("delete", "posts/{post_id}", by=OWNER),
        Shows("get", "posts/{quote_id}", sees=("post", *NAMES), by=ALL),
    ],
    "posts/<str:post_id>/audience": [
        Of("get", "posts/{post_id}/audience", sees=("visibility",), by=OWNER),
        Of("get", "posts/{alone_id}/audience", sees=("visibility",), by=OWNER, own=True),
    ],
    "posts/<str:post_id>/history": [
        Of("get", "posts/{post_id}/history", sees=("post", "former"), by=ALL),
        Of("get", "posts/{private_id}/history", sees=("private",), private=True),
        Shows("get", "posts/{quote_id}/history", sees=("look at this",), by=ALL),
    ],
    "drafts/<str:draft_id>": [
        Of("get", "drafts/{draft_id}", sees=("draft",), by=OWNER),
        Of("put", "drafts/{draft_id}", {"content": "a draft"}, by=OWNER),
        Of("delete", "drafts/{draft_id}", by=OWNER),
    ],
    "drafts/<str:draft_id>/publish": [Of("post", "drafts/{draft_id}/publish", by=OWNER)],
    # --- API: people ----------------------------------------------------------------------------
    "users": [Shows("get", "users?q={username}", sees=NAMES, by=ALL)],
    "users/by-name/<str:username>": [
        Of("get", "users/by-name/{username}", sees=NAMES, by=(*ALL, "blocker"), names=("blocker",))
    ],
    "users/<str:user_id>": [
        Of("get", "users/{hidden}", sees=NAMES, by=(*ALL, "blocker"), names=("blocker",))
    ],
    "users/me/blocked": [Shows("get", "users/me/blocked", sees=NAMES, by=BLOCKING, names=BLOCKING)],
    "users/new": [Shows("get", "users/new?size=50", sees=("username", "nickname"), by=ALL)],
    "users/suggested": [Shows("get", "users/suggested", sees=NAMES, by=("stranger",))],
    "users/suggested/<str:user_id>": [Alike("delete", "users/suggested/{hidden}")],
    "users/<str:user_id>/follow": [
        Disclosed("post", "users/{hidden}/follow"),
        Disclosed("delete", "users/{hidden}/follow"),
    ],
    "users/<str:user_id>/follower": [
        Of("delete", "users/{hidden}/follower", by=MEMBERS, names=("blocker",)),
    ],
    "users/<str:user_id>/block": [
        Disclosed("post", "users/{hidden}/block"),
        Disclosed("delete", "users/{hidden}/block"),
    ],
    **{
        f"users/<str:user_id>/{kind}": [
            Of("get", f"users/{{hidden}}/{kind}", sees=("{third_name}",), by=ALL),
            Shows("get", f"users/{{third}}/{kind}", sees=NAMES, by=ALL),
        ]
        for kind in ("following", "followers", "friends")
    },
    "relations": [Disclosed("get", "relations?ids={hidden}", sees=("BI_FOLLOWING",), by=FOLLOWER)],
    # --- API: interactions ----------------------------------------------------------------------
    "posts/<str:post_id>/like": [
        *both("posts/{private_id}/like", private=True),
        *both("posts/{few_id}/like", private=True),
        Of("put", "posts/{post_id}/like"),
        Free("delete", "posts/{post_id}/like", sees=('"like_count":0',), by=APART),
    ],
    "posts/<str:post_id>/vote": [
        Of("put", "posts/{post_id}/vote", {"choices": "[0]"}),
        Of("put", "posts/{private_id}/vote", {"choices": "[0]"}, private=True),
    ],
    "posts/<str:post_id>/bookmark": [
        *both("posts/{private_id}/bookmark", private=True),
        Of("put", "posts/{post_id}/bookmark"),
        Free("delete", "posts/{post_id}/bookmark", sees=('"bookmark_count":0',), by=APART),
    ],
    "posts/<str:post_id>/repost": [
        Of("post", "posts/{post_id}/repost", {"content": "look"}),
        Of("post", "posts/{quote_id}/repost", {"content": "look"}),
        Of("delete", "posts/{post_id}/repost"),
    ],
    "posts/<str:post_id>/likes": [
        Of("get", "posts/{post_id}/likes", sees=("{third_name}",), by=ALL),
        Shows("get", "posts/{third_post}/likes", sees=NAMES, by=ALL),
        Shows("get", "posts/{mine}/likes", sees=NAMES),
    ],
    "bookmarks": [Shows("get", "bookmarks", sees=("post", "nickname"))],
    "reports": [
        Of("post", "reports", {"type": "post", "id": "{post_id}", **REPORT}),
        Of("post", "reports", {"type": "post", "id": "{private_id}", **REPORT}, private=True),
        Of("post", "reports", {"type": "comment", "id": "{comment_id}", **REPORT}),
        Of("post", "reports", {"type": "user", "id": "{hidden}", **REPORT}, names=("blocker",)),
    ],
    "posts/<str:post_id>/comments": [
        Of("get", "posts/{post_id}/comments", sees=("me too",), by=ALL),
        Of("post", "posts/{post_id}/comments", {"content": "hm"}),
        Of("post", "posts/{third_post}/comments", {"content": "hm", "parent": "{comment_id}"}),
        Shows("get", "posts/{third_post}/comments", sees=("comment", *NAMES), by=ALL),
        Shows("get", "posts/{third_post}/comments?sort=new", sees=("comment",), by=ALL),
        Shows("get", "posts/{mine}/comments", sees=("comment", *NAMES)),
    ],
    "posts/<str:post_id>/comment-settings": [
        Of("get", "posts/{post_id}/comment-settings", sees=('"open"',), by=ALL),
        Of("patch", "posts/{post_id}/comment-settings", {"status": "closed"}, by=OWNER),
    ],
    "comments/<str:comment_id>/pin": both("comments/{comment_id}/pin", by=("third",)),
    "comments/<str:comment_id>": [
        Of("patch", "comments/{comment_id}", {"content": "hm", "version": "2"}, by=OWNER),
        Of("delete", "comments/{comment_id}", by=("hidden", "third")),
    ],
    "comments/<str:comment_id>/like": both("comments/{comment_id}/like"),
    "comments/<str:comment_id>/likes": [
        Of("get", "comments/{comment_id}/likes", sees=("{third_name}",), by=ALL),
        Shows("get", "comments/{third_comment}/likes", sees=NAMES, by=ALL),
    ],
    "comments/<str:comment_id>/replies": [
        Of("get", "comments/{comment_id}/replies", sees=("me too",), by=ALL),
        Shows("get", "comments/{third_comment}/replies", sees=("reply", *NAMES), by=ALL),
    ],
    "notifications": [
        Shows("get", "notifications", sees=("nickname",)),
        Shows("get", "notifications?kind=liked", sees=("nickname",)),
    ],
    # `Walk.count` compares it with the list.
    "notifications/unread-count": [Shows("get", "notifications/unread-count", sees=('"count"',))],
    "notifications/read": [Shows("post", "notifications/read", UNTIL, by=MEMBERS)],
}

PAGES: dict[str, list[Call]] = {
    # --- pages: feeds ---------------------------------------------------------------------------
    "": [
        Shows("get", "", sees=("private", "mention"), by=FOLLOWER),
        Shows("get", "", sees=("post", "nickname"), by=ALL),
    ],
    "recommended": [
        Shows("get", "recommended", sees=("post", "nickname"), by=ALL),
        Shows("get", "recommended?tab=rising", sees=("tab=people",), by=ALL),
        Shows("get", "recommended?tab=people", sees=("username", "nickname"), by=ALL),
    ],
    "search": [
        Shows("get", "search?q={username}", sees=("username", "nickname"), by=ALL),
        Shows("get", "search?q={username}&tab=people", sees=("username", "nickname"), by=ALL),
        Shows("get", "search?q=matter&tab=tags", sees=("matter",), by=ALL),
        Shows("get", "search?q=%23matter&sort=new", sees=("private",), by=FOLLOWER),
        Shows("get", "search?q=matter", sees=("post", "nickname"), by=ALL),
    ],
    "completions": [
        Shows("get", "completions?word=@{username}", sees=("username", "nickname"), by=MEMBERS),
        Shows("get", "completions?word=%23matt", sees=("matter",), by=MEMBERS),
    ],
    "emoji": [Shows("get", "emoji", sees=("data-emoji",), by=MEMBERS)],
    "tags": [
        Shows("get", "tags", sees=("private",), by=FOLLOWER),
        Shows("get", "tags", sees=("post", "nickname"), by=MEMBERS),
    ],
    "tags/<str:name>": [
        Shows("get", "tags/matter", sees=("private",), by=FOLLOWER),
        Shows("get", "tags/matter", sees=("post", "nickname"), by=ALL),
    ],
    "tags/<str:name>/follow": [Shows("post", "tags/else/follow", {"follow": "1"}, by=MEMBERS)],
    "@<str:username>": [
        Of("get", "@{username}", sees=("post", "private"), by=ALL, names=("blocker",)),
        Of("get", "@{username}", sees=("nickname",), by=(*ALL, "blocker"), names=("blocker",)),
        Shows("get", "@{third_name}", sees=("post", "nickname"), by=ALL),
        Of("get", "@{username}?tab=replies", sees=("comment",), by=ALL, names=("blocker",)),
        Of("get", "@{username}?tab=media", sees=("nickname",), by=ALL, names=("blocker",)),
        Of("get", "@{username}?tab=likes", sees=("nickname",), by=ALL, names=("blocker",)),
        Shows("get", "@{third_name}?tab=replies", sees=("post", "nickname"), by=ALL),
        Shows("get", "@{third_name}?tab=likes", sees=("post", "nickname"), by=ALL),
    ],
    "@<str:username>/feed.atom": [
        Public("get", "@{username}/feed.atom", sees=("post", "nickname"), by=READERS),
    ],
    "tags/<str:name>/feed.atom": [
        Public("get", "tags/matter/feed.atom", sees=("post", "nickname"), by=READERS),
    ],
    "oembed": [
        Public("get", "oembed?url=/posts/{post_id}", sees=("nickname",), by=READERS),
    ],
    "sitemap.xml": [Public("get", "sitemap.xml", sees=("post_id", "username"), by=READERS)],
    # Errors are shown above the home feed.
    "posts": [
        Shows("post", "posts", {"content": ""}, sees=("post", "nickname"), by=MEMBERS),
        Shows("post", "posts", {"content": "hello @{username}"}, by=MEMBERS),
    ],
    "posts/<str:post_id>": [
        Of("get", "posts/{post_id}", sees=("post", "nickname"), by=ALL),
        Of("get", "posts/{private_id}", sees=("private",), private=True),
        Of("get", "posts/{few_id}", sees=("few",), private=True),
        Of("get", "posts/{alone_id}", sees=("alone",), by=OWNER, own=True),
        Shows("get", "posts/{quote_id}", sees=("post", "nickname"), by=ALL),
        Shows("get", "posts/{third_post}", sees=("comment", "nickname"), by=ALL),
        Shows("get", "posts/{mine}", sees=("comment", "nickname")),
    ],
    "posts/<str:post_id>/edit": [
        Of("get", "posts/{post_id}/edit", sees=("post",), by=OWNER),
        Of("post", "posts/{post_id}/edit", {"version": "2", "content": "new"}, by=OWNER),
        Of("post", "posts/{private_id}/edit", {"version": "1", "content": "new"}, by=OWNER),
    ],
    "posts/<str:post_id>/audience": [
        Of("get", "posts/{post_id}/audience", sees=("Who can see this post",), by=OWNER),
        Of("get", "posts/{alone_id}/audience", sees=("Who can see this post",), by=OWNER, own=True),
    ],
    "posts/<str:post_id>/video": [
        Of("get", "posts/{film_id}/video", sees=("film", "player"), by=ALL),
        Of("get", "posts/{private_film_id}/video", sees=("private_film",), private=True),
    ],
    "posts/<str:post_id>/history": [
        Of("get", "posts/{post_id}/history", sees=("post", "former"), by=ALL),
        Of("get", "posts/{private_id}/history", sees=("private",), private=True),
        Shows("get", "posts/{quote_id}/history", sees=("look at this",), by=ALL),
    ],
    "posts/<str:post_id>/menu": [
        Of("get", "posts/{post_id}/menu", sees=("post", "nickname"), by=ALL),
        Of("get", "posts/{post_id}/menu", sees=("username",), by=MEMBERS, htmx=True),
        Of("get", "posts/{private_id}/menu", sees=("private",), private=True),
    ],
    "posts/<str:post_id>/embed": [
        Public("get", "posts/{post_id}/embed", sees=("post", "nickname"), by=READERS),
        Public("get", "posts/{private_id}/embed", sees=("private",), private=True),
    ],
    "posts/<str:post_id>/embed/code": [
        Of("get", "posts/{post_id}/embed/code", sees=("nickname",), by=ALL),
    ],
    "posts/<str:post_id>/delete": [
        Of("get", "posts/{post_id}/delete", sees=("post",), by=OWNER),
        Of("post", "posts/{post_id}/delete", by=OWNER),
    ],
    "posts/<str:post_id>/rewrite": [
        Of("get", "posts/{post_id}/rewrite", sees=("post",), by=OWNER),
        Of("post", "posts/{post_id}/rewrite", by=OWNER),
    ],
    # --- pages: people --------------------------------------------------------------------------
    **{
        f"@<str:username>/{kind}": [
            Of("get", f"@{{username}}/{kind}", sees=("{third_name}",), by=ALL, names=("blocker",)),
            Shows("get", f"@{{third_name}}/{kind}", sees=("nickname",), by=ALL),
        ]
        for kind in ("following", "followers", "friends")
    },
    "@<str:username>/follow": [
        Alike("post", "@{username}/follow", {"follow": "1"}),
        Alike("post", "@{username}/follow", {"follow": "0"}),
    ],
    "@<str:username>/remove": [
        Alike("get", "@{username}/remove", sees=("username",)),
        Alike("post", "@{username}/remove"),
    ],
    "@<str:username>/block": [
        Alike("get", "@{username}/block", sees=("username",)),
        Alike("post", "@{username}/block", {"block": "1"}),
        Alike("post", "@{username}/block", {"block": "0"}),
        Alike("post", "@{username}/block", {"block": "1", "next": "/"}, htmx=True),
        Alike("post", "@{username}/block", {"block": "0", "next": "/"}, htmx=True, names=BLOCKER),
    ],
    "settings/blocked": [
        Alike("get", "settings/blocked?username={username}", sees=("username",)),
        Shows("get", "settings/blocked", sees=("nickname",), by=BLOCKING, names=BLOCKING),
    ],
    "drafts/<str:draft_id>": [
        Of("get", "drafts/{draft_id}", sees=("draft",), by=OWNER),
        Of("post", "drafts/{draft_id}", {"content": "a draft"}, by=OWNER),
    ],
    "drafts/<str:draft_id>/publish": [Of("post", "drafts/{draft_id}/publish", by=OWNER)],
    "drafts/<str:draft_id>/delete": [Of("post", "drafts/{draft_id}/delete", by=OWNER)],
    "welcome": [Shows("get", "welcome", sees=("username", "nickname"), by=("stranger",))],
    "suggestions": [Shows("get", "suggestions", sees=("username", "nickname"), by=("stranger",))],
    "suggestions/<str:user_id>/dismiss": [Alike("post", "suggestions/{hidden}/dismiss")],
    # --- pages: interactions --------------------------------------------------------------------
    "posts/<str:post_id>/like": [
        Of("post", "posts/{post_id}/like", {"liked": "1"}),
        Of("post", "posts/{private_id}/like", {"liked": "0"}, private=True),
        Free("post", "posts/{post_id}/like", {"liked": "0"}, by=APART),
    ],
    "posts/<str:post_id>/vote": [
        Of("post", "posts/{post_id}/vote", {"poll-{post_id}": "0"}),
        Of("post", "posts/{private_id}/vote", {"poll-{private_id}": "0"}, private=True),
        Of("post", "posts/{post_id}/vote", {"poll-{post_id}": "0"}, htmx=True),
    ],
    "posts/<str:post_id>/bookmark": [
        Of("post", "posts/{post_id}/bookmark", {"bookmarked": "1"}),
        Of("post", "posts/{private_id}/bookmark", {"bookmarked": "0"}, private=True),
        Free("post", "posts/{post_id}/bookmark", {"bookmarked": "0"}, by=APART),
    ],
    "posts/<str:post_id>/repost": [
        Of("get", "posts/{post_id}/repost", sees=("post", "nickname")),
        Of("post", "posts/{post_id}/repost", FORM),
    ],
    "posts/<str:post_id>/repost/undo": [Of("post", "posts/{post_id}/repost/undo", FORM)],
    "report/<str:kind>/<str:subject_id>": [
        Of("get", "report/post/{post_id}", sees=("report/post",)),
        Of("get", "report/post/{private_id}", sees=("report/post",), private=True),
        Of("get", "report/comment/{comment_id}", sees=("report/comment",)),
        Of("get", "report/user/{hidden}", sees=("report/user",), names=("blocker",)),
        Of("post", "report/post/{post_id}", REPORT),
        Of("post", "report/comment/{comment_id}", REPORT),
        Of("post", "report/user/{hidden}", REPORT, names=("blocker",)),
    ],
    "bookmarks": [Shows("get", "bookmarks", sees=("post", "nickname"))],
    "posts/<str:post_id>/comments": [Of("post", "posts/{post_id}/comments", {"content": "hm"})],
    "posts/<str:post_id>/likes": [
        Of("get", "posts/{post_id}/likes", sees=("{third_name}",), by=ALL),
        Shows("get", "posts/{third_post}/likes", sees=("username", "nickname"), by=ALL),
    ],
    "posts/<str:post_id>/comment-settings": [
        Of("post", "posts/{post_id}/comment-settings", {"status": "closed"}, by=OWNER)
    ],
    "comments/<str:comment_id>/like": [Of("post", "comments/{comment_id}/like", {"liked": "1"})],
    "comments/<str:comment_id>/likes": [
        Of("get", "comments/{comment_id}/likes", sees=("{third_name}",), by=ALL),
        Shows("get", "comments/{third_comment}/likes", sees=("username", "nickname"), by=ALL),
    ],
    "comments/<str:comment_id>/reply": [
        Of("get", "comments/{comment_id}/reply", sees=("<form", "{comment_id}"), htmx=True)
    ],
    "comments/<str:comment_id>/replies": [
        Of("get", "comments/{comment_id}/replies", sees=("me too",), by=ALL),
        Shows("get", "comments/{third_comment}/replies", sees=("reply", "nickname"), by=ALL),
    ],
    "comments/<str:comment_id>/pin": [
        Of("post", "comments/{comment_id}/pin", {"pinned": "1"}, by=("third",))
    ],
    "comments/<str:comment_id>/edit": [
        Of("get", "comments/{comment_id}/edit", sees=("comment",), by=OWNER),
        Of("post", "comments/{comment_id}/edit", {"content": "hm", "version": "2"}, by=OWNER),
    ],
    "comments/<str:comment_id>/delete": [
        Of("get", "comments/{comment_id}/delete", sees=("comment",), by=("hidden", "third")),
        Of("post", "comments/{comment_id}/delete", by=("hidden", "third")),
    ],
    "notifications": [
        Shows("get", "notifications", sees=("nickname",)),
        Shows("get", "notifications?tab=mentions", sees=("nickname",)),
    ],
    "notifications/read": [Shows("post", "notifications/read", UNTIL, by=MEMBERS)],
}


# --- admin --------------------------------------------------------------------------------------
# For each model: what a moderator finds in its list, searched for `asked`, and on a row's page.
ADMIN: dict[str, Listed] = {
    "core/event": Listed("{hidden}"),
    "core/sitesettings": Listed(""),
    "core/sitedocument": Listed(""),
    "core/announcement": Listed(""),
    "accounts/signuprequest": Listed(""),
    "accounts/invite": Listed(""),
    "accounts/closing": Listed(""),
    "accounts/staffact": Listed("{username}", ("username",), ("username",)),
    "accounts/staffrole": Listed(""),
    "accounts/appeal": Listed("{username}", ("username",), ("username",)),
    "core/export": Listed(""),
    "core/import": Listed(""),
    "core/video": Listed("{hidden}", ("hidden",), ("hidden",)),
    "accounts/user": Listed("{username}", ("username", "nickname"), NAMES),
    "accounts/auditentry": Listed("{username}", ("username",), ("username",)),
    "accounts/tokenversion": Listed("{username}", ("username",), ("username",)),
    "accounts/tokenbatch": Listed("{username}", ("username",), ("username",)),
    "accounts/pushsubscription": Listed("{username}", ("username",), ("username",)),
    "relations/relationship": Listed("{username}", ("username",), ("username",)),
    "relations/relationlog": Listed("{username}", ("username",), ("username",)),
    "relations/relationcount": Listed("{username}", ("username",), ("username",)),
    "feeds/post": Listed("{private_id}", ("username", "private_id"), ("username", "private_id")),
    "feeds/postversion": Listed("{post_id}", ("username", "post_id"), ("former", "username")),
    "feeds/draft": Listed("{draft_id}", ("hidden",), ("hidden",)),
    "feeds/tag": Listed("matter", ("matter",), ("matter",)),
    "feeds/fanout": Listed("{private_id}", ("username", "private_id"), ("username",)),
    "feeds/fanoutchunk": Listed("{private_id}", ("private_id",), ("private_id",)),
    "feeds/recommendedauthor": Listed("", ("username",), ("username",)),
    "interactions/case": Listed("{private_id}", ("username",), ("private", "secret")),
    "interactions/subject": Listed("{post_id}", ("post_id",), ("post_id",)),
    "interactions/like": Listed("{username}", ("username",), ("username",)),
    "interactions/vote": Listed("{username}", ("username",), ("username",)),
    "interactions/tally": Listed("{post_id}", ("post_id",), ("post_id",)),
    "interactions/comment": Listed("{username}", ("username", "comment"), ("username",)),
    "interactions/notification": Listed("{third_post}", ("{third_name}",), ("{third_name}",)),
    "interactions/notificationcause": Listed("{username}", ("hidden",), ("username",)),
}
# Other pages of the admin: the request, and what a moderator finds there, if they have access.
ADMIN_PAGES: dict[str, Listed] = {
    "": Listed("", ("accounts/user/",)),
    "^(?P<app_label>core|accounts|relations|feeds|interactions)/$": Listed(
        "accounts/", ("accounts/user/",)
    ),
    "jsi18n/": Listed("jsi18n/", ("gettext",)),
    "feeds/post/explain/": Listed(
        "feeds/post/explain/?viewer={third}&post={private_id}", ("{third_name}", "private_id")
    ),
    # For admins only, not useful here, or empty.
    "accounts/user/<int:user_id>/roles/": Listed("accounts/user/{hidden}/roles/"),
    "interactions/case/<int:case_id>/note/": Listed("interactions/case/{hidden}/note/"),
    "feeds/post/rebuild/<int:user_id>/": Listed("feeds/post/rebuild/{hidden}/"),
    "autocomplete/": Listed("autocomplete/?term={username}"),
    "r/<path:content_type_id>/<path:object_id>/": Listed("r/1/{post_id}/"),
    "(?P<url>.*)$": Listed("nowhere"),
}
