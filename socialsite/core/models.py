"""Tables of the core: site settings, outbox, idempotency keys, pictures, allowances, schedule."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from socialsite.core.ids import new_id


class Event(models.Model):
    """One event of the outbox, written in the transaction of its fact.

    A row lives until its effects are done. `applied` is set once the database effects are
    committed; after a crash only the remaining effects repeat.
    """

    id = models.BigAutoField(primary_key=True)
    aggregate_type = models.CharField(max_length=32)
    aggregate_id = models.BigIntegerField()
    type = models.CharField(max_length=64)
    payload = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    # Not claimed before this time (Unix ms): the end of a lease, or the next retry.
    available_at = models.BigIntegerField(default=0)
    # Fencing token of the lease: each claim writes another number.
    lease = models.BigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    applied = models.BooleanField(default=False)
    dead = models.BooleanField(default=False)
    error = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = gettext_lazy("event")
        verbose_name_plural = gettext_lazy("events")
        indexes = [
            models.Index(fields=["dead", "available_at", "id"], name="ix_outbox_due"),
            models.Index(fields=["aggregate_type", "aggregate_id"], name="ix_outbox_agg"),
            models.Index(fields=["created_at"], name="ix_outbox_ct"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.aggregate_id}"


class SiteSettings(models.Model):
    """What staff say about the site: one row, which `core.site` reads. Empty: the environment's."""

    THE_ROW = 1
    NAME_MAX, WORDS_MAX, CONTACT_MAX = 40, 300, 200
    MICRO_LEAST, MICRO_MOST = 100, 2000
    # A person's own follows are read with each home page that is built anew.
    FOLLOWS_LEAST, FOLLOWS_MOST, VIDEO_MB_MOST = 50, 100_000, 100
    TEXTS = ("name", "description_en", "description_zh_hans")
    LIMITS = ("micro_max", "follow_max", "video_mb", "videos", "link_previews")

    class SignUp(models.TextChoices):
        """Who may create an account."""

        OPEN = "open", pgettext_lazy("sign-up", "open to everybody")
        CLOSED = "closed", pgettext_lazy("sign-up", "closed")

    id = models.PositiveSmallIntegerField(primary_key=True, default=THE_ROW)
    name = models.CharField(
        max_length=NAME_MAX, blank=True, default="", verbose_name=gettext_lazy("name")
    )
    description_en = models.CharField(
        max_length=WORDS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("description in English"),
    )
    description_zh_hans = models.CharField(
        max_length=WORDS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("description in Chinese"),
    )
    contact = models.CharField(
        max_length=CONTACT_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("contact"),
        help_text=gettext_lazy("an e-mail address, or a page: https://…"),
    )
    sign_up = models.CharField(
        max_length=16,
        choices=SignUp.choices,
        blank=True,
        default="",
        verbose_name=gettext_lazy("sign-up"),
    )
    accent = models.CharField(
        max_length=7,
        blank=True,
        default="",
        verbose_name=gettext_lazy("colour"),
        help_text=gettext_lazy(
            "such as #095a4e; where texts need it, pages make it darker or lighter"
        ),
    )
    # The digest of the logo; empty for that of the design.
    logo = models.CharField(max_length=12, default="", editable=False)
    # NULL: the environment's.
    micro_max = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(MICRO_LEAST), MaxValueValidator(MICRO_MOST)],
        verbose_name=gettext_lazy("characters of a short post"),
    )
    follow_max = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(FOLLOWS_LEAST), MaxValueValidator(FOLLOWS_MOST)],
        verbose_name=gettext_lazy("people that one may follow"),
    )
    video_mb = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(VIDEO_MB_MOST)],
        verbose_name=gettext_lazy("size of an uploaded video in MB"),
    )
    videos = models.BooleanField(
        null=True, blank=True, verbose_name=gettext_lazy("people may upload videos")
    )
    link_previews = models.BooleanField(
        null=True, blank=True, verbose_name=gettext_lazy("posts show previews of their links")
    )
    # The current version of each document; 0 for none.
    about = models.PositiveIntegerField(default=0, editable=False)
    rules = models.PositiveIntegerField(default=0, editable=False)
    terms = models.PositiveIntegerField(default=0, editable=False)
    privacy = models.PositiveIntegerField(default=0, editable=False)
    # People must have accepted this version of the terms or a later one; 0 for none.
    terms_needed = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = verbose_name_plural = gettext_lazy("the site")

    def __str__(self) -> str:
        return self.name


