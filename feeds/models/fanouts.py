"""The delivery of posts: the tier of each author and the durable plan; and checks of feeds."""

from django.db import models
from django.utils.translation import gettext_lazy

from feeds.models.keys import user_key
from feeds.models.posts import Mode, Post


class AuthorHead(models.Model):
    """A summary of one author's outbox, which readers check before they pull."""

    author = models.OneToOneField(
        "accounts.User",
        models.DO_NOTHING,
        db_constraint=False,
        primary_key=True,
        related_name="+",
    )
    last_position = models.BigIntegerField(default=0)
    # Newest post that is not pushed to all; 0 if there never was one.
    last_pulled_position = models.BigIntegerField(default=0)
    post_count = models.PositiveIntegerField(default=0)
    # Posts among these for named people or for nobody else; the count on a profile omits them.
    named_count = models.PositiveIntegerField(default=0)
    # The tier of the last post, for the hysteresis of the thresholds.
    mode = models.PositiveSmallIntegerField(choices=Mode.choices, default=Mode.ALL)

    class Meta:
        # For authors with posts that were not pushed to all: few of all authors.
        indexes = [models.Index(fields=["last_pulled_position", "author"], name="ix_head_pulled")]

    def __str__(self) -> str:
        return f"{self.author_id} {self.post_count}"


class FanOut(models.Model):
    """The delivery of one post. Until it is DONE every reader pulls the post (spec I)."""

    class State(models.IntegerChoices):
        """NEW: no chunks written yet; RUNNING: chunks exist; DONE: all of them are delivered."""

        NEW = 0
        RUNNING = 1
        DONE = 2

    post = models.OneToOneField(
        Post, models.CASCADE, primary_key=True, db_constraint=False, related_name="+"
    )
    author = user_key()
    position = models.BigIntegerField()
    mode = models.PositiveSmallIntegerField(choices=Mode.choices)
    total = models.PositiveIntegerField(default=0, help_text="chunks")
    state = models.PositiveSmallIntegerField(choices=State.choices, default=State.NEW)
    done_at = models.BigIntegerField(null=True, help_text="Unix ms")

    class Meta:
        verbose_name = gettext_lazy("fan out")
        verbose_name_plural = gettext_lazy("fan outs")
        indexes = [
            models.Index(fields=["state", "author", "position", "post"], name="ix_fanout_open")
        ]

    def __str__(self) -> str:
        return f"{self.post_id} {self.get_state_display()}"


class FanOutChunk(models.Model):
    """A range of followers by id, `lower < id <= upper`, fixed when the plan is written."""

    id = models.BigAutoField(primary_key=True)
    fanout = models.ForeignKey(FanOut, models.CASCADE, db_constraint=False, db_index=False)
    number = models.PositiveIntegerField()
    lower = models.BigIntegerField()
    upper = models.BigIntegerField()
    delivered = models.PositiveIntegerField(default=0)
    done = models.BooleanField(default=False)
    # Fencing token: its holder may work on the chunk until `leased_until` (Unix ms).
    lease = models.BigIntegerField(default=0)
    leased_until = models.BigIntegerField(default=0)
    # Delivered while Redis was down: a new generation invalidated the cached inboxes.
    uncached = models.BooleanField(default=False)

    class Meta:
        verbose_name = gettext_lazy("fan out chunk")
        verbose_name_plural = gettext_lazy("fan out chunks")
        constraints = [models.UniqueConstraint(fields=["fanout", "number"], name="uk_chunk")]
        indexes = [models.Index(fields=["done", "leased_until"], name="ix_chunk_due")]

    def __str__(self) -> str:
        return f"{self.fanout_id} #{self.number}"


class FeedCheck(models.Model):
    """The result of one run of `verify_feeds` over a sample of people."""

    id = models.BigAutoField(primary_key=True)
    finished_at = models.BigIntegerField(help_text="Unix ms")
    viewers = models.PositiveIntegerField()
    pages = models.PositiveIntegerField()
    unsettled = models.PositiveIntegerField(help_text="pages that kept changing")
    differences = models.PositiveIntegerField(help_text="posts that were missing or wrong")

    def __str__(self) -> str:
        return f"{self.finished_at}: {self.differences} of {self.viewers}"
