"""Passkeys: what browsers are asked for, and the checks of their answers (WebAuthn level 2).

- The id of the site (`rp_id`) and its origin come from SITE_URL alone, never from a request.
- A passkey always verifies its user, by a PIN or a biometric of the device, and it is
  discoverable: the browser finds it without a user name. So it replaces password and code.
- Attestation is not requested. A statement that comes anyway is dropped unread, so the site parses
  no certificates of strangers.
- Only this module uses the library `webauthn`.
"""

import ipaddress
import logging
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import orjson
import webauthn
from django.conf import settings
from webauthn.helpers import (
    base64url_to_bytes,
    encode_cbor,
    parse_cbor,
    parse_client_data_json,
    structs,
)
from webauthn.helpers import bytes_to_base64url as base64url

from accounts.credentials import passkey_challenges
from accounts.credentials.passkey_challenges import Purpose
from accounts.models import Passkey, User
from socialsite.core import site
from socialsite.core.errors import PasskeyRefused

logger = logging.getLogger(__name__)

# Bytes of a credential's id, at most, by the standard.
CREDENTIAL_ID_MAX = 1023
PUBLIC_KEY_MAX = 2000
MAX = 10  # passkeys of a person
TIMEOUT_MS = passkey_challenges.LIFETIME * 1000

Options = dict[str, Any]
Credential = Mapping[str, Any]
R = TypeVar("R")


class New(NamedTuple):
    """A checked new passkey."""

    credential_id: bytes
    public_key: bytes
    sign_count: int
    backed_up: bool
    transports: list[str]


class Used(NamedTuple):
    """The checked answer of a known passkey."""

    passkey: Passkey
    sign_count: int
    backed_up: bool
    challenge: bytes


def is_available() -> bool:
    """Return whether browsers have passkeys for SITE_URL: they need HTTPS and a name of a host."""
    parts = urlsplit(settings.SITE_URL)
    host = parts.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return parts.scheme == "https" or host == "localhost" or host.endswith(".localhost")
    return False


def rp_id() -> str:
    """Return the id of the site for browsers: the host of SITE_URL."""
    return urlsplit(settings.SITE_URL).hostname or ""


def origin() -> str:
    """Return the only origin whose answers count, as browsers write it."""
    parts = urlsplit(settings.SITE_URL)
    standard = {"https": 443, "http": 80}.get(parts.scheme)
    port = "" if parts.port in (None, standard) else f":{parts.port}"
    return f"{parts.scheme}://{rp_id()}{port}"


def number_of(user: User) -> int:
    """Return how many passkeys a person has."""
    return Passkey.objects.filter(user=user.pk).count()


def of_person(user: User) -> list[Passkey]:
    """Return a person's passkeys, the oldest first."""
    return list(Passkey.objects.filter(user=user.pk).order_by("id"))


def hash_of(credential_id: bytes) -> str:
    """Return the unique hash under which a credential is stored."""
    return sha256(credential_id).hexdigest()


# --- what browsers are asked for ------------------------------------------------------------------
def options_to_add(user: User, bound_to: str) -> Options:
    """Return the options for `navigator.credentials.create`, in JSON form."""
    made = webauthn.generate_registration_options(
        rp_id=rp_id(),
        rp_name=site.current().name,
        user_id=_handle(user.pk),
        user_name=user.username,
        user_display_name=user.nickname,
        challenge=passkey_challenges.new("add", bound_to),
        timeout=TIMEOUT_MS,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[_descriptor(row) for row in of_person(user)],
    )
    return _plain(made)


