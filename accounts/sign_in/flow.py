"""Sign-in flow, shared by API and pages: password, second factor, then a pair for a device."""

from django.http import HttpRequest

from accounts import actions, rate_limits, tokens
from accounts.actions import Shown
from accounts.models import User
from accounts.sign_in import attempts, devices, two_factor
from accounts.sign_in.two_factor import SetUp
from accounts.tokens import Principal, TokenPair
from socialsite.core.http.errors import NotFound, OtpRequired
from socialsite.core.rate_limits import allowances, buckets, budgets


def log_in(
    request: HttpRequest, username: str, password: str, client: str, otp: str = ""
) -> tuple[User, TokenPair]:
    """Sign in by password and, if enabled, second factor. Raises the errors of both steps."""
    user = check_password(request, username, password)
    return user, finish(request, user, client, otp)


def check_password(request: HttpRequest, username: str, password: str) -> User:
    """Check the password, the first step of log-in.

    Raises PasswordNotCorrected; UserBanned only for a right password; RateLimited after too many
    failures, whatever the password.
    """
    with attempts.login(request, username):
        return actions.check_password(username, password)


def finish(request: HttpRequest, user: User, client: str, otp: str = "") -> TokenPair:
    """Sign in after the password check, with a code if the second factor is on.

    Raises OtpRequired without a code, OtpNotCorrected, RateLimited after too many wrong codes.
    """
    coded = two_factor.is_on(user)
    if coded:
        if not otp.strip():
            raise OtpRequired
        with attempts.code(request, user):
            actions.check_second_factor(user, otp, devices.address_of(request))
    return sign_in(request, user, client, Shown(user.password, coded))


def sign_up(
    request: HttpRequest,
    username: str,
    nickname: str,
    password: str,
    client: str,
    email: str = "",
) -> tuple[User, TokenPair]:
    """Create an account and sign in; an e-mail address, if given, gets a confirmation link.

    Raises RegMatchError or DuplicatedUser; RateLimited after many of these, or after many new
    accounts from one place.
    """
    takes = rate_limits.of_sign_up(request, email)
    with attempts.sign_up(request), allowances.spent(takes):
        user = actions.register(username, nickname, password, unconfirmed=email)
    return user, sign_in(request, user, client)


def sign_in(request: HttpRequest, user: User, client: str, shown: Shown | None = None) -> TokenPair:
    """Issue a pair for the device of a request, without further checks."""
    user_agent, address = devices.user_agent_of(request), devices.address_of(request)
    return actions.sign_in(user, client, user_agent, address, shown)


def refresh(refresh_token: str) -> tuple[User, TokenPair]:
    """Exchange a refresh token. Raises the errors of `actions.refresh`; RateLimited."""
    buckets.spend(budgets.REFRESH, tokens.decode_refresh(refresh_token).user_id)
    return actions.refresh(refresh_token)


def change_password(
    request: HttpRequest, user: User, principal: Principal, old: str, new: str
) -> TokenPair:
    """Replace the password from the device of a request.

    Raises the errors of `actions.change_password`; RateLimited after too many wrong old passwords.
    """
    client, address = principal.client, devices.address_of(request)
    by = _this_device(request, principal)
    with attempts.password(user):
        return actions.change_password(
            user, client, old, new, version=principal.version, by=by, address=address
        )


def begin_second_factor(user: User, password: str) -> SetUp:
    """Create a new secret. Raises the errors of `actions.begin_second_factor`; RateLimited."""
    with attempts.password(user):
        return actions.begin_second_factor(user, password)


def confirm_second_factor(
    request: HttpRequest, user: User, principal: Principal, otp: str
) -> list[str]:
    """Turn the second factor on from the device of a request, which stays signed in.

    Returns the recovery codes. Raises the errors of `actions.confirm_second_factor`; RateLimited.
    """
    client, address = principal.client, devices.address_of(request)
    by = _this_device(request, principal)
    with attempts.own_code(user):
        return actions.confirm_second_factor(
            user, otp, client, version=principal.version, by=by, address=address
        )


def renew_recovery_codes(request: HttpRequest, user: User, otp: str) -> list[str]:
    """Replace the recovery codes.

    Raises the errors of `actions.renew_recovery_codes`; RateLimited.
    """
    with attempts.own_code(user):
        return actions.renew_recovery_codes(user, otp, devices.address_of(request))


def end_second_factor(request: HttpRequest, user: User, password: str, otp: str) -> None:
    """Turn the second factor off. Raises the errors of `actions.end_second_factor`; RateLimited."""
    with attempts.password(user), attempts.own_code(user):
        actions.end_second_factor(user, password, otp, devices.address_of(request))


def change_email(request: HttpRequest, user: User, email: str, password: str) -> None:
    """Send a link to a new address, or remove the old address if the new one is empty.

    Raises the errors of `actions.change_email`; RateLimited after many mails or wrong passwords.
    """
    takes = rate_limits.of_mail(request, user) if email.strip() else []
    with allowances.spent(takes), attempts.password(user):
        if email.strip():
            actions.change_email(user, email, password)
        else:
            actions.remove_email(user, password, address=devices.address_of(request))


def ask_recovery(request: HttpRequest, email: str) -> None:
    """Request password recovery links. Raises InvalidInput; RateLimited."""
    with allowances.spent(rate_limits.of_mail(request)):
        actions.ask_recovery(email)


def sign_out(request: HttpRequest, user: User, principal: Principal, client: str) -> None:
    """End the sign-in of one of the person's devices, possibly of the requesting one.

    Raises NotFound when nobody is signed in there.
    """
    if client == principal.client:
        actions.log_out(user, client, principal.version)
        return
    if not devices.is_client(client):
        raise NotFound
    by, address = _this_device(request, principal), devices.address_of(request)
    actions.kick(user, client, by=by, address=address)


def sign_out_others(request: HttpRequest, user: User, principal: Principal) -> int:
    """End all sign-ins except that of the requesting device. Returns their number."""
    by, address = _this_device(request, principal), devices.address_of(request)
    return actions.kick_others(user, principal.client, by=by, address=address)


def _this_device(request: HttpRequest, principal: Principal) -> str:
    return devices.name_of(principal.client, devices.user_agent_of(request))
