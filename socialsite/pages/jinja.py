"""The Jinja2 environment of the pages.

The process caches results that a page needs dozens of times:
addresses, translations, texts with their links.
"""

import functools
import re
import secrets
import sys
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from threading import Lock
from typing import Any

import orjson
from cachetools import LRUCache, cached
from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template import engines
from django.templatetags.static import static
from django.urls import get_urlconf, reverse
from django.utils import translation
from django.utils.safestring import mark_safe
from django.utils.translation import get_language, gettext_noop, ngettext
from django_htmx.jinja import htmx_script
from jinja2 import Environment, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup, escape

from accounts.models import User
from feeds.models import PostContent, Visibility
from interactions import queries as interactions_queries
from interactions.models import CommentContent, Report
from socialsite.core.cache import reads
from socialsite.core.http import form_keys
from socialsite.core.media import video_links
from socialsite.core.models import Media
from socialsite.core.text.spans import Kind, beginning, is_plain, spans
from socialsite.pages.profile_texts import initial, link_text, month_of

AVATAR_HUES = 8
_FACE = ("username", "nickname", "avatar")
# Results of each kind that a process keeps. Results made of people's texts can be large, so those
# caches are bounded by bytes: keys, values and an allowance for each entry.
KEPT = 4096
LINKED_BYTES = 1024 * 1024
CARDS_BYTES = 4 * 1024 * 1024
MACROS_BYTES = 1024 * 1024
_ENTRY_BYTES = 400
# Placeholders of the hidden fields and the address to return to in cached HTML; nobody can write
# them into a text.
_HIDDEN, _NEXT = secrets.token_hex(16), secrets.token_hex(16)
# The attributes of a link that leaves the site.
_AWAY = 'rel="nofollow ugc noopener" target="_blank"'
MINUTE, HOUR, DAY = 60, 3600, 86400
_NOW = gettext_noop("now")
# Words, the unit they count, and the seconds they are used up to.
_SPANS = (
    (gettext_noop("%(n)s min"), MINUTE, HOUR),
    (gettext_noop("%(n)s h"), HOUR, DAY),
    (gettext_noop("%(n)s d"), DAY, 7 * DAY),
)


# Maxima that forms pass to the browser, in characters or pictures.
MAXIMA = {
    "name": User.NAME_MAX,
    "email": User.EMAIL_MAX,
    "bio": User.BIO_MAX,
    "links": User.LINKS_MAX,
    "link": User.LINK_MAX,
    "place": User.PLACE_MAX,
    "pronouns": User.PRONOUNS_MAX,
    "title": PostContent.TITLE_MAX,
    "text": PostContent.TEXT_MAX,
    "images": PostContent.IMAGES_MAX,
    "alt": Media.ALT_MAX,
    "comment": CommentContent.TEXT_MAX,
    "report": Report.WORDS_MAX,
}


def url(name: str, *args: Any) -> str:
    """Return the address of a named page."""
    return _reversed(get_urlconf(), name, args)


@functools.lru_cache(KEPT)
def _reversed(urlconf: Any, name: str, args: tuple[Any, ...]) -> str:
    return reverse(name, urlconf, args=args)


def gettext(text: str) -> str:
    """Return a text in the reader's language."""
    return _translated(get_language(), text)


@functools.lru_cache(KEPT)
def _translated(_language: str | None, text: str) -> str:
    return translation.gettext(text)


def linked(text: str) -> str:
    """Return a text in which addresses and `@username` are links, safe to show.

    The result is cached by the text, so a page that is rendered again does not parse it again.
    """
    return text if is_plain(text) else _linked(text)[1]


@cached(LRUCache(LINKED_BYTES, getsizeof=itemgetter(0)), lock=Lock())
def _linked(text: str) -> tuple[int, Markup]:
    """Return the size in bytes of the cache entry, and the text with its links."""
    profile = url("profile", "_").removesuffix("_")
    made: list[str] = []
    end = 0
    for start, stop, kind in spans(text):
        made.append(escape(text[end:start]))
        shown, end = escape(text[start:stop]), stop
        match kind:
            case Kind.NAME:
                made.append(f'<a class="mention" href="{profile}{shown[1:]}">{shown}</a>')
            case Kind.MAIL:
                made.append(f'<a href="mailto:{shown}">{shown}</a>')
            case _:
                scheme = "https://" if kind is Kind.BARE else ""
                made.append(f'<a href="{scheme}{shown}" {_AWAY}>{shown}</a>')
    made.append(escape(text[end:]))
    links = Markup("".join(made))  # noqa: S704  (escaped above, piece by piece)
    return _bytes_of(text, links), links


