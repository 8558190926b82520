"""Indexes for a person's likes in one thread, and for the likes of one thread."""

from django.db import migrations, models
from django.db.models.functions import Coalesce

COMMENT = 2


def name_threads(apps, schema_editor):
    """Give the likes of comments the thread of their comment."""
    comments = apps.get_model("interactions", "Comment").objects.filter(
        pk=models.OuterRef("subj_id")
    )
    likes = apps.get_model("interactions", "Like").objects.filter(subj_type=COMMENT)
    thread = models.Subquery(comments.values("subject_id")[:1])
    likes.update(thread=Coalesce(thread, 0))


class Migration(migrations.Migration):
    dependencies = [
        ("interactions", "0004_notifications"),
    ]

    operations = [
        migrations.AddField("like", "thread", models.BigIntegerField(default=0)),
        migrations.RunPython(name_threads, migrations.RunPython.noop),
        migrations.RemoveIndex("like", "ix_like_user"),
        migrations.AddIndex(
            "like", models.Index(fields=["user", "thread", "subj_id"], name="ix_like_user")
        ),
        migrations.AddIndex(
            "like", models.Index(fields=["subj_type", "subj_id", "id"], name="ix_likers")
        ),
    ]
