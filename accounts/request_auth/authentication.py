"""Authenticates every request: API, pages, admin and sockets.

Bearer beats cookie. On the API a wrong credential is an error, also where guests may read; on pages
the refresh cookie is tried, and a visitor without a live credential is a guest.
"""

from dataclasses import dataclass
from typing import cast

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck, get_authorization_header
from rest_framework.request import Request

from accounts import actions, cache, queries, sign_out_reasons, tokens
from accounts.models import User
from accounts.request_auth import cookies
from accounts.sign_in import flow
from accounts.tokens import Principal, TokenPair
from socialsite.core.cache import reads
from socialsite.core.cache.reads import Read
from socialsite.core.errors import (
    AppError,
    BannedAccessToken,
    CsrfFailed,
    ExpiredJwt,
    InvalidToken,
    NotAuthenticated,
    RateLimited,
    Unavailable,
)
from socialsite.core.rate_limits.buckets import Grant
from socialsite.core.redis import Batch
from socialsite.core.requests import request_budgets


def by_access(access_token: str, request: HttpRequest | None = None) -> tuple[User, Principal]:
    """Return the person of a live access token; InvalidToken, ExpiredJwt or BannedAccessToken.

    One round trip to Redis, and no query while it knows the floors: what ends an account, ends its
    tokens, and of the person only the id is known until more is asked for. What the request takes
    from budgets of the person is asked for along with it.
    """
    principal = tokens.decode_access(access_token)
    batch = Batch()
    floors = cache.ask(batch, principal.user_id, principal.client)
    asked = request_budgets.ask(batch, request, principal.user_id)
    batch.run()
    try:
        admit(principal, cache.resolve(floors, principal.user_id, principal.client))
    except BannedAccessToken:
        request_budgets.refund(request, asked)
        raise
    return User.known(principal.user_id), principal


class _Sender(Read[Grant]):
    """The person behind a GET, read in one batch with the data of the answer.

    `user_id` must not be relied on before `admit`. What the request takes from budgets of the
    person is asked for along with the floors of the token.
    """

    def __init__(self, request: HttpRequest, principal: Principal) -> None:
        self.principal, self.user_id = principal, principal.user_id
        self._request = request

    def ask(self, batch: Batch) -> None:
        """Ask for what ends the token, and take from the budgets."""
        self._floors = cache.ask(batch, self.user_id, self.principal.client)
        self._asked = request_budgets.ask(batch, self._request, self.user_id)

    def admit(self) -> Grant:
        """Let the person in, after they were asked for; BannedAccessToken, RateLimited.

        Returns what is known of the budget.
        """
        floors = cache.resolve(self._floors, self.user_id, self.principal.client)
        try:
            admit(self.principal, floors)
        except BannedAccessToken:
            request_budgets.refund(self._request, self._asked)
            raise
        return self._let_in()

    def _let_in(self) -> Grant:
        grant = self._asked.grant()
        grant.check()
        return grant


class ApiUser(_Sender):
    """The person behind a GET of the API, for views that go round DRF.

    The same as TokenAuthentication. Raises InvalidToken or ExpiredJwt at once, NotAuthenticated for
    guests. `rows` are the budgets that the request takes from.
    """

    def __init__(self, request: HttpRequest, rows: request_budgets.Takes) -> None:
        token = bearer(request.META.get("HTTP_AUTHORIZATION", "").encode("latin-1"))
        if token is None:
            token, _ = cookies.sent(request)
        if not token:
            raise NotAuthenticated
        super().__init__(request, tokens.decode_access(token))
        request_budgets.prepare(request, rows)


class PageUser(_Sender):
    """The person behind a GET of a page that reads its own data in the same batch.

    After `admit` the person is the visitor of the request. If it raises BannedAccessToken, the
    visitor is found by the cookies as on all other pages.
    """

    def __init__(self, request: HttpRequest, principal: Principal) -> None:
        super().__init__(request, principal)
        # The card of the person, which every page shows.
        self.cards = queries.Cards([self.user_id])

    def _let_in(self) -> Grant:
        visitor = Visitor(User.known(self.user_id), self.principal, _cards=self.cards)
        self._request.visitor, self._request.auth = visitor, self.principal  # type: ignore[attr-defined]
        return super()._let_in()


def page_user(request: HttpRequest) -> PageUser | None:
    """Return the person whose access cookie is sound; None for guests and tokens that are not."""
    access, _ = cookies.sent(request)
    if not access or hasattr(request, "visitor"):
        return None
    try:
        return PageUser(request, tokens.decode_access(access))
    except (ExpiredJwt, InvalidToken):
        return None


def admit(principal: Principal, floors: cache.Floors | None) -> None:
    """Raise BannedAccessToken for a revoked token; otherwise note that its person is here (T31b).

    Floors of the cache say nothing of that: they were read from MySQL some seconds ago, and then it
    was noted.
    """
    tokens.compare(principal, floors)
    if floors is not None and floors.last_seen is not None:
        actions.touch(principal.user_id, principal.client, floors.last_seen)


