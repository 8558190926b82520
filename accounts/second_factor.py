"""The second factor: what is known of it, and how its secrets are kept.

Devices are rows of django-otp (`otp_totp`, and `otp_static` for recovery codes).
"""

from django.conf import settings
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from socialsite.core.errors import TwoFactorNeeded


def is_on(user: User) -> bool:
    """True when signing in takes a code."""
    return TOTPDevice.objects.filter(user=user.pk, confirmed=True).exists()


def is_missing(user: User) -> bool:
    """True for staff who lack the second factor that the site asks of staff (STAFF_TOTP)."""
    return settings.STAFF_TOTP and user.is_staff and not is_on(user)


def check_staff(user: User) -> None:
    """Raise TwoFactorNeeded for staff who may not use their powers yet."""
    if is_missing(user):
        raise TwoFactorNeeded
