"""Log-in, sign-up, refresh and sign-out, shared by API and pages; reads from top to bottom.

A log-in checks the password (`begin`), then the code and issues a pair (`finish`). The action
`sign_in` ends the sign-ins that the new one replaces, and closes their sockets.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.http import HttpRequest

from accounts import actions, devices, invites, queries, tokens
from accounts.actions import Proof
from accounts.credentials import two_factor
from accounts.models import SignUpRequest, User
from accounts.sign_in import attempts, challenge
from accounts.tokens import Principal, TokenPair
from socialsite.core import site
from socialsite.core.errors import ApprovalPending, NotFound, OtpRequired, RateLimited, SignUpClosed
from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import allowances, buckets, budgets
from socialsite.core.requests import request_budgets
from socialsite.core.site import SignUp


def log_in(
    request: HttpRequest,
    username: str,
    password: str,
    client: str,
    code: str = "",
    terms: int = 0,
    *,
    reopens: bool = False,
) -> tuple[User, TokenPair]:
    """Sign in by password and, if enabled, second factor. Raises the errors of both steps.

    `reopens`: open the account again if it is closed, instead of raising AccountClosing.
    `terms` is the version that the person accepts along with it. TermsNotAccepted if the site
    needs a newer one than this and than the person accepted before.
    """
    user = begin(request, username, password)
    with accepting(request, user, terms):
        return user, finish(request, user, client, code, reopens=reopens)


@contextmanager
def accepting(request: HttpRequest, user: User, terms: int) -> Iterator[None]:
    """Check before a log-in that the terms are accepted, and note the acceptance after it.

    Raises TermsNotAccepted, before a code is used up.
    """
    is_behind = user.terms_accepted < site.current().terms_needed
    if is_behind:
        actions.check_terms(terms)
    yield
    if is_behind:
        actions.accept_terms(user, terms, ip_addresses.address_of(request))


def begin(request: HttpRequest, username: str, password: str) -> User:
    """Check the password, the first step of log-in.

    Raises PasswordNotCorrected; UserBanned, Suspended and ApprovalPending only for a right
    password; RateLimited after too many failures, whatever the password.
    """
    with attempts.login(request, username):
        try:
            return actions.check_password(username, password)
        except ApprovalPending:
            _send_link_again(request, username)
            raise


def _send_link_again(request: HttpRequest, username: str) -> None:
    """Send the link once more to a person whose sign-up waits for it, if budgets allow it."""
    found = queries.request_by_name(username)
    if found is not None and found.state == SignUpRequest.State.UNCONFIRMED:
        with suppress(RateLimited):
            allowances.spend(request_budgets.of_mail(request))
            actions.send_link_again(found)


def finish(
    request: HttpRequest, user: User, client: str, code: str = "", *, reopens: bool = False
) -> TokenPair:
    """Sign in after the password check, with a code if the second factor is on.

    Raises OtpRequired without a code, OtpNotCorrected, RateLimited after too many wrong codes;
    AccountClosing for a closed account, which `reopens` opens again.
    """
    coded = check_code(request, user, code)
    if reopens:
        return reopen(request, user, client, coded=coded)
    return issue(request, user, client, Proof(user.password, coded))


def reopen(
    request: HttpRequest, user: User, client: str, *, coded: bool, passkey: int = 0
) -> TokenPair:
    """Open a closed account again, and sign in, after the checks of password and code.

    `passkey` is the one that was checked instead of them.
    """
    user_agent, address = devices.user_agent_of(request), ip_addresses.address_of(request)
    proof = Proof(user.password, coded, passkey)
    return actions.reopen(user, client, user_agent, address, proof)


def check_code(request: HttpRequest, user: User, code: str) -> bool:
    """Check a code, and return True, if the person's second factor is on. Raises as `finish`."""
    if not two_factor.is_on(user):
        return False
    if not code.strip():
        raise OtpRequired
    with attempts.code(request, user):
        actions.check_two_factor(user, code, ip_addresses.address_of(request))
    return True


