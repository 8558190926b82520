"""People and the index of their names."""

from collections.abc import Iterable
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import DEFAULT_DB_ALIAS, models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from accounts.models.roles import STAFF_ROLES, Role, rights_of
from socialsite.core.ids import new_id
from socialsite.core.media import pictures
from socialsite.core.search import postings


class MailKind(models.IntegerChoices):
    """Mails that people choose: bits of `User.mails`. The values are stored and never change."""

    SIGN_INS = 1, "sign_ins"
    MENTIONS = 2, "mentions"
    DIGEST = 4, "digest"


class UserQuerySet(models.QuerySet["User"]):
    """Composable filters over people."""

    def active(self) -> "UserQuerySet":
        """People who are neither banned nor deleted."""
        return self.filter(banned_at__isnull=True, deleted_at__isnull=True)

    def listed(self) -> "UserQuerySet":
        """Active people whom staff did not limit: they may be recommended and found."""
        return self.active().filter(limited_at__isnull=True)


class UserManager(BaseUserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    """Finds people by their case-folded name; `accounts.actions.register` creates them."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the person with a username, compared case-insensitively."""
        return self.get(username_key=(username or "").lower())


class User(AbstractBaseUser):
    """One person. `deleted_at` closes the account; erased, it leaves an empty row."""

    # Lengths of usernames, and of nicknames under the classic rule; see `naming.name_rules`.
    NAME_MIN, NAME_MAX = 4, 16
    # Code points; a visible character may have several. MySQL widens a column without copying the
    # table up to 63 characters.
    NICKNAME_MAX = 60
    EMAIL_MAX, BIO_MAX = 254, 200
    # The first character of the key that the shell of an erased account has instead of a name; no
    # username begins with it.
    ERASED = "~"
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
    # The mails that the person wants, as bits of `MailKind`.
    mails = models.PositiveSmallIntegerField(default=MailKind.SIGN_INS)
    # When the next digest is due (Unix ms), for those who want one.
    digest_due = models.BigIntegerField(null=True, blank=True, editable=False, db_index=True)
    # What this reader sees without asking; null: each browser has its own choice.
    unfold_notes = models.BooleanField(null=True, blank=True)
    show_sensitive = models.BooleanField(null=True, blank=True)
    likes_shown = models.BooleanField(default=False)
    # Whether the home page shows the first steps, until they are done or skipped.
    first_steps = models.BooleanField(default=False)
    # The newest version of the site's terms that the person accepted; 0 for none.
    terms_accepted = models.PositiveIntegerField(default=0)
    roles = models.PositiveSmallIntegerField(default=Role.MEMBER)
    # Indexed for the number of sign-ups by day. (The id is older if staff decided on the sign-up.)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    banned_at = models.DateTimeField(null=True, blank=True)
    # No log-in before this time.
    suspended_until = models.DateTimeField(null=True, blank=True)
    # Since when the person is neither recommended nor found.
    limited_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    # Last feed read, refresh or socket; written at most once in five minutes.
    last_seen = models.DateTimeField(default=timezone.now, db_index=True)
    last_login = None

    # The roles, and the rights that they gave when they were read.
    _rights: tuple[int, int] | None = None

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
    def is_suspended(self) -> bool:
        """True while staff keep the person from logging in."""
        return self.suspended_until is not None and self.suspended_until > timezone.now()

    @property
    def is_staff(self) -> bool:
        """True for active people with any role but that of a member."""
        return self.is_active and bool(self.roles & STAFF_ROLES)

    @property
    def is_superuser(self) -> bool:
        """True for admins who are active."""
        return self.is_active and bool(self.roles & Role.ADMIN)

    @property
    def rights(self) -> int:
        """The bits of `Right` that the roles give; 0 unless active. Own roles are read once."""
        if not self.is_active:
            return 0
        if self._rights is None or self._rights[0] != self.roles:
            self._rights = self.roles, rights_of(self.roles)
        return self._rights[1]

    def may(self, rights: int) -> bool:
        """Return whether the person has all of these rights."""
        return self.rights & rights == rights

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Return True for admins, and for staff who only view; the admin adds its own limits."""
        action = perm.partition(".")[2].partition("_")[0]
        return self.is_superuser or (self.is_staff and action == "view")

    def has_module_perms(self, app_label: str) -> bool:
        """Return True for staff, for every app."""
        return self.is_staff


class NameTerm(postings.Posting):
    """A person's username or nickname has two characters in this order."""

    def __str__(self) -> str:
        return f"{self.term} of {self.object_id}"


class SearchedName(postings.Indexed):
    """The terms of a person's names in the index."""

    def __str__(self) -> str:
        return f"terms of {self.object_id}"
