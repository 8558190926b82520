"""People and the state of their tokens."""

from collections.abc import Iterable
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import DEFAULT_DB_ALIAS, models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from socialsite.core.client import web_push
from socialsite.core.ids import new_id
from socialsite.core.media import pictures
from socialsite.core.search import postings


class Role(models.IntegerChoices):
    """Bits of `User.roles`."""

    MEMBER = 1, "member"
    MODERATOR = 2, "moderator"
    ADMIN = 4, "admin"


STAFF_ROLES = Role.MODERATOR | Role.ADMIN


class UserQuerySet(models.QuerySet["User"]):
    """Composable filters over people."""

    def active(self) -> "UserQuerySet":
        """People who are neither banned nor deleted."""
        return self.filter(banned_at__isnull=True, deleted_at__isnull=True)


class UserManager(BaseUserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    """Finds people by their case-folded name; `accounts.actions.register` creates them."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the person with a username, compared case-insensitively."""
        return self.get(username_key=(username or "").lower())


class User(AbstractBaseUser):
    """One person. Rows are never deleted: `deleted_at` closes the account."""

    # Lengths of usernames, and of nicknames under the classic rule; see `naming.name_rules`.
    NAME_MIN, NAME_MAX = 4, 16
    # Code points; a visible character may have several. MySQL widens a column without copying the
    # table up to 63 characters.
    NICKNAME_MAX = 60
    EMAIL_MAX, BIO_MAX = 254, 200
    LINKS_MAX, LINK_MAX, PLACE_MAX, PRONOUNS_MAX = 4, 200, 60, 30

    id = models.BigIntegerField(primary_key=True, default=new_id)
    username = models.CharField(max_length=NAME_MAX)
    # The unique name: lower-case ASCII, so that Alice and alice are the same (T13).
    username_key = models.CharField(max_length=NAME_MAX, unique=True)
    nickname = models.CharField(max_length=NICKNAME_MAX)
    # Lower case, for search.
    nickname_key = models.CharField(max_length=NICKNAME_MAX, db_index=True)
    # Confirmed by a link; used for recovery only, never shown to others. Accounts may share one.
    email = models.EmailField(max_length=EMAIL_MAX, blank=True, default="")
    # Entered, and not confirmed yet: the only address whose link counts.
    email_waiting = models.EmailField(max_length=EMAIL_MAX, blank=True, default="")
    # Lower case, to find the accounts of an address.
    email_key = models.CharField(max_length=EMAIL_MAX, blank=True, default="", db_index=True)
    avatar_name = models.CharField(max_length=80, blank=True, default="")
    bio = models.CharField(max_length=BIO_MAX, blank=True, default="")
    # The rest of the profile is shown on its page alone: cards of people do not contain it.
    banner_name = models.CharField(max_length=80, blank=True, default="")
    links = models.JSONField(default=list, blank=True)
    place = models.CharField(max_length=PLACE_MAX, blank=True, default="")
    pronouns = models.CharField(max_length=PRONOUNS_MAX, blank=True, default="")
    # The language of mails and of browsers that sign in; empty: each browser has its own.
    language = models.CharField(max_length=10, blank=True, default="")
    # What this reader sees without asking; null: each browser has its own choice.
    unfold_notes = models.BooleanField(null=True, blank=True)
    show_sensitive = models.BooleanField(null=True, blank=True)
    likes_shown = models.BooleanField(default=False)
    # Whether the home page shows the first steps, until they are done or skipped.
    first_steps = models.BooleanField(default=False)
    # The newest version of the site's terms that the person accepted; 0 for none.
    terms_accepted = models.PositiveIntegerField(default=0)
    roles = models.PositiveSmallIntegerField(default=Role.MEMBER)
    created_at = models.DateTimeField(default=timezone.now)
    banned_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    # Last feed read, refresh or socket; written at most once in five minutes.
    last_seen = models.DateTimeField(default=timezone.now, db_index=True)
    last_login = None

    USERNAME_FIELD = "username_key"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    class Meta:
        verbose_name = gettext_lazy("user")
        verbose_name_plural = gettext_lazy("users")
        # Finds the few people of staff: their roles are above `Role.MEMBER`.
        indexes = [models.Index(fields=["roles"], name="ix_user_roles")]

    def __str__(self) -> str:
        return f"@{self.username}"

    @classmethod
    def known(cls, user_id: int) -> "User":
        """Return a person known to exist, without a query; reading a field loads the rest."""
        return cls.from_db(DEFAULT_DB_ALIAS, ["id"], [user_id])

    def refresh_from_db(
        self,
        using: str | None = None,
        fields: Iterable[str] | None = None,
        from_queryset: "models.QuerySet[User] | None" = None,
    ) -> None:
        """Read again; reading one deferred field loads all of them."""
        if fields is not None:
            wanted, deferred = set(fields), self.get_deferred_fields()
            fields = wanted | deferred if wanted & deferred else wanted
        super().refresh_from_db(using, fields, from_queryset)

    def get_username(self) -> str:
        """Return the name as the person wrote it."""
        return self.username

    @property
    def avatar(self) -> str:
        """URL of the person's picture; empty for none."""
        return pictures.url_of(self.avatar_name)

    @property
    def banner(self) -> str:
        """URL of the wide picture of the person's profile; empty for none."""
        return pictures.url_of(self.banner_name)

    @property
    def is_active(self) -> bool:  # type: ignore[override]
        """True unless banned or deleted."""
        return self.banned_at is None and self.deleted_at is None

    @property
    def is_staff(self) -> bool:
        """True for moderators and admins who are active."""
        return self.is_active and bool(self.roles & STAFF_ROLES)

    @property
    def is_superuser(self) -> bool:
        """True for admins who are active."""
        return self.is_active and bool(self.roles & Role.ADMIN)

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Return True for admins, and for staff who only view; the admin adds its own limits."""
        action = perm.partition(".")[2].partition("_")[0]
        return self.is_superuser or (self.is_staff and action == "view")

    def has_module_perms(self, app_label: str) -> bool:
        """Return True for staff, for every app."""
        return self.is_staff


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


class AuditEntry(models.Model):
    """One act of staff, or of people on their own accounts."""

    id = models.BigAutoField(primary_key=True)
    # NULL for a command on the server.
    actor = models.ForeignKey(
        User, null=True, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    action = models.CharField(max_length=32)
    subject_type = models.CharField(max_length=16)
    subject_id = models.BigIntegerField()
    detail = models.JSONField(default=dict, blank=True)
    address = models.CharField(max_length=45, blank=True, default="")
    # As in TokenVersion.
    address_at = models.DateTimeField(null=True, blank=True, db_index=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = gettext_lazy("audit entry")
        verbose_name_plural = gettext_lazy("audit entries")
        indexes = [
            models.Index(fields=["subject_type", "subject_id", "id"], name="ix_audit_subject"),
            models.Index(fields=["actor", "id"], name="ix_audit_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject_type} {self.subject_id}"


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


class NameTerm(postings.Posting):
    """A person's username or nickname has two characters in this order."""

    def __str__(self) -> str:
        return f"{self.term} of {self.object_id}"


class SearchedName(postings.Indexed):
    """The terms of a person's names in the index."""

    def __str__(self) -> str:
        return f"terms of {self.object_id}"
