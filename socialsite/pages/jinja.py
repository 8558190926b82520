"""The Jinja2 environment of the pages.

The process caches results that a page needs dozens of times: addresses, texts with their links,
and the parts of pages in `socialsite.pages.cached_html`.
"""

import functools
import re
import zlib
from collections.abc import Callable
from operator import itemgetter
from threading import Lock
from typing import Any

from cachetools import LRUCache, cached
from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.safestring import mark_safe
from django.utils.translation import get_language, gettext_noop, ngettext
from django_htmx.jinja import htmx_script
from jinja2 import Environment, StrictUndefined, Template
from jinja2.environment import TemplateModule
from jinja2.ext import Extension
from jinja2.runtime import Context
from markupsafe import Markup, escape

from accounts.models import SignUpRequest, User
from accounts.request_auth import cookies
from feeds.content.plain_text import plain, plain_of
from feeds.content.polls import definition
from feeds.content.previews.addresses import host_of as link_host_of
from feeds.discovery.search import language
from feeds.models import PostContent, Visibility
from feeds.views import audience
from interactions.models import CommentContent, Report
from socialsite.core import site
from socialsite.core.http import form_keys
from socialsite.core.http.csrf_tokens import token_of
from socialsite.core.media import video_links
from socialsite.core.media.videos import failures
from socialsite.core.models import Media
from socialsite.core.text.cuts import shortened
from socialsite.core.text.spans import beginning, is_plain, spans
from socialsite.pages import logo, long_texts
from socialsite.pages.articles import article
from socialsite.pages.cached_html import (
    bytes_of,
    cached_form,
    cached_frame,
    cached_html,
    cards_in_place,
    comment_item,
    comment_items,
    composer,
    home_part,
    person_rows,
    post_card,
    post_cards,
    posts_page,
)
from socialsite.pages.layout import Layout, unread
from socialsite.pages.links import link_of, url
from socialsite.pages.picture_placeholders import placeholder
from socialsite.pages.profile_texts import initial, link_text, month_of
from socialsite.pages.times import KEPT, timesince_short, translated, until_short

AVATAR_HUES = 8
# Texts can be large, so their cache is bounded by bytes.
LINKED_BYTES = 1024 * 1024

# Maxima that forms pass to the browser, in characters or pictures.
MAXIMA = {
    "name": User.NAME_MAX,
    "email": User.EMAIL_MAX,
    "bio": User.BIO_MAX,
    "reason": SignUpRequest.REASON_MAX,
    "links": User.LINKS_MAX,
    "link": User.LINK_MAX,
    "place": User.PLACE_MAX,
    "pronouns": User.PRONOUNS_MAX,
    "title": PostContent.TITLE_MAX,
    "note": PostContent.NOTE_MAX,
    "options": definition.OPTIONS_MAX,
    "text": PostContent.TEXT_MAX,
    "images": PostContent.IMAGES_MAX,
    "alt": Media.ALT_MAX,
    "comment": CommentContent.TEXT_MAX,
    "report": Report.WORDS_MAX,
    "search": language.LENGTH_MAX,
}


# The ends of a poll that the form offers, by their seconds.
POLL_ENDS = {
    3600: gettext_noop("1 hour"),
    6 * 3600: gettext_noop("6 hours"),
    86400: gettext_noop("1 day"),
    3 * 86400: gettext_noop("3 days"),
    7 * 86400: gettext_noop("7 days"),
}


def gettext(text: str) -> str:
    """Return a text in the reader's language."""
    return translated(get_language(), text)


def linked(text: str, away: bool = False) -> str:
    """Return a text in which addresses, `@username` and `#tag` are links, safe to show.

    With `away` the links of people and tags open in a new tab too, as all other links do. The
    result is cached by the text, so a page that is rendered again does not parse it again.
    """
    return text if is_plain(text) else _linked(text, away)[1]


@cached(LRUCache(LINKED_BYTES, getsizeof=itemgetter(0)), lock=Lock())
def _linked(text: str, away: bool) -> tuple[int, Markup]:
    """Return the size in bytes of the cache entry, and the text with its links."""
    made: list[str] = []
    end = 0
    for start, stop, kind in spans(text):
        made.append(escape(text[end:start]))
        made.append(link_of(kind, text[start:stop], away))
        end = stop
    made.append(escape(text[end:]))
    links = Markup("".join(made))  # noqa: S704  (escaped above, piece by piece)
    return bytes_of(text, links), links


def avatar_hue(username: str) -> int:
    """Return 0 to 7, always the same for one name: the colour of a person without a picture."""
    return zlib.crc32(username.encode()) % AVATAR_HUES


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


def minutes(number: int) -> str:
    """Return how long people read an article."""
    return ngettext("%(n)s minute to read", "%(n)s minutes to read", number) % {"n": number}


def posts_of_day(number: int) -> str:
    """Return how many posts of the last 24 hours have a tag."""
    return ngettext("%(n)s post today", "%(n)s posts today", number) % {"n": number}


def posts_of_week(number: int) -> str:
    """Return how many posts of the week have a tag."""
    return ngettext("%(n)s post this week", "%(n)s posts this week", number) % {"n": number}


def people(number: int) -> str:
    """Return a number of people."""
    return ngettext("%(n)s person", "%(n)s people", number) % {"n": number}


