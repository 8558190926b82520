"""Parts of pages that the process caches as HTML, by what they are made of.

Nothing in a cached part belongs to one request; where a part needs the reader's token or the
address to return to, placeholders are replaced after the cache.
"""

import re
import secrets
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from threading import Lock
from typing import Any
from urllib.parse import quote

import orjson
from cachetools import LRUCache, cached
from django.http import HttpRequest
from django.template import engines
from django.utils.translation import get_language
from markupsafe import Markup, escape

from accounts.request_auth import cookies
from feeds.cards import repost_grouping
from socialsite.core import site
from socialsite.core.cache.packing import json_of
from socialsite.core.http import form_keys
from socialsite.pages.links import url
from socialsite.pages.times import since, timesince_short, until

# The fields of a person that stand beside their words everywhere.
FACE = ("username", "nickname", "avatar")
# Readers whose own picture and address a process keeps.
FACES = 500
# The caches are bounded by bytes: people's texts can be large.
CARDS_BYTES = 8 * 1024 * 1024
MACROS_BYTES = 1024 * 1024
_ENTRY_BYTES = 400
# Placeholders of the hidden fields and the address to return to in cached HTML; nobody can write
# them into a text.
_HIDDEN, _NEXT, _SLOT = (secrets.token_hex(16) for _ in range(3))
_FILLED = re.compile(rf"{_SLOT}(\w+);")


def post_card(
    post: Mapping[str, Any], login: str, reading: Sequence[str] = (), full: bool = False
) -> Markup:
    """Return a post as a card; `login` is where guests log in, "" for members.

    `reading` are the choices of `cookies.CHOICES`.
    """
    return post_cards([post], login, reading, full)


def post_cards(
    posts: Iterable[Mapping[str, Any]],
    login: str,
    reading: Sequence[str] = (),
    full: bool = False,
) -> Markup:
    """Return posts as cards, one below the other; a post that some reposted is there once."""
    return Markup("".join(cards_in_place(posts, login, reading, full)))  # noqa: S704


def cards_in_place(
    posts: Iterable[Mapping[str, Any] | None],
    login: str,
    reading: Sequence[str] = (),
    full: bool = False,
) -> list[Markup]:
    """Return a card for each post, empty for one that is shown already and for None.

    A card is made once for each language and each state of the post: its words, counts, who it is
    by and for, how long ago, who reposted it. Nothing in it belongs to one request: its buttons
    send a form that the page has once.
    """
    # Reading language and time for each post would take as long as everything else.
    language, now = get_language(), datetime.now(UTC)
    made = []
    for shown in repost_grouping.once(posts):
        if shown is None:
            made.append(Markup(""))
            continue
        post = shown.post
        quoted = post["ref"] if post["kind"] == repost_grouping.REPOST else None
        c = {
            "login": login,
            "reading": reading,
            # Below a repost may be its own comments, whose number is not that of the original.
            "full": full and not shown.reposters and not shown.is_own,
            "when": since(post["created_at"], now, language),
            "edited": since(post["edited_at"], now, language) if post["edited_at"] else "",
            "ends": until(post["poll"]["ends_at"], now, language) if post["poll"] else "",
            "quoted": since(quoted["created_at"], now, language) if quoted else "",
            "by": [
                (one["nickname"] or one["username"], one["username"]) for one in shown.reposters
            ],
            "own": shown.is_own,
        }
        card = _part(language, "feeds/_card.html", "card", json_of(post), json_of(c))[1]
        made.append(Markup(card))  # noqa: S704
    return made


def person_rows(people: Iterable[Mapping[str, Any]], c: Mapping[str, Any]) -> Markup:
    """Return the rows of a list of people; `c` is that of `relations/_relation.html`.

    A row is made once for each language and each state of the person and the relation.
    """
    language = get_language()
    shared = {"login": c["login"], "undo": c["undo"]}
    rows = "".join(
        _part(
            *(language, "relations/_person.html", "row", json_of(person)),
            json_of({**shared, "me": c["me"] if c["me"] == person["username"] else ""}),
        )[1]
        for person in people
    )
    rows = rows.replace(_HIDDEN, c["csrf"]).replace(_NEXT, escape(c["next"]))
    return Markup(rows)  # noqa: S704


def comment_items(comments: Iterable[Mapping[str, Any]], c: Mapping[str, Any]) -> Markup:
    """Return comments, one below the other; `c` is that of `comments/_comment_context.html`.

    A comment is made once for each language and each state of it, except the one with an open form.
    """
    language, now = get_language(), datetime.now(UTC)
    own = ("hidden", "reply", "content", "errors")
    shared = {key: value for key, value in c.items() if key not in own}
    shared |= {"reply": "", "content": "", "errors": []}
    made = []
    for comment in comments:
        if comment["id"] == c["reply"]:
            made.append(str(comment_item(comment, c)))
            continue
        times = {"when": since(comment["created_at"], now, language), "edited": ""}
        if comment["edited_at"]:
            times["edited"] = since(comment["edited_at"], now, language)
        parts = (json_of(comment), json_of({**shared, **times}))
        made.append(_part(language, "interactions/comments/_comment.html", "item", *parts)[1])
    return Markup("".join(made).replace(_HIDDEN, str(c["hidden"])))  # noqa: S704


def comment_item(comment: Mapping[str, Any], c: Mapping[str, Any], *replies: Any) -> Markup:
    """Return one comment, with its replies if they are given."""
    edited = comment["edited_at"]
    times = {"when": timesince_short(comment["created_at"])}
    c = {**c, **times, "edited": timesince_short(edited) if edited else ""}
    return Markup(_macro("interactions/comments/_comment.html", "item")(comment, c, *replies))  # noqa: S704


