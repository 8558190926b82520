"""Pictures and videos."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from socialsite.core.ids import new_id


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
