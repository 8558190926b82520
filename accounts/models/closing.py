"""Accounts that their people closed, and the names that stay taken afterwards."""

import hashlib

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.people import User


class Closing(models.Model):
    """A closed account: hidden at once, erased from `erase_at` on. Logging in takes it back."""

    user = models.OneToOneField(
        User, models.CASCADE, primary_key=True, related_name="+", verbose_name=_("person")
    )
    closed_at = models.DateTimeField(default=timezone.now, verbose_name=_("closed"))
    erase_at = models.DateTimeField(db_index=True, verbose_name=_("erased from"))
    # When the first chunk was erased; afterwards nothing can be taken back.
    erasing_at = models.DateTimeField(null=True, blank=True, verbose_name=_("erasing began"))
    erased_at = models.DateTimeField(null=True, blank=True, verbose_name=_("erased"))
    # Until when one worker erases (Unix ms); after a failure, until when the next one waits.
    lease = models.BigIntegerField(default=0, editable=False, verbose_name=_("leased until"))

    class Meta:
        verbose_name = _("closed account")
        verbose_name_plural = _("closed accounts")

    def __str__(self) -> str:
        return f"closing of {self.user_id}"


class KeptName(models.Model):
    """A username of an erased account that nobody can register for a time.

    It contains a hash of the name: the name itself is erased.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"a name kept until {self.until:%Y-%m-%d}"

    @staticmethod
    def digest_of(username: str) -> str:
        """Return the hash of a username, written with large or small letters."""
        return hashlib.sha256(username.lower().encode()).hexdigest()
