"""Relations between two people: one table, two mirrored rows for each pair."""

from django.db import models
from django.utils.translation import gettext_lazy

from socialsite.core.ids import new_id


class Relation(models.IntegerChoices):
    """State of a pair as seen by `from_user`. FOLLOWING is 0, so compare with `is None`."""

    FOLLOWING = 0
    FOLLOWED = 1
    BLACKLISTING = 2
    BLACKLISTED = 3
    BI_FOLLOWING = 4
    BI_BLACKLISTING = 5


# States of my row: I follow them; they follow me; one of us blocks the other.
I_FOLLOW = (Relation.FOLLOWING, Relation.BI_FOLLOWING)
FOLLOWS_ME = (Relation.FOLLOWED, Relation.BI_FOLLOWING)
BLOCKED = (Relation.BLACKLISTING, Relation.BLACKLISTED, Relation.BI_BLACKLISTING)


class Relationship(models.Model):
    """State of a pair, seen from one side. No relation is NULL: a row goes only with an account.

    Both rows of a pair change in one transaction under the lock of the pair. Times are Unix ms and
    are set only while their state holds.
    """

    id = models.BigAutoField(primary_key=True)
    from_user = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    to_user = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    relation = models.PositiveSmallIntegerField(choices=Relation.choices, null=True)
    # Separate columns, so that a follow back does not move the row in the other list.
    followed_at = models.BigIntegerField(
        null=True, help_text="time of the follow by `from_user`, Unix ms"
    )
    fan_since = models.BigIntegerField(
        null=True, help_text="time of the follow by `to_user`, Unix ms"
    )
    blocked_at = models.BigIntegerField(
        null=True, help_text="time of the block by `from_user`, Unix ms"
    )
    # The follow by `from_user` came from an import: nobody is notified of it.
    quiet = models.BooleanField(default=False, db_default=False)
    # Raised by every transition of the pair; both rows have the same number.
    version = models.PositiveIntegerField(default=0)
    # How the row is counted in the counters of from_user (T22): one bit each for following,
    # follower, friend, blocked. Counters change by the difference, so the order of events does not
    # matter.
    counted = models.PositiveSmallIntegerField(default=0)

    class Meta:
        verbose_name = gettext_lazy("relationship")
        verbose_name_plural = gettext_lazy("relationships")
        constraints = [
            models.UniqueConstraint(fields=["from_user", "to_user"], name="uk_from_to"),
            models.CheckConstraint(
                condition=~models.Q(from_user=models.F("to_user")), name="ck_not_self"
            ),
        ]
        indexes = [
            models.Index(
                fields=["from_user", "followed_at", "to_user", "relation"], name="ix_following"
            ),
            models.Index(fields=["from_user", "fan_since", "to_user", "relation"], name="ix_fans"),
            # Blocks both ways, and followers by id for the fan-out.
            models.Index(fields=["from_user", "relation", "to_user"], name="ix_state"),
        ]

    def __str__(self) -> str:
        return f"{self.from_user_id} {self.relation} {self.to_user_id}"


class RelationCount(models.Model):
    """Counters of one person. `following` changes under the row's lock and bounds follows (T23)."""

    user = models.OneToOneField(
        "accounts.User",
        models.DO_NOTHING,
        db_constraint=False,
        primary_key=True,
        related_name="+",
    )
    following = models.PositiveIntegerField(default=0)
    followers = models.PositiveIntegerField(default=0)
    friends = models.PositiveIntegerField(default=0)
    blocked = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = gettext_lazy("relation count")
        verbose_name_plural = gettext_lazy("relation counts")

    def __str__(self) -> str:
        return f"{self.user_id}: {self.following}/{self.followers}"


class RelationLog(models.Model):
    """Every transition of a pair, to explain a state; added in its transaction."""

    id = models.BigIntegerField(primary_key=True, default=new_id)
    actor = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    target = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    action = models.CharField(max_length=12)
    before = models.PositiveSmallIntegerField(choices=Relation.choices, null=True)
    after = models.PositiveSmallIntegerField(choices=Relation.choices, null=True)
    version = models.PositiveIntegerField()
    at = models.BigIntegerField(help_text="Unix ms")

    class Meta:
        verbose_name = gettext_lazy("relation log")
        verbose_name_plural = gettext_lazy("relation logs")
        indexes = [models.Index(fields=["actor", "target", "version"], name="ix_log_pair")]

    def __str__(self) -> str:
        return f"{self.actor_id} {self.action} {self.target_id}"


class CountCheck(models.Model):
    """Result of one run of `recount`: the drift of each counter, summed over people."""

    id = models.BigAutoField(primary_key=True)
    finished_at = models.BigIntegerField(help_text="Unix ms")
    people = models.PositiveIntegerField()
    wrong = models.PositiveIntegerField(help_text="people with a wrong counter")
    following = models.PositiveBigIntegerField()
    followers = models.PositiveBigIntegerField()
    friends = models.PositiveBigIntegerField()
    blocked = models.PositiveBigIntegerField()
    fixed = models.BooleanField()

    def __str__(self) -> str:
        return f"{self.finished_at}: {self.wrong} of {self.people}"


class SuggestionList(models.Model):
    """The people whom somebody may want to follow, best first; user 0 stands for everybody.

    Derived from the relations and their users' activity; it may be deleted at any time.
    """

    user = models.OneToOneField(
        "accounts.User",
        models.DO_NOTHING,
        db_constraint=False,
        primary_key=True,
        related_name="+",
    )
    candidates = models.JSONField(default=list, help_text="ids")
    computed_at = models.BigIntegerField(db_index=True, help_text="Unix ms")

    def __str__(self) -> str:
        return f"{self.user_id}: {len(self.candidates)}"


class Dismissal(models.Model):
    """A person whom somebody does not want to be suggested."""

    pk = models.CompositePrimaryKey("user", "other")
    user = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    other = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )

    def __str__(self) -> str:
        return f"{self.user_id} not {self.other_id}"
