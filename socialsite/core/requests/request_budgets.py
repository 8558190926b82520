"""Rate limits of requests: which budgets a request takes from, and when.

- A view declares with `takes` the budgets of each method: an API view as an attribute, a page with
  the decorator.
- The tokens of a person are requested in the same round trip that checks the access token
  (`accounts.request_auth.authentication`). If the person is refused, they are returned.
- Guests use the budget of their address: an IPv4 address or an IPv6 /64.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.rate_limits.buckets import Grant, PendingTakes, Take
from socialsite.core.rate_limits.budget import Budget, Per
from socialsite.core.redis import Batch
from socialsite.core.runtime.service_keys import Service

if TYPE_CHECKING:  # that module imports its throttles, and so this module
    from rest_framework.views import APIView

Rows = tuple[Budget, ...]
Takes = Mapping[str, Rows]
View = Callable[..., HttpResponseBase]

# Budgets of reads that guests may do too.
READS: Rows = (budgets.GUEST_READ, budgets.READ, budgets.DEEP_READ)
PEOPLE: Rows = (budgets.GUEST_READ, budgets.RELATION_READ, budgets.DEEP_READ)
# Parameters that request a page after the first one.
DEEP = ("cursor", "max_time")


def takes(*, in_form: bool = False, in_view: bool = False, **rows: Rows) -> Callable[[View], View]:
    """Declare a page's budgets by method: `@takes(POST=(budgets.MARK,))`.

    With `in_form`, the page calls `spend` itself for a POST, so that it can show its form again
    when that raises RateLimited. With `in_view` it always does, after it has read its sender along
    with its own data (`accounts.request_auth.authentication.PageUser`).
    """

    def wrap(view: View) -> View:
        @functools.wraps(view)
        def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            prepare(request, rows)
            if not in_view and not (in_form and request.method == "POST"):
                spend(request)
            return view(request, *args, **kwargs)

        run.takes = rows  # type: ignore[attr-defined]
        return run

    return wrap


def prepare(request: HttpRequest, rows: Takes) -> None:
    """Note the budgets of a request, if possible before its sender is identified."""
    method = "GET" if request.method == "HEAD" else request.method or ""
    wanted = rows.get(method, ())
    if getattr(request, "budgets", None) != wanted:
        request.budgets, request.asked = wanted, None  # type: ignore[attr-defined]


def ask(batch: Batch, request: HttpRequest | None, user_id: int) -> PendingTakes:
    """Request a person's tokens in a batch; `spend` reads the answer.

    Requests nothing until the budgets of the request are known.
    """
    if request is None or not hasattr(request, "budgets"):
        return PendingTakes(batch, [])
    request.asked = asked = PendingTakes(batch, _due(request, user_id))  # type: ignore[attr-defined]
    return asked


def refund(request: HttpRequest | None, asked: PendingTakes) -> None:
    """Give back the requested tokens of a refused person."""
    if request is not None:
        request.asked = None  # type: ignore[attr-defined]
    if asked.takes and asked.grant().allowed:
        buckets.refund(asked.takes)


def spend(request: HttpRequest) -> None:
    """Take the tokens of a page request. Raises RateLimited."""
    _take(request, request.user.pk if request.user.is_authenticated else None).check()


def spend_as(request: HttpRequest, user_id: int | None) -> None:
    """Take the tokens of a request whose person may be known by other means than cookies."""
    _take(request, user_id).check()


def _take(request: HttpRequest, user_id: int | None) -> Grant:
    asked: PendingTakes | None = getattr(request, "asked", None)
    return buckets.take_all(_due(request, user_id)) if asked is None else asked.grant()


def _due(request: HttpRequest, user_id: int | None) -> list[Take]:
    """Return the tokens that a request takes, with their owners."""
    found = []
    for budget in cast("Rows", getattr(request, "budgets", ())):
        owner = _owner(budget, request, user_id)
        is_here = not budget.deep or any(name in request.GET for name in DEEP)
        if owner is not None and is_here:
            found.append(Take(budget, owner))
    return found


def _owner(budget: Budget, request: HttpRequest, user_id: int | None) -> str | None:
    """Return the owner of the tokens; None when the budget does not apply to this visitor."""
    match budget.per:
        case Per.PERSON:
            return None if user_id is None else str(user_id)
        case Per.GUEST:
            return ip_addresses.client_of(request) if user_id is None else None
        case Per.VISITOR:
            return ip_addresses.client_of(request) if user_id is None else str(user_id)
        case Per.SERVICE:
            return cast("Service", request.service).owner  # type: ignore[attr-defined]
        case Per.ADDRESS:
            return ip_addresses.client_of(request)
        case _:
            raise ValueError(f"no request has the budget {budget.name}")


class Throttle(BaseThrottle):
    """DRF throttle: takes the tokens of the view's `takes`, and reports the budget in headers."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Return True, or raise RateLimited."""
        prepare_api(request, view)
        grant = _take(request._request, request.user.pk)
        view.headers.update(grant.headers())
        grant.check()
        return True


def prepare_api(request: Request, view: object) -> None:
    """Note the budgets of an API request."""
    prepare(request._request, getattr(view, "takes", {}))


def of_sign_up(request: HttpRequest, email: str) -> list[Take]:
    """Return the tokens of a sign-up, including those of a mail if an address is given."""
    account = [
        Take(budgets.SIGN_UP, ip_addresses.client_of(request)),
        Take(budgets.SIGN_UP_NETWORK, ip_addresses.network_of(request)),
    ]
    return [*account, *of_mail(request)] if email.strip() else account


def of_mail(request: HttpRequest, user: AbstractBaseUser | None = None) -> list[Take]:
    """Return the tokens of a requested mail: of the address, its network and the signed-in person.

    All three count: one person may ask from many addresses, one address may have many accounts, and
    one network has many addresses.
    """
    owners = [f"address:{ip_addresses.client_of(request)}"]
    if user is not None:
        owners.append(f"person:{user.pk}")
    network = Take(budgets.MAIL_NETWORK, ip_addresses.network_of(request))
    return [*(Take(budgets.MAIL_ASKER, owner) for owner in owners), network]