def options_to_log_in(purpose: Purpose, bound_to: str, user: User | None = None) -> Options:
    """Return the options for `navigator.credentials.get`, in JSON form; for any person or one."""
    made = webauthn.generate_authentication_options(
        rp_id=rp_id(),
        challenge=passkey_challenges.new(purpose, bound_to),
        timeout=TIMEOUT_MS,
        allow_credentials=[_descriptor(row) for row in of_person(user)] if user else [],
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return _plain(made)


def _plain(options: Any) -> Options:
    found: Options = orjson.loads(webauthn.options_to_json(options))
    return found


def _descriptor(row: Passkey) -> structs.PublicKeyCredentialDescriptor:
    ways = [structs.AuthenticatorTransport(way) for way in row.transports]
    return structs.PublicKeyCredentialDescriptor(id=bytes(row.credential_id), transports=ways)


def _handle(user_id: int) -> bytes:
    """Return what the authenticator stores about the person: the public number of the account."""
    return user_id.to_bytes(8)


# --- their answers --------------------------------------------------------------------------------
def check_new(credential: Credential, bound_to: str) -> tuple[New, bytes]:
    """Return the new passkey of an answer, and the challenge. Raises PasskeyRefused."""
    challenge = _challenge(credential, "add", bound_to)
    return _guarded(lambda: _check_new(credential, challenge)), challenge


def _check_new(credential: Credential, challenge: bytes) -> New:
    response = credential["response"]
    statement = parse_cbor(base64url_to_bytes(response["attestationObject"]))
    bare = {"fmt": "none", "attStmt": {}, "authData": statement["authData"]}
    found = webauthn.verify_registration_response(
        credential={
            "id": credential["id"],
            "rawId": credential["rawId"],
            "type": credential["type"],
            "response": {
                "clientDataJSON": response["clientDataJSON"],
                "attestationObject": base64url(encode_cbor(bare)),
            },
        },
        expected_challenge=challenge,
        expected_rp_id=rp_id(),
        expected_origin=origin(),
        require_user_verification=True,
    )
    if base64url_to_bytes(credential["id"]) != found.credential_id:
        raise PasskeyRefused
    if len(found.credential_id) > CREDENTIAL_ID_MAX:
        raise PasskeyRefused
    if len(found.credential_public_key) > PUBLIC_KEY_MAX:
        raise PasskeyRefused
    known = {way.value for way in structs.AuthenticatorTransport}
    return New(
        found.credential_id,
        found.credential_public_key,
        found.sign_count,
        found.credential_backed_up,
        sorted(known & set(response.get("transports", ()))),
    )


def check(credential: Credential, purpose: Purpose, bound_to: str) -> Used:
    """Return the passkey of an answer. Raises PasskeyRefused; does not write anything.

    The caller compares the count of signatures, under the lock of the row.
    """
    challenge = _challenge(credential, purpose, bound_to)
    wanted = _guarded(lambda: hash_of(base64url_to_bytes(credential["id"])))
    row = Passkey.objects.select_related("user").filter(credential_hash=wanted).first()
    if row is None:
        raise PasskeyRefused
    handle = credential["response"].get("userHandle")
    if handle and _guarded(lambda: base64url_to_bytes(handle)) != _handle(row.user_id):
        raise PasskeyRefused
    found = _guarded(
        lambda: webauthn.verify_authentication_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=rp_id(),
            expected_origin=origin(),
            credential_public_key=bytes(row.public_key),
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    )
    return Used(row, found.new_sign_count, found.credential_backed_up, challenge)


def _challenge(credential: Credential, purpose: Purpose, bound_to: str) -> bytes:
    """Return the challenge that was signed. Raises PasskeyRefused if it is not one of the site."""
    data = credential["response"]["clientDataJSON"]
    found = _guarded(lambda: parse_client_data_json(base64url_to_bytes(data)).challenge)
    if not passkey_challenges.is_valid(found, purpose, bound_to):
        raise PasskeyRefused
    return found


def _guarded(function: Callable[[], R]) -> R:
    """Return the result; whatever the library raises about a stranger's bytes is a refusal."""
    try:
        return function()
    except PasskeyRefused:
        raise
    except Exception as error:
        logger.info("passkey refused: %s", type(error).__name__)
        raise PasskeyRefused from error
