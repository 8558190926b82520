"""Store changes of reposts and bookmarks beside those of likes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("interactions", "0008_count_checks"),
    ]

    operations = [
        migrations.RenameModel("LikeChange", "CountChange"),
        migrations.AddField(
            "countchange",
            "counted",
            models.PositiveSmallIntegerField(
                choices=[(1, "Like"), (2, "Repost"), (3, "Bookmark")], default=1
            ),
            preserve_default=False,
        ),
        migrations.AddIndex(
            "countchange",
            models.Index(
                fields=["subj_type", "subj_id", "id", "counted", "by"], name="ix_count_change"
            ),
        ),
        migrations.RemoveIndex("countchange", "ix_like_change"),
    ]