def identify(request: HttpRequest, username: str, password: str, code: str) -> User:
    """Return the person with this name, password and code, whether or not they may log in.

    Raises what `begin` and `finish` raise, except UserBanned and Suspended.
    """
    with attempts.login(request, username):
        user = actions.person_of(username, password)
    check_code(request, user, code)
    return user


def sign_up(
    request: HttpRequest,
    username: str,
    nickname: str,
    password: str,
    client: str,
    email: str = "",
    terms: int = 0,
    reason: str = "",
    invite: str = "",
    solution: str = "",
) -> tuple[User, TokenPair] | SignUpRequest:
    """Create an account and sign in; an e-mail address, if given, receives a confirmation link.

    Returns a request instead if staff decide, or if the address must be confirmed first; `reason`
    is the answer to the site's question. Whoever has an `invite`, the code of a valid invitation,
    needs no decision. `terms` is the version that the person accepts, `solution` that of the task
    at sign-up, if one is needed. Raises SignUpClosed, TermsNotAccepted, ChallengeNeeded,
    RegMatchError or DuplicatedUser; RateLimited after many of these, or after many new accounts
    from one place.
    """
    by_approval, needs_invite = _way_in(invite)
    actions.check_terms(terms)
    takes = [*request_budgets.of_sign_up(request, email), *challenge.takes(request, solution)]
    with attempts.sign_up(request), allowances.spent(takes, challenge.if_used()):
        if site.current().email_needed or by_approval:
            return actions.request_account(
                username,
                nickname,
                password,
                email=email,
                reason=reason,
                terms=terms,
                invite=invite,
                needs_invite=needs_invite,
                needs_approval=by_approval,
                address=ip_addresses.address_of(request),
            )
        user = actions.register(
            username,
            nickname,
            password,
            unconfirmed=email,
            terms=terms,
            invite=invite,
            needs_invite=needs_invite,
        )
    return user, issue(request, user, client)


def _way_in(invite: str) -> tuple[bool, bool]:
    """Return whether staff decide on a sign-up, and whether it needs the invitation of this code.

    Raises SignUpClosed.
    """
    mode, invited = site.current().sign_up, invites.usable(invite) is not None
    if mode == SignUp.CLOSED:
        raise SignUpClosed
    if mode == SignUp.INVITE and not invited:
        raise actions.no_invite(invite)
    return mode == SignUp.APPROVAL and not invited, mode != SignUp.OPEN and invited


def issue(request: HttpRequest, user: User, client: str, proof: Proof | None = None) -> TokenPair:
    """Sign in the device of a request, without further checks."""
    user_agent, address = devices.user_agent_of(request), ip_addresses.address_of(request)
    return actions.sign_in(user, client, user_agent, address, proof)


def exchange(refresh_token: str) -> tuple[User, TokenPair]:
    """Exchange a refresh token. Raises the errors of `actions.refresh`; RateLimited."""
    buckets.spend(budgets.REFRESH, tokens.decode_refresh(refresh_token).user_id)
    return actions.refresh(refresh_token)


def sign_out(request: HttpRequest, user: User, principal: Principal, client: str) -> None:
    """End the sign-in of one of the person's devices, possibly of the requesting one.

    Raises NotFound when nobody is signed in there.
    """
    if client == principal.client:
        actions.log_out(user, client, principal.version)
        return
    if not devices.is_client(client):
        raise NotFound
    by, address = devices.own_name(request, principal.client), ip_addresses.address_of(request)
    actions.kick(user, client, by=by, address=address)


def sign_out_others(request: HttpRequest, user: User, principal: Principal) -> int:
    """End all sign-ins except that of the requesting device. Returns their number."""
    by, address = devices.own_name(request, principal.client), ip_addresses.address_of(request)
    return actions.kick_others(user, principal.client, by=by, address=address)