def voters(number: int) -> str:
    """Return how many people voted in a poll."""
    return ngettext("%(n)s person voted", "%(n)s people voted", number) % {"n": number}


def votes(number: int) -> str:
    """Return the number of votes of an option."""
    return ngettext("%(n)s vote", "%(n)s votes", number) % {"n": number}


_ACTS = {
    "like": gettext_noop("Like"),
    "comments": gettext_noop("Comments"),
    "repost": gettext_noop("Repost"),
    "reposted": gettext_noop("Reposted by you"),
    "bookmark": gettext_noop("Bookmark"),
}


# One text in each call: `makemessages` reads them there.
_COUNTED: dict[str, Callable[[int], str]] = {
    "like": lambda n: ngettext("Like, %(n)s like", "Like, %(n)s likes", n),
    "comments": lambda n: ngettext("Comments, %(n)s comment", "Comments, %(n)s comments", n),
    "repost": lambda n: ngettext("Repost, %(n)s repost", "Repost, %(n)s reposts", n),
    "reposted": lambda n: ngettext(
        "Reposted by you, %(n)s repost", "Reposted by you, %(n)s reposts", n
    ),
    "bookmark": lambda n: ngettext("Bookmark, %(n)s bookmark", "Bookmark, %(n)s bookmarks", n),
}


def act_label(act: str, number: int) -> str:
    """Return the name of a button of a card with its number, or without it for 0."""
    return _COUNTED[act](number) % {"n": number} if number else gettext(_ACTS[act])


def reposted_by(name: str, others: int) -> Markup:
    """Return by whom a post was reposted: a name or a link with it, and how many others."""
    if not others:
        return escape(gettext("Reposted by %(name)s")) % {"name": name}
    text = ngettext(
        "Reposted by %(name)s and %(n)s more", "Reposted by %(name)s and %(n)s more", others
    )
    return escape(text) % {"name": name, "n": others}


class Unindented(Extension):
    """Removes the indentation of templates when they are compiled: pages do not send it."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(r"^[ \t]+", "", source, flags=re.MULTILINE)


class _Template(Template):
    """A template whose import is the same for every page: all have the same globals.

    Jinja compares the globals at each import, which took a twentieth of a page.
    """

    def _get_default_module(self, ctx: Context | None = None) -> TemplateModule:
        return super()._get_default_module()


def _videos() -> dict[str, Any]:
    """Return what forms say of videos; `types` are those that people may choose."""
    types = ["video/mp4", "video/webm", "video/quicktime"] if settings.VIDEO_CONVERSION else []
    return {
        "minutes": f"{settings.VIDEO_SECONDS / 60:g}",
        "types": ",".join(types or ["video/mp4"]),
    }


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
    token = _Once(lambda: token_of(request))
    hidden = '<input type="hidden" name="csrfmiddlewaretoken" value="%s">'
    return {
        "LANGUAGE_CODE": get_language() or settings.LANGUAGE_CODE,
        "csrf_token": token,
        "csrf_input": _Once(lambda: hidden % token),
    }


# --- the environment ----------------------------------------------------------------------------
GLOBALS: dict[str, Any] = {
    "_": gettext,
    "gettext": gettext,
    "linked": linked,
    "article_of": article,
    "plain_words": plain,
    "plain_of": plain_of,
    "minutes_text": minutes,
    "beginning": beginning,
    "cards_in_place": cards_in_place,
    "post_card": post_card,
    "post_cards": post_cards,
    "person_rows": person_rows,
    "comment_item": comment_item,
    "comment_items": comment_items,
    "composer": composer,
    "posts_page": posts_page,
    "home_part": home_part,
    "cached_html": cached_html,
    "cached_form": cached_form,
    "cached_frame": cached_frame,
    "codes_left_text": codes_left,
    "replies_text": replies,
    "posts_of_day_text": posts_of_day,
    "posts_of_week_text": posts_of_week,
    "act_label": act_label,
    "reposted_by_text": reposted_by,
    "static": functools.lru_cache(KEPT)(static),
    "url": url,
    "reading": cookies.reading,
    "form_key": form_keys.hidden_input,
    "site": site.current,
    "known_site": site.known,
    "logo": logo.picture,
    "layout_of": Layout,
    "unread": unread,
    "avatar_hue": avatar_hue,
    "placeholder": placeholder,
    "video_host": video_links.host_of,
    "failure_text": failures.in_words,
    "link_host": link_host_of,
    "timesince_short": timesince_short,
    "until_short": until_short,
    "people_text": people,
    "voters_text": voters,
    "votes_text": votes,
    "month_of": month_of,
    "link_text": link_text,
    "initial": initial,
    "htmx_script": htmx_script,
    "Visibility": Visibility,
    "audiences": audience.options,
    "remembered_audience": audience.remembered,
    "maxima": MAXIMA,
    "long_texts": long_texts,
    "poll_ends": POLL_ENDS,
}


def environment(**options: Any) -> Environment:
    """Create the environment; an undefined name is an error, not an empty text."""
    options |= {"undefined": StrictUndefined, "trim_blocks": True, "extensions": [Unindented]}
    env = Environment(**options)  # noqa: S701  (Django's backend passes autoescape=True)
    env.template_class = _Template
    env.filters["shortened"] = shortened
    env.globals.update(GLOBALS, videos=_videos(), LANGUAGES=settings.LANGUAGES)
    return env
