"""Likes."""

from django.db import models
from django.utils.translation import gettext_lazy

from interactions.models.subjects import SubjectType
from socialsite.core.ids import new_id


class Like(models.Model):
    """One person likes one subject; unique, so a repeat changes nothing.

    `thread` is the id of the `Subject` that a liked comment belongs to, 0 for a post. It lets an
    index alone answer what a person likes in one thread. The likes of a subject are in the order of
    `id`, which is time-ordered.
    """

    id = models.BigIntegerField(primary_key=True, default=new_id)
    subj_type = models.PositiveSmallIntegerField(choices=SubjectType.choices)
    subj_id = models.BigIntegerField()
    user = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    thread = models.BigIntegerField(default=0)
    created_at = models.BigIntegerField(help_text="Unix ms")

    class Meta:
        verbose_name = gettext_lazy("like")
        verbose_name_plural = gettext_lazy("likes")
        constraints = [
            models.UniqueConstraint(fields=["subj_type", "subj_id", "user"], name="uk_like")
        ]
        indexes = [
            models.Index(fields=["user", "thread", "subj_id"], name="ix_like_user"),
            models.Index(fields=["subj_type", "subj_id", "id"], name="ix_likers"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} likes {self.subj_type}:{self.subj_id}"