def bearer(header: bytes) -> str | None:
    """Return the token of an Authorization header, None when it is of another scheme."""
    scheme, *rest = header.split() or [b""]
    if scheme.lower() != b"bearer":
        return None
    if len(rest) != 1:
        raise InvalidToken
    return rest[0].decode("latin-1")


class TokenAuthentication(BaseAuthentication):
    """DRF's authenticator. `request.auth` is the Principal."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        """Return person and principal, None for guests.

        Raises InvalidToken, ExpiredJwt, BannedAccessToken, and CsrfFailed for a write by cookie.
        """
        token = bearer(get_authorization_header(request))
        request_budgets.prepare_api(request, request.parser_context.get("view"))
        if token is not None:
            return by_access(token, request._request)
        access, _ = cookies.sent(request._request)
        if not access:
            return None
        found = by_access(access, request._request)
        check_csrf(request._request)
        return found

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme of a 401."""
        return "Bearer"


def check_csrf(request: HttpRequest) -> None:
    """Raise CsrfFailed for an unsafe method without a valid CSRF token (DRF views are exempt)."""
    check = CSRFCheck(lambda request: HttpResponse())
    check.process_request(request)
    if check.process_view(request, lambda request: HttpResponse(), (), {}) is not None:
        raise CsrfFailed


@dataclass(slots=True)
class Visitor:
    """The visitor of a page, and the changes of their cookies.

    Dead cookies are kept until their person was told why (`notice`): what a page asks for in the
    background may come first, and of a password change the new ones may be on their way.
    """

    user: User | AnonymousUser
    principal: Principal | None = None
    fresh: TokenPair | None = None
    dead: bool = False
    told: bool = False
    # The person of dead cookies, and whether the cookies had expired.
    ended: Principal | None = None
    expired: bool = False
    # Help of `notice` for people who did not do it themselves (`sign_out_reasons.Words`).
    help: str = ""
    _cards: queries.Cards | None = None

    @property
    def cards(self) -> queries.Cards:
        """The read of the card of who is signed in, for a page that runs it along with others."""
        if self._cards is None:
            self._cards = queries.Cards([cast("int", self.user.pk)])
        return self._cards

    @property
    def card(self) -> queries.Card | User:
        """The person's card, shown on every page; a person banned meanwhile has none."""
        reads.run(self.cards)
        return self.cards.value[cast("int", self.user.pk)] or cast("User", self.user)

    @property
    def words(self) -> tuple[tuple[str, sign_out_reasons.Words], ...]:
        """The texts of a signed-in page for a sign-out that happens while it is open."""
        return sign_out_reasons.words(self.principal.client) if self.principal else ()

    def notice(self) -> str:
        """Return why this visitor is signed out, empty for nothing to say; one query if dead."""
        found = sign_out_reasons.of(self.ended) if self.ended else None
        if self.expired:
            found = sign_out_reasons.Ending(sign_out_reasons.EXPIRED)
        self.told = found is not None
        if found is None:
            return ""
        words = sign_out_reasons.words_of(found, self.ended.client if self.ended else "")
        self.help = words.help
        return words.plain

    @property
    def is_settled(self) -> bool:
        """True when nothing is left to say about dead cookies."""
        return self.dead and (self.told or not (self.ended or self.expired))


def by_cookies(request: HttpRequest) -> Visitor:
    """Return the visitor of a page; a dead access token is replaced by means of the refresh token.

    Raises only what is no statement about the credential: no database, no room, too often.
    """
    access, refresh = cookies.sent(request)
    if not access and not refresh:
        return Visitor(AnonymousUser())
    if access:
        try:
            return Visitor(*by_access(access, request))
        except Unavailable:
            raise
        except AppError:
            pass
    if refresh:
        try:
            user, pair = flow.exchange(refresh)
            return Visitor(user, tokens.decode_access(pair.access), fresh=pair)
        except (RateLimited, Unavailable):
            raise
        except AppError:
            pass
    return _dead(access, refresh)


def _dead(access: str, refresh: str) -> Visitor:
    """Return the visitor of cookies that let nobody in any more."""
    visitor = Visitor(AnonymousUser(), dead=True)
    try:
        visitor.ended = tokens.decode_refresh(refresh) if refresh else tokens.decode_access(access)
    except ExpiredJwt:
        visitor.expired = True
    except InvalidToken:
        pass
    return visitor


def signed_in(request: HttpRequest | Request) -> tuple[User, Principal]:
    """Return person and principal of a request of either kind, or raise NotAuthenticated."""
    user = request.user
    if not isinstance(user, User):
        raise NotAuthenticated
    return user, cast("Principal", request.auth)  # type: ignore[union-attr]
