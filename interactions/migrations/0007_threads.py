"""Pins, a bit for comments by the post's author, and indexes of threads."""

from django.db import migrations, models
from django.db.models import F, OuterRef, Subquery

BY_AUTHOR = 8


def mark_authors(apps, schema_editor):
    """Set the bit of comments written by the author of the post."""
    posts = apps.get_model("feeds", "Post").objects.filter(pk=OuterRef("subject__subj_id"))
    comments = apps.get_model("interactions", "Comment").objects
    written = comments.filter(author_id=Subquery(posts.values("author_id")[:1]))
    ids = list(written.values_list("pk", flat=True))
    for start in range(0, len(ids), 1000):
        rows = comments.filter(pk__in=ids[start : start + 1000])
        rows.update(attrs=F("attrs").bitor(BY_AUTHOR))


class Migration(migrations.Migration):
    dependencies = [
        ("feeds", "0001_initial"),
        ("interactions", "0006_reports"),
    ]

    operations = [
        migrations.AddField("subject", "pins", models.JSONField(default=list)),
        migrations.RunPython(mark_authors, migrations.RunPython.noop),
        migrations.AddIndex(
            "comment",
            models.Index(
                fields=["subject", "author", "root", "parent", "deleted"], name="ix_thread_author"
            ),
        ),
        migrations.AddIndex(
            "comment", models.Index(fields=["parent", "position", "id"], name="ix_answers")
        ),
    ]