class SiteDocument(models.Model):
    """A version of a text about the site, as Markdown. Rows never change: a change is a new one."""

    TEXT_MAX = 50_000  # characters
    TEXTS = ("text_en", "text_zh_hans")

    class Kind(models.TextChoices):
        """What the text is; the site has one address for each."""

        ABOUT = "about", gettext_lazy("About")
        RULES = "rules", gettext_lazy("Rules")
        TERMS = "terms", gettext_lazy("Terms of use")
        PRIVACY = "privacy", gettext_lazy("Privacy")

    kind = models.CharField(max_length=16, choices=Kind.choices, verbose_name=gettext_lazy("text"))
    version = models.PositiveIntegerField(verbose_name=gettext_lazy("version"))
    # Both empty: the site withdrew the text.
    text_en = models.TextField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in English")
    )
    text_zh_hans = models.TextField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in Chinese")
    )
    published_at = models.DateTimeField(
        default=timezone.now, verbose_name=gettext_lazy("published")
    )

    class Meta:
        verbose_name = gettext_lazy("text of the site")
        verbose_name_plural = gettext_lazy("texts of the site")
        constraints = [models.UniqueConstraint(fields=["kind", "version"], name="uk_site_document")]

    def __str__(self) -> str:
        return f"{self.kind} {self.version}"


class SiteLogo(models.Model):
    """A file of the site's logo: a PNG for one use."""

    logo = models.CharField(max_length=12)
    name = models.CharField(max_length=12)
    png = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["logo", "name"], name="uk_site_logo")]

    def __str__(self) -> str:
        return f"{self.logo} {self.name}"


class Announcement(models.Model):
    """A short text for everybody, shown from one time to another."""

    TEXT_MAX = 500
    TEXTS = ("text_en", "text_zh_hans")

    text_en = models.CharField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in English")
    )
    text_zh_hans = models.CharField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in Chinese")
    )
    starts_at = models.DateTimeField(default=timezone.now, verbose_name=gettext_lazy("from"))
    ends_at = models.DateTimeField(db_index=True, verbose_name=gettext_lazy("until"))
    for_guests = models.BooleanField(default=False, verbose_name=gettext_lazy("guests see it too"))

    class Meta:
        verbose_name = gettext_lazy("announcement")
        verbose_name_plural = gettext_lazy("announcements")

    def __str__(self) -> str:
        return self.text_en or self.text_zh_hans


class AnnouncementDismissal(models.Model):
    """A person wants to see an announcement no more."""

    id = models.BigAutoField(primary_key=True)
    user_id = models.BigIntegerField()
    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "announcement"], name="uk_announcement_dismissal"
            )
        ]

    def __str__(self) -> str:
        return f"{self.announcement_id} by {self.user_id}"


class IdempotencyKey(models.Model):
    """The result of a creating request with this key.

    For 24 h a retry finds it and creates nothing.
    """

    KEY_MAX = 100

    id = models.BigAutoField(primary_key=True)
    user_id = models.BigIntegerField()
    key = models.CharField(max_length=KEY_MAX)
    # SHA-256 of method, path and body: reusing the key for another request is a conflict.
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    # The type of object depends on the address. The response is never stored, as deleted texts
    # would survive in it.
    made_id = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user_id", "key"], name="uk_idempotency_key")
        ]

    def __str__(self) -> str:
        return self.key


class Allowance(models.Model):
    """The state of one owner's budget, if it is counted in the database."""

    # Name of the budget and hash of the owner.
    key = models.CharField(max_length=64, primary_key=True)
    # Unix time in microseconds at which the bucket is full again.
    full_at = models.BigIntegerField(default=0, db_index=True)

    def __str__(self) -> str:
        return self.key


class ScheduledRun(models.Model):
    """The time at which a worker last sent an entry of the schedule; see `core.events.beat`."""

    name = models.CharField(max_length=64, primary_key=True)
    # Unix time in ms, by the database's clock.
    last_run = models.BigIntegerField()

    def __str__(self) -> str:
        return self.name


