"""Tags, the posts that have them, and who follows them."""

from django.db import models
from django.utils.translation import gettext_lazy

from feeds.models.keys import user_key
from feeds.models.posts import Post
from socialsite.core.ids import new_id
from socialsite.core.text import tags


class Tag(models.Model):
    """A tag that a post had or somebody follows. `name` is the normalized one."""

    id = models.BigIntegerField(primary_key=True, default=new_id)
    name = models.CharField(
        max_length=tags.NAME_MAX, unique=True, verbose_name=gettext_lazy("name")
    )
    is_hidden = models.BooleanField(
        default=False,
        verbose_name=gettext_lazy("hidden"),
        help_text=gettext_lazy("Its page, searches, suggestions and followers do not show it."),
    )

    class Meta:
        verbose_name = gettext_lazy("tag")
        verbose_name_plural = gettext_lazy("tags")

    def __str__(self) -> str:
        return f"#{self.name}"


class PostTag(models.Model):
    """A tag of a post that is not deleted: the index of the tag's page, in feed order.

    It follows from the words of the post, and is written in their transaction.
    """

    # Tags of one post.
    MOST = 30

    pk = models.CompositePrimaryKey("tag", "position", "post")
    tag = models.ForeignKey(
        Tag, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    position = models.BigIntegerField(help_text="that of the post")
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    author = user_key()
    # Whether guests may see the post, as long as its author's account is open.
    is_public = models.BooleanField()

    class Meta:
        indexes = [
            models.Index(fields=["post"], name="ix_tags_of_post"),
            # All columns that the ranking reads.
            models.Index(fields=["position", "is_public", "tag", "author"], name="ix_recent_tags"),
        ]

    def __str__(self) -> str:
        return f"{self.tag_id} of {self.post_id}"


class TagFollow(models.Model):
    """A person follows a tag."""

    MOST = 200

    pk = models.CompositePrimaryKey("user", "tag")
    user = user_key()
    tag = models.ForeignKey(
        Tag, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )

    class Meta:
        indexes = [models.Index(fields=["tag"], name="ix_followers_of_tag")]

    def __str__(self) -> str:
        return f"{self.user_id} follows {self.tag_id}"


class TrendingTag(models.Model):
    """A tag in use, as the last ranking found it."""

    tag = models.OneToOneField(
        Tag, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="rank"
    )
    score = models.FloatField(help_text="the higher, the more it is in use")

    def __str__(self) -> str:
        return f"{self.tag_id} {self.score}"


class BusyTag(models.Model):
    """A tag of so many posts that they are not counted for each page: as last counted."""

    tag = models.OneToOneField(
        Tag, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="busy"
    )
    days = models.JSONField(help_text="public posts of each of the last days, the oldest first")

    def __str__(self) -> str:
        return f"{self.tag_id} {self.days}"
