"""Votes in polls, and their counts."""

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy

from socialsite.core.ids import new_id


class Vote(models.Model):
    """The choice of one person in the poll of one post; unique, and it never changes.

    `choices` has the bit 1 << n for the n-th option. A vote is counted in the `Tally` of the post
    or is `waiting`, so a tally plus its waiting votes is exact at any moment. People who vote in
    the same poll do not wait for each other.
    """

    id = models.BigIntegerField(primary_key=True, default=new_id)
    post_id = models.BigIntegerField()
    user = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    choices = models.PositiveSmallIntegerField()
    created_at = models.BigIntegerField(help_text="Unix ms")
    # The post until a fold counts the vote, otherwise NULL.
    waiting = models.BigIntegerField(null=True)

    class Meta:
        verbose_name = gettext_lazy("vote")
        verbose_name_plural = gettext_lazy("votes")
        constraints = [models.UniqueConstraint(fields=["post_id", "user"], name="uk_vote")]
        indexes = [
            models.Index(fields=["waiting", "id", "choices"], name="ix_vote_waiting"),
            models.Index(fields=["post_id", "id"], name="ix_voters"),
            models.Index(fields=["user", "post_id", "choices"], name="ix_vote_user"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.post_id}"


class Tally(models.Model):
    """The counted votes of one poll, as of the last fold."""

    OPTIONS: ClassVar[tuple[str, ...]] = tuple(f"option_{number}" for number in range(8))
    # All counts: the people, then each option.
    COUNTS: ClassVar[tuple[str, ...]] = ("people", *OPTIONS)

    post_id = models.BigIntegerField(primary_key=True)
    people = models.PositiveIntegerField(default=0)
    option_0 = models.PositiveIntegerField(default=0)
    option_1 = models.PositiveIntegerField(default=0)
    option_2 = models.PositiveIntegerField(default=0)
    option_3 = models.PositiveIntegerField(default=0)
    option_4 = models.PositiveIntegerField(default=0)
    option_5 = models.PositiveIntegerField(default=0)
    option_6 = models.PositiveIntegerField(default=0)
    option_7 = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = gettext_lazy("result of a poll")
        verbose_name_plural = gettext_lazy("results of polls")

    def __str__(self) -> str:
        return f"poll of {self.post_id}"

    @classmethod
    def of(cls, choices: int, number: int = 1) -> list[int]:
        """Return what so many votes with these choices add to COUNTS."""
        bits = range(len(cls.OPTIONS))
        return [number, *(number if choices >> bit & 1 else 0 for bit in bits)]
