"""The way in, for API and pages alike: password, second factor, then a pair for a device."""

from django.http import HttpRequest

from accounts import actions, attempts, devices
from accounts.models import User
from accounts.tokens import Principal, TokenPair


def log_in(
    request: HttpRequest, username: str, password: str, client: str
) -> tuple[User, TokenPair]:
    """Sign in by password. Raises PasswordNotCorrected; UserBanned after a right password only.

    RateLimited after too many failures, whatever the password.
    """
    with attempts.login(request, username):
        user = actions.check_password(username, password)
    return user, sign_in(request, user, client)


def sign_up(
    request: HttpRequest, username: str, nickname: str, password: str, client: str
) -> tuple[User, TokenPair]:
    """Make an account and sign in. Raises RegMatchError or DuplicatedUser; RateLimited."""
    with attempts.sign_up(request):
        user = actions.register(username, nickname, password)
    return user, sign_in(request, user, client)


def sign_in(request: HttpRequest, user: User, client: str) -> TokenPair:
    """Give the device of a request a pair, without asking for anything more."""
    return actions.sign_in(
        user, client, devices.user_agent_of(request), devices.address_of(request)
    )


def change_password(
    request: HttpRequest, user: User, principal: Principal, old: str, new: str
) -> TokenPair:
    """Replace the password by the device of a request.

    Errors as `actions.change_password`; RateLimited after too many wrong old ones.
    """
    client, address = principal.client, devices.address_of(request)
    by = devices.name_of(client, devices.user_agent_of(request))
    with attempts.password(user):
        return actions.change_password(
            user, client, old, new, version=principal.version, by=by, address=address
        )
