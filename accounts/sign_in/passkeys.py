"""Log-in by passkey, and the passkeys of a signed-in person, shared by API and pages.

- No budget of failed attempts counts wrong signatures, since nobody can guess one. So nobody can
  lock others out of their passkeys. The budget LOGIN bounds the work.
- Adding and removing takes a log-in, a password or a passkey of the last minutes
  (`sign_in_log.is_fresh`): a stolen session alone must neither add a way in nor remove one. A new
  name takes none of these.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts import actions, devices, profile_rules, sign_in_log
from accounts.actions import Proof
from accounts.credentials import passkey_challenges, passkeys
from accounts.credentials.passkeys import Options
from accounts.models import Passkey, User
from accounts.sign_in import flow, guarded
from accounts.tokens import Principal, TokenPair
from socialsite.core.errors import FreshLoginNeeded, InvalidInput, PasskeyRefused
from socialsite.core.http import ip_addresses

# Binds a challenge to the browser of a guest. It is no credential.
COOKIE = "__Host-passkey" if settings.HTTPS else "passkey"

Credential = Mapping[str, Any]


# --- log-in ---------------------------------------------------------------------------------------
def options_to_log_in(request: HttpRequest) -> tuple[Options, str]:
    """Return the options for a guest, and the value of the cookie that they need."""
    _check_available()
    browser = _browser(request) or secrets.token_urlsafe(16)
    return passkeys.options_to_log_in("log-in", browser), browser


def put_cookie(response: HttpResponseBase, value: str) -> None:
    """Bind the browser to the challenge that it gets."""
    response.set_cookie(
        COOKIE,
        value,
        max_age=passkey_challenges.LIFETIME,
        path="/",
        secure=settings.HTTPS,
        httponly=True,
        samesite="Strict",
    )


def options_for_code(user: User) -> Options | None:
    """Return the options in place of a code, for a person whose password was right; or None."""
    if not (passkeys.is_available() and passkeys.number_of(user)):
        return None
    return passkeys.options_to_log_in("code", str(user.pk), user)


def prove(request: HttpRequest, credential: Credential) -> tuple[User, Proof]:
    """Check the answer of any person's passkey; return the person and the proof for `enter`.

    Raises PasskeyRefused.
    """
    browser = _browser(request)
    if not browser:
        raise PasskeyRefused
    return _prove(request, passkeys.check(credential, "log-in", browser))


def prove_code(request: HttpRequest, user: User, credential: Credential) -> Proof:
    """Check the answer of this person's passkey, in place of a code. Raises PasskeyRefused."""
    return _prove_own(request, user, passkeys.check(credential, "code", str(user.pk)))


def _prove_own(request: HttpRequest, user: User, used: passkeys.Used) -> Proof:
    if used.passkey.user_id != user.pk:
        raise PasskeyRefused
    proof = _prove(request, used)[1]
    return proof._replace(password=user.password)


def _prove(request: HttpRequest, used: passkeys.Used) -> tuple[User, Proof]:
    passkey_challenges.use(used.challenge)
    actions.use_passkey(used, ip_addresses.address_of(request))
    user = used.passkey.user
    return user, Proof(user.password, code=True, passkey=used.passkey.pk)


def enter(request: HttpRequest, user: User, client: str, proof: Proof) -> TokenPair:
    """Sign in after the check of a passkey. Raises the errors of `actions.sign_in`."""
    return flow.issue(request, user, client, proof)


def log_in(
    request: HttpRequest,
    credential: Credential,
    client: str,
    terms: int = 0,
    *,
    reopens: bool = False,
) -> tuple[User, TokenPair]:
    """Sign in by passkey alone. Raises the errors of both steps; TermsNotAccepted as `flow.log_in`.

    As there, `terms` is the version that the person accepts along with it, and `reopens` opens a
    closed account again.
    """
    user, proof = prove(request, credential)
    with flow.accepting(request, user, terms):
        if reopens:
            passkey = proof.passkey
            return user, flow.reopen(request, user, client, coded=proof.code, passkey=passkey)
        return user, enter(request, user, client, proof)


def _browser(request: HttpRequest) -> str:
    return request.COOKIES.get(COOKIE, "")[:64]


# --- one's own passkeys ---------------------------------------------------------------------------
def options_to_prove(user: User, principal: Principal) -> Options:
    """Return the options with which a device that is signed in proves who uses it."""
    _check_available()
    return passkeys.options_to_log_in("prove", _device(user, principal), user)


def prove_fresh(
    request: HttpRequest, user: User, principal: Principal, credential: Credential
) -> None:
    """Make the sign-in of the device fresh again, in place of password and code.

    Raises PasskeyRefused and the errors of `actions.prove_by_passkey`.
    """
    used = passkeys.check(credential, "prove", _device(user, principal))
    proof = _prove_own(request, user, used)
    actions.prove_by_passkey(user, principal.client, proof, principal.version)


def check_fresh(
    request: HttpRequest,
    user: User,
    principal: Principal,
    password: str = "",
    otp: str = "",
    credential: Credential | None = None,
) -> None:
    """Raise FreshLoginNeeded unless the device proved lately, or proves now, who uses it.

    With a password, raises the errors of `guarded.prove`; with a passkey those of `prove_fresh`.
    """
    if credential:
        prove_fresh(request, user, principal, credential)
    elif password:
        guarded.prove(request, user, principal, password, otp)
    if not sign_in_log.is_fresh(user.pk, principal.client):
        raise FreshLoginNeeded


def options_to_add(user: User, principal: Principal) -> Options:
    """Return the options for a new passkey. The caller called `check_fresh`."""
    _check_available()
    return passkeys.options_to_add(user, _device(user, principal))


def add(
    request: HttpRequest, user: User, principal: Principal, credential: Credential, name: str = ""
) -> Passkey:
    """Add a passkey; without a name it gets that of the device.

    Raises PasskeyRefused and the errors of `actions.add_passkey`.
    """
    new, challenge = passkeys.check_new(credential, _device(user, principal))
    passkey_challenges.use(challenge)
    return actions.add_passkey(
        user,
        principal.client,
        new,
        profile_rules.one_line(name) or devices.own_name(request, principal.client),
        version=principal.version,
        address=ip_addresses.address_of(request),
    )


def rename(request: HttpRequest, user: User, passkey_id: int, name: str) -> Passkey:
    """Give a passkey another name. Raises NotFound; InvalidInput for one that is empty or long."""
    shown = profile_rules.one_line(name)
    if not shown:
        raise InvalidInput(fields={"name": [_("Please fill this in.")]})
    if len(shown) > Passkey.NAME_MAX:
        raise InvalidInput(fields={"name": [_("That is too long.")]})
    return actions.rename_passkey(user, passkey_id, shown, ip_addresses.address_of(request))


def remove(request: HttpRequest, user: User, passkey_id: int) -> None:
    """Remove a passkey. The caller called `check_fresh`. Raises NotFound."""
    actions.remove_passkey(user, passkey_id, ip_addresses.address_of(request))


def _device(user: User, principal: Principal) -> str:
    """Return what a challenge for a new passkey is bound to: this sign-in of the person."""
    return f"{user.pk} {principal.client} {principal.version} {principal.batch}"


def _check_available() -> None:
    if not passkeys.is_available():
        raise InvalidInput(
            _("Passkeys need HTTPS and a domain name, which this site does not have.")
        )