def _together(*args: Hashable) -> Hashable:
    """Return the arguments as a cache key, faster than cachetools does."""
    return args


@cached(LRUCache(CARDS_BYTES, getsizeof=itemgetter(0)), key=_together, lock=Lock())
def _part(
    _language: str | None, template: str, macro: str, subject: bytes, c: bytes
) -> tuple[int, str]:
    """Return the size in bytes of the cache entry, and what a macro makes of JSON values."""
    hidden = Markup(_HIDDEN)  # noqa: S704
    request = {"hidden": hidden, "csrf": hidden, "next": _NEXT}
    made = str(_macro(template, macro)(orjson.loads(subject), orjson.loads(c) | request))
    return bytes_of(subject, c, made), made


def bytes_of(*kept: str | bytes) -> int:
    """Return about how many bytes an entry of a bounded cache takes."""
    return _ENTRY_BYTES + sum(map(sys.getsizeof, kept))


def cached_html(template: str, macro: str, *args: Hashable) -> Markup:
    """Return the output of a macro, cached by language and arguments."""
    return _cached_macro(get_language(), template, macro, args)[1]


class _Slots:
    """The places of a cached part that `cached_frame` fills, as attributes."""

    def __getattr__(self, name: str) -> Markup:
        return Markup(f"{_SLOT}{name};")  # noqa: S704


_SLOTS = _Slots()


def cached_frame(values: Mapping[str, Any], template: str, macro: str, *args: Hashable) -> Markup:
    """Do the same for a macro whose last argument has places for these values.

    The values belong to one request or reader and are inserted into the cached output.
    """
    filled = _cached_macro(get_language(), template, macro, (*args, _SLOTS))[2].copy()
    for place in range(1, len(filled), 2):
        value = values[filled[place]]
        filled[place] = value if type(value) is Markup else escape(value)
    return Markup("".join(filled))  # noqa: S704


def cached_form(hidden: str, template: str, macro: str, *args: Hashable) -> Markup:
    """Do the same for a macro whose last argument is the hidden fields of its form.

    The fields belong to one request and are inserted into the cached output.
    """
    made = cached_html(template, macro, *args, _HIDDEN)
    return Markup(made.replace(_HIDDEN, hidden))  # noqa: S704


@cached(LRUCache(MACROS_BYTES, getsizeof=itemgetter(0)), key=_together, lock=Lock())
def _cached_macro(
    _language: str | None, template: str, macro: str, args: tuple[Hashable, ...]
) -> tuple[int, Markup, list[str]]:
    """Return the size in bytes of the cache entry, and what the macro makes.

    If it has places for values, it is also returned in parts: a text, the name of a value, a text,
    and so on.
    """
    made = Markup(_macro(template, macro)(*args))  # noqa: S704
    parts: list[str] = _FILLED.split(made)
    kept = parts if len(parts) > 1 else list[str]([made])
    texts = (arg for arg in args if isinstance(arg, str))
    return bytes_of(*texts, *({made, *parts} if len(parts) > 1 else {made})), made, kept


def _macro(template: str, name: str) -> Any:
    module = engines["jinja2"].env.get_template(template).module  # type: ignore[attr-defined]
    return getattr(module, name)


def composer(
    me: Any,
    hidden: str,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, Sequence[str]] | None = None,
    audience: str = "public",
) -> Markup:
    """Return the form for a new post, for a Card or a User; the empty form is cached.

    `audience` is the chosen one of the empty form.
    """
    hidden = Markup(str(hidden)) + form_keys.hidden_input()  # noqa: S704
    card = me if isinstance(me, Mapping) else {name: getattr(me, name) for name in FACE}
    avatar = face(*(card[name] for name in FACE))
    limits = site.current().limits
    if values or errors:
        make = _macro("feeds/writing/_composer.html", "composer")
        return Markup(make(avatar, hidden, limits, values or {}, errors or {}))  # noqa: S704
    filled = {"avatar": avatar, "hidden": hidden}
    return cached_frame(filled, "feeds/writing/_composer.html", "empty_composer", audience, limits)


@lru_cache(FACES)
def face(username: str, nickname: str, avatar: str) -> Markup:
    """Return the picture of a person, or what stands for it."""
    person = {"username": username, "nickname": nickname, "avatar": avatar}
    return Markup(_macro("_ui.html", "avatar")(person))  # noqa: S704


def posts_page(
    request: HttpRequest,
    posts: Iterable[Mapping[str, Any]],
    next: str | None,
    top: str = "",
    more: str = "?",
) -> Markup:
    """Return one page of posts and the loader of the next one.

    `top` is the cursor of the page that begins with these posts, "" if nobody needs it; `more` is
    what the addresses of further pages begin with.
    """
    login = ""
    if not request.user.is_authenticated:
        login = f"{url('login')}?next={quote(request.path)}"
    made = [post_cards(posts, login, cookies.reading(request))]
    if top:
        made.insert(0, Markup('<i data-top="{}cursor={}" hidden></i>').format(more, top))
    if next:
        made.append(cached_frame({"at": f"{more}cursor={quote(next)}"}, "_ui.html", "older_posts"))
    return Markup("".join(made))  # noqa: S704


def home_part(name: str) -> Markup:
    """Return a part of the home page that is the same for everybody."""
    return cached_html("feeds/_home.html", name)