def post_card(post: Mapping[str, Any], login: str, full: bool = False) -> Markup:
    """Return a post as a card; `login` is where guests log in, "" for members.

    A card is made once for each language and each state of the post: its words, counts, who it is
    by and for, how long ago. Nothing in it belongs to one request: its buttons send a form that the
    page has once.
    """
    return post_cards([post], login, full)


def post_cards(posts: Iterable[Mapping[str, Any]], login: str, full: bool = False) -> Markup:
    """Return posts as cards, one below the other."""
    # Reading language and time for each post would take as long as everything else.
    language, now = get_language(), datetime.now(UTC)
    cards = [
        _post_card(
            language,
            login,
            _since(post["created_at"], now, language),
            _since(post["edited_at"], now, language) if post["edited_at"] else "",
            full,
            orjson.dumps(post),
        )[1]
        for post in posts
    ]
    return Markup("".join(cards))  # noqa: S704


def person_rows(people: Iterable[Mapping[str, Any]], c: Mapping[str, Any]) -> Markup:
    """Return the rows of a list of people; `c` is that of `relations/_relation.html`.

    A row is made once for each language and each state of the person and the relation.
    """
    language = get_language()
    shared = {"login": c["login"], "undo": c["undo"]}
    rows = "".join(
        _part(
            *(language, "relations/_person.html", "row", orjson.dumps(person)),
            orjson.dumps({**shared, "me": c["me"] if c["me"] == person["username"] else ""}),
        )[1]
        for person in people
    )
    rows = rows.replace(_HIDDEN, c["csrf"]).replace(_NEXT, escape(c["next"]))
    return Markup(rows)  # noqa: S704


def comment_items(comments: Iterable[Mapping[str, Any]], c: Mapping[str, Any]) -> Markup:
    """Return comments, one below the other; `c` is that of `interactions/_comment_c.html`.

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
        times = {"when": _since(comment["created_at"], now, language), "edited": ""}
        if comment["edited_at"]:
            times["edited"] = _since(comment["edited_at"], now, language)
        parts = (orjson.dumps(comment), orjson.dumps({**shared, **times}))
        made.append(_part(language, "interactions/_comment.html", "item", *parts)[1])
    return Markup("".join(made).replace(_HIDDEN, str(c["hidden"])))  # noqa: S704


def comment_item(comment: Mapping[str, Any], c: Mapping[str, Any], *replies: Any) -> Markup:
    """Return one comment, with its replies if they are given."""
    edited = comment["edited_at"]
    times = {"when": timesince_short(comment["created_at"])}
    c = {**c, **times, "edited": timesince_short(edited) if edited else ""}
    return Markup(_macro("interactions/_comment.html", "item")(comment, c, *replies))  # noqa: S704


def _together(*args: Hashable) -> Hashable:
    """Return the arguments as a cache key, faster than cachetools does."""
    return args


@cached(LRUCache(CARDS_BYTES, getsizeof=itemgetter(0)), key=_together, lock=Lock())
def _post_card(
    _language: str | None, login: str, when: str, edited: str, full: bool, post: bytes
) -> tuple[int, str]:
    """Return the size in bytes of the cache entry, and the card."""
    card = str(_macro("feeds/_card.html", "card")(orjson.loads(post), when, edited, login, full))
    return _bytes_of(post, card), card


@cached(LRUCache(CARDS_BYTES, getsizeof=itemgetter(0)), key=_together, lock=Lock())
def _part(
    _language: str | None, template: str, macro: str, subject: bytes, c: bytes
) -> tuple[int, str]:
    """Return the size in bytes of the cache entry, and what a macro makes of JSON values."""
    hidden = Markup(_HIDDEN)  # noqa: S704
    request = {"hidden": hidden, "csrf": hidden, "next": _NEXT}
    made = str(_macro(template, macro)(orjson.loads(subject), orjson.loads(c) | request))
    return _bytes_of(subject, c, made), made


def _bytes_of(*kept: str | bytes) -> int:
    """Return about how many bytes an entry of a bounded cache takes."""
    return _ENTRY_BYTES + sum(map(sys.getsizeof, kept))


def cached_html(template: str, macro: str, *args: Hashable) -> Markup:
    """Return the output of a macro, cached by language and arguments."""
    return _cached_macro(get_language(), template, macro, args)[1]


def cached_form(hidden: str, template: str, macro: str, *args: Hashable) -> Markup:
    """Do the same for a macro whose last argument is the hidden fields of its form.

    The fields belong to one request and are inserted into the cached output.
    """
    made = cached_html(template, macro, *args, _HIDDEN)
    return Markup(made.replace(_HIDDEN, hidden))  # noqa: S704


@cached(LRUCache(MACROS_BYTES, getsizeof=itemgetter(0)), key=_together, lock=Lock())
def _cached_macro(
    _language: str | None, template: str, macro: str, args: tuple[Hashable, ...]
) -> tuple[int, Markup]:
    """Return the size in bytes of the cache entry, and what the macro makes."""
    made = Markup(_macro(template, macro)(*args))  # noqa: S704
    return _bytes_of(*(arg for arg in args if isinstance(arg, str)), made), made


def _macro(template: str, name: str) -> Any:
    module = engines["jinja2"].env.get_template(template).module  # type: ignore[attr-defined]
    return getattr(module, name)


def composer(
    me: Any,
    hidden: str,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, Sequence[str]] | None = None,
) -> Markup:
    """Return the form for a new post, for a Card or a User; the empty form is cached."""
    hidden = Markup(str(hidden)) + form_keys.hidden_input()  # noqa: S704
    card = me if isinstance(me, Mapping) else {name: getattr(me, name) for name in _FACE}
    face = [card[name] for name in _FACE]
    if values or errors:
        make = _macro("feeds/_composer.html", "composer")
        return Markup(make(*face, hidden, values or {}, errors or {}))  # noqa: S704
    return cached_form(hidden, "feeds/_composer.html", "empty_composer", *face)


def unread(request: HttpRequest) -> int:
    """Return the reader's number of unread notifications, for the badge of every page.

    It is read together with the reader's card, unless the view has read it (`request.unread`).
    """
    visitor = request.visitor  # type: ignore[attr-defined]
    found: interactions_queries.Unread | None = getattr(request, "unread", None)
    if found is None:
        found = interactions_queries.Unread([visitor.user.pk])
    reads.run(found, visitor.cards)
    return found.value


def avatar_hue(username: str) -> int:
    """Return 0 to 7, always the same for one name: the colour of a person without a picture."""
    return zlib.crc32(username.encode()) % AVATAR_HUES


def timesince_short(moment: str) -> str:
    """Return how long ago an ISO time is, in a few characters; a date after a week."""
    return _since(moment, datetime.now(UTC), get_language())


def _since(moment: str, now: datetime, language: str | None) -> str:
    then = datetime.fromisoformat(moment)
    seconds = int((now - then).total_seconds())
    if seconds < MINUTE:
        return _translated(language, _NOW)
    for words, unit, limit in _SPANS:
        if seconds < limit:
            return _translated(language, words) % {"n": seconds // unit}
    return f"{then:%Y-%m-%d}"


# Plural texts are here: `makemessages` does not find `ngettext` in these templates.
def codes_left(number: int) -> str:
    """Return how many recovery codes are left, as a sentence."""
    text = ngettext(
        "%(n)s code is left. New codes replace it.",
        "%(n)s codes are left. New codes replace them.",
        number,
    )
    return text % {"n": number}


def replies(number: int) -> str:
    """Return the number of replies as the text of a link."""
    return ngettext("%(n)s reply", "%(n)s replies", number) % {"n": number}


class Unindented(Extension):
    """Removes the indentation of templates when they are compiled: pages do not send it."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(r"^[ \t]+", "", source, flags=re.MULTILINE)


