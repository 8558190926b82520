"""Changes of a person's own credentials, each guarded by the budgets of failed attempts.

A function here spends the budgets, then calls the action of the same name.
"""

from datetime import datetime

from django.http import HttpRequest

from accounts import actions, devices
from accounts.credentials.two_factor import SetUp
from accounts.models import User
from accounts.sign_in import attempts
from accounts.tokens import Principal, TokenPair
from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import allowances
from socialsite.core.requests import request_budgets


def change_password(
    request: HttpRequest, user: User, principal: Principal, old: str, new: str
) -> TokenPair:
    """Replace the password from the device of a request.

    Raises the errors of `actions.change_password`; RateLimited after too many wrong old passwords.
    """
    client, address = principal.client, ip_addresses.address_of(request)
    by = devices.own_name(request, client)
    with attempts.password(user):
        return actions.change_password(
            user, client, old, new, version=principal.version, by=by, address=address
        )


def begin_two_factor(user: User, password: str) -> SetUp:
    """Create a new secret. Raises the errors of `actions.begin_two_factor`; RateLimited."""
    with attempts.password(user):
        return actions.begin_two_factor(user, password)


def confirm_two_factor(
    request: HttpRequest, user: User, principal: Principal, code: str
) -> list[str]:
    """Turn the second factor on from the device of a request, which stays signed in.

    Returns the recovery codes. Raises the errors of `actions.confirm_two_factor`; RateLimited.
    """
    client, address = principal.client, ip_addresses.address_of(request)
    by = devices.own_name(request, client)
    with attempts.own_code(user):
        return actions.confirm_two_factor(
            user, code, client, version=principal.version, by=by, address=address
        )


def renew_recovery_codes(request: HttpRequest, user: User, code: str) -> list[str]:
    """Replace the recovery codes.

    Raises the errors of `actions.renew_recovery_codes`; RateLimited.
    """
    with attempts.own_code(user):
        return actions.renew_recovery_codes(user, code, ip_addresses.address_of(request))


def end_two_factor(request: HttpRequest, user: User, password: str, code: str) -> None:
    """Turn the second factor off. Raises the errors of `actions.end_two_factor`; RateLimited."""
    with attempts.password(user), attempts.own_code(user):
        actions.end_two_factor(user, password, code, ip_addresses.address_of(request))


def prove(request: HttpRequest, user: User, principal: Principal, password: str, code: str) -> None:
    """Make the sign-in of the device of a request fresh again.

    Raises the errors of `actions.prove`; RateLimited.
    """
    address = ip_addresses.address_of(request)
    with attempts.password(user), attempts.own_code(user):
        actions.prove(user, principal.client, password, code, address=address)


def close(request: HttpRequest, user: User, password: str, code: str) -> datetime:
    """Close the account. Returns from when it is erased.

    Raises the errors of `actions.close`; RateLimited.
    """
    with attempts.password(user), attempts.own_code(user):
        return actions.close(user, password, code, address=ip_addresses.address_of(request))


def change_email(request: HttpRequest, user: User, email: str, password: str) -> None:
    """Send a link to a new address, or remove the old address if the new one is empty.

    Raises the errors of `actions.change_email`; RateLimited after many mails or wrong passwords.
    """
    takes = request_budgets.of_mail(request, user) if email.strip() else []
    with allowances.spent(takes), attempts.password(user):
        if email.strip():
            actions.change_email(user, email, password)
        else:
            actions.remove_email(user, password, address=ip_addresses.address_of(request))


def send_confirmation_again(request: HttpRequest, user: User) -> None:
    """Send another link to the address that waits. Raises NotFound; RateLimited."""
    with allowances.spent(request_budgets.of_mail(request, user)):
        actions.send_confirmation_again(user)


def request_recovery(request: HttpRequest, email: str) -> None:
    """Request password recovery links. Raises InvalidInput; RateLimited."""
    with allowances.spent(request_budgets.of_mail(request)):
        actions.request_recovery(email)
