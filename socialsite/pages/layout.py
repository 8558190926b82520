"""The layout of pages: everything but their own part, from texts that the process caches.

A cached text has nothing of one reader or request. Their values are inserted afterwards, in
`socialsite.pages.cached_html.cached_frame`.
"""

import functools
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from markupsafe import Markup, escape

from interactions import queries as interactions_queries
from socialsite.core import site
from socialsite.core.cache import reads
from socialsite.core.cache.reads import Read
from socialsite.core.http import form_keys
from socialsite.core.site import announcements
from socialsite.pages import logo
from socialsite.pages.cached_html import FACE, FACES, cached_frame, cached_html, face
from socialsite.pages.links import url

# The badge shows "99+" for this number and all larger ones.
BADGE_MAX = 100
# Pages as the navigation knows them; one's own profile is "me".
_PLACES = ("home", "recommended", "search", "bookmarks", "notifications", "login")
_TEMPLATE = "_layout.html"


class Layout:
    """The parts of a page around its own; each text is safe HTML.

    An error page is `bare`: it must not touch the database again through `request.user`. A page
    without a request is one too. `token` is that of the request, None if the page has none.
    """

    def __init__(
        self, request: HttpRequest | None, bare: bool, language: str, token: Any = None
    ) -> None:
        user: Any = None if request is None or bare else request.user
        self._request, self._bare, self._language = request, bare, language
        self.member: bool = user is not None and user.is_authenticated
        # Known as soon as the user is.
        visitor: Any = None if user is None else getattr(request, "visitor", None)
        is_told = visitor is not None and not self.member
        # People who were signed out while no page was open learn the reason on the next page.
        self.notice: str = visitor.notice() if is_told else ""
        self.help: str = visitor.help if self.notice else ""
        self._words = visitor.words if self.member and visitor is not None else ()
        self._values: dict[str, Any] = {"next": self._way_back(), "hidden": "", "token": ""}
        if token is not None:
            self._values["token"] = token = str(token)
            self._values["hidden"] = Markup(_HIDDEN) % token  # noqa: S704
        self._has_token = token is not None
        path = "" if request is None else request.path
        self._at = path if path in _places() else ""
        self.site = site.known() if bare else site.current()
        self.announcements = [] if bare else announcements.current(self.site, member=self.member)
        if self.member and request is not None:
            # Before the card, which is read in the same round trip.
            dismissed = announcements.Dismissed([user.pk] if self.announcements else [])
            badge = min(unread(request, dismissed), BADGE_MAX)
            gone = dismissed.value.get(user.pk, ())
            self.announcements = [one for one in self.announcements if one.id not in gone]
            self._values["badge"] = cached_html(_TEMPLATE, "badge", badge)
            self._values |= _of_reader(*_face(visitor.card))
            self._values["id"] = user.pk
            if path == self._values["me_url"]:
                self._at = "me"
        self._values["site"] = self.site.name
        self._values["logo"] = logo.picture(self.site.logo, "logo.svg")

    def _way_back(self) -> str:
        """Return where a change of language leads back to.

        An address that was only ever posted to cannot be opened again.
        """
        request = self._request
        if request is None:
            return url("home")
        is_form = request.path in (url("login"), url("register"))
        return request.get_full_path() if request.method == "GET" or is_form else url("home")

    @property
    def body(self) -> Markup:
        """The start of the body, with the form that the buttons of posts and comments send."""
        request = self._request
        key = form_keys.last_accepted(request) if self.member and request is not None else ""
        self._values["sent"] = Markup(' data-sent="{}"').format(key) if key else ""
        is_read = request is not None and request.method == "GET"
        return self._frame("body", self.member, self._has_token, is_read)

    @property
    def header(self) -> Markup:
        """The bar of the site."""
        return self._frame(
            "header", self._at, self.member, self._bare, self.site.offers_sign_up, self._language
        )

    @property
    def preferences(self) -> Markup:
        """The choices of a guest, on a page without the bar."""
        return self._frame("guest_preferences", self._language)

    @property
    def side(self) -> Markup:
        """The panels beside the page."""
        return cached_html(
            _TEMPLATE, "side", self._at, self.member, self._bare, self.site.offers_sign_up
        )

    @property
    def end(self) -> Markup:
        """The dialogs of all pages, and what the script of a signed-in page needs."""
        return cached_html(_TEMPLATE, "end", self.member, self._words)

    def _frame(self, macro: str, *args: Any) -> Markup:
        return cached_frame(self._values, _TEMPLATE, macro, *args)


_HIDDEN = '<input type="hidden" name="csrfmiddlewaretoken" value="%s">'


def _face(card: Any) -> list[str]:
    if isinstance(card, Mapping):
        return [card[name] for name in FACE]
    return [getattr(card, name) for name in FACE]


@functools.cache
def _places() -> frozenset[str]:
    return frozenset(url(name) for name in _PLACES)


@functools.lru_cache(FACES)
def _of_reader(username: str, nickname: str, avatar: str) -> Mapping[str, Markup]:
    return {
        "me_url": escape(url("profile", username)),
        "name": escape(nickname or username),
        "username": escape(username),
        "avatar": face(username, nickname, avatar),
    }


def unread(request: HttpRequest, *others: Read[Any]) -> int:
    """Return the reader's number of unread notifications, for the badge of every page.

    It is read together with the reader's card and `others`, unless the view has read it
    (`request.unread`).
    """
    visitor = request.visitor  # type: ignore[attr-defined]
    found: interactions_queries.Unread | None = getattr(request, "unread", None)
    if found is None:
        found = interactions_queries.Unread([visitor.user.pk])
    reads.run(found, visitor.cards, *others)
    return found.value
