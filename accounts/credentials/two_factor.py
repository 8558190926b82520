"""Two-factor authentication: its state and the encryption of its secrets.

- Devices are rows of django-otp (`otp_totp`, and `otp_static` for the recovery codes). Its
  middleware, sessions and throttling are not used: `accounts.sign_in.attempts` bounds the guesses.
- The secret of an authenticator has to be read again. So it is encrypted with AES-256-GCM, with a
  key derived from SECRET_KEY and bound to its person. Read access to the database or a backup is
  not enough to compute codes; write access is not enough to copy a secret to another account.
- Recovery codes are only compared, so a keyed hash is stored.
- SECRET_KEY_FALLBACKS are previous keys: decrypt only.
"""

import base64
import hmac
import re
import secrets
import unicodedata
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.utils import timezone
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from socialsite.core.errors import TwoFactorNeeded

SECRET_BYTES = 20  # RFC 4226 recommends this length, and every app accepts it
NONCE_BYTES = 12
RECOVERY_CODES = 10
RECOVERY_BYTES = 10  # 16 characters of base32, the maximum of a django-otp row
RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # no characters that look alike
RECOVERY_LENGTH = 10
# A set-up that is not confirmed within this time expires.
SET_UP_TIME = timedelta(hours=1)

APP_CODE = re.compile(r"[0-9]{6}")


class SetUp(NamedTuple):
    """Data for an authenticator app: the secret in base32, and the same as an otpauth URL."""

    secret: str
    url: str


def is_on(user: User) -> bool:
    """Return whether log-in asks for a code."""
    return TOTPDevice.objects.filter(user=user.pk, confirmed=True).exists()


def is_missing(user: User) -> bool:
    """Return whether a staff member lacks the second factor that STAFF_TOTP requires."""
    return settings.STAFF_TOTP and user.is_staff and not is_on(user)


def check_staff(user: User) -> None:
    """Raise TwoFactorNeeded for staff who may not use their powers yet."""
    if is_missing(user):
        raise TwoFactorNeeded


def codes_left(user: User) -> int:
    """Return the number of unused recovery codes."""
    return StaticToken.objects.filter(device__user=user.pk).count()


def begun(user: User) -> TOTPDevice | None:
    """Return the unconfirmed device, if its secret can still be decrypted."""
    since = timezone.now() - SET_UP_TIME
    rows = TOTPDevice.objects.filter(user=user.pk, confirmed=False, created_at__gte=since)
    device = rows.order_by("-id").first()
    return device if device and unseal(device.key, user.pk) else None


def set_up(device: TOTPDevice, user: User) -> SetUp:
    """Return the data for the app from a device that `begun` returned."""
    secret = unseal(device.key, user.pk) or b""
    shown = TOTPDevice(user=user, key=secret.hex())  # django-otp builds its URL from a plain key
    return SetUp(base64.b32encode(secret).decode(), shown.config_url)


def new_device(user: User) -> TOTPDevice:
    """Return a device with a new secret; does not save it."""
    key = seal(secrets.token_bytes(SECRET_BYTES), user.pk)
    return TOTPDevice(user_id=user.pk, name="", key=key, confirmed=False)


def step_of(device: TOTPDevice, code: str) -> int | None:
    """Return the time step of a code; None for a wrong or used one.

    Accepts the codes of the current step (30 s) and of one step before and after, each step once,
    and no step before a used one.
    """
    secret = unseal(device.key, device.user_id)
    if secret is None or not APP_CODE.fullmatch(code):
        return None
    totp = TOTP(secret, device.step, device.t0, device.digits)
    totp.time = totp.time  # one fixed moment for the checks below
    return totp.t() if totp.verify(int(code), device.tolerance, device.last_t + 1) else None


def cleaned(code: str) -> str:
    """Return a code in the form that is compared: ASCII digits, no blanks or hyphens."""
    return re.sub(r"[\s-]", "", unicodedata.normalize("NFKC", code)).lower()


def new_recovery_codes() -> list[str]:
    """Return new codes as they are shown: two groups of five characters."""
    half = RECOVERY_LENGTH // 2
    found = set[str]()
    while len(found) < RECOVERY_CODES:
        code = "".join(secrets.choice(RECOVERY_ALPHABET) for _ in range(RECOVERY_LENGTH))
        found.add(f"{code[:half]}-{code[half:]}")
    return sorted(found)


def store_recovery_codes(user: User, codes: list[str]) -> None:
    """Replace a person's recovery codes; the caller's transaction holds the lock."""
    StaticDevice.objects.filter(user=user.pk).delete()
    device = StaticDevice.objects.create(user_id=user.pk, name="", confirmed=True)
    hashes = (next(_hashes(user.pk, cleaned(code))) for code in codes)
    StaticToken.objects.bulk_create(StaticToken(device=device, token=digest) for digest in hashes)


def use_recovery_code(user: User, code: str) -> bool:
    """Delete an unused recovery code; False when there is none like it."""
    if len(code) != RECOVERY_LENGTH:
        return False
    hashes = list(_hashes(user.pk, code))
    rows = StaticToken.objects.filter(device__user=user.pk, token__in=hashes)
    ids = list(rows.values_list("pk", flat=True)[:1])
    return bool(ids) and StaticToken.objects.filter(pk__in=ids).delete()[0] > 0


def remove(user: User) -> bool:
    """Delete all devices and codes of a person; True when the second factor was on."""
    was_on = is_on(user)
    TOTPDevice.objects.filter(user=user.pk).delete()
    StaticDevice.objects.filter(user=user.pk).delete()
    return was_on


# --- encryption -----------------------------------------------------------------------------------
def seal(secret: bytes, user_id: int) -> str:
    """Encrypt a secret for its person; 20 bytes give 64 characters."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    sealed = AESGCM(next(_keys("secret"))).encrypt(nonce, secret, _owner(user_id))
    return base64.urlsafe_b64encode(nonce + sealed).decode()


def unseal(text: str, user_id: int) -> bytes | None:
    """Decrypt a secret of this person; None when no configured key decrypts it."""
    try:
        data = base64.urlsafe_b64decode(text.encode())
    except ValueError:
        return None
    for key in _keys("secret"):
        try:
            return AESGCM(key).decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], _owner(user_id))
        except (InvalidTag, ValueError):
            continue
    return None


def _hashes(user_id: int, code: str) -> Iterator[str]:
    """Yield the stored hashes of a recovery code, that of the current key first."""
    for key in _keys("recovery"):
        digest = hmac.digest(key, _owner(user_id) + code.encode(), sha256)
        yield base64.b32encode(digest[:RECOVERY_BYTES]).decode().lower()


# Stored secrets and codes depend on this text, so it stays whatever the module is called.
_DERIVED_FOR = b"accounts.sign_in.two_factor "


def _owner(user_id: int) -> bytes:
    return f"{user_id}:".encode()


def _keys(purpose: str) -> Iterator[bytes]:
    """Yield a 32-byte key for a purpose, derived from SECRET_KEY, then from each previous key."""
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        yield hmac.digest(secret.encode(), _DERIVED_FOR + purpose.encode(), sha256)
