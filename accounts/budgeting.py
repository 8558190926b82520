"""Whose budget a request takes from, and when.

- A view says by `takes` which budgets each of its methods takes from: an API view in an attribute,
  a page by the decorator.
- Tokens of a person are asked for along with what says whether the access token still counts, in
  one round trip (`accounts.authentication`). Whoever is not let in gets them back.
- Guests have the budget of their address. An address is that of a client, of IPv6 a /64.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts import networks
from accounts.models import User
from socialsite.core import budgets, ratelimit
from socialsite.core.budgets import Budget, Per
from socialsite.core.ratelimit import Asked, Grant, Take
from socialsite.core.redis import Batch
from socialsite.core.services import Service

if TYPE_CHECKING:  # it imports its throttles, and so this module, itself
    from rest_framework.views import APIView

Rows = tuple[Budget, ...]
Takes = Mapping[str, Rows]
View = Callable[..., HttpResponseBase]

# What reads of things that guests may read too take from.
READS: Rows = (budgets.GUEST_READ, budgets.READ, budgets.DEEP_READ)
PEOPLE: Rows = (budgets.GUEST_READ, budgets.RELATION_READ, budgets.DEEP_READ)
# Parameters that ask for a page after the first one.
DEEP = ("cursor", "max_time")


def takes(*, in_form: bool = False, **rows: Rows) -> Callable[[View], View]:
    """Return what has a page take from budgets, by method: `@takes(POST=(budgets.MARK,))`.

    With `in_form` the page calls `spend` itself for a POST, to show its form again when that raises
    RateLimited.
    """

    def wrap(view: View) -> View:
        @functools.wraps(view)
        def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            prepare(request, rows)
            if not (in_form and request.method == "POST"):
                spend(request)
            return view(request, *args, **kwargs)

        run.takes = rows  # type: ignore[attr-defined]
        return run

    return wrap


def prepare(request: HttpRequest, rows: Takes) -> None:
    """Note from which budgets a request takes, if possible before it is asked who sends it."""
    method = "GET" if request.method == "HEAD" else request.method or ""
    wanted = rows.get(method, ())
    if getattr(request, "budgets", None) != wanted:
        request.budgets, request.asked = wanted, None  # type: ignore[attr-defined]


def ask(batch: Batch, request: HttpRequest | None, user_id: int) -> Asked:
    """Ask for the tokens of a person in a batch; `spend` looks at the answer.

    Nothing is asked for while nobody knows from which budgets the request takes.
    """
    if request is None or not hasattr(request, "budgets"):
        return Asked(batch, [])
    request.asked = asked = Asked(batch, _due(request, user_id))  # type: ignore[attr-defined]
    return asked


def forget(request: HttpRequest | None, asked: Asked) -> None:
    """Give tokens back that were asked for by somebody who is not let in."""
    if request is not None:
        request.asked = None  # type: ignore[attr-defined]
    if asked.takes and asked.grant().allowed:
        ratelimit.give_back(asked.takes)


def spend(request: HttpRequest) -> None:
    """Take the tokens of a page's request. Raises RateLimited."""
    _take(request, request.user.pk if request.user.is_authenticated else None).check()


def spend_as(request: HttpRequest, user_id: int | None) -> None:
    """Take the tokens of a request of somebody who may be known otherwise than by the cookies."""
    _take(request, user_id).check()


def _take(request: HttpRequest, user_id: int | None) -> Grant:
    asked: Asked | None = getattr(request, "asked", None)
    return ratelimit.take_all(_due(request, user_id)) if asked is None else asked.grant()


def _due(request: HttpRequest, user_id: int | None) -> list[Take]:
    """Return what the budgets of a request are to give to whom."""
    found = []
    for budget in cast("Rows", getattr(request, "budgets", ())):
        owner = _owner(budget, request, user_id)
        is_here = not budget.deep or any(name in request.GET for name in DEEP)
        if owner is not None and is_here:
            found.append(Take(budget, owner))
    return found


def _owner(budget: Budget, request: HttpRequest, user_id: int | None) -> str | None:
    """Return whose tokens are taken; None when the budget is none of this visitor's."""
    match budget.per:
        case Per.PERSON:
            return None if user_id is None else str(user_id)
        case Per.GUEST:
            return networks.client_of(request) if user_id is None else None
        case Per.VISITOR:
            return networks.client_of(request) if user_id is None else str(user_id)
        case Per.SERVICE:
            return cast("Service", request.service).owner  # type: ignore[attr-defined]
        case Per.ADDRESS:
            return networks.client_of(request)
        case _:
            raise ValueError(f"no request has the budget {budget.name}")


class Throttle(BaseThrottle):
    """DRF's throttle: takes what a view's `takes` says, and tells the budget in the answer."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Return True, or raise RateLimited."""
        prepare_api(request, view)
        grant = _take(request._request, request.user.pk)
        view.headers.update(grant.headers())
        grant.check()
        return True


def prepare_api(request: Request, view: object) -> None:
    """Note from which budgets a request of the API takes."""
    prepare(request._request, getattr(view, "takes", {}))


def of_sign_up(request: HttpRequest, email: str) -> list[Take]:
    """Return what making an account takes, and the mail to its address if there is one."""
    account = [
        Take(budgets.SIGN_UP, networks.client_of(request)),
        Take(budgets.SIGN_UP_NETWORK, networks.network_of(request)),
    ]
    return [*account, *of_mail(request)] if email.strip() else account


def of_mail(request: HttpRequest, user: User | None = None) -> list[Take]:
    """Return what asking for a mail takes: of the address, its network, and who is signed in.

    Of all of them: one person may ask from many addresses, one address may have many accounts, and
    one network has many addresses.
    """
    owners = [f"address:{networks.client_of(request)}"]
    if user is not None:
        owners.append(f"person:{user.pk}")
    network = Take(budgets.MAIL_NETWORK, networks.network_of(request))
    return [*(Take(budgets.MAIL_ASKER, owner) for owner in owners), network]