def environment(**options: Any) -> Environment:
    """Create the environment; an undefined name is an error, not an empty text."""
    options |= {"undefined": StrictUndefined, "trim_blocks": True, "extensions": [Unindented]}
    env = Environment(**options)  # noqa: S701  (Django's backend passes autoescape=True)
    env.globals.update(
        _=gettext,
        gettext=gettext,
        linked=linked,
        beginning=beginning,
        post_card=post_card,
        post_cards=post_cards,
        person_rows=person_rows,
        comment_item=comment_item,
        comment_items=comment_items,
        composer=composer,
        cached_html=cached_html,
        cached_form=cached_form,
        codes_left_text=codes_left,
        replies_text=replies,
        static=functools.lru_cache(KEPT)(static),
        url=url,
        unread=unread,
        form_key=form_keys.hidden_input,
        last_accepted=form_keys.last_accepted,
        avatar_hue=avatar_hue,
        video_host=video_links.host_of,
        timesince_short=timesince_short,
        month_of=month_of,
        link_text=link_text,
        initial=initial,
        htmx_script=htmx_script,
        LANGUAGES=settings.LANGUAGES,
        Visibility=Visibility,
        maxima=MAXIMA,
    )
    return env


class _Once:
    """Safe text that is computed on first use."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self._made: str | None = None

    def __str__(self) -> str:
        if self._made is None:
            self._made = mark_safe(self._make())  # noqa: S308
        return self._made

    __html__ = __str__


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Return the context of every page."""
    # Once per page: each access would mask the token again.
    token = _Once(lambda: get_token(request))
    hidden = '<input type="hidden" name="csrfmiddlewaretoken" value="%s">'
    return {
        "LANGUAGE_CODE": get_language() or settings.LANGUAGE_CODE,
        "csrf_token": token,
        "csrf_input": _Once(lambda: hidden % token),
    }