class Media(models.Model):
    """One re-encoded picture, or one video, under a random name.

    A video (`Video` has its state) has no thumbnail until its poster is made; its sides are 0 until
    they are known.
    """

    ALT_MAX, PLACEHOLDER_MAX = 200, 40

    id = models.BigIntegerField(primary_key=True, default=new_id)
    owner_id = models.BigIntegerField()
    name = models.CharField(max_length=80, unique=True)
    thumb_name = models.CharField(max_length=80, blank=True)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    size = models.PositiveIntegerField(help_text="bytes of the picture and its thumbnail")
    alt = models.CharField(max_length=ALT_MAX, blank=True, default="")
    # Of a video: [{"language", "name"}], see `core.media.videos.captions`.
    captions = models.JSONField(default=list, blank=True)
    # A BlurHash, see `core.media.picture_placeholders`; empty if it has transparency.
    placeholder = models.CharField(max_length=PLACEHOLDER_MAX, blank=True, default="")
    # The day on which the owner last saw an unused picture (`core.media.references.renew`).
    created_at = models.DateTimeField(default=timezone.now)
    is_video = models.BooleanField(default=False)
    # Set when a post or an avatar uses it, cleared on release. The sweep removes the others later.
    is_used = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "media"
        indexes = [
            models.Index(fields=["owner_id", "created_at"], name="ix_media_owner"),
            models.Index(fields=["is_used", "created_at"], name="ix_media_used"),
        ]

    def __str__(self) -> str:
        return self.name

    def file_names(self) -> list[str]:
        """Return the names of the files below MEDIA_ROOT that readers may get."""
        captions = (one["name"] for one in self.captions)
        return [name for name in (self.name, self.thumb_name, *captions) if name]


class VideoUpload(models.Model):
    """A file that arrives in parts, see `core.media.videos.parts`."""

    id = models.BigIntegerField(primary_key=True, default=new_id)
    owner_id = models.BigIntegerField()
    # The file, see `core.media.videos.sources`; the video owns it when there is one.
    source = models.CharField(max_length=40)
    size = models.PositiveIntegerField(help_text="bytes of the whole file")
    received = models.PositiveIntegerField(default=0, help_text="bytes that arrived")
    video_id = models.BigIntegerField(null=True)
    changed_at = models.BigIntegerField(help_text="of the last part, Unix ms")

    class Meta:
        indexes = [
            models.Index(fields=["owner_id", "video_id"], name="ix_upload_owner"),
            models.Index(fields=["changed_at"], name="ix_upload_changed"),
            models.Index(fields=["source"], name="ix_upload_source"),
        ]

    def __str__(self) -> str:
        return f"{self.received} of {self.size} bytes"


class Video(models.Model):
    """The state of an uploaded video; a worker prepares it (`core.media.videos.jobs`)."""

    class State(models.TextChoices):
        """The state for readers: a note, the player, or that it failed."""

        PROCESSING = "processing", gettext_lazy("processing")
        READY = "ready", gettext_lazy("ready")
        FAILED = "failed", gettext_lazy("failed")

    media = models.OneToOneField(
        Media, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="video"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.PROCESSING)
    # The uploaded file while it is processed, see `core.media.videos.sources`.
    source = models.CharField(max_length=40, blank=True, default="")
    source_size = models.PositiveIntegerField(default=0, help_text="bytes of the upload")
    seconds = models.FloatField(default=0)
    progress = models.PositiveSmallIntegerField(default=0, help_text="percent")
    # A key of `core.media.videos.failures.TEXTS`.
    failure = models.CharField(max_length=20, blank=True, default="")
    # Times are Unix ms by the database's clock. Not claimed before `due_at`: the end of a lease, or
    # the next try. Each claim writes another `lease`.
    due_at = models.BigIntegerField(default=0)
    lease = models.BigIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    uploaded_at = models.BigIntegerField()
    finished_at = models.BigIntegerField(null=True)

    class Meta:
        verbose_name = gettext_lazy("video")
        verbose_name_plural = gettext_lazy("videos")
        indexes = [models.Index(fields=["state", "due_at"], name="ix_video_due")]

    def __str__(self) -> str:
        return f"{self.media_id} {self.state}"
