"""Sign-ins of people: the numbers of their tokens, their devices, and failed attempts."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from accounts.models.people import User
from socialsite.core.client import web_push
from socialsite.core.ids import new_id


class TokenVersion(models.Model):
    """Token numbers of one client of a person, and what the device reported about itself.

    `version` is the number of the next token. A token is dead iff its version <= the floor of its
    kind.
    """

    CLIENT_MAX, USER_AGENT_MAX, ENDED_BY_MAX = 64, 300, 80

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, db_index=False, related_name="+")
    client = models.CharField(max_length=CLIENT_MAX)
    version = models.PositiveIntegerField(default=1)
    access_floor = models.PositiveIntegerField(default=0)
    refresh_floor = models.PositiveIntegerField(default=0)
    # The current refresh token, its predecessor and the one before. A lost answer can be repeated
    # byte for byte, since a token is computed from its jti, iat (Unix seconds) and bat.
    refresh_jti = models.CharField(max_length=32, blank=True, default="")
    refresh_iat = models.BigIntegerField(default=0)
    refresh_bat = models.PositiveIntegerField(default=0)
    previous_jti = models.CharField(max_length=32, blank=True, default="")
    previous_iat = models.BigIntegerField(default=0)
    previous_bat = models.PositiveIntegerField(default=0)
    oldest_jti = models.CharField(max_length=32, blank=True, default="")
    # Issue time of the current token, which is the first use of its predecessor (Unix ms).
    rotated_at = models.BigIntegerField(default=0)
    user_agent = models.CharField(max_length=USER_AGENT_MAX, blank=True, default="")
    address = models.CharField(max_length=45, blank=True, default="")
    # When the address was stored, for its retention; NULL without an address.
    address_at = models.DateTimeField(null=True, blank=True, db_index=True)
    last_seen = models.DateTimeField(default=timezone.now)
    # Why the last sign-in of this client ended and which device ended it, shown to its person.
    ended = models.CharField(max_length=16, blank=True, default="")
    ended_by = models.CharField(max_length=ENDED_BY_MAX, blank=True, default="")

    class Meta:
        verbose_name = gettext_lazy("token version")
        verbose_name_plural = gettext_lazy("token versions")
        constraints = [models.UniqueConstraint(fields=["user", "client"], name="uk_token_version")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.client} {self.version}"

    def store(self) -> None:
        """Insert the row, or update it; the caller holds the lock of the batch.

        Not `save`: an update names the person and never sets them, as they determine the shard.
        """
        if self._state.adding:
            self.save(force_insert=True)
            return
        fields = TokenVersion._meta.concrete_fields
        key = {"id", "user_id", "client"}
        values = {one.attname: getattr(self, one.attname) for one in fields}
        changes = {name: value for name, value in values.items() if name not in key}
        TokenVersion.objects.filter(user=self.user_id, client=self.client).update(**changes)


class SignIn(models.Model):
    """One sign-in of a person, in the log that only this person reads."""

    # The time of the sign-in is in the id.
    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = models.ForeignKey(User, on_delete=models.CASCADE, db_index=False, related_name="+")
    client = models.CharField(max_length=TokenVersion.CLIENT_MAX)
    user_agent = models.CharField(max_length=TokenVersion.USER_AGENT_MAX, blank=True, default="")
    address = models.CharField(max_length=45, blank=True, default="")
    address_at = models.DateTimeField(null=True, blank=True, db_index=True)
    # When the person last proved who they are: by the sign-in, or by the password since then.
    proved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = gettext_lazy("sign-in")
        verbose_name_plural = gettext_lazy("sign-ins")
        indexes = [models.Index(fields=["user", "id"], name="ix_sign_in")]

    def __str__(self) -> str:
        return f"sign-in of {self.user_id} on {self.client}"


class Passkey(models.Model):
    """A passkey of a person: what the site needs to check a log-in with it; no secret."""

    NAME_MAX = 50

    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # The id has up to 1023 bytes, too many for a unique index. So its SHA-256 is unique.
    credential_id = models.BinaryField()
    credential_hash = models.CharField(max_length=64, unique=True)
    public_key = models.BinaryField()
    # The signatures that the authenticator made; 0 for one that does not count.
    sign_count = models.PositiveBigIntegerField(default=0)
    name = models.CharField(max_length=NAME_MAX)
    # How browsers reach the authenticator; they are told at the next log-in.
    transports = models.JSONField(default=list, blank=True)
    # Whether its owner's other devices have a copy, made by a password manager.
    backed_up = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    last_used = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = gettext_lazy("passkey")
        verbose_name_plural = gettext_lazy("passkeys")

    def __str__(self) -> str:
        return f"passkey {self.pk} of {self.user_id}"


class TokenBatch(models.Model):
    """Token numbers that all clients of a person share."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="+")
    batch = models.PositiveIntegerField(default=1)
    access_floor = models.PositiveIntegerField(default=0)
    refresh_floor = models.PositiveIntegerField(default=0)
    # Why all sign-ins ended the last time, shown to their person.
    ended = models.CharField(max_length=16, blank=True, default="")
    # Versions up to this number were used by clients whose rows are deleted. New rows start above
    # it, so that no number is ever issued twice, whatever id a client chooses.
    forgotten = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = gettext_lazy("token batch")
        verbose_name_plural = gettext_lazy("token batches")

    def __str__(self) -> str:
        return f"{self.user_id} {self.batch}"


class PushSubscription(models.Model):
    """The address at which one signed-in device receives pushes, and the keys to encrypt them.

    `version` and `batch` are those of the sign-in that it belongs to. With that sign-in the row is
    deleted, in one transaction; and nothing is sent to a row whose numbers are not above the floors
    of refresh tokens.
    """

    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = models.ForeignKey(User, on_delete=models.CASCADE, db_index=False, related_name="+")
    client = models.CharField(max_length=TokenVersion.CLIENT_MAX)
    version = models.PositiveIntegerField()
    batch = models.PositiveIntegerField()
    # A secret: whoever knows it may send to the browser.
    endpoint = models.CharField(max_length=web_push.ENDPOINT_MAX)
    # SHA-256 of the endpoint. A browser is one device, whoever signs in on it.
    endpoint_hash = models.CharField(max_length=64, unique=True)
    p256dh = models.CharField(max_length=web_push.P256DH_MAX)
    auth = models.CharField(max_length=web_push.AUTH_MAX)
    # The language of pushes to this device, if its person has chosen none.
    language = models.CharField(max_length=10, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    # Failed requests since the last one that succeeded, and when the next one is due (Unix ms).
    failures = models.PositiveSmallIntegerField(default=0)
    wait_until = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = gettext_lazy("push subscription")
        verbose_name_plural = gettext_lazy("push subscriptions")
        constraints = [
            models.UniqueConstraint(fields=["user", "client"], name="uk_push_subscription")
        ]

    def __str__(self) -> str:
        return f"pushes to {self.user_id} {self.client}"


class Failures(models.Model):
    """Failed attempts counted under one key, and the time until which the next one must wait."""

    # Name of the budget and a hash: of an account at an address, an address, or an account.
    key = models.CharField(max_length=64, primary_key=True)
    count = models.PositiveIntegerField(default=0)
    # Admitted attempts whose check has not finished.
    pending = models.PositiveIntegerField(default=0)
    # Unix ms of the first counted failure and of the last admitted attempt.
    first_at = models.BigIntegerField(default=0)
    last_at = models.BigIntegerField(default=0, db_index=True)
    wait_until = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "failures"

    def __str__(self) -> str:
        return f"{self.key} {self.count}"
